"""Finds the messages that make a status queue unusable for its owner: they are no records, records of other users, or several.

If there is one valid record with its anchor beside messages that cannot be read, only these go, and the record stays as it is.
Otherwise nothing shows which record is the right one, so all messages go.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from mqgroups.connection.connection import Connection
from mqgroups.core.model import GROUP_ID_NONE
from mqgroups.core.status import RecordState, StatusRecord
from mqgroups.core.status_chain import ChainBroken, LookAgain, RecordHidden, contents_of, strangers
from mqgroups.mqi import structures as st
from mqgroups.operate.status_queues import look_at
from mqgroups.status.records import decoded_record


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
    seen = look_at(connection, name, partial(decoded_record, name), st.LONGEST_MESSAGE_BYTES)
    found = list(seen.messages)
    unreadable = [each[0] for each in seen.unreadable]
    parts = {name for each in seen.unreadable for name in each}
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
