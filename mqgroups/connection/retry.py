"""Tenacity policies for retries: after which reason codes, for how long, and with which pauses.

Only a whole unit of work, or a call outside a unit of work, is retried. A verb in the middle of a unit of work is never retried,
because the queue manager may have backed out the earlier messages.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass
from types import TracebackType
from typing import Any, NamedTuple, ParamSpec, TypeVar

import tenacity

from mqgroups.errors import MQGroupsError, MQIError, NotAuthorised
from mqgroups.mqi import constants as mq
from mqgroups.mqi.reasons import CONNECTION_BROKEN, HANDLE_LOST, NOT_OURS
from mqgroups.telemetry import metrics

Sleep = Callable[[float], None]
_P = ParamSpec("_P")
_T = TypeVar("_T")

# The queue manager, its listener or its channel is not available at the moment.
CONNECT_LATER = (CONNECTION_BROKEN - NOT_OURS) | {mq.MQRC_MAX_CONNS_LIMIT_REACHED, mq.MQRC_STANDBY_Q_MGR}
# The previous owner of a status queue still has it open.
OWNER_ACTIVE = frozenset({mq.MQRC_OBJECT_IN_USE})
# A unit of work that is known not to be committed is redone after these reason codes: the connection or a handle is gone, the
# queue manager has backed out, or its log has no room until units of work end (2102).
REDO = (
    (CONNECT_LATER - {mq.MQRC_MAX_CONNS_LIMIT_REACHED, mq.MQRC_STANDBY_Q_MGR})
    | HANDLE_LOST
    | {mq.MQRC_CALL_INTERRUPTED, mq.MQRC_BACKED_OUT, mq.MQRC_RESOURCE_PROBLEM}
)
# If a unit of work cannot be redone for one of these reason codes, the cause may go away by itself.
REDO_LATER = REDO | CONNECT_LATER | OWNER_ACTIVE | {mq.MQRC_CLUSTER_PUT_INHIBITED}
# These reason codes may go away: a consumer or an operator may make room, or an operator may enable puts again. Or a cluster is
# being refreshed, and its objects are not known for a short time (IBM MQ, "REFRESH CLUSTER").
NO_ROOM = frozenset(
    {
        mq.MQRC_Q_FULL,
        mq.MQRC_Q_SPACE_NOT_AVAILABLE,
        mq.MQRC_STORAGE_MEDIUM_FULL,
        mq.MQRC_PUT_INHIBITED,
        mq.MQRC_CLUSTER_PUT_INHIBITED,
        mq.MQRC_UNKNOWN_OBJECT_NAME,
        mq.MQRC_UNKNOWN_ALIAS_BASE_Q,
        mq.MQRC_UNKNOWN_REMOTE_Q_MGR,
        mq.MQRC_CLUSTER_RESOLUTION_ERROR,
        mq.MQRC_NO_DESTINATIONS_AVAILABLE,
    }
)
_FIRST_PAUSE_S = 0.02
# Pauses between tries to connect grow longer than other pauses. They grow longest while there is no room for a connection.
_LONGEST_TO_CONNECT_S, _LONGEST_WITHOUT_ROOM_S = 5.0, 20.0
# The first pause after MQCONNX was refused with 2035. Each next pause is twice as long, because a few wrong passwords lock an
# account. 2035 is retried because it may be temporary in a failover, or until a file has the queue manager's new password.
_REFUSED_S = 60.0
_NO_CONNECTION_LEFT = frozenset({mq.MQRC_MAX_CONNS_LIMIT_REACHED, mq.MQRC_CHANNEL_NOT_AVAILABLE})
# Longer pauses are slept in parts, so that ``stop()`` need not wait for them.
_SLEEP_S = 1.0
_MOST_DOUBLINGS = 30


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to retry. Pauses grow and have jitter, so that many waiting programs do not retry at the same moment.

    Attributes:
        wait_s: how long to retry, in seconds; 0 means a single try.
        first_s, longest_s: the first and the longest pause between two tries, in seconds. Pauses between two MQCONNX are longer.
    """

    wait_s: float
    first_s: float = _FIRST_PAUSE_S
    longest_s: float = 1.0


NEVER = Patience(0)


Say = Callable[[MQIError, float], None]


def ask(function: Callable[_P, object], *args: _P.args, **kwargs: _P.kwargs) -> None:
    """Call a function of the application. If it raises an MQIError, mark the error as final, so that nothing is redone."""
    try:
        function(*args, **kwargs)
    except MQIError as error:
        error.is_final = True
        raise


class Relapse(NamedTuple):
    """The number and times of failures at one place. After each failure the work was redone.

    Attributes:
        place: where the work failed. Equal values mean the same place.
        times: the number of failures.
        since_s, last_s: the ``time.monotonic()`` of the first and of the last failure.
    """

    place: object
    times: int
    since_s: float
    last_s: float


