"""Adopts an owner's status record, so that the owner can continue after its queues were moved to another queue manager.

A record has the QMID of the queue manager that holds the status queue. A producer's record also names the queue manager that
received the group. After a move both values may be wrong, and a start refuses the record. An operator who knows of the move can
adopt the record. This replaces only these two values, in one unit of work, while the status queue is open exclusively. If any
other value is wrong, the record is refused.

Not here: moving the queues. Data and status queues must be moved together, and their messages must keep their identifiers.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, replace

from mqgroups.connection.holder import ConnectionHolder, connection_of
from mqgroups.core.modes import RoleName
from mqgroups.core.restart import Expectations, Mismatch, Move, adopted, mismatch_of
from mqgroups.core.status import RecordState, StatusRecord
from mqgroups.errors import ConfigurationError, QueueMissing
from mqgroups.names import checked_name, checked_queue_name, checked_role, status_queue_name
from mqgroups.operate.repaired import RepairedQueue
from mqgroups.setting import checked_seconds
from mqgroups.status.records import foreign_record
from mqgroups.telemetry.repair import Repair


@dataclass(frozen=True, slots=True)
class Adoption:
    """The result of ``adopt``."""

    role: RoleName
    """``"put"`` for a producer, ``"get"`` for a consumer."""
    name: str
    """The name of the producer or consumer."""
    status_queue: str
    """The queue that the record is on."""
    record: StatusRecord | None = None
    """The adopted record; ``None`` if there is nothing to adopt."""
    done: bool = False
    """Whether the record was put; ``False`` after a check, or if there is nothing to adopt."""
    unknown: bool = False
    """Whether the status queue does not exist."""


def adopt(
    q_mgr: ConnectionHolder,
    name: str,
    role: RoleName,
    *,
    adopt_from: str | None = None,
    instance: tuple[str, str] | None = None,
    queue: str | None = None,
    status_queue: str | None = None,
    wait_s: float = 0.0,
    check: bool = False,
) -> Adoption:
    """Adopt the status record of a producer or consumer whose queues were moved to this queue manager.

    Call this function when the data queue and the status queue are here, and before you start the program. The messages must
    have kept their identifiers. If a commit had no answer, call this function again.

    Args:
        adopt_from: the QMID of the queue manager that the queues were moved from, as ``DISPLAY QMGR QMID`` showed it there.
            ``None`` means that the status queue was not moved.
        instance: the names of two queue managers: the one that received a producer's messages, and the one that has them now.
        queue: the queue that the program puts to or gets from, to compare with the record. By default it is not compared.

    Raises:
        StatusQueueUnusable: the record belongs to a different queue manager, or has other wrong values. Nothing was changed.
        OwnerActive: the name is in use, or a unit of work hides the record.
        CommitOutcomeUnknown: the connection was lost in MQCMIT. Call this function again.
        ConfigurationError, StatusError, MQIError: as for a start.
    """
    owner_role = checked_role(role)
    checked_name(name)
    if adopt_from is None and instance is None:
        raise ConfigurationError("say what was moved: adopt_from, instance, or both")
    for each in instance or ():
        checked_queue_name("instance", each)
    if queue is not None:
        checked_queue_name("queue", queue)
    checked_seconds("wait_s", wait_s)
    status_queue = status_queue_name(owner_role, name, status_queue)
    connection = connection_of(q_mgr)
    here = connection.q_mgr_identifier
    move = Move(adopt_from or here, here, connection.q_mgr_name, instance or ("", ""))
    nothing = Adoption(role, name, status_queue)
    try:
        status = RepairedQueue(connection, status_queue, "", wait_s, keeps_user=not check)
    except QueueMissing:
        return replace(nothing, unknown=True)
    with closing(status):
        record = status.read()
        if record is None or not record.is_needed:
            return nothing
        expected = Expectations(owner_role, name, queue or record.queue, record.q_mgr_identifier)
        found = mismatch_of(record, expected) or adopted(record, move)
        went_to = record.resolved_q_mgr_name if record.state is RecordState.IN_GROUP else ""
        if instance and went_to and went_to not in instance:
            found = Mismatch("resolved_q_mgr_name", went_to, instance[0])
        if isinstance(found, Mismatch):
            raise foreign_record(status_queue, found)
        if found == record:
            return nothing
        if check:
            return replace(nothing, record=found)
        with Repair(connection.telemetry, record.queue, connection.place, record.traceparent) as repair:
            with connection.unit_of_work(status):
                status.replace(found)
            repair.adopted(found)
        return replace(nothing, record=found, done=True)
