"""Report messages that the queue manager makes: confirm on arrival, confirm on delivery, expiration, exception.

The Report field of a message asks for reports, and chooses the data and the identifiers that reports contain. A report goes to
the message's ReplyToQ. If that queue refuses the report, it goes to the dead-letter queue, except if the message has
MQRO_DISCARD_MSG. If the dead-letter queue also refuses it, the report is dropped and logged. A report belongs to the unit of work
of the reported put or get, and is written to the disk with that unit of work. Exception reports are made only about messages that
a channel cannot deliver. An application that puts to a queue of its own queue manager gets a reason code instead.

Source: IBM MQ, "Report", "Structure of the report field", "OriginalLength", "Reports and segmented messages", "Feedback",
"Activity report MQMD", "Conversion of report messages". Unverified: identity context and priority are the original message's; an
expiry report with MQRO_PASS_DISCARD_AND_EXPIRY expires after 60 seconds; a report with data has the properties whose copy
options ask for this; messages with an MQDLH get no COA or COD reports; a report that cannot be put does not affect the reported
message.

``delivery.py`` delivers reports. ``calls/putting.py`` sets fields of reports that applications put.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace

from mqembedded import constants as mq
from mqembedded.answer import Failed
from mqembedded.messages.logical_order import IS_SEGMENT
from mqembedded.messages.queue import Message, Queue
from mqembedded.properties.control import kept, read
from mqembedded.properties.sets import combined
from mqembedded.queue_manager import QueueManager
from mqembedded.readings import OTHER_REPORTS_NEED_AUTHORITY
from mqembedded.reports.delivery import DLH, DLH_FORMAT_OFFSET, delivered
from mqembedded.wire.structures import MessageDescriptor, as_only_segment, name_field, text_field


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of report: its Report options (without data, with some data, with full data), and its Feedback.

    Each option contains the bits of the option before it.
    """

    plain: int
    with_data: int
    with_full_data: int
    feedback: int

    def asked(self, report: int) -> int:
        """Return the option of this kind that a Report field contains, or 0."""
        return report & self.with_full_data


COA = Kind(mq.MQRO_COA, mq.MQRO_COA_WITH_DATA, mq.MQRO_COA_WITH_FULL_DATA, mq.MQFB_COA)
COD = Kind(mq.MQRO_COD, mq.MQRO_COD_WITH_DATA, mq.MQRO_COD_WITH_FULL_DATA, mq.MQFB_COD)
EXPIRATION = Kind(
    mq.MQRO_EXPIRATION, mq.MQRO_EXPIRATION_WITH_DATA, mq.MQRO_EXPIRATION_WITH_FULL_DATA, mq.MQFB_EXPIRATION
)
# The Feedback of an exception report is a reason code.
EXCEPTION = Kind(mq.MQRO_EXCEPTION, mq.MQRO_EXCEPTION_WITH_DATA, mq.MQRO_EXCEPTION_WITH_FULL_DATA, mq.MQFB_NONE)
_KINDS = (COA, COD, EXPIRATION, EXCEPTION)
_OTHERS = (
    mq.MQRO_PAN
    | mq.MQRO_NAN
    | mq.MQRO_ACTIVITY
    | mq.MQRO_PASS_MSG_ID
    | mq.MQRO_PASS_CORREL_ID
    | mq.MQRO_DISCARD_MSG
    | mq.MQRO_PASS_DISCARD_AND_EXPIRY
)
_REPORT_AND_FORMAT = struct.Struct("<i20x8s")
_REPORT_OFFSET = 8
_DATA_LENGTH = 100
_EXPIRY_OF_EXPIRY_REPORT = 600  # tenths of a second
# The first fields of all headers that have a StrucLength: StrucId, Version, StrucLength, and Encoding, CodedCharSetId and Format
# of the data after the header.
_HEADER = struct.Struct("<4siiii8s")


