"""The values that hold all that an owner knows about its name. Each change replaces a value as a whole (``core/protocol.py``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from mqgroups.core.group import AT_START, GroupPosition
from mqgroups.core.restart import CommitOutcome, Expectations, Mismatch
from mqgroups.core.status import Mark, StatusRecord
from mqgroups.core.steps import Refused, Steps


class Kept(Protocol):
    """A status record as it is kept on a queue. ``core.kept_record`` and ``batch.claimed_records`` implement this protocol.

    The method bodies here are for a record that is never removed, on a queue that is not open exclusively.
    """

    @property
    def queue(self) -> str:
        """The name of the status queue."""

    @property
    def most_messages(self) -> int:
        """The maximum number of messages that are put and got for the record in one unit of work."""

    @property
    def can_be_removed(self) -> bool:
        """Whether ``removed`` can be called. If not, the record's chain of segments must be ended first."""
        return True

    def read(self, marks: Sequence[Mark] = ()) -> Steps[tuple[Any, StatusRecord | None]]:
        """Read the queue. Return this object with what was read, and the record. ``marks``: those of the caller's own records."""

    def seen_elsewhere(self, marks: tuple[Mark, ...]) -> Steps[StatusRecord | None]:
        """Return the record on a queue that another program has open; ``None`` if not all of the record is visible."""

    def got_first(self) -> Steps[Any]:
        """Get the record at the beginning of a unit of work."""
        yield from ()
        return self

    def replaced(self, record: StatusRecord, *, ends_chain: bool = False) -> Steps[Any]:
        """Put ``record`` in place of the present record. With ``ends_chain``, the next unit of work can remove the new record."""

    def removed(self) -> Steps[Any]:
        """Remove the record."""
        yield from ()
        return self

    def checked(self) -> Steps[None]:
        """Check that the record is on the queue, and does not expire."""
        yield from ()

    def after_commit(self) -> Any:
        """Return this object as it must be after a commit."""


class PendingCommit(NamedTuple):
    """A commit that is under way.

    Attributes:
        record: the record that the commit leaves on the queue; ``None`` if the commit removes the record.
        position: the position in the group after the commit.
        unit: the owner's part of the unit of work, if that part has messages. Reports about the commit use it.
        reason: MQCMIT's reason code if MQCMIT had no answer; else 0.
        ends_chain: whether the record ends a chain of segments.
    """

    record: StatusRecord | None
    position: GroupPosition
    unit: Any = None
    reason: int = 0
    ends_chain: bool = False


class Ownership(NamedTuple):
    """What an owner knows about its name.

    Attributes:
        expected: the fields by which the owner recognises its own record.
        owner_id: the owner's unique identity.
        epoch: how many owners the record has had, including this one.
        kept: how the record is stored on its queue, as the last commit with a known outcome has left it.
        record: the content of that record; ``None`` if there is no record.
        position: the position in the group after that commit, and whether the handle retains it; ``AT_START`` between groups.
        pending: a commit that has begun and whose outcome is not known yet; otherwise ``None``.
        in_unit: the record as the open unit of work sees it, if the record was got at the beginning of that unit.
        is_closing: whether this owner is ending, so that a missing record does no harm.
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
        """The marks that this owner's own record can have."""
        pending = self.pending.record if self.pending is not None else None
        return tuple(record.mark for record in (pending, self.record) if record is not None)


Ownerships = tuple[Ownership, ...]
Endings = tuple[PendingCommit | None, ...]


class Verdict(NamedTuple):
    """The outcome of one owner's last commit, with what the owner knew before and what it knows now."""

    before: Ownership
    outcome: CommitOutcome
    after: Ownership


class NotOurs(Refused):
    """The record that was found belongs to another program, or to another queue or queue manager."""

    def __init__(self, queue: str, mismatch: Mismatch) -> None:
        super().__init__(queue)
        self.mismatch = mismatch


class Replaced(Refused):
    """Another instance has taken over the name. ``holder``: the other instance's record, if it was seen."""

    def __init__(self, ownership: Ownership, holder: StatusRecord | None) -> None:
        super().__init__(ownership.kept.queue)
        self.ownership = ownership
        self.holder = holder
