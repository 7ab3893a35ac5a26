"""Makes the calls of the ownership protocol, one after the other (``core/protocol.py``, ``core/steps.py``).

The protocol decides. The performer makes the calls, on the connection and on the owners' status queues. It keeps all that is
known about the owners in one value (``ownerships``). The value is replaced as a whole, so an interruption cannot mix two states.
"""

from __future__ import annotations

from typing import Any, TypeVar

from mqgroups.connection.connection import Connection
from mqgroups.core import ownership
from mqgroups.core.ownership import Ownership, Ownerships
from mqgroups.core.status import StatusRecord
from mqgroups.core.steps import (
    BackOut,
    Begin,
    Commit,
    Failed,
    InUse,
    Lost,
    NoQueue,
    Refused,
    Remember,
    Steps,
)
from mqgroups.errors import (
    CommitOutcomeUnknown,
    ConnectionBroken,
    MQIError,
    OwnerActive,
    OwnershipLost,
    QueueMissing,
)
from mqgroups.status.keeper import Keeper
from mqgroups.status.records import foreign_record

_T = TypeVar("_T")


class Performer:
    """The part that makes the calls of the protocol for one or two owners.

    Attributes:
        ownerships: what is known about the owners.
        keepers: the owners' status queues, by name.
        on_behalf_of: the object for which the connection's unit of work is begun.
    """

    def __init__(self, connection: Connection, on_behalf_of: object) -> None:
        self.ownerships: Ownerships = ()
        self.keepers: dict[str, Keeper] = {}
        self.on_behalf_of = on_behalf_of
        self._connection = connection

    def perform(self, steps: Steps[_T]) -> _T:
        """Make the calls that the steps describe, and return what the generator ``steps`` returns.

        Raises:
            OwnershipLost: another instance has taken over the name.
            StatusError, ForeignSyncpoint: this owner cannot replace the messages on a status queue.
            MQIError: a call failed, and the protocol does not continue after that error.
        """
        try:
            step = next(steps)
            while True:
                try:
                    answer = self._make(step)
                except MQIError as error:
                    step = steps.throw(_failed(error))
                else:
                    step = steps.send(answer)
        except StopIteration as end:
            result: _T = end.value
            return result
        except Failed as failed:
            raise failed.error from failed.error.__cause__
        except Refused as refused:
            raise self._error_for(refused) from refused.__cause__

    def _make(self, step: Any) -> Any:
        kind = type(step)
        if kind is Commit:
            return self._connection.commit()
        if kind is Remember:
            self.ownerships = step.ownerships
            return None
        if kind is Begin:
            return self.begin()
        if kind is BackOut:
            return self._back_out()
        return self.keepers[step.queue].answer(step)

    def begin(self) -> None:
        """Claim the connection's unit of work.

        Raises:
            OwnershipLost: this connection has a newer owner of the same name.
            GroupUsage: another producer or consumer has messages in the unit of work.
            ConnectionBroken: the connection is lost, or a status queue must be opened again.
        """
        connection, keepers = self._connection, self.keepers
        for own in self.ownerships:
            keeper = keepers[own.kept.queue]
            if connection.status_queues.get(keeper.name, keeper) is not keeper:
                raise lost_to(own, None)
        connection.begin(self.on_behalf_of, keepers)
        if any(keeper.is_stale for keeper in keepers.values()):
            connection.release(self.on_behalf_of)
            raise connection.gone()
        connection.unanswered.forget()

    def _back_out(self) -> None:
        self._connection.restore()
        if self._connection.unit_of_work_of is self.on_behalf_of:
            self._connection.back_out()

    def _error_for(self, refused: Refused) -> BaseException:
        if isinstance(refused, ownership.Replaced):
            return lost_to(refused.ownership, refused.holder)
        if isinstance(refused, ownership.NotOurs):
            return foreign_record(refused.queue, refused.mismatch)
        return self.keepers[refused.queue].error_for(refused)


def lost_to(own: Ownership, holder: StatusRecord | None) -> OwnershipLost:
    """Return the error for a name that another instance has taken over. ``holder``: that instance's record, if it was seen."""
    name, queue = f"{own.expected.role.value} {own.expected.name}", own.kept.queue
    mine = own.owner_id, own.epoch
    found = (holder.owner_id, holder.epoch) if holder is not None else ("", 0)
    if found == mine:
        return OwnershipLost(
            f"status queue {queue} holds an older record of this instance of {name} than its last commit. The queue manager or "
            "this queue was restored from a backup. Its uncommitted work is backed out, and what it committed after the backup "
            "may be gone. Find out what is gone before you start it again, because it continues from the older record",
            "restored",
            name=name,
            status_queue=queue,
            found=found,
            expected=mine,
        )
    seen = f"a record of owner {found[0]}, epoch {found[1]}" if found[1] else "no record"
    return OwnershipLost(
        f"another instance has taken over {name}: status queue {queue} holds {seen}, expected the record of owner {mine[0]}, "
        f"epoch {mine[1]}. This instance lost its connection to the queue manager, or its own program has started the name again "
        "on the same connection. Its uncommitted work is backed out. End this instance; the other one continues from the last "
        "commit",
        "taken-over",
        name=name,
        status_queue=queue,
        found=found,
        expected=mine,
    )


def _failed(error: MQIError) -> Failed:
    kind = Failed
    if isinstance(error, (CommitOutcomeUnknown, ConnectionBroken)):
        kind = Lost
    elif isinstance(error, OwnerActive):
        kind = InUse
    elif isinstance(error, QueueMissing):
        kind = NoQueue
    return kind(error, error.reason)
