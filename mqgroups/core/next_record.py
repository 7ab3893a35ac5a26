"""Makes an owner's next status record from the position in the group and from a ``Note``, which has all other contents."""

from __future__ import annotations

from typing import NamedTuple

from mqgroups.core.group import GroupPosition
from mqgroups.core.group_properties import NO_PROPERTIES, GroupProperties
from mqgroups.core.model import GROUP_ID_NONE, Persistence
from mqgroups.core.ownership import Ownership
from mqgroups.core.poison import Suspect
from mqgroups.core.status import Checkpoint, Done, Outgoing, RecordState, StatusRecord


class Note(NamedTuple):
    """The contents of the next status record besides the position in the group.

    Attributes:
        checkpoint: the application's checkpoint; ``None`` if there is none.
        suspect: the message that is processed alone, to see whether it is poison.
        quarantine: whether the rest of the group goes to the backout queue.
        properties: the properties of the group's first message; ``None`` if unknown.
        first_msg_id: for a consumer, the MsgId of the group's first message, 24 bytes; ``GROUP_ID_NONE`` if unknown.
        done: the last named group that a producer completed.
    """

    checkpoint: Checkpoint = None
    suspect: Suspect | None = None
    quarantine: bool = False
    properties: GroupProperties = NO_PROPERTIES
    first_msg_id: bytes = GROUP_ID_NONE
    done: Done | None = None


NO_NOTE = Note()


def note_of(record: StatusRecord | None) -> Note:
    """Return the contents of a record besides the position in the group."""
    if record is None:
        return NO_NOTE
    if record.state is not RecordState.IN_GROUP:
        return Note(record.checkpoint, record.suspect, record.quarantine, done=record.done)
    return Note(
        record.checkpoint, record.suspect, record.quarantine, record.properties, record.first_msg_id, record.done
    )


def next_record(
    own: Ownership,
    position: GroupPosition,
    note: Note,
    traceparent: str,
    *,
    ended: bool,
    resolved: tuple[str, str] = ("", ""),
    persistence: Persistence = Persistence.PERSISTENT,
    outgoing: Outgoing | None = None,
) -> StatusRecord:
    """Return the status record of the unit of work that ends at ``position``.

    Args:
        ended: whether the group ends there.
        resolved, persistence: for a producer, the queue and queue manager that MQPMO returned, and the messages' persistence.
        outgoing: for a pipe's consumer, how much of the outgoing group is committed with this unit of work.
    """
    expected = own.expected
    return StatusRecord(
        role=expected.role,
        name=expected.name,
        state=RecordState.COMPLETED if ended else RecordState.IN_GROUP,
        owner_id=own.owner_id,
        epoch=own.epoch,
        unit_of_work=own.number,
        queue=expected.queue,
        group_id=position.group_id,
        first_msg_id=note.first_msg_id,
        msg_seq_number=position.msg_seq_number,
        offset=position.offset,
        in_last_message=position.in_last_message,
        suspect=None if ended else note.suspect,
        quarantine=note.quarantine and not ended,
        resolved_q_name=resolved[0],
        resolved_q_mgr_name=resolved[1],
        q_mgr_identifier=expected.q_mgr_identifier,
        persistence=persistence,
        checkpoint=note.checkpoint,
        traceparent=traceparent,
        properties=NO_PROPERTIES if ended else note.properties,
        outgoing=None if ended else outgoing,
        done=note.done,
    )