def check_report(report: int) -> int:
    """Check a Report field; return MQRC_UNKNOWN_REPORT_OPTION, which is a warning, or MQRC_NONE.

    Three masks divide unknown options into options that are rejected, accepted with a warning, or accepted only for another queue
    manager. This function rejects the third kind, too (IBM MQ, "Structure of the report field"). Unverified: a WITH_DATA bit
    without the bits below it counts as unknown.

    Raises:
        Failed: MQRC_REPORT_OPTIONS_ERROR.
    """
    unknown = report & ~_OTHERS
    for kind in _KINDS:
        if kind.asked(report) in (kind.plain, kind.with_data, kind.with_full_data):
            unknown &= ~kind.with_full_data
    if unknown & (mq.MQRO_REJECT_UNSUP_MASK | mq.MQRO_ACCEPT_UNSUP_IF_XMIT_MASK):
        raise Failed(mq.MQRC_REPORT_OPTIONS_ERROR)
    return mq.MQRC_UNKNOWN_REPORT_OPTION if unknown & mq.MQRO_ACCEPT_UNSUP_MASK else mq.MQRC_NONE


def wants_reply_queue(report: int) -> bool:
    """Return whether a Report field asks for a report. If so, the message needs a ReplyToQ (reason code 2027)."""
    wanted = mq.MQRO_PAN | mq.MQRO_NAN | mq.MQRO_ACTIVITY
    return bool(report & wanted) or any(kind.asked(report) for kind in _KINDS)


def is_confirmed(kind: Kind, report: int, format_: bytes) -> bool:
    """Return whether the queue manager makes this kind of report (COA or COD) about a message with this Report and Format."""
    return bool(kind.asked(report)) and format_ not in (mq.MQFMT_DEAD_LETTER_HEADER, mq.MQFMT_XMIT_Q_HEADER)


def delivery_is_confirmed(message: Message) -> bool:
    """Return whether the queue manager will make a COD report when this message is got."""
    report, format_ = _REPORT_AND_FORMAT.unpack_from(message.md, _REPORT_OFFSET)
    return is_confirmed(COD, report, format_)


def reports_on_arrival(q_mgr: QueueManager, messages: Iterable[Message]) -> list[Message]:
    """Make COA reports about new messages, count these puts, and return the reports. The reports are not available yet."""
    made = []
    for message in messages:
        made += _of(q_mgr, COA, message)
    return made


def reports_on_delivery(q_mgr: QueueManager, parts: list[Message]) -> list[Message]:
    """Make the COD report about an MQGET's messages, count this put, and return the report. The report is not available yet.

    Segments that are got together get one report (IBM MQ, "Reports and segmented messages").
    """
    first, last = parts[0], parts[-1]
    raw = first.md
    if len(parts) > 1 and last.msg_flags & mq.MQMF_LAST_SEGMENT:
        raw = as_only_segment(raw, first.msg_flags | mq.MQMF_SEGMENT | mq.MQMF_LAST_SEGMENT)
    md = MessageDescriptor(raw)
    md.original_length = sum(part.extent for part in parts)
    data = b"".join(part.data for part in parts)
    return _report(q_mgr, COD, md, data, first.properties, first.expires_at_s)


def report_on_exception(
    q_mgr: QueueManager, about: MessageDescriptor, data: bytes, properties: bytes, reason: int
) -> list[Message]:
    """Return a list with the exception report about a message that a channel could not deliver, and count this put.

    The report is not available yet. The list is empty if the message does not ask for an exception report.
    """
    if not EXCEPTION.asked(about.report):
        return []
    return _report(q_mgr, replace(EXCEPTION, feedback=reason), about, data, properties, None)


def discard_expired(q_mgr: QueueManager, queue: Queue) -> None:
    """Remove expired messages from a queue, and make the reports that these messages ask for. Callers hold the lock.

    Raises:
        Failed: the disk refuses the write.
    """
    expired = queue.expire(time.time())
    if not expired:
        return
    reports: list[Message] = []
    for message in expired:
        if EXPIRATION.asked(MessageDescriptor(message.md).report):
            reports += _of(q_mgr, EXPIRATION, message)
    # Unlike other writes, this write is under the lock. It is rare, and a removed message must not come back.
    try:
        q_mgr.write_now(reports, expired)
    except Failed:
        forget(reports)
        raise
    publish(reports)


