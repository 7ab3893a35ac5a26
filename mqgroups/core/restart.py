"""What a status record means for the one who starts: one pure function, and after it the normal path."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from mqgroups.core.model import Role
from mqgroups.core.status import RecordState, StatusRecord


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


_BY_STATE = {
    RecordState.IN_GROUP: RestartAction.RESUME_GROUP,
    RecordState.COMPLETED: RestartAction.CONTINUE_AFTER_COMPLETED,
}


def restart_action(record: StatusRecord | None, expectations: Expectations) -> RestartDecision:
    """Say what to do, given the record on the status queue (``None``: it is empty) and whose it has to be.

    A record of another name, role, queue or queue manager is never used and never overwritten: it tells of somebody
    else's interrupted group, or that this program was pointed at the wrong place.
    """
    if record is None:
        return RestartDecision(RestartAction.START_NEW_GROUP)
    pairs = (
        ("role", record.role.value, expectations.role.value),
        ("name", record.name, expectations.name),
        ("queue", record.queue, expectations.queue),
        ("q_mgr_identifier", record.q_mgr_identifier, expectations.q_mgr_identifier),
    )
    for field, found, expected in pairs:
        if found != expected:
            return RestartDecision(RestartAction.STOP_FOR_OPERATOR, Mismatch(field, found, expected))
    return RestartDecision(_BY_STATE[record.state])
