"""Delivers messages that the queue manager itself puts, and messages from a channel.

A report goes to the reply-to queue. If that queue does not take the report, it goes to the dead-letter queue with an MQDLH in
front. If the dead-letter queue does not take it either, the report is dropped. COD and expiration reports require that the
user of the reported message has PUT and PASSID for the reply-to queue (IBM MQ, "Message context"). Other reports require this if
the reading ``OTHER_REPORTS_NEED_AUTHORITY`` is true. MQOPEN checks the same profile: the queue's or transmission queue's.
"""

from __future__ import annotations

import logging
import struct

from mqembedded import constants as mq
from mqembedded.answer import Failed
from mqembedded.messages.logical_order import IS_SEGMENT
from mqembedded.messages.queue import Message
from mqembedded.messages.route import Target
from mqembedded.messages.transmission import Bound
from mqembedded.objects.attributes import MODEL
from mqembedded.platform import Platform
from mqembedded.queue_manager import MAX_PRIORITY, QueueManager
from mqembedded.remote_queues import CLUSTER_TRANSMISSION_QUEUE
from mqembedded.wire.structures import MessageDescriptor, name_field, text_field

_log = logging.getLogger(__name__)

DLH = struct.Struct("<4sii48s48sii8si28s8s8s")
# The offset of Encoding, CodedCharSetId and Format, which describe the data after the MQDLH.
DLH_FORMAT_OFFSET = 116
_TO_REPORT = frozenset({"PUT", "PASSID"})


def delivered(
    q_mgr: QueueManager,
    md: MessageDescriptor,
    data: bytes,
    properties: bytes,
    reply_to_q: str,
    reply_to_q_mgr: str,
    *,
    needs_authority: bool,
) -> list[Message]:
    """Make a message for the reply-to queue, count the put, and return the message in a list.

    If that queue refuses the message, the dead-letter queue gets it, unless ``md`` has MQRO_DISCARD_MSG. If no queue takes it,
    the list is empty. With ``needs_authority``, the user in ``md`` needs authority for the reply-to queue.
    """
    try:
        target = q_mgr.cluster.addressed(reply_to_q, reply_to_q_mgr)
        if needs_authority:
            profile = CLUSTER_TRANSMISSION_QUEUE if target.channel_name else target.queue.name
            if q_mgr.cluster.ways.to(reply_to_q_mgr) is None and q_mgr.catalogue.get(reply_to_q) is not None:
                profile = reply_to_q
            q_mgr.require(text_field(md.user_identifier), "QUEUE", profile, _TO_REPORT)
        return [placed(q_mgr, target, md, data, properties)]
    except Failed as failed:
        reason = failed.reason
        named = q_mgr.catalogue.get(reply_to_q)
        if named is not None and named.type == MODEL and reply_to_q_mgr in ("", q_mgr.name):
            # "Is returned in the Reason field of the MQDLH structure" (reason code 2057).
            reason = mq.MQRC_Q_TYPE_ERROR
    if not md.report & mq.MQRO_DISCARD_MSG:
        letter = dead_letter(q_mgr, md, data, properties, reason, (reply_to_q, reply_to_q_mgr or q_mgr.name))
        if letter is not None:
            return [letter]
    _log.warning("a report for %s is dropped: %s", reply_to_q, mq.reason_name(reason))
    return []


def dead_letter(
    q_mgr: QueueManager,
    md: MessageDescriptor,
    data: bytes,
    properties: bytes,
    reason: int,
    destination: tuple[str, str],
) -> Message | None:
    """Return the message for the dead-letter queue, with an MQDLH in front, or None if that queue does not take the message.

    ``destination`` names the queue and queue manager that the message was for. ``md`` becomes the dead letter's descriptor.
    """
    name = str(q_mgr.catalogue.q_mgr_values[mq.MQCA_DEAD_LETTER_Q_NAME])
    fields = (
        b"DLH ",
        1,
        reason,
        name_field(destination[0]),
        name_field(destination[1]),
        md.encoding,
        md.coded_char_set_id,
        md.format,
        mq.MQAT_QMGR,
        name_field(q_mgr.name, 28)[:28],
        *q_mgr.put_date_and_time(),
    )
    platform = q_mgr.platform
    if platform is Platform.ZOS:
        in_ebcdic = (each.decode("latin-1").encode("cp500") if isinstance(each, bytes) else each for each in fields)
        header = struct.pack(DLH.format.replace("<", ">"), *in_ebcdic)
    else:
        header = DLH.pack(*fields)
    md.encoding, md.coded_char_set_id, md.format = platform.encoding, platform.ccsid, mq.MQFMT_DEAD_LETTER_HEADER
    try:
        return placed(q_mgr, q_mgr.cluster.addressed(name, q_mgr.name), md, header + data, properties)
    except Failed as failed:
        _log.warning("the dead-letter queue %r does not take a message: %s", name, mq.reason_name(failed.reason))
        return None


def placed(
    q_mgr: QueueManager,
    target: Target,
    md: MessageDescriptor,
    data: bytes,
    properties: bytes,
    *,
    bound: Bound | None = None,
) -> Message:
    """Make a message for a target's queue, which can be a transmission queue. Count the put, and return the message.

    ``bound`` overrides the target's binding.

    Raises:
        Failed: the queue refuses the message. The reason code explains why.
    """
    queue = target.queue
    persistent = md.persistence == mq.MQPER_PERSISTENT
    if persistent and queue.definition_type == mq.MQQDT_TEMPORARY_DYNAMIC:
        raise Failed(mq.MQRC_PERSISTENT_NOT_ALLOWED)
    if len(data) > queue.integer(mq.MQIA_MAX_MSG_LENGTH):
        raise Failed(mq.MQRC_MSG_TOO_BIG_FOR_Q)
    if md.msg_flags & IS_SEGMENT and not q_mgr.platform.takes_segments(queue.values[mq.MQIA_INDEX_TYPE]):
        raise Failed(mq.MQRC_SEGMENTS_NOT_SUPPORTED)
    if queue.depth >= queue.integer(mq.MQIA_MAX_Q_DEPTH):
        raise Failed(mq.MQRC_Q_FULL)
    message = Message(
        queue,
        q_mgr.position_on(queue, md.msg_seq_number),
        queue.delivery_priority(min(md.priority, MAX_PRIORITY)),
        md.pack(2),
        data,
        group_fields=(md.group_id, md.msg_seq_number, md.offset, md.msg_flags),
        persistent=persistent,
        expires_at_s=queue.expires_at_s(md.expiry),
    )
    message.properties = properties
    if target.is_away:
        message = target.transmitted(message, q_mgr.new_identifier(), bound)
    queue.count_puts(1)
    return message
