"""Browses and decodes the messages on a status queue, and makes the errors for records that cannot be used.

``core.status`` decodes one record. ``core.status_chain`` decides which record is valid.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from contextlib import closing
from itertools import islice

from mqgroups.connection.connection import Connection
from mqgroups.connection.queue import Queue
from mqgroups.core.claim import is_claim_of_another_version, kind_of_record
from mqgroups.core.model import MsgFlag
from mqgroups.core.restart import Mismatch
from mqgroups.core.status import (
    Mark,
    Outgoing,
    RecordRejected,
    RejectedBecause,
    StatusRecord,
    decode,
    has_name_of_owner,
    shown,
)
from mqgroups.core.status_chain import (
    MOST_SEGMENTS,
    ChainBroken,
    FoundMessage,
    LookAgain,
    RecordHidden,
    contents_of,
    users_of_records,
)
from mqgroups.core.to_copy import to_copy
from mqgroups.errors import MessageTooLong, StatusQueueUnusable
from mqgroups.mqi import constants as mq
from mqgroups.mqi import structures as st

LONGEST_RECORD_BYTES = 16_777_216
# The remedy for a lost status record, as part of a sentence; and for a record that must not stay on its queue.
SALVAGE = "rebuild it from the messages of its group with `mqgroups salvage rebuild` before the next start"
SALVAGE_UNREADABLE = "rebuild it from the messages of its group with `mqgroups salvage rebuild --unreadable-to QUEUE`"
_DATAGRAM = [mq.MQMT_DATAGRAM, mq.MQFB_NONE, mq.MQRO_NONE]
# No owner has more messages on its status queue.
_MOST_MESSAGES = 2 * MOST_SEGMENTS


def browsed(
    queue: Queue, longest_bytes: int = LONGEST_RECORD_BYTES, own_users: Set[str] = frozenset()
) -> list[FoundMessage]:
    """Return the messages on a status queue; raises StatusQueueUnusable, MQIError.

    ``own_users``: the users under which the reader itself has put records.
    """
    found: list[FoundMessage] = []
    try:
        for data, md, _ in islice(queue.browse(st.md()), _MOST_MESSAGES + 1):
            found.append(found_message(data, md, decoded_record(queue.name, data, md), own_users))
    except MessageTooLong as error:
        if error.reason == mq.MQRC_DATA_LENGTH_ERROR:
            raise  # the channel is to blame, and a repair would move a good record away
        raise corrupt_record(queue.name, str(error), f"at most {longest_bytes} bytes") from None
    return found


def found_message(data: bytes, md: bytes, record: StatusRecord, own_users: Set[str] = frozenset()) -> FoundMessage:
    """Return a message of a status queue as a value, with the fields of its MQMD. ``own_users``: see ``browsed``."""
    user = st.name_at(md, st.MD_USER_IDENTIFIER)
    return FoundMessage(
        md[st.MD_MSG_ID],
        md[st.MD_CORREL_ID],
        md[st.MD_GROUP_ID],
        st.long_at(md, st.MD_OFFSET),
        len(data),
        MsgFlag(st.long_at(md, st.MD_MSG_FLAGS)),
        record,
        st.long_at(md, st.MD_EXPIRY) != mq.MQEI_UNLIMITED,
        user,
        user in own_users,
    )


def held_by(
    connection: Connection, name: str, users: Set[str] | None = None, marks: Sequence[Mark] = ()
) -> StatusRecord | None:
    """Browse a status queue that another owner has open, and return the committed record.

    Args:
        connection, name: the connection to the queue manager, and the name of the status queue.
        users: the users whose records are trusted; by default all users.
        marks: the marks of the caller's own records. Among several idle records, a record with such a mark is the current one.

    Returns:
        The record; ``None`` if no record is visible, or if the browse is inconsistent because the owner is replacing the record.

    Raises MQIError; StatusError if a message is not a status record of this version, or if another user has put it.
    """
    with closing(connection.open_queue(name, mq.MQOO_BROWSE, max_message_length=LONGEST_RECORD_BYTES)) as queue:
        messages = browsed(queue)
    if users is not None:
        refuse_strangers(name, users_of_records(messages), users)
    try:
        return contents_of(messages, marks)[1]
    except (RecordHidden, LookAgain, ChainBroken):
        return None


def made_by_a_queue_manager(md: bytes) -> str:
    """Describe a message for an error text. Return an empty text if the message is a program's datagram.

    A report contains another message's data. The report's user may be the user of a program that has moved the other message.
    """
    fields = {
        "MsgType": st.MD_MSG_TYPE,
        "Feedback": st.MD_FEEDBACK,
        "Report": st.MD_REPORT,
        "PutApplType": st.MD_PUT_APPL_TYPE,
    }
    found = {name: st.long_at(md, field) for name, field in fields.items()}
    *kind, put_appl_type = found.values()
    if kind == _DATAGRAM and put_appl_type != mq.MQAT_QMGR:
        return ""
    return "a message with " + ", ".join(f"{name} {value}" for name, value in found.items())


def read_record(data: bytes, md: bytes) -> StatusRecord:
    """Return the record in a message. Raises RecordRejected if the record is unreadable, or a queue manager made the message."""
    if why := made_by_a_queue_manager(md):
        raise RecordRejected(RejectedBecause.CORRUPT, why, "a datagram that a program has put")
    record = decode(data)
    if kind_of_record(record) is None and not has_name_of_owner(record):
        if is_claim_of_another_version(record):
            raise RecordRejected(RejectedBecause.VERSION, of_another_version(record), "a claim of this version")
        raise RecordRejected(
            RejectedBecause.CORRUPT, f"the name {shown(record.name)}", "the name of a producer or consumer"
        )
    return record


def decoded_record(name: str, data: bytes, md: bytes) -> StatusRecord:
    """Return the record in a message on status queue ``name``. Raises StatusQueueUnusable for the errors of ``read_record``."""
    try:
        return read_record(data, md)
    except RecordRejected as error:
        if error.because is RejectedBecause.VERSION:
            raise record_of_another_version(name, error.found, error.expected) from None
        raise corrupt_record(name, error.found, error.expected) from None


def of_another_version(record: StatusRecord) -> str:
    """Describe, for an error text, a record with which another version has claimed the name."""
    return f"a claim of {shown(record.name)}, written by {shown(record.owner_id)}"


def record_of_another_version(name: str, found: str, expected: str) -> StatusQueueUnusable:
    """Return the error for a record on status queue ``name`` that another version of this package has written."""
    return StatusQueueUnusable(
        f"status queue {name}: found {found}, expected {expected}. The record is valid: another version of mqgroups has written "
        "it. Start that version, which continues its group. Do not move or remove the record",
        status_queue=name,
        because="version",
        found=found,
        expected=expected,
    )


def corrupt_record(name: str, found: str, expected: str) -> StatusQueueUnusable:
    """Return the error for a message on status queue ``name`` that is not a status record."""
    return StatusQueueUnusable(
        f"status queue {name}: found {found}, expected {expected}. The message was left on the queue. Find out which program put "
        f"it. If it is the record, {SALVAGE_UNREADABLE}; if it is beside a valid record, the same command moves it away alone",
        status_queue=name,
        because="corrupt",
        found=found,
        expected=expected,
    )


def refuse_strangers(status_queue: str, found: Iterable[str], users: Set[str]) -> None:
    """Raise StatusQueueUnusable if one of the users in ``found`` is not in ``users``."""
    for each in found:
        if each not in users:
            raise foreign_record(status_queue, Mismatch("user_identifier", each, ", ".join(sorted(users))))


def foreign_record(status_queue: str, mismatch: Mismatch) -> StatusQueueUnusable:
    """Return the error for a status record that belongs to another owner. ``mismatch``: the field that differs."""
    remedy = ""
    if mismatch.field == "user_identifier":
        return StatusQueueUnusable(
            f"a status record on status queue {status_queue} was put by user {shown(mismatch.found)}, expected "
            f"{shown(mismatch.expected)} (UserIdentifier in its MQMD). It was not believed, and nothing was changed. Find out "
            "who put it. If the program has run under that user before, or an operator has written the record as that user, "
            f"start once with record_users=({shown(mismatch.found)},). If not, that user must not have +put on this queue; move "
            "the message away with `mqgroups salvage rebuild --record-user OWNER --unreadable-to QUEUE`",
            status_queue=status_queue,
            because="foreign",
            field=mismatch.field,
            found=mismatch.found,
            expected=mismatch.expected,
        )
    if mismatch.field == "q_mgr_identifier":
        remedy = ". If the data and status queues were moved here from that queue manager, adopt the record: `mqgroups adopt`"
    elif mismatch.field == "resolved_q_mgr_name":
        remedy = (
            f". If the group's messages were moved from {shown(mismatch.found)}, say where they are now: "
            + to_copy("--instance {}=NEW", str(mismatch.found))
        )
    return StatusQueueUnusable(
        f"the status record on status queue {status_queue} has {mismatch.field} {shown(mismatch.found)}, expected "
        f"{shown(mismatch.expected)}. It belongs to another program, or this program uses the wrong queue, queue manager or "
        "status queue. Nothing was changed. Correct the settings, or let the record's owner finish its group and call "
        f"forget(){remedy}",
        status_queue=status_queue,
        because="foreign",
        field=mismatch.field,
        found=mismatch.found,
        expected=mismatch.expected,
    )


def hidden_record(name: str, wait_s: float) -> StatusQueueUnusable:
    """Return the error for status queue ``name``, which has an anchor, but has shown no record for ``wait_s`` seconds."""
    return StatusQueueUnusable(
        f"status queue {name} has an anchor, but its status record did not appear within {wait_s:g} s. Check "
        f"{to_copy('DISPLAY QSTATUS({})', name)}. UNCOM(YES): the unit of work of an earlier instance hides the record until the "
        "queue manager drops that instance's connection; start again later. UNCOM(NO): another program removed the record, or "
        "other code committed on a shared connection; a start without the record would put or get messages twice, so "
        f"{SALVAGE}. Nothing was changed",
        status_queue=name,
        because="hidden",
        found="an anchor without its status record",
        expected="both",
    )


def records_disagree(
    found: Outgoing, expected: Outgoing, *, of: tuple[str, str], status_queues: tuple[str, str]
) -> StatusQueueUnusable:
    """Return the error for a pipe whose two records are from different commits.

    ``found``, ``expected``: the outgoing group's position in the producer's record, and in the consumer's record. ``of``: the
    names of the producer and the consumer. ``status_queues``: their status queues, in the same order.
    """
    return StatusQueueUnusable(
        f"the outgoing group of {of[0]} is {_stands(found)}, but with the last commit of {of[1]} it was {_stands(expected)}. "
        "Both are committed together, so one of the two status records was removed or replaced. Browse both queues and the "
        f"status queues {status_queues[1]} and {status_queues[0]} to find out what the last commit was; or {SALVAGE}",
        status_queue=status_queues[1],
        because="disagree",
        found=_stands(found),
        expected=_stands(expected),
    )


def _stands(outgoing: Outgoing) -> str:
    if outgoing == Outgoing():
        return "not begun"
    return f"at message {outgoing.msg_seq_number} of group {outgoing.group_id.hex()}"
