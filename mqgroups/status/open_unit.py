"""The counts of an owner's open unit of work, and what its next status record will contain besides the position.

An owner has one ``OpenUnit``. After each commit or backout it is replaced by a new one. So counts and note always belong to the
same unit of work, even if the program is interrupted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from mqgroups.core.poison import Suspect
from mqgroups.core.status import Checkpoint, StatusRecord


class Note(NamedTuple):
    """The contents of a status record besides the position in the group.

    Attributes:
        checkpoint: the application's; ``None`` if it set none.
        suspect: the message that is processed alone, to see whether it is poison.
        quarantine: whether the rest of the group goes to the backout queue.
    """

    checkpoint: Checkpoint = None
    suspect: Suspect | None = None
    quarantine: bool = False


NO_NOTE = Note()


def note_of(record: StatusRecord | None) -> Note:
    """Return a record's contents besides the position."""
    return NO_NOTE if record is None else Note(record.checkpoint, record.suspect, record.quarantine)


@dataclass(slots=True)
class OpenUnit:
    """One owner's part of the open unit of work.

    Attributes:
        note: the next status record's contents besides the position.
        messages: how many messages were put, or got and processed; a segment counts as one.
        data_bytes: their application data, in bytes.
        to_put: how many more messages will be put before the unit of work ends.
    """

    note: Note = NO_NOTE
    messages: int = 0
    data_bytes: int = 0
    to_put: int = 0
