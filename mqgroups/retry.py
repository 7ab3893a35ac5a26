"""When to try again, how often and how long: tenacity policies as values, and the tables of reasons that qualify.

What is tried again is always a whole unit of work, or a call outside one: never a verb in the middle of one, whose
messages the queue manager may have backed out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import tenacity

from mqgroups.errors import MQIError
from mqgroups.mqi import constants as mq
from mqgroups.telemetry import metrics

Sleep = Callable[[float], None]

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


def retrying(patience: Patience, reasons: frozenset[int], sleep: Sleep) -> tenacity.Retrying:
    """Return the tenacity policy that tries again on an ``MQIError`` with one of these reasons, and lets others through."""

    def qualifies(error: BaseException) -> bool:
        return isinstance(error, MQIError) and error.reason in reasons

    def count(state: tenacity.RetryCallState) -> None:
        error = state.outcome.exception() if state.outcome else None
        if isinstance(error, MQIError):
            metrics.retried(error.reason)

    return tenacity.Retrying(
        sleep=sleep,
        before_sleep=count,
        stop=tenacity.stop_after_delay(patience.wait_s),
        wait=tenacity.wait_exponential(multiplier=patience.first_s, max=patience.longest_s)
        + tenacity.wait_random(0, patience.first_s),
        retry=tenacity.retry_if_exception(qualifies),
        reraise=True,
    )
