"""Look at an owner's status queue without being its owner: what would the next start of that producer or consumer find?

For whoever starts applications: an init step, a supervisor, an operator. The queue is opened as its owner opens it, so what
is seen is what a start would see; while an owner has it, it can be browsed only. Nothing is changed, except, if asked for, that
a record is removed that is no longer needed. A start does not need that; it keeps the status queue empty where an owner
does not come back.

Not here: to resume. That is what the next start of the owner does.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

from mqgroups.config import (
    STATUS_MODEL,
    checked_name,
    checked_queue_name,
    checked_role,
    checked_seconds,
    status_queue_name,
)
from mqgroups.connection.connection import Connection
from mqgroups.connection.holder import ConnectionHolder, connection_of
from mqgroups.core.modes import RoleName
from mqgroups.core.restart import Expectations, RestartAction, restart_action
from mqgroups.core.status import StatusRecord
from mqgroups.errors import MQIError, OwnerActive, QueueMissing, StatusError, StatusRecordHidden
from mqgroups.status.queue import StatusQueue, foreign_record, held_by, take_away


class OwnerState(Enum):
    """What a producer or consumer that starts would find."""

    UNKNOWN = "unknown"
    FREE = "free"
    INTERRUPTED = "interrupted"
    ACTIVE = "active"


@dataclass(frozen=True, slots=True)
class OwnerStatus:
    """What is on an owner's status queue.

    Attributes:
        role, name: of the producer (``"put"``) or consumer (``"get"``).
        status_queue: its name.
        state: ``UNKNOWN``: there is no status queue, so no owner of this name was ever here, or its queue was deleted. ``FREE``:
            there is one, and nothing is interrupted (a predefined queue is there before its owner). ``INTERRUPTED``: a group is,
            and the next start resumes it. ``ACTIVE``: another instance of this name has the status queue, or is not gone yet.
        record: the status record, as far as it can be seen; ``None`` without one, and where there is no such queue.
        taken_away: whether the record is gone now, because it is no longer needed.
        hidden: whether nobody has the status queue open, and there is an anchor without its record: a unit of work hides the
            record until the queue manager has backed it out. (Or the record is lost; ``salvage_owner`` tells.)
    """

    role: RoleName
    name: str
    status_queue: str
    state: OwnerState
    record: StatusRecord | None = None
    taken_away: bool = False
    hidden: bool = False


def inspect_owner(
    q_mgr: ConnectionHolder,
    name: str,
    role: RoleName,
    *,
    queue: str | None = None,
    status_queue: str | None = None,
    status_model: str | None = STATUS_MODEL,
    wait_s: float = 0.0,
    tidy: bool = False,
) -> OwnerStatus:
    """Say what a start of the producer or consumer of this name would find, without being one.

    Args:
        q_mgr: a connected queue manager (``mqgroups.connect``, ``mqgroups.wrap``).
        name: of the producer or consumer.
        role: ``"put"`` for a producer, ``"get"`` for a consumer.
        queue: which it puts to or gets from, to be compared with its record; by default that is not looked at.
        status_queue: by default ``MQGROUPS.PUT.<name>`` or ``MQGROUPS.GET.<name>``.
        status_model: the model queue its status queue would be made from. It is tried where the status queue does not
            exist: the queue is made and deleted again. ``None`` does not try.
        wait_s: how long to wait for another owner of this name to go, seconds.
        tidy: remove a record that is no longer needed: of no group, or of a completed one without a checkpoint.

    Raises:
        ConfigurationError: a name or role cannot be.
        StatusError: the status queue is not what it must be, and a start would be refused; nothing was changed.
        MQIError: a call failed.
    """
    owner_role = checked_role(role)
    checked_name(name)
    if queue is not None:
        checked_queue_name("queue", queue)
    if status_model is not None:
        checked_queue_name("status_model", status_model)
    checked_seconds("wait_s", wait_s)
    status_queue = status_queue_name(owner_role, name, status_queue)
    connection = connection_of(q_mgr)

    def found(state: OwnerState, record: StatusRecord | None = None, *, taken_away: bool = False) -> OwnerStatus:
        return OwnerStatus(role, name, status_queue, state, record, taken_away)

    try:
        status = StatusQueue(connection, status_queue, status_model or "", wait_s)
    except QueueMissing:
        return found(OwnerState.UNKNOWN)
    except OwnerActive:
        return found(OwnerState.ACTIVE, _seen(connection, status_queue))
    try:
        if status.was_made:
            return found(OwnerState.UNKNOWN)
        record = status.read()
        expected_queue = record.queue if record and queue is None else queue or ""
        decision = restart_action(record, Expectations(owner_role, name, expected_queue, connection.q_mgr_identifier))
        if decision.mismatch is not None:
            raise foreign_record(status_queue, decision.mismatch)
        if decision.action is RestartAction.RESUME_GROUP:
            return found(OwnerState.INTERRUPTED, record)
        # A checkpoint says which group is next, to an application that puts or gets many; it stays until that forgets it.
        if record is None or record.speaks or not tidy:
            return found(OwnerState.FREE, record)
        take_away(connection, status, record)
        return found(OwnerState.FREE, record, taken_away=True)
    except (OwnerActive, StatusRecordHidden):
        return replace(found(OwnerState.ACTIVE), hidden=True)
    finally:
        status.close(delete=status.was_made)


def _seen(connection: Connection, status_queue: str) -> StatusRecord | None:
    try:
        return held_by(connection, status_queue)
    except (StatusError, MQIError):
        # Somebody has the queue: that is the answer. What else there is to tell, their unit of work may hide or change.
        return None
