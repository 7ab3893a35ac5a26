"""The state of a group on a queue: what its messages there and the status records of its owners say together.

Messages show what is missing; records show who puts or gets the group, and until when that owner worked. The first line that
applies is the state:

    doubled         a message is there twice, or a partner has used the GroupId for several groups
    inconsistent    messages after the last one
    gap             messages are missing between others
    abandoned       its producer has ended it without completing it, and its first message is there
    complete        all messages are there
    no beginning    its first message is gone, and no record says who gets it
    no record       its last message is not there yet, and no record says who puts it
    stalled         it is incomplete, and an owner of it is not at work, or nothing has happened for a while
    being got       its first message is gone
    being put       its last message is not there yet

A producer commits its record together with the messages, from the first unit of work on. So a group without one is never a normal
sight, if all records were looked at that may name it: those of the queue manager that made its GroupId. It is then the group of a
producer whose record is lost, or of a program that keeps no record.

Browsing takes time, and units of work hide messages. So a group that seems to have no beginning, or a gap, may be one that is
being got: ``operate/second_look.py`` finds that out.

"Nothing has happened" compares put times: those of the group's messages, and those of its owners' records, which are put with
each commit. PutDate and PutTime are UTC by the queue manager's clock (IBM MQ, topics PutDate and PutTime of MQMD), and are
compared as they are: 16 digits.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from enum import Enum

from mqgroups.core.model import Role
from mqgroups.operate.rules.inspection import GroupInspection


class GroupState(Enum):
    """The state of a group on a queue."""

    COMPLETE = "complete"
    BEING_PUT = "being put"
    BEING_GOT = "being got"
    STALLED = "stalled"
    ABANDONED = "abandoned"
    NO_BEGINNING = "no beginning"
    NO_RECORD = "no record"
    GAP = "gap"
    INCONSISTENT = "inconsistent"
    DOUBLED = "doubled"


@dataclass(frozen=True, slots=True)
class GroupOwner:
    """An owner whose status record names a group.

    Attributes:
        role, name: of the owner.
        status_queue: where its record is.
        is_active: whether a program works under this name; ``None`` if that is not known.
        committed_at: the put time of the record: of its last commit. 16 digits, UTC; empty if it is not known.
        group_name: the name of the group in the record; empty if it has none.
    """

    role: Role
    name: str
    status_queue: str
    is_active: bool | None
    committed_at: str = ""
    group_name: str = ""


@dataclass(frozen=True, slots=True)
class GroupJudgement:
    """The state of a group, and since when: the time of the last message or commit known of it (16 digits, UTC)."""

    state: GroupState
    since: str


def judged(
    group: GroupInspection, owners: Iterable[GroupOwner], quiet_since: str, records_of: Collection[str] = ()
) -> GroupJudgement:
    """Return the state of a group.

    Args:
        group: its messages on the queue.
        owners: those whose records name it as unfinished, at most one of each role.
        quiet_since: a group in which nothing has happened since this time is stalled; 16 digits, UTC.
        records_of: the queue managers on which the records of all producers were seen.
    """
    known = {owner.role: owner for owner in owners}
    since = max([group.last_put, *(owner.committed_at for owner in known.values())])
    state = _from_messages(group)
    if state is None and not group.has_head and Role.GET not in known:
        state = GroupState.NO_BEGINNING
    if state is None and not group.has_end and Role.PUT not in known and any(map(group.is_made_by, records_of)):
        state = GroupState.NO_RECORD
    if state is None:
        left = any(owner.is_active is False for owner in known.values())
        if left or since <= quiet_since:
            state = GroupState.STALLED
        else:
            state = GroupState.BEING_PUT if group.has_head else GroupState.BEING_GOT
    return GroupJudgement(state, since)


def _from_messages(group: GroupInspection) -> GroupState | None:
    """Return the state if the messages alone say it."""
    if group.is_doubled:
        return GroupState.DOUBLED
    if group.goes_on_after_last:
        return GroupState.INCONSISTENT
    if group.gaps:
        return GroupState.GAP
    if group.has_head and group.has_end:
        return GroupState.ABANDONED if group.abandoned else GroupState.COMPLETE
    return None
