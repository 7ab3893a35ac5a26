"""What a status record means: for the one who starts, and for the one whose commit had no answer. After it, the normal path."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from mqgroups.core.model import Role
from mqgroups.core.status import Mark, RecordState, StatusRecord


class RestartAction(Enum):
    """What a producer or a consumer does first."""

    START_NEW_GROUP = "start a new group"
    RESUME_GROUP = "resume the group"
    CONTINUE_AFTER_COMPLETED = "continue after a completed group"
    STOP_FOR_OPERATOR = "stop for an operator"


@dataclass(frozen=True, slots=True)
class Expectations:
    """What a record has to say to be this starter's own."""

    role: Role
    name: str
    queue: str
    q_mgr_identifier: str


@dataclass(frozen=True, slots=True)
class Mismatch:
    """The field in which a record is not this starter's own."""

    field: str
    found: str
    expected: str


@dataclass(frozen=True, slots=True)
class RestartDecision:
    """What to do; for ``STOP_FOR_OPERATOR`` also why."""

    action: RestartAction
    mismatch: Mismatch | None = None


class CommitOutcome(Enum):
    """What became of a unit of work."""

    COMMITTED = "committed"
    BACKED_OUT = "backed out"
    OWNERSHIP_LOST = "ownership lost"


_BY_STATE = {
    RecordState.IDLE: RestartAction.START_NEW_GROUP,
    RecordState.IN_GROUP: RestartAction.RESUME_GROUP,
    RecordState.COMPLETED: RestartAction.CONTINUE_AFTER_COMPLETED,
}


def restart_action(record: StatusRecord | None, expectations: Expectations) -> RestartDecision:
    """Say what to do, given the record on the status queue (``None``: it is empty) and whose it has to be.

    A record of another name, role, queue or queue manager is never used and never overwritten: it tells of somebody
    else's interrupted group, or that this program was pointed at the wrong place. Of another queue or queue manager only if it
    speaks; else it is nobody's group (a program was started with a wrong queue name, and is started with the right one now).
    """
    if record is None:
        return RestartDecision(RestartAction.START_NEW_GROUP)
    pairs = [("role", record.role.value, expectations.role.value), ("name", record.name, expectations.name)]
    if record.speaks:
        pairs.append(("queue", record.queue, expectations.queue))
        pairs.append(("q_mgr_identifier", record.q_mgr_identifier, expectations.q_mgr_identifier))
    for field, found, expected in pairs:
        if found != expected:
            return RestartDecision(RestartAction.STOP_FOR_OPERATOR, Mismatch(field, found, expected))
    return RestartDecision(_BY_STATE[record.state])


def commit_outcome(found: Mark | None, before: Mark | None, after: Mark | None) -> CommitOutcome:
    """Say what became of a unit of work, by the record that is on the status queue once nobody else has it open.

    Args:
        found: the mark of the record there is; ``None`` without one.
        before: of the record of the commit before.
        after: of the record that the commit was to leave; ``None`` if it was to take it away.

    An owner's record is there from its first call to its last. What is neither the one nor the other was put, or taken
    away, by somebody else: another instance owns the name, or did in the meantime.
    """
    if found == after:
        return CommitOutcome.COMMITTED
    if found == before:
        return CommitOutcome.BACKED_OUT
    return CommitOutcome.OWNERSHIP_LOST