def forget(messages: Iterable[Message]) -> None:
    """Correct the queues' counts, because these reports could not be written. Callers hold the lock."""
    for message in messages:
        message.queue.held -= 1


def publish(messages: Iterable[Message]) -> None:
    """Make reports available that have been written. Callers hold the lock."""
    for message in messages:
        message.queue.make_available((message,))


# --- making a report


def _of(q_mgr: QueueManager, kind: Kind, message: Message) -> list[Message]:
    about = MessageDescriptor(message.md)
    return _report(q_mgr, kind, about, message.data, message.properties, message.expires_at_s)


def _report(
    q_mgr: QueueManager,
    kind: Kind,
    about: MessageDescriptor,
    data: bytes,
    properties: bytes,
    expires_at_s: float | None,
) -> list[Message]:
    """Make a report, count this put, and return the report in a list. The list is empty if no queue takes the report.

    ``about`` is the descriptor of the reported message. The other parameters are the message's data, properties and expiry. For
    segments that are got together, descriptor and data are those of the reassembled message.
    """
    option = kind.asked(about.report)
    if option == kind.plain:
        data = properties = b""
    else:
        if properties:
            properties = kept(combined(read(properties), (), mq.MQACTP_REPORT))
        if option == kind.with_data:
            data = data[: _headers_length(about.format, data) + _DATA_LENGTH]
    md = _descriptor(q_mgr, kind, about, expires_at_s)
    reply_to = text_field(about.reply_to_q), text_field(about.reply_to_q_mgr)
    needs_authority = kind in (COD, EXPIRATION) or q_mgr.readings[OTHER_REPORTS_NEED_AUTHORITY]
    return delivered(q_mgr, md, data, properties, *reply_to, needs_authority=needs_authority)


def _headers_length(format_: bytes, data: bytes) -> int:
    """Return the length of the MQ headers in front of the data. Headers do not count in the 100 bytes of a report with data."""
    at = 0
    while True:
        if format_ == mq.MQFMT_DEAD_LETTER_HEADER:
            length, format_offset = DLH.size, DLH_FORMAT_OFFSET
        elif format_.startswith(b"MQH") and at + _HEADER.size <= len(data):
            length, format_offset = _HEADER.unpack_from(data, at)[2], 20
        else:
            return at
        if length < _HEADER.size or at + length > len(data):
            return at
        format_ = data[at + format_offset : at + format_offset + 8]
        at += length


def _descriptor(
    q_mgr: QueueManager, kind: Kind, about: MessageDescriptor, expires_at_s: float | None
) -> MessageDescriptor:
    """Return the descriptor of a report.

    GroupId, MsgSeqNumber, Offset and MsgFlags come from the reported message, so a report about a segment is a segment. Format,
    CodedCharSetId, Encoding, Priority, Persistence and the identity context also come from it.
    """
    md = MessageDescriptor(about.pack(2))
    md.msg_type, md.feedback = mq.MQMT_REPORT, kind.feedback
    md.report, md.expiry = mq.MQRO_NONE, mq.MQEI_UNLIMITED
    if about.report & mq.MQRO_PASS_DISCARD_AND_EXPIRY:
        md.report = about.report & mq.MQRO_DISCARD_MSG
        if kind is EXPIRATION:
            md.expiry = _EXPIRY_OF_EXPIRY_REPORT
        elif expires_at_s is not None:
            md.expiry = max(1, int((expires_at_s - time.time()) * 10))
    if not about.report & mq.MQRO_PASS_CORREL_ID:
        md.correl_id = about.msg_id
    if not about.report & mq.MQRO_PASS_MSG_ID:
        md.msg_id = q_mgr.new_identifier()
    md.backout_count = 0
    md.reply_to_q, md.reply_to_q_mgr = b" " * 48, q_mgr.name_bytes()
    md.put_appl_type, md.put_appl_name = mq.MQAT_QMGR, name_field(q_mgr.name, 28)[:28]
    md.put_date, md.put_time = q_mgr.put_date_and_time()
    md.appl_origin_data = b" " * 4
    if not md.msg_flags & IS_SEGMENT:
        md.original_length = mq.MQOL_UNDEFINED
    return md
