"""Cases by name: ``put/classic/plain drop-after@12 kill_client-before@20`` is a pattern and its faults.

A fault is ``ACTION-WHEN@N`` at the N-th MQI call of the program, ``answer.REASON-WHEN@N``, or ``...@MQPUT.N`` at the N-th of one
verb. After ``failover@N`` the connection is lost, and tries to connect are refused for a while. Calls are counted over all starts
of the program. Every failure is reported by such a name, which runs it again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mqembedded import Fault
from mqgroups.mqi import constants as mq
from tests.faults.pattern import Pattern

# A commit that ends in one of these is in doubt.
IN_DOUBT = (
    mq.MQRC_CONNECTION_BROKEN,
    mq.MQRC_Q_MGR_STOPPING,
    mq.MQRC_CONNECTION_STOPPING,
    mq.MQRC_CALL_INTERRUPTED,
)
# What a queue manager may answer instead of doing what a verb asks for.
REFUSALS = {
    "MQPUT": (
        mq.MQRC_Q_FULL,
        mq.MQRC_STORAGE_MEDIUM_FULL,
        mq.MQRC_SYNCPOINT_LIMIT_REACHED,
        mq.MQRC_BACKED_OUT,
        mq.MQRC_RESOURCE_PROBLEM,
        mq.MQRC_OBJECT_CHANGED,
    ),
    "MQGET": (mq.MQRC_SYNCPOINT_LIMIT_REACHED, mq.MQRC_BACKED_OUT, mq.MQRC_OBJECT_CHANGED),
    "MQCMIT": (mq.MQRC_BACKED_OUT, mq.MQRC_RESOURCE_PROBLEM),
    "MQINQ": (mq.MQRC_OBJECT_CHANGED,),
    "MQSTAT": (mq.MQRC_RESOURCE_PROBLEM,),
}
# After these the library redoes the unit of work by itself.
REDONE = {mq.MQRC_BACKED_OUT, mq.MQRC_RESOURCE_PROBLEM, mq.MQRC_OBJECT_CHANGED}
# What tries to connect get until a failover is over: another queue manager at the address, security not up yet, no backend, a
# channel not defined yet, no storage yet. Not 2035, after which the next try is a minute later.
FAILOVER = (
    mq.MQRC_Q_MGR_NAME_ERROR,
    mq.MQRC_SECURITY_ERROR,
    mq.MQRC_SSL_INITIALIZATION_ERROR,
    mq.MQRC_UNKNOWN_CHANNEL_NAME,
    mq.MQRC_UNEXPECTED_ERROR,
    mq.MQRC_RESOURCE_PROBLEM,
)
LOST = ("drop-before", "drop-after")
KILLED = ("kill_client-before", "kill_client-after")


def faults_at(text: str) -> list[Fault]:
    """Return the faults that a part of a case's name says; ``failover@N`` are several."""
    what, _, nth = text.partition("@")
    if what != "failover":
        return [fault_at(text)]
    # The first MQCONNX is the program's start.
    answers = [Fault("answer", nth=n, verb="MQCONNX", reason=reason) for n, reason in enumerate(FAILOVER, 2)]
    return [Fault("drop", "after", int(nth)), *answers]


def fault_at(text: str) -> Fault:
    """Return the fault that a part of a case's name says."""
    what, _, where = text.partition("@")
    how, _, when = what.rpartition("-")
    action, _, reason = how.partition(".")
    verb, _, nth = where.rpartition(".")
    return Fault(action, when, int(nth), verb=verb, reason=int(reason or 0))


def case_name(pattern: Pattern, faults: Sequence[str]) -> str:
    """Return a case's name."""
    return " ".join((pattern.name, *faults))


def single_faults(calls: Sequence[tuple[str, int]], nth: int) -> Iterator[str]:
    """Yield every single fault at the n-th of the calls that an undisturbed program makes."""
    verb = calls[nth - 1][0]
    for what in (*KILLED, *LOST, "failover"):
        yield f"{what}@{nth}"
    for reason in IN_DOUBT if verb == "MQCMIT" else (mq.MQRC_CONNECTION_BROKEN,):
        for when in ("before", "after"):
            yield f"answer.{reason}-{when}@{nth}"
    for reason in REFUSALS.get(verb, ()):
        yield f"answer.{reason}-before@{nth}"
    if verb == "MQCMIT":
        for when in ("before", "after"):
            yield f"kill_server-{when}@{nth}"


def second_faults(kinds: Sequence[str], after: int, calls: int) -> Iterator[str]:
    """Yield a second fault at each call behind the first one's, up to the last that the recovery makes."""
    for nth in range(after + 1, calls + 1):
        for what in kinds:
            yield f"{what}@{nth}"