def relapsed(before: Relapse | None, place: object, error: MQIError, most_s: float, sleep: Sleep) -> Relapse:
    """Pause, and return ``before`` with one more failure. Return a new relapse if ``before`` is too old or has another place.

    Raises ``error`` if failures have continued for longer than ``most_s``, for example because each new handle is lost.
    """
    now_s = time.monotonic()
    if before is None or before.place != place or now_s - before.last_s > most_s:
        return Relapse(place, 1, now_s, now_s)
    if now_s - before.since_s > most_s:
        error.is_final = True
        raise error
    sleep(min(_FIRST_PAUSE_S * 2.0 ** min(before.times, _MOST_DOUBLINGS), _SLEEP_S))
    return Relapse(place, before.times + 1, before.since_s, time.monotonic())


class Retrying(tenacity.Retrying):
    """A policy that repeats a call. It stops after success, after an error that is not retried, or when time is over."""

    def __call__(self, fn: Callable[..., _T], *args: Any, **kwargs: Any) -> _T:
        """Return the result of ``fn``, or raise its last error. The traceback has the frames of ``fn``, without tenacity's."""
        frames: dict[MQGroupsError, TracebackType | None] = {}

        def attempt() -> _T:
            try:
                return fn(*args, **kwargs)
            except MQGroupsError as error:
                frames.clear()
                frames[error] = error.__traceback__ and error.__traceback__.tb_next
                raise

        try:
            return super().__call__(attempt)
        except MQGroupsError as error:
            raise error.with_traceback(frames.pop(error, error.__traceback__)) from error.__cause__
        finally:
            # A traceback that refers to itself would keep the objects of its frames alive, such as a half-made producer.
            frames.clear()


def pauses(policy: Retrying) -> Generator[None, MQIError, None]:
    """Return a generator for a caller that makes the tries itself. Call ``next`` once, then send it the error of each failed try.

    The generator pauses, or raises the error when the time is over.
    """
    for attempt in policy:
        with attempt:
            raise (yield)


def retrying(
    patience: Patience,
    reasons: frozenset[int],
    sleep: Sleep,
    say: Say | None = None,
    until: Callable[[], bool] = lambda: False,
    q_mgr_name: str = "",
) -> Retrying:
    """Return a policy that retries after an ``MQIError`` with one of these reasons, and raises all other errors.

    ``say`` gets the error and the coming pause in seconds, before the first pause and whenever pauses have become much longer.
    When ``until`` returns true, there are no more retries. ``q_mgr_name``: the queue manager's name, for metrics.
    """
    longest_s = 0.0
    refusals = 0
    out_of_time = tenacity.stop_after_delay(patience.wait_s)
    waits_for_connection = mq.MQRC_CONNECTION_BROKEN in reasons

    def qualifies(error: BaseException) -> bool:
        if not isinstance(error, MQIError) or error.is_final:
            return False
        return error.reason in reasons or (waits_for_connection and error.while_reconnecting)

    def pause_s(state: tenacity.RetryCallState) -> float:
        nonlocal refusals
        error = state.outcome.exception() if state.outcome else None
        longest_s = _longest_to_connect_s(error)
        grown_s = patience.first_s * 2.0 ** min(state.attempt_number - 1, _MOST_DOUBLINGS)
        if longest_s is None:
            return min(grown_s, patience.longest_s) + random.uniform(0, patience.first_s)
        # Thousands of programs may have lost their connections at the same moment.
        pause_s = min(grown_s, longest_s) * random.uniform(1, 1.25)
        if isinstance(error, NotAuthorised):
            pause_s = _REFUSED_S * 2.0**refusals
            refusals += 1
        left_s = patience.wait_s - (state.seconds_since_start or 0.0)
        return min(pause_s, max(left_s, 0.0) + patience.first_s)

    def nap(seconds: float) -> None:
        while seconds > 1.5 * _SLEEP_S and not until():
            sleep(_SLEEP_S)
            seconds -= _SLEEP_S
        if not until():
            sleep(seconds)

    def before_sleep(state: tenacity.RetryCallState) -> None:
        nonlocal longest_s
        error = state.outcome.exception() if state.outcome else None
        if not isinstance(error, MQIError):
            return
        metrics.retried(q_mgr_name, error.reason)
        pause_s = state.upcoming_sleep
        if state.attempt_number == 1:
            longest_s = 0.0
        if say is not None and pause_s > 1.5 * longest_s:
            longest_s = pause_s
            say(error, pause_s)

    return Retrying(
        sleep=nap,
        before_sleep=before_sleep,
        stop=lambda state: until() or out_of_time(state),
        wait=pause_s,
        retry=tenacity.retry_if_exception(qualifies),
        reraise=True,
    )


def _longest_to_connect_s(error: BaseException | None) -> float | None:
    """Return the longest pause allowed before the next MQCONNX; ``None`` if the error is not an error of MQCONNX."""
    if not isinstance(error, MQIError) or error.verb != "MQCONNX":
        return None
    return _LONGEST_WITHOUT_ROOM_S if error.reason in _NO_CONNECTION_LEFT else _LONGEST_TO_CONNECT_S
