"""Finds the messages that make a status queue unusable for its owner: they are no records, records of other users, or several.

If there is one valid record with its anchor beside messages that cannot be read, only these go, and the record stays as it is.
Otherwise nothing shows which record is the right one, so all messages go.
"""

from __future__ import annotations

from dataclasses import dataclass

from mqgroups.connection.connection import Connection
from mqgroups.core.model import GROUP_ID_NONE, MsgFlag
from mqgroups.core.status import RecordState, StatusRecord
from mqgroups.core.status_chain import ChainBroken, FoundMessage, LookAgain, RecordHidden, contents_of, strangers
from mqgroups.errors import StatusQueueUnusable
from mqgroups.mqi import constants as mq
from mqgroups.mqi import structures as st
from mqgroups.status.records import decoded_record

_BROWSE = st.gmo(mq.MQGMO_BROWSE_NEXT | mq.MQGMO_NO_WAIT | mq.MQGMO_FAIL_IF_QUIESCING)


@dataclass(frozen=True, slots=True)
class Damage:
    """The messages to move away from a status queue.

    Attributes:
        messages: how many.
        msg_ids: their MsgIds; ``None`` if all messages are moved.
        kept: the valid record that stays.
        moved: the records that are moved, because no one of them is known to be the right one.
    """

    messages: int = 0
    msg_ids: tuple[bytes, ...] | None = None
    kept: StatusRecord | None = None
    moved: tuple[StatusRecord, ...] = ()


def damage(connection: Connection, name: str, user: str | None = None) -> Damage:
    """Browse a status queue that its owner cannot use; ``user`` is whose records are believed, by default everybody's.

    Raises:
        StatusQueueUnusable: a record is of another version of this package, which can read it.
        MQIError: a call failed.
    """
    found: list[FoundMessage] = []
    unreadable: list[bytes] = []
    parts: set[bytes] = set()
    queue = connection.open_queue(name, mq.MQOO_BROWSE, max_message_length=st.LONGEST_MESSAGE_BYTES)
    try:
        while (got := queue.get(st.md(), _BROWSE)) is not None:
            data, md, _ = got
            msg_id, flags = md[st.MD_MSG_ID], MsgFlag(st.long_at(md, st.MD_MSG_FLAGS))
            try:
                record = decoded_record(name, data)
            except StatusQueueUnusable as error:
                if error.because != "corrupt":
                    raise
                unreadable.append(msg_id)
                parts |= {msg_id, md[st.MD_CORREL_ID], md[st.MD_GROUP_ID]}
                continue
            offset = st.long_at(md, st.MD_OFFSET)
            found.append(
                FoundMessage(
                    msg_id,
                    md[st.MD_CORREL_ID],
                    md[st.MD_GROUP_ID],
                    offset,
                    len(data),
                    flags,
                    record,
                    user=st.name_at(md, st.MD_USER_IDENTIFIER),
                )
            )
    finally:
        queue.close()
    if user is not None:
        strange = strangers(found, user)
        found = [each for each in found if each not in strange]
        unreadable += [each.msg_id for each in strange]
        parts |= {each.msg_id for each in strange}
    try:
        kept = contents_of(found)[1]
    except (RecordHidden, LookAgain, ChainBroken):
        kept = None
    # A damaged segment of the record's chain may be the current record. Messages are got by MsgId, so none may be there twice.
    own = {name for each in found for name in (each.msg_id, each.group_id)} - {GROUP_ID_NONE}
    if kept is not None and unreadable and not own & parts:
        return Damage(len(unreadable), tuple(unreadable), kept)
    records = tuple(each.record for each in found if each.record.state is not RecordState.ANCHOR)
    return Damage(len(found) + len(unreadable), moved=records)
