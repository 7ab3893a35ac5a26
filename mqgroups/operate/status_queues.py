"""Browses status queues without disturbing their owners. It returns all messages, readable or not, with their put times.

This module opens a queue only for browsing. So it does not wait for an owner, and does not prevent an owner's start. An owner
reads its own status queue in another way (``status/``), and stops at the first message that it cannot read.

``damage`` finds the messages that make a status queue unusable.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from mqgroups.connection.connection import Connection
from mqgroups.core.model import GROUP_ID_NONE
from mqgroups.core.status import RecordRejected, RecordState, RejectedBecause, StatusRecord
from mqgroups.core.status_chain import ChainBroken, FoundMessage, LookAgain, RecordHidden, contents_of, strangers
from mqgroups.errors import CommandRefused, MessageTooLong, NotAuthorised, StatusQueueUnusable
from mqgroups.mqi import constants as mq
from mqgroups.mqi import structures as st
from mqgroups.operate.attributes import inquired
from mqgroups.operate.command_server import uncommitted
from mqgroups.operate.rules.owner_state import OwnerState
from mqgroups.status.records import LONGEST_RECORD_BYTES, decoded_record, found_message, read_record

_BROWSE = st.gmo(mq.MQGMO_BROWSE_NEXT | mq.MQGMO_NO_WAIT | mq.MQGMO_FAIL_IF_QUIESCING)


@dataclass(frozen=True, slots=True)
class StatusQueueLook:
    """The messages on a status queue.

    Attributes:
        name: the name of the status queue.
        messages: the records and anchors, in physical order.
        put_times: PutDate and PutTime of each of these messages; 16 digits, UTC.
        unreadable: the MsgId, CorrelId and GroupId of each other message. A message that is too long has an empty tuple.
        why_unreadable: why the first unreadable message, or a record of another version if there is one, cannot be read.
        of_another_version: whether an unreadable message is a record that only another version of this package can read.
    """

    name: str
    messages: tuple[FoundMessage, ...]
    put_times: tuple[str, ...]
    unreadable: tuple[tuple[bytes, ...], ...] = ()
    why_unreadable: str = ""
    of_another_version: bool = False

    def put_time(self, message: FoundMessage) -> str:
        """Return the time at which one of ``messages`` was put."""
        return self.put_times[self.messages.index(message)]


def look_at(
    connection: Connection,
    name: str,
    decoded: Callable[[bytes, bytes], StatusRecord] = read_record,
    longest: int = LONGEST_RECORD_BYTES,
) -> StatusQueueLook:
    """Browse a status queue. Raises MQIError.

    ``decoded`` raises RecordRejected or StatusQueueUnusable for a message that is no record. ``longest``: the maximum length.
    """
    queue = connection.open_queue(name, mq.MQOO_BROWSE, max_message_length=longest)
    messages: list[FoundMessage] = []
    put_times: list[str] = []
    unreadable: list[tuple[bytes, ...]] = []
    why = ""
    of_another_version = False
    try:
        while (got := queue.get(st.md(), _BROWSE)) is not None:
            data, md, _ = got
            try:
                record = decoded(data, md)
            except (RecordRejected, StatusQueueUnusable) as error:
                if isinstance(error, StatusQueueUnusable) and error.because != "corrupt":
                    raise
                unreadable.append((md[st.MD_MSG_ID], md[st.MD_CORREL_ID], md[st.MD_GROUP_ID]))
                if isinstance(error, RecordRejected) and error.because is RejectedBecause.VERSION:
                    # The reason of a record that needs another version comes first.
                    why, of_another_version = str(error), True
                why = why or str(error)
                continue
            messages.append(found_message(data, md, record))
            put_times.append(st.name_at(md, st.MD_PUT_DATE) + st.name_at(md, st.MD_PUT_TIME))
    except MessageTooLong as error:
        # The cursor cannot pass this message, so messages after it are not seen.
        unreadable.append(())
        why = why or str(error)
    finally:
        queue.close()
    return StatusQueueLook(name, tuple(messages), tuple(put_times), tuple(unreadable), why, of_another_version)


def lost_or_hidden(connection: Connection, seen: StatusQueueLook) -> tuple[OwnerState, str]:
    """Return whether a missing record is lost or hidden. It is lost if no program is running and no unit of work hides messages.

    Returns:
        ``LOST`` or ``HIDDEN``. If it is not known which, ``HIDDEN`` and the reason.
    """
    facts, unknown = inquired(connection, seen.name, ("IPPROCS",))
    state, problem = OwnerState.HIDDEN, str(unknown or "")
    if facts.get("IPPROCS") == 0:
        try:
            # The record may have come back meanwhile.
            if not uncommitted(connection, seen.name) and look_at(connection, seen.name).messages == seen.messages:
                state = OwnerState.LOST
        except (CommandRefused, NotAuthorised) as error:
            problem = str(error)
    return state, f"it is not known whether a unit of work hides its record or it is lost: {problem}" if problem else ""


@dataclass(frozen=True, slots=True)
class Damage:
    """The messages to move away from a status queue.

    Attributes:
        messages: the number of messages to move.
        msg_ids: their MsgIds; ``None`` if all messages are moved.
        kept: the valid record that stays.
        moved: the records that are moved, because it is not known which of them is the right one.
    """

    messages: int = 0
    msg_ids: tuple[bytes, ...] | None = None
    kept: StatusRecord | None = None
    moved: tuple[StatusRecord, ...] = ()


def damage(connection: Connection, name: str, user: str | None = None) -> Damage:
    """Return which messages to move away from an unusable status queue. If ``user`` is given, only its records are valid.

    If one valid record with its anchor is beside unreadable messages, only the unreadable ones are moved. Otherwise nothing shows
    which record is the right one, so all messages are moved.
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
    # A damaged segment of the record's chain may be the current record. Messages are got by MsgId, so each MsgId must be unique.
    own = {name for each in found for name in (each.msg_id, each.group_id)} - {GROUP_ID_NONE}
    if kept is not None and unreadable and not own & parts:
        return Damage(len(unreadable), tuple(unreadable), kept)
    records = tuple(each.record for each in found if each.record.state is not RecordState.ANCHOR)
    return Damage(len(found) + len(unreadable), moved=records)
