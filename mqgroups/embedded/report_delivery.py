"""Where a report message goes: to the reply-to queue, or to the dead-letter queue with an MQDLH in front, or nowhere.

Not here: what is in a report (``reports.py``).
"""

from __future__ import annotations

import logging
import struct
import time

from mqgroups.embedded.objects import CatalogueError
from mqgroups.embedded.queue import Message
from mqgroups.embedded.queue_manager import CCSID, MAX_PRIORITY, Failed, QueueManager
from mqgroups.embedded.structures import MessageDescriptor, name_field
from mqgroups.mqi import constants as mq

_log = logging.getLogger(__name__)

DLH = struct.Struct("<4sii48s48sii8si28s8s8s")
# Encoding, CodedCharSetId and Format of what comes behind.
DLH_FORMAT_OFFSET = 116


def delivered(
    q_mgr: QueueManager, md: MessageDescriptor, data: bytes, properties: bytes, reply_to_q: str, reply_to_q_mgr: str
) -> list[Message]:
    """Return the message with this descriptor for the queue that takes it, counted on it; nothing if none does."""
    try:
        if reply_to_q_mgr not in ("", q_mgr.name):
            raise Failed(mq.MQRC_UNKNOWN_REMOTE_Q_MGR)
        return [_placed(q_mgr, reply_to_q, md, data, properties)]
    except Failed as failed:
        reason = failed.reason
    if not md.report & mq.MQRO_DISCARD_MSG:
        dead_letter_q = str(q_mgr.catalogue.q_mgr_values[mq.MQCA_DEAD_LETTER_Q_NAME])
        header = DLH.pack(
            b"DLH ",
            1,
            reason,
            name_field(reply_to_q),
            name_field(reply_to_q_mgr or q_mgr.name),
            md.encoding,
            md.coded_char_set_id,
            md.format,
            md.put_appl_type,
            md.put_appl_name,
            md.put_date,
            md.put_time,
        )
        md.encoding, md.coded_char_set_id, md.format = mq.MQENC_NATIVE, CCSID, mq.MQFMT_DEAD_LETTER_HEADER
        try:
            return [_placed(q_mgr, dead_letter_q, md, header + data, properties)]
        except Failed as failed:
            _log.warning(
                "the dead-letter queue %r does not take a report: %s", dead_letter_q, mq.reason_name(failed.reason)
            )
    _log.warning("a report for %s is dropped: %s", reply_to_q, mq.reason_name(reason))
    return []


def _placed(q_mgr: QueueManager, name: str, md: MessageDescriptor, data: bytes, properties: bytes) -> Message:
    """Return the message for a queue, counted on it; raises Failed with the reason why the queue does not take it."""
    try:
        queue, named = q_mgr.catalogue.resolve(name)
    except CatalogueError as error:
        raise Failed(error.reason) from error
    persistent = md.persistence == mq.MQPER_PERSISTENT
    if mq.MQQA_PUT_INHIBITED in (named.values[mq.MQIA_INHIBIT_PUT], queue.values[mq.MQIA_INHIBIT_PUT]):
        raise Failed(mq.MQRC_PUT_INHIBITED)
    if persistent and queue.definition_type == mq.MQQDT_TEMPORARY_DYNAMIC:
        raise Failed(mq.MQRC_PERSISTENT_NOT_ALLOWED)
    if len(data) > queue.integer(mq.MQIA_MAX_MSG_LENGTH):
        raise Failed(mq.MQRC_MSG_TOO_BIG_FOR_Q)
    if queue.depth >= queue.integer(mq.MQIA_MAX_Q_DEPTH):
        raise Failed(mq.MQRC_Q_FULL)
    message = Message(
        queue,
        q_mgr.new_position(),
        queue.delivery_priority(min(md.priority, MAX_PRIORITY)),
        md.pack(2),
        data,
        group_fields=(md.group_id, md.msg_seq_number, md.offset, md.msg_flags),
        persistent=persistent,
        expires_at_s=None if md.expiry == mq.MQEI_UNLIMITED else time.time() + md.expiry / 10,
    )
    message.properties = properties
    queue.count_puts(1)
    return message
