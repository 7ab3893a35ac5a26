"""What units of work need of the place where their owner's status record is kept.

StatusQueue       status/queue.py           a queue of the owner's own, open exclusively
ClaimedRecords    batch/claimed_records.py  one group's records on a queue that many share
NoStatus          here                      nothing is kept: a group that is interrupted cannot be resumed
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from mqgroups.core.status import Checkpoint, Mark, StatusRecord, check_checkpoint
from mqgroups.errors import GroupNotResumable, GroupUsage


class RecordKeeper(Protocol):
    """One owner's status record: read once, then staged in each of the owner's units of work, and removed in the last one.

    What is staged takes effect when the owner's unit of work is committed; ``ended`` tells whether it was. The bodies here are
    those of a keeper that has nothing open and nothing to lose. (A ``return`` says that a body is one, and not left out.)

    Attributes:
        name: of the status queue.
    """

    name: str

    @property
    def most_messages(self) -> int:
        """How many messages, at the most, are put and got for the record in one unit of work."""

    @property
    def is_stale(self) -> bool:
        """Whether the connection was made again since: ``reopen`` is due."""
        return False

    def reopen(self) -> None:
        """Open what is needed again on a connection that was made again; one try."""
        return

    def held_by(self) -> StatusRecord | None:
        """Return the committed record that can be seen while somebody else has the queue open."""
        return None

    def read(self, marks: Sequence[Mark] = ()) -> StatusRecord | None:
        """Return the committed record; ``marks`` are of the caller's own."""

    def hold(self) -> None:
        """Get the record now, at the beginning of a unit of work that somebody else can end too."""
        return

    def stage(self, record: StatusRecord, *, last: bool = False) -> None:
        """Put ``record`` in the place of the one there is. The caller has to commit or back out.

        ``last``: so that ``remove`` can be called in the next unit of work.
        """

    @property
    def can_be_removed(self) -> bool:
        """Whether ``remove`` can be called now. If not, a record has to be staged as the last one, in a unit of work before."""
        return True

    def remove(self) -> None:
        """Take the record away. The caller has to commit or back out."""
        return

    def check_committed(self) -> None:
        """Check that the record is there, after a commit that something else could have come before."""
        return

    def ended(self, *, committed: bool) -> None:  # noqa: ARG002 - of who overrides it
        """Take note that the unit of work was committed, or else that it was backed out."""
        return

    def close(self, *, delete: bool = False) -> None:  # noqa: ARG002 - of who overrides it
        """Close what is open; ``delete`` the queue if asked."""
        return


class NoStatus(RecordKeeper):
    """Keeps nothing. While the connection lives, a group goes on; when it is lost, nothing tells what is committed."""

    name = "(none)"
    most_messages = 0

    def __init__(self) -> None:
        self._began = False

    def read(self, marks: Sequence[Mark] = ()) -> StatusRecord | None:  # noqa: ARG002 - nothing is kept
        """Return ``None``, at the start.

        Raises:
            GroupNotResumable: later; the connection was lost.
        """
        if self._began:
            raise GroupNotResumable
        self._began = True
        return None

    def stage(self, record: StatusRecord, *, last: bool = False) -> None:
        """Forget the record."""


def check_can_be_kept(checkpoint: Checkpoint) -> None:
    """Refuse a checkpoint that would not come back from a record as it was given; raises GroupUsage."""
    try:
        check_checkpoint(checkpoint)
    except (TypeError, ValueError) as error:
        raise GroupUsage(
            f"the checkpoint ({type(checkpoint).__name__}) cannot be kept: it must be bytes or a JSON value ({error})"
        ) from error
