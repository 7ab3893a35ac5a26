"""An interrupted group given to another owner: its status record moved from one status queue to another, in one unit of work.

For a producer or consumer that will not come back under its name. Both status queues are held exclusively meanwhile, so neither
owner works; the record says where the group stands, as it would to its own owner, and goes on saying it under the other name.
After a commit without an answer the record is on the one queue or on the other: ask again. That also removes the record that
says nothing, which a takeover leaves in the place of the one it moves until that is committed.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, replace

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
from mqgroups.core.model import Role
from mqgroups.core.modes import RoleName
from mqgroups.core.restart import Expectations, RestartAction, RestartDecision, restart_action
from mqgroups.core.status import StatusRecord
from mqgroups.errors import ConfigurationError, QueueMissing, TakeoverRefused
from mqgroups.status.queue import StatusQueue, take_away
from mqgroups.status.records import foreign_record, saying_nothing
from mqgroups.telemetry.repair import Repair


@dataclass(frozen=True, slots=True)
class Takeover:
    """The result of ``take_over``.

    Attributes:
        name: the owner that loses the group.
        by: the owner that gets it.
        record: the record that is written for ``by``; ``None`` if no group is interrupted.
        done: whether the group was taken over; ``False`` if it was only checked, or if no group is interrupted.
    """

    name: str
    by: str
    record: StatusRecord | None = None
    done: bool = False


def take_over(
    q_mgr: ConnectionHolder,
    name: str,
    role: RoleName,
    *,
    by: str,
    status_queue: str | None = None,
    by_status_queue: str | None = None,
    status_model: str = STATUS_MODEL,
    wait_s: float = 0.0,
    check: bool = False,
) -> Takeover:
    """Give an interrupted group to another name, for a producer or consumer that will not come back.

    The status record is moved, with position and checkpoint, and the next start of ``by`` resumes the group. The next start of
    ``name`` would begin a new group: start a producer of that name only with the input that comes after this group.

    Args:
        q_mgr: a connected queue manager (``mqgroups.connect``, ``mqgroups.wrap``).
        name: the producer or consumer that was interrupted; it must not be running.
        role: ``"put"`` for producers, ``"get"`` for consumers.
        by: the name that takes the group over; it must not be running either. Its next start has to name the same queue.
        status_queue, by_status_queue: the status queues of ``name`` and ``by``; by default ``MQGROUPS.PUT|GET.<name>``.
        status_model: the model queue to make the status queue of ``by`` from, if there is none.
        wait_s: how long to wait for instances of these names to end, seconds.
        check: return what would be done, and change nothing.

    Raises:
        TakeoverRefused: ``by`` has an interrupted group of its own, or a checkpoint; nothing was changed.
        OwnerActive: one of the two is running, or its unit of work is not backed out yet.
        CommitOutcomeUnknown: the connection was lost in MQCMIT; call it again.
        ConfigurationError, StatusError, MQIError: as for a start.
    """
    owner_role = checked_role(role)
    source = _Party(checked_name(name), status_queue_name(owner_role, name, status_queue))
    target = _Party(checked_name(by), status_queue_name(owner_role, by, by_status_queue))
    if source.name == target.name or source.status_queue == target.status_queue:
        raise ConfigurationError(f"{name!r} cannot take its own group over: start it, and it resumes")
    checked_queue_name("status_model", status_model)
    checked_seconds("wait_s", wait_s)
    return _taken_over(
        connection_of(q_mgr), owner_role, source, target, status_model=status_model, wait_s=wait_s, check=check
    )


@dataclass(frozen=True, slots=True)
class _Party:
    """One of the two owners: its name and its status queue."""

    name: str
    status_queue: str


def _taken_over(
    connection: Connection, role: Role, source: _Party, target: _Party, *, status_model: str, wait_s: float, check: bool
) -> Takeover:
    nothing = Takeover(source.name, target.name)
    try:
        theirs = StatusQueue(connection, source.status_queue, "", wait_s)
    except QueueMissing:
        return nothing
    try:
        record = theirs.read()
        if record is None or _decision(connection, role, source, record).action is not RestartAction.RESUME_GROUP:
            if record is not None and not record.speaks and not check:
                # A takeover whose commit had no answer leaves one, and a name that does not come back does not remove it.
                take_away(connection, theirs, record)
            return nothing
        ours = StatusQueue(connection, target.status_queue, status_model, wait_s)
        delete = ours.was_made
        try:
            there = ours.read()
            _refuse_what_would_be_lost(connection, role, target, there)
            epoch = there.epoch + 1 if there else 1
            given = replace(record, name=target.name, owner_id=uuid.uuid4().hex, epoch=epoch)
            if check:
                return replace(nothing, record=given)
            with Repair(connection.telemetry, record.queue, connection.q_mgr_name, record.traceparent) as repair:
                _move(connection, theirs, ours, record, given)
                repair.taken_over(given)
            delete = False
            return replace(nothing, record=given, done=True)
        finally:
            ours.close(delete=delete)
    finally:
        theirs.close()


def _decision(connection: Connection, role: Role, party: _Party, record: StatusRecord) -> RestartDecision:
    expected = Expectations(role, party.name, record.queue, connection.q_mgr_identifier)
    decision = restart_action(record, expected)
    if decision.mismatch is not None:
        raise foreign_record(party.status_queue, decision.mismatch)
    return decision


def _refuse_what_would_be_lost(connection: Connection, role: Role, target: _Party, there: StatusRecord | None) -> None:
    if there is None:
        return
    interrupted = _decision(connection, role, target, there).action is RestartAction.RESUME_GROUP
    if interrupted or there.checkpoint is not None:
        found = f"group {there.group_id.hex()}, interrupted" if interrupted else "a checkpoint"
        raise TakeoverRefused(
            f"{target.name} has {found} in its status record on {target.status_queue}, which has room for one. Nothing was "
            "changed: let it finish first, or have another name take the group over",
            status_queue=target.status_queue,
            found=found,
            expected="nothing that is still needed",
        )


def _move(
    connection: Connection, theirs: StatusQueue, ours: StatusQueue, record: StatusRecord, given: StatusRecord
) -> None:
    """Move the record, and leave one behind that says nothing: an empty queue would look as if it had never been there."""
    nothing = saying_nothing(record)
    with connection.unit_of_work(theirs):
        theirs.stage(nothing)
        ours.stage(given)
    theirs.ended(committed=True)
    ours.ended(committed=True)
    take_away(connection, theirs, nothing)
