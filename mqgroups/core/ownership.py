"""Values for all that an owner knows of its name; they are always replaced as a whole (``core/protocol.py``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from mqgroups.core.group import AT_START, GroupPosition
from mqgroups.core.restart import CommitOutcome, Expectations, Mismatch
from mqgroups.core.status import Mark, StatusRecord
from mqgroups.core.steps import Refused, Steps


class Kept(Protocol):
    """A record as it is kept somewhere: ``core.kept_record``, ``batch.claimed_records``.

    The bodies here suit a record that is neither got first nor removed, on a queue that is not open exclusively.
    """

    @property
    def queue(self) -> str:
        """The name of the status queue."""

    @property
    def most_messages(self) -> int:
        """The most messages that are put and got for the record in one unit of work."""

    @property
    def can_be_removed(self) -> bool:
        """Whether ``removed`` can be called; if not, its chain of segments has to be ended first."""
        return True

    def read(self, marks: Sequence[Mark] = ()) -> Steps[tuple[Any, StatusRecord | None]]:
        """Return it as it is kept now, and the record; ``marks`` are those of the caller's own records."""

    def seen_elsewhere(self, marks: tuple[Mark, ...]) -> Steps[StatusRecord | None]:
        """Return the record while another program has the queue open; ``None`` if not all of it is seen."""

    def got_first(self) -> Steps[Any]:
        """Get the record at the beginning of a unit of work."""
        yield from ()
        return self

    def replaced(self, record: StatusRecord, *, ends_chain: bool = False) -> Steps[Any]:
        """Put ``record`` in its place; ``ends_chain``: so that the next unit of work can remove it."""

    def removed(self) -> Steps[Any]:
        """Remove it."""
        yield from ()
        return self

    def checked(self) -> Steps[None]:
        """Check that it is there, and stays there."""
        yield from ()

    def after_commit(self) -> Any:
        """Return what the commit leaves."""


class PendingCommit(NamedTuple):
    """A commit that is under way.

    Attributes:
        record: that it leaves; ``None`` if it removes the record.
        position: in the group after it.
        unit: the counts of the unit of work, if it has messages; to be told.
        reason: MQCMIT's reason code if its answer was lost; else 0.
        ends_chain: whether a chain of segments ends with the record.
    """

    record: StatusRecord | None
    position: GroupPosition
    unit: Any = None
    reason: int = 0
    ends_chain: bool = False


class Ownership(NamedTuple):
    """What an owner knows of its name. It is always replaced as a whole.

    Attributes:
        expected: by which it recognises its own record.
        owner_id: its identity; no other instance has it.
        epoch: how many owners the record has had, including this one.
        kept: the record on its queue, after the last known commit.
        record: of the last known commit; ``None`` if there is none.
        position: in the group by that; ``AT_START`` between groups. It also says whether the queue handle retains it.
        pending: the last commit that was begun, until its outcome is known.
        in_unit: the record as the open unit of work sees it, if it was got first.
        is_closing: whether this owner ends, so that it does no harm if its record is gone.
    """

    expected: Expectations
    owner_id: str
    epoch: int
    kept: Kept
    record: StatusRecord | None = None
    position: GroupPosition = AT_START
    pending: PendingCommit | None = None
    in_unit: Kept | None = None
    is_closing: bool = False

    @property
    def number(self) -> int:
        """The number of the open or next unit of work."""
        return self.record.unit_of_work + 1 if self.record is not None else 1

    @property
    def marks(self) -> tuple[Mark, ...]:
        """The marks that a record of its own can have."""
        pending = self.pending.record if self.pending is not None else None
        return tuple(record.mark for record in (pending, self.record) if record is not None)


Ownerships = tuple[Ownership, ...]
Endings = tuple[PendingCommit | None, ...]


class Verdict(NamedTuple):
    """What became of one owner's last commit: what was known before, the outcome, and what is known now."""

    before: Ownership
    outcome: CommitOutcome
    after: Ownership


class NotOurs(Refused):
    """The record that was found is another program's, or of another queue or queue manager."""

    def __init__(self, queue: str, mismatch: Mismatch) -> None:
        super().__init__(queue)
        self.mismatch = mismatch


class Replaced(Refused):
    """Another instance has taken over the name. ``holder``: its record, if one was seen."""

    def __init__(self, ownership: Ownership, holder: StatusRecord | None) -> None:
        super().__init__(ownership.kept.queue)
        self.ownership = ownership
        self.holder = holder
