"""What units of work need of the place where their owner's status record is kept.

StatusQueue (status_queue.py)    a queue of the owner's own, open exclusively
GroupStatus (group_status.py)    one group's records on a queue that many share
NoStatus (group_status.py)       nothing is kept: a group that is interrupted cannot be gone on with
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from mqgroups.core.status import Checkpoint, Mark, StatusRecord, check_checkpoint
from mqgroups.errors import GroupUsage


class RecordKeeper(Protocol):
    """One owner's status record: read, replaced and taken away in the owner's unit of work."""

    @property
    def name(self) -> str:
        """Of the status queue."""

    @property
    def most_messages(self) -> int:
        """How many messages, at the most, are put and got for the record in one unit of work."""

    @property
    def can_be_cleared(self) -> bool:
        """Whether ``clear`` can be called without ``end_chain`` in a unit of work before."""

    @property
    def is_stale(self) -> bool:
        """Whether the connection was made again since: ``reopen`` is due."""

    def reopen(self) -> None:
        """Open what is needed again on a connection that was made again; one try."""

    def held_by(self) -> StatusRecord | None:
        """Return the committed record that can be seen while somebody else has the queue open."""

    def read(self, marks: Sequence[Mark] = ()) -> StatusRecord | None:
        """Return the committed record; ``marks`` are of the caller's own."""

    def claim(self, record: StatusRecord) -> None:
        """Put ``record`` in the place of what was read. The caller has to commit or back out."""

    def hold(self) -> None:
        """Get the record now, at the beginning of a unit of work that somebody else can end too."""

    def check_committed(self) -> None:
        """See whether the record is there, after a commit that something else could have come before."""

    def replace(self, record: StatusRecord) -> None:
        """Put ``record`` in the place of the one there is. The caller has to commit or back out."""

    def end_chain(self, record: StatusRecord) -> None:
        """Put ``record`` so that ``clear`` can be called in the next unit of work."""

    def clear(self) -> None:
        """Take the record away. The caller has to commit or back out."""

    def committed(self) -> None:
        """Take note that the unit of work was committed."""

    def backed_out(self) -> None:
        """Take note that the unit of work was backed out."""

    def close(self, *, delete: bool = False) -> None:
        """Close what is open; ``delete`` the queue if asked."""


def check_can_be_kept(checkpoint: Checkpoint) -> None:
    """Refuse a checkpoint that would not come back from a record as it was given; raises GroupUsage."""
    try:
        check_checkpoint(checkpoint)
    except (TypeError, ValueError) as error:
        raise GroupUsage(
            f"the checkpoint ({type(checkpoint).__name__}) cannot be kept: it must be bytes or a JSON value ({error})"
        ) from error
