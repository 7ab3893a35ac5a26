"""Retries: which reason codes are retried, how long, and with which pauses, as tenacity policies.

Only a whole unit of work, or a call outside a unit of work, is retried. A verb in the middle of a unit of work is never retried,
because the queue manager may have backed out the messages before it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import ParamSpec, TypeVar

import tenacity

from mqgroups.errors import MQGroupsError, MQIError
from mqgroups.mqi import constants as mq
from mqgroups.telemetry import metrics

Sleep = Callable[[float], None]
_P = ParamSpec("_P")
_T = TypeVar("_T")

# The queue manager, its listener or its channel is not available at the moment.
CONNECT_LATER = frozenset(
    {
        mq.MQRC_CONNECTION_BROKEN,
        mq.MQRC_MAX_CONNS_LIMIT_REACHED,
        mq.MQRC_Q_MGR_NOT_AVAILABLE,
        mq.MQRC_Q_MGR_QUIESCING,
        mq.MQRC_Q_MGR_STOPPING,
        mq.MQRC_CONNECTION_QUIESCING,
        mq.MQRC_CONNECTION_STOPPING,
        mq.MQRC_CHANNEL_NOT_AVAILABLE,
        mq.MQRC_HOST_NOT_AVAILABLE,
        mq.MQRC_STANDBY_Q_MGR,
    }
)
# The previous owner of a status queue still has it open.
OWNER_ACTIVE = frozenset({mq.MQRC_OBJECT_IN_USE})
# After these a unit of work is redone, once it is known that it was not committed: the connection is gone, or the queue manager
# has backed out.
REDO = (CONNECT_LATER - {mq.MQRC_MAX_CONNS_LIMIT_REACHED, mq.MQRC_STANDBY_Q_MGR}) | {
    mq.MQRC_CALL_INTERRUPTED,
    mq.MQRC_BACKED_OUT,
}
# Failures while redoing a unit of work that may go away by themselves.
REDO_LATER = REDO | CONNECT_LATER | OWNER_ACTIVE
# A consumer or an operator may make room, or an operator may enable puts again.
NO_ROOM = frozenset({mq.MQRC_Q_FULL, mq.MQRC_Q_SPACE_NOT_AVAILABLE, mq.MQRC_STORAGE_MEDIUM_FULL, mq.MQRC_PUT_INHIBITED})


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to retry. Pauses grow and have jitter, so that many waiting programs do not retry at the same moment.

    Attributes:
        wait_s: give up after this time, in seconds; 0 tries once.
        first_s, longest_s: the first and the longest pause between two tries, in seconds.
    """

    wait_s: float
    first_s: float = 0.02
    longest_s: float = 1.0


NEVER = Patience(0)


Say = Callable[[MQIError, float], None]


def _never() -> bool:
    return False


def ask(function: Callable[_P, object], *args: _P.args, **kwargs: _P.kwargs) -> None:
    """Call a function of the application. An MQIError that it raises is not of this connection, so nothing is redone after it."""
    try:
        function(*args, **kwargs)
    except MQIError as error:
        error.is_final = True
        raise


class Again:
    """Calls a function until it succeeds, fails with an error that is not retried, or the time is over. Made by ``retrying``."""

    def __init__(self, policy: tenacity.Retrying) -> None:
        self._policy = policy

    def __call__(self, function: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """Return the function's result, or raise its last error, without tenacity's frames in the traceback."""
        try:
            return self._policy(function, *args, **kwargs)
        except MQGroupsError as error:
            raise error.with_traceback(_without_policy(error.__traceback__)) from error.__cause__


def retrying(
    patience: Patience,
    reasons: frozenset[int],
    sleep: Sleep,
    say: Say | None = None,
    until: Callable[[], bool] = _never,
) -> Again:
    """Return a caller that retries on an ``MQIError`` with one of these reasons, and raises all other errors.

    ``say`` is called with the error and the coming pause in seconds, before the first pause and before each clearly longer one.
    When ``until`` returns true, there are no more retries.
    """
    longest_s = 0.0
    out_of_time = tenacity.stop_after_delay(patience.wait_s)

    def qualifies(error: BaseException) -> bool:
        return isinstance(error, MQIError) and error.reason in reasons and not error.is_final

    def before_sleep(state: tenacity.RetryCallState) -> None:
        nonlocal longest_s
        error = state.outcome.exception() if state.outcome else None
        if not isinstance(error, MQIError):
            return
        metrics.retried(error.reason)
        pause_s = state.upcoming_sleep
        if state.attempt_number == 1:
            longest_s = 0.0
        if say is not None and pause_s > 1.5 * longest_s:
            longest_s = pause_s
            say(error, pause_s)

    return Again(
        tenacity.Retrying(
            sleep=sleep,
            before_sleep=before_sleep,
            stop=lambda state: until() or out_of_time(state),
            wait=tenacity.wait_exponential(multiplier=patience.first_s, max=patience.longest_s)
            + tenacity.wait_random(0, patience.first_s),
            retry=tenacity.retry_if_exception(qualifies),
            reraise=True,
        )
    )


def _without_policy(traceback: TracebackType | None) -> TracebackType | None:
    """Return a traceback without the frames of tenacity."""
    while traceback is not None and _is_of_policy(traceback):
        traceback = traceback.tb_next
    if traceback is not None:
        traceback.tb_next = _without_policy(traceback.tb_next)
    return traceback


def _is_of_policy(traceback: TracebackType) -> bool:
    return str(traceback.tb_frame.f_globals.get("__name__", "")).partition(".")[0] == "tenacity"
