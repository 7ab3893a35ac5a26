"""Interprets a status record, for an owner that starts and for an owner whose commit had no answer."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

from mqgroups.core.group import GroupPosition
from mqgroups.core.group_properties import NO_PROPERTIES
from mqgroups.core.model import GROUP_ID_NONE, Role
from mqgroups.core.status import Mark, RecordState, StatusRecord


@dataclass(frozen=True, slots=True)
class Expectations:
    """The fields by which an owner recognises its own record when it starts."""

    role: Role
    name: str
    queue: str
    q_mgr_identifier: str


@dataclass(frozen=True, slots=True)
class Mismatch:
    """The field in which a record differs from what its reader expects."""

    field: str
    found: str
    expected: str


class CommitOutcome(Enum):
    """The outcome of a unit of work."""

    COMMITTED = "committed"
    BACKED_OUT = "backed out"
    OWNERSHIP_LOST = "ownership lost"


def mismatch_of(record: StatusRecord, expectations: Expectations) -> Mismatch | None:
    """Return the first field that shows that a record is not the expected owner's; ``None`` if it is that owner's record.

    A record with another name, role, queue or queue manager is never used and never overwritten. It belongs to another program's
    interrupted group, or this program was given the wrong queue. If nobody needs a record (``StatusRecord.is_needed`` is false),
    its queue and queue manager are not compared, because a program may once have been started with a wrong queue name.
    """
    pairs = [("role", record.role.value, expectations.role.value), ("name", record.name, expectations.name)]
    if record.is_needed:
        pairs.append(("queue", record.queue, expectations.queue))
        pairs.append(("q_mgr_identifier", record.q_mgr_identifier, expectations.q_mgr_identifier))
    return next((Mismatch(*pair) for pair in pairs if pair[1] != pair[2]), None)


def position_of(record: StatusRecord) -> GroupPosition:
    """Return a record's position in its group."""
    return GroupPosition(record.group_id, record.msg_seq_number, record.offset, record.in_last_message)


def idle_record(of: Expectations | StatusRecord, unit_of_work: int = 0) -> StatusRecord:
    """Return a record for a name, without group, suspect and checkpoint. If ``of`` is a record, keep its owner and epoch."""
    owner_id, epoch = (of.owner_id, of.epoch) if isinstance(of, StatusRecord) else ("", 0)
    return StatusRecord(
        role=of.role,
        name=of.name,
        state=RecordState.IDLE,
        owner_id=owner_id,
        epoch=epoch,
        unit_of_work=unit_of_work,
        queue=of.queue,
        group_id=GROUP_ID_NONE,
        msg_seq_number=0,
        q_mgr_identifier=of.q_mgr_identifier,
        properties=NO_PROPERTIES,
    )


def keeps_on_claim(record: StatusRecord, expectations: Expectations) -> bool:
    """Return whether a starting owner keeps the contents of a record, and writes only its own identity into it.

    It keeps a record that is needed. It also keeps the record of a group that a consumer completed on the same queue, because the
    next group is compared with that group.
    """
    is_here = (record.queue, record.q_mgr_identifier) == (expectations.queue, expectations.q_mgr_identifier)
    return record.is_needed or (record.role is Role.GET and record.state is RecordState.COMPLETED and is_here)


@dataclass(frozen=True, slots=True)
class Move:
    """A move to another queue manager: an owner's queues, an instance of a cluster queue, or both were moved with their messages.

    Attributes:
        old, new: QMIDs of the queue manager that held the status queue, and of the one that holds it now.
        q_mgr_name: the name of the queue manager that holds the status queue now.
        instance: the name of the queue manager that a producer's group went to, and the name of the queue manager that has the
            group's messages now. Both names are empty if these messages were not moved.
    """

    old: str
    new: str
    q_mgr_name: str
    instance: tuple[str, str] = ("", "")


def adopted(record: StatusRecord, move: Move) -> StatusRecord | Mismatch:
    """Return the record as it must be after a move; a Mismatch if the record does not belong to this move.

    The rest of a producer's group is put to the queue manager that the record names. If the record names the old queue manager,
    an operator must give the present name, because the rest would otherwise go to the old queue manager. A QMID begins with the
    queue manager's name (read in IBM's documentation, not tried on IBM MQ).
    """
    found, went_to = record.q_mgr_identifier, record.resolved_q_mgr_name
    if found not in (move.old, move.new):
        return Mismatch("q_mgr_identifier", found, move.old)
    if record.role is Role.PUT and record.state is RecordState.IN_GROUP and went_to:
        before, after = move.instance
        if went_to == before:
            went_to = after
        elif went_to not in (after, move.q_mgr_name) and move.old.startswith((f"{went_to}_", f"{went_to}.")):
            return Mismatch("resolved_q_mgr_name", went_to, move.q_mgr_name)
    return replace(record, q_mgr_identifier=move.new, resolved_q_mgr_name=went_to)


def commit_outcome(found: Mark | None, before: Mark | None, after: Mark | None) -> CommitOutcome:
    """Return the outcome of a unit of work, as the record on the queue shows it. The caller has the queue open exclusively.

    Args:
        found: the mark of the record on the queue; ``None`` if there is no record.
        before: the mark of the record that the previous commit left.
        after: the mark of the record that this commit was to leave; ``None`` if this commit was to remove the record.

    An owner's record is on the queue from the owner's first commit to its last. A mark that is neither ``before`` nor ``after``
    means that another instance owns the name, or owned it in the meantime.
    """
    if found == after:
        return CommitOutcome.COMMITTED
    if found == before:
        return CommitOutcome.BACKED_OUT
    return CommitOutcome.OWNERSHIP_LOST
