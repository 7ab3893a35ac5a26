"""When to try again, how often and how long: tenacity policies as values, and the tables of reasons that qualify.

What is tried again is always a whole unit of work, or a call outside one: never a verb in the middle of one, whose
messages the queue manager may have backed out.
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

# The queue manager, its listener or its channel is not there yet, or not any more.
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
# The previous owner of a status queue has it open still.
OWNER_ACTIVE = frozenset({mq.MQRC_OBJECT_IN_USE})
# After these a unit of work is done again, once it is known that it was not committed: the connection is gone, or the queue
# manager has backed out.
REDO = (CONNECT_LATER - {mq.MQRC_MAX_CONNS_LIMIT_REACHED, mq.MQRC_STANDBY_Q_MGR}) | {
    mq.MQRC_CALL_INTERRUPTED,
    mq.MQRC_BACKED_OUT,
}
# What may go wrong in doing so, and still come right.
REDO_LATER = REDO | CONNECT_LATER | OWNER_ACTIVE
# A consumer will make room, or an operator will, or will allow puts again.
NO_ROOM = frozenset({mq.MQRC_Q_FULL, mq.MQRC_Q_SPACE_NOT_AVAILABLE, mq.MQRC_STORAGE_MEDIUM_FULL, mq.MQRC_PUT_INHIBITED})


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to go on trying: at growing intervals with jitter, so that many who wait do not come back at once.

    Attributes:
        wait_s: give up after this time, seconds; 0 tries once.
        first_s, longest_s: the first and the longest pause between two tries, seconds.
    """

    wait_s: float
    first_s: float = 0.02
    longest_s: float = 1.0


NEVER = Patience(0)


Say = Callable[[MQIError, float], None]


class Again:
    """Calls a function until it succeeds, fails for good, or patience is over. Made by ``retrying``."""

    def __init__(self, policy: tenacity.Retrying) -> None:
        self._policy = policy

    def __call__(self, function: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """Return what the function does at last; raises its last error, whose traceback tells nothing of what is in between."""
        try:
            return self._policy(function, *args, **kwargs)
        except MQGroupsError as error:
            raise error.with_traceback(_without_policy(error.__traceback__)) from error.__cause__


def retrying(patience: Patience, reasons: frozenset[int], sleep: Sleep, say: Say | None = None) -> Again:
    """Return what tries again on an ``MQIError`` with one of these reasons, and lets others through.

    ``say`` is told the error and the pause behind it, seconds, before each pause that is longer than those before it.
    """
    longest_s = 0.0

    def qualifies(error: BaseException) -> bool:
        return isinstance(error, MQIError) and error.reason in reasons

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
            stop=tenacity.stop_after_delay(patience.wait_s),
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
