"""The interface by which units of work keep an owner's status record, and its implementations.

StatusQueue       status/queue.py           a queue of the owner's own, open exclusively
ClaimedRecords    batch/claimed_records.py  one group's records on a queue that many share
NoStatus          here                      no record is kept, so an interrupted group cannot be resumed
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from mqgroups.connection.connection import Connection
from mqgroups.core.group_properties import GroupProperties, Value
from mqgroups.core.status import Checkpoint, Mark, StatusRecord, check_checkpoint
from mqgroups.errors import GroupNotResumable, GroupPropertiesLost, GroupUsage


class RecordKeeper(Protocol):
    """One owner's status record: read once, then staged in each of the owner's units of work, and removed in the last one.

    A staged record takes effect when the owner's unit of work is committed; the owner calls ``ended`` then, or after a backout.
    The method bodies here suit a keeper without an open queue. (A body that does nothing on purpose is a ``return``.)

    Attributes:
        name: of the status queue.
    """

    name: str

    @property
    def most_messages(self) -> int:
        """The most messages that are put and got for the record in one unit of work."""

    @property
    def is_stale(self) -> bool:
        """Whether the connection was replaced since, so that ``reopen`` is needed."""
        return False

    def reopen(self) -> None:
        """Open the queue again on a new connection; one try."""
        return

    def held_by(self) -> StatusRecord | None:
        """Return the committed record while another owner has the queue open; ``None`` if it is hidden."""
        return None

    def read(self, marks: Sequence[Mark] = ()) -> StatusRecord | None:
        """Return the committed record; ``marks`` are those of the caller's own records."""

    def hold(self) -> None:
        """Get the record now, at the beginning of a unit of work that the application could also end."""
        return

    def stage(self, record: StatusRecord, *, last: bool = False) -> None:
        """Replace the record by ``record``. The caller has to commit or back out.

        With ``last``, ``remove`` can be called in the next unit of work.
        """

    @property
    def can_be_removed(self) -> bool:
        """Whether ``remove`` can be called now. If not, first stage a record with ``last`` and commit it."""
        return True

    def remove(self) -> None:
        """Remove the record. The caller has to commit or back out."""
        return

    def check_committed(self) -> None:
        """Check that the record that was committed is on the queue, and stays there.

        To be called after the first commit, and on a connection that the application also uses after each.
        """
        return

    def ended(self, *, committed: bool) -> None:  # noqa: ARG002 - for subclasses
        """Take note that the unit of work was committed or backed out."""
        return

    def close(self, *, delete: bool = False) -> None:  # noqa: ARG002 - for subclasses
        """Close the queue; ``delete`` deletes it."""
        return


class NoStatus(RecordKeeper):
    """Keeps no record. A group can go on only while its connection lives: after that it is not known what is committed."""

    name = "(none)"
    most_messages = 0

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._generation = connection.generation
        self._staged: StatusRecord | None = None
        self._committed: StatusRecord | None = None

    def read(self, marks: Sequence[Mark] = ()) -> StatusRecord | None:  # noqa: ARG002 - nothing is on a queue
        """Return the record of the last commit; ``None`` at the start.

        Raises:
            GroupNotResumable: the connection was lost since the start.
        """
        if self._connection.generation != self._generation:
            raise GroupNotResumable
        return self._committed

    def stage(self, record: StatusRecord, *, last: bool = False) -> None:  # noqa: ARG002 - there are no segments
        """Keep the record in memory."""
        self._staged = record

    def ended(self, *, committed: bool) -> None:
        """Take note that the unit of work was committed or backed out."""
        if committed:
            self._committed = self._staged


def check_can_be_kept(checkpoint: Checkpoint) -> None:
    """Raise GroupUsage for a checkpoint that a record would not return unchanged."""
    try:
        check_checkpoint(checkpoint)
    except (TypeError, ValueError) as error:
        raise GroupUsage(
            f"the checkpoint ({type(checkpoint).__name__}) cannot be kept: it must be bytes or a JSON value ({error})"
        ) from error


def require_kept(properties: GroupProperties, group_id: bytes, status_queue: str) -> Mapping[str, Value]:
    """Return the properties of a group; raises GroupPropertiesLost if they are not known."""
    if properties is None:
        raise GroupPropertiesLost(group_id, status_queue)
    return properties
