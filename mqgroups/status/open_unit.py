"""The counts of an owner's open unit of work, and what its next status record will contain besides the position.

An owner has one ``OpenUnit``. After each commit or backout it is replaced by a new one. So counts and note always belong to the
same unit of work, even if the program is interrupted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from mqgroups.core.group_properties import NO_PROPERTIES, GroupProperties, Value, kept, name_of
from mqgroups.core.model import GROUP_ID_NONE
from mqgroups.core.poison import Suspect
from mqgroups.core.status import Checkpoint, RecordState, StatusRecord


class Note(NamedTuple):
    """The contents of a status record besides the position in the group.

    Attributes:
        checkpoint: the application's; ``None`` if it set none.
        suspect: the message that is processed alone, to see whether it is poison.
        quarantine: whether the rest of the group goes to the backout queue.
        properties: of the group's first message; ``None`` if not known.
        first_msg_id: of the first message of a consumer's group, 24 bytes; ``GROUP_ID_NONE`` if not known.
    """

    checkpoint: Checkpoint = None
    suspect: Suspect | None = None
    quarantine: bool = False
    properties: GroupProperties = NO_PROPERTIES
    first_msg_id: bytes = GROUP_ID_NONE


NO_NOTE = Note()


def note_of(record: StatusRecord | None) -> Note:
    """Return a record's contents besides the position."""
    if record is None:
        return NO_NOTE
    if record.state is not RecordState.IN_GROUP:
        return Note(record.checkpoint, record.suspect, record.quarantine)
    return Note(record.checkpoint, record.suspect, record.quarantine, record.properties, record.first_msg_id)


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

    @property
    def group_name(self) -> str:
        """The name of the unit's group; empty if it has none, or is not begun."""
        return name_of(self.note.properties)

    def set_properties(self, properties: Mapping[str, Value]) -> None:
        """Note the properties of the group's first message, which is in this unit of work."""
        self.note = self.note._replace(properties=kept(properties))

    def set_first_msg_id(self, msg_id: bytes) -> None:
        """Note the MsgId of the group's first message, which is in this unit of work."""
        self.note = self.note._replace(first_msg_id=msg_id)
