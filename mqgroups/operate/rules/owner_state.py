"""The state of an owner, from what a browse of its status queue shows; nobody is asked to start.

Not here: what a start would do with the record (``core/restart.py``), and which messages make up a record
(``core/status_chain.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from mqgroups.core.status import RecordState, StatusRecord
from mqgroups.core.status_chain import ChainBroken, FoundMessage, LookAgain, RecordHidden, contents_of


class OwnerCondition(Enum):
    """The state of an owner.

    ``LEFT_OVER``: a record that is no longer needed, of a program that has ended. ``HIDDEN``: nobody has the status queue open,
    and a unit of work hides the record, or the record is lost. ``MOVED``: the record is needed, and of another queue manager: a
    start refuses it. ``UNSEEN``: the status queue could not be browsed.
    """

    ACTIVE = "active"
    INTERRUPTED = "interrupted"
    CHECKPOINT = "checkpoint kept"
    LEFT_OVER = "left over"
    CLEAN = "clean"
    HIDDEN = "hidden"
    MOVED = "of another queue manager"
    DUPLICATE = "two records"
    UNREADABLE = "unreadable"
    UNSEEN = "not seen"


# Conditions in which an operator has to act before the owner can start.
DISARRAY = frozenset({OwnerCondition.DUPLICATE, OwnerCondition.UNREADABLE, OwnerCondition.MOVED})


@dataclass(frozen=True, slots=True)
class OwnerFinding:
    """The condition, the current record with its message, and how many other records are there that nobody needs."""

    condition: OwnerCondition
    message: FoundMessage | None = None
    leftovers: int = 0

    @property
    def record(self) -> StatusRecord | None:
        """The current record."""
        return self.message.record if self.message else None


def owner_finding(messages: Sequence[FoundMessage], unreadable: int, *, is_active: bool) -> OwnerFinding:
    """Return the state of an owner with a status queue of its own.

    Args:
        messages: those on its status queue that are records or anchors, in physical order.
        unreadable: how many others are there.
        is_active: whether a program has the queue open for input.
    """
    if unreadable:
        return OwnerFinding(OwnerCondition.UNREADABLE)
    try:
        found, record = contents_of(messages, seen_twice=True)
    except (RecordHidden, LookAgain):
        # An active owner replaces its record all the time, so it may be hidden at this moment.
        return OwnerFinding(OwnerCondition.ACTIVE if is_active else OwnerCondition.HIDDEN)
    except ChainBroken as error:
        if is_active:
            return OwnerFinding(OwnerCondition.ACTIVE)
        return OwnerFinding(OwnerCondition.DUPLICATE if error.several else OwnerCondition.UNREADABLE)
    message = next((each for each in messages if found.stored and each.msg_id == found.stored.msg_id), None)
    if is_active:
        condition = OwnerCondition.ACTIVE
    elif record is None:
        condition = OwnerCondition.CLEAN
    elif record.state is RecordState.IN_GROUP or record.suspect is not None:
        condition = OwnerCondition.INTERRUPTED
    else:
        condition = OwnerCondition.CHECKPOINT if record.checkpoint is not None else OwnerCondition.LEFT_OVER
    return OwnerFinding(condition, message, len(found.leftovers))
