"""Shows what the next start of a producer or consumer would find on its status queue, without starting the program.

Init steps, supervisors and operators need this. The module opens the status queue as the owner opens it, so the result is what a
start would find. If the owner has the queue open, the queue can only be browsed. On request, a record that is no longer needed
is removed. Nothing else is changed. Such a removal cleans up after an owner that is never started again.

Not here: resuming a group. The next start of the owner does this.
"""

from __future__ import annotations

from contextlib import suppress

from mqgroups.connection.holder import ConnectionHolder, connection_of
from mqgroups.core.modes import RoleName
from mqgroups.core.restart import Expectations, mismatch_of
from mqgroups.core.status import StatusRecord
from mqgroups.errors import MQIError, OwnerActive, QueueMissing, StatusError, StatusQueueUnusable
from mqgroups.names import checked_name, checked_queue_name, checked_role, status_queue_name
from mqgroups.operate.repaired import RepairedQueue
from mqgroups.operate.rules.owner_state import OwnerState, SeenOwner, state_of
from mqgroups.setting import checked_seconds
from mqgroups.status.records import foreign_record, held_by


def inspect_owner(
    q_mgr: ConnectionHolder,
    name: str,
    role: RoleName,
    *,
    queue: str | None = None,
    status_queue: str | None = None,
    wait_s: float = 0.0,
    tidy: bool = False,
) -> SeenOwner:
    """Return what the next start of a producer or consumer would find on its status queue.

    Args:
        queue: the queue that the program puts to or gets from, to compare with the record. By default it is not compared.
        tidy: remove a record that is no longer needed, because it has no group, or a completed group but no checkpoint.
            The state is then ``CLEAN``, and the result has the removed record.

    Raises:
        ConfigurationError: a name or role is not valid.
        StatusError: a start would be refused because of what is on the status queue. Nothing was changed.
        MQIError: a call failed.
    """
    owner_role = checked_role(role)
    checked_name(name)
    if queue is not None:
        checked_queue_name("queue", queue)
    checked_seconds("wait_s", wait_s)
    status_queue = status_queue_name(owner_role, name, status_queue)
    connection = connection_of(q_mgr)
    put_by = ""

    def found(state: OwnerState, record: StatusRecord | None = None) -> SeenOwner:
        return SeenOwner(role, name, status_queue, state, record, queue=record.queue if record else "", put_by=put_by)

    try:
        status = RepairedQueue(connection, status_queue, "", wait_s)
    except QueueMissing:
        return found(OwnerState.UNKNOWN)
    except OwnerActive:
        # The record of a running owner may be hidden or replaced at any moment.
        with suppress(StatusError, MQIError):
            return found(OwnerState.ACTIVE, held_by(connection, status_queue))
        return found(OwnerState.ACTIVE)
    try:
        record = status.read()
        put_by = status.user_of_record
        if record is not None:
            expected = Expectations(owner_role, name, queue or record.queue, connection.q_mgr_identifier)
            if (mismatch := mismatch_of(record, expected)) is not None:
                raise foreign_record(status.name, mismatch)
        # An application may need the checkpoint to find the next group. So it stays until the application removes it.
        if record is None or record.is_needed or not tidy:
            return found(state_of(record), record)
        status.take_away()
        return found(OwnerState.CLEAN, record)
    except (OwnerActive, StatusQueueUnusable) as error:
        if isinstance(error, StatusQueueUnusable) and error.because != "hidden":
            raise
        return found(OwnerState.HIDDEN)
    finally:
        status.close()
