"""What an owner has done in its open unit of work, and what its next status record will say besides the position.

An owner has one ``OpenUnit``. It is replaced by a new one when the unit of work has ended, whichever way. So whatever interrupts
the program, counts and note are of the same unit of work.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from mqgroups.core.poison import Suspect
from mqgroups.core.status import Checkpoint, StatusRecord


class Note(NamedTuple):
    """What a status record says besides where the group stands.

    Attributes:
        checkpoint: the application's; ``None`` without one.
        suspect: the message that is to be processed alone.
        quarantine: whether the rest of the group goes to the backout queue.
    """

    checkpoint: Checkpoint = None
    suspect: Suspect | None = None
    quarantine: bool = False


NO_NOTE = Note()


def note_of(record: StatusRecord | None) -> Note:
    """Return what a record says besides the position."""
    return NO_NOTE if record is None else Note(record.checkpoint, record.suspect, record.quarantine)


@dataclass(slots=True)
class OpenUnit:
    """One owner's part of the open unit of work.

    Attributes:
        note: what its next status record says besides the position.
        messages: how many it has put, or got and processed; a segment counts as one.
        data_bytes: their application data, in bytes.
        to_put: how many more it will put before the unit of work ends.
    """

    note: Note = NO_NOTE
    messages: int = 0
    data_bytes: int = 0
    to_put: int = 0
