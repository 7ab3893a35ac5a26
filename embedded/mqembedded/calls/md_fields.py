"""Checks the MQMD of a message that is put, and replaces values that mean the queue's default."""

from __future__ import annotations

from functools import lru_cache

from mqembedded import constants as mq
from mqembedded.answer import Failed
from mqembedded.messages.logical_order import IN_GROUP, IS_SEGMENT
from mqembedded.objects.attributes import Value
from mqembedded.queue_manager import MAX_PRIORITY
from mqembedded.reports.reports import check_report, wants_reply_queue
from mqembedded.wire.structures import MessageDescriptor, blank_padded

# The highest MsgSeqNumber and Offset.
HIGHEST_NUMBER = 999_999_999
_FLAGS = IN_GROUP | IS_SEGMENT | mq.MQMF_SEGMENTATION_ALLOWED
_MSG_TYPES = frozenset({mq.MQMT_REQUEST, mq.MQMT_REPLY, mq.MQMT_REPORT, mq.MQMT_DATAGRAM})


def resolve_descriptor(md: MessageDescriptor, persistence: Value, priority: Value) -> int:
    """Check the MQMD fields that do not concern groups, and fill in defaults; return a warning's reason code, or 0."""
    md.reply_to_q = blank_padded(md.reply_to_q, 48)
    md.reply_to_q_mgr = blank_padded(md.reply_to_q_mgr, 48)
    md.format = blank_padded(md.format, 8)
    warning = _check(md.report, md.msg_type, md.expiry, md.feedback, md.persistence, md.priority, md.reply_to_q)
    if md.persistence == mq.MQPER_PERSISTENCE_AS_Q_DEF:
        md.persistence = persistence
    if md.priority == mq.MQPRI_PRIORITY_AS_Q_DEF:
        md.priority = priority
    return warning


@lru_cache
def _check(
    report: int, msg_type: int, expiry: int, feedback: int, persistence: int, priority: int, reply_to_q: bytes
) -> int:
    """Check fields that are the same in most messages of a program. Combinations without an error are cached."""
    warning = check_report(report)
    if msg_type not in _MSG_TYPES and not mq.MQMT_APPL_FIRST <= msg_type <= mq.MQMT_APPL_LAST:
        raise Failed(mq.MQRC_MSG_TYPE_ERROR)
    wants_reply = msg_type == mq.MQMT_REQUEST or wants_reply_queue(report)
    if wants_reply and not reply_to_q.strip():
        raise Failed(mq.MQRC_MISSING_REPLY_TO_Q)
    if expiry <= 0 and expiry != mq.MQEI_UNLIMITED:
        raise Failed(mq.MQRC_EXPIRY_ERROR)
    if not 0 <= feedback <= mq.MQFB_APPL_LAST:
        raise Failed(mq.MQRC_FEEDBACK_ERROR)
    if persistence not in (mq.MQPER_PERSISTENCE_AS_Q_DEF, mq.MQPER_PERSISTENT, mq.MQPER_NOT_PERSISTENT):
        raise Failed(mq.MQRC_PERSISTENCE_ERROR)
    if priority < 0 and priority != mq.MQPRI_PRIORITY_AS_Q_DEF:
        raise Failed(mq.MQRC_PRIORITY_ERROR)
    if priority > MAX_PRIORITY:
        # The message takes a place at the highest priority, but its descriptor keeps the given priority (reason code 2049).
        warning = mq.MQRC_PRIORITY_EXCEEDS_MAXIMUM
    return warning


def check_group_fields(md: MessageDescriptor, body: bytes, *, logical_order: bool) -> None:
    """Raise Failed for values of MsgFlags, MsgSeqNumber, Offset or OriginalLength that are not allowed."""
    flags = md.msg_flags
    if flags & mq.MQMF_REJECT_UNSUP_MASK & ~_FLAGS:
        raise Failed(mq.MQRC_MSG_FLAGS_ERROR)
    if not logical_order:
        if flags & IN_GROUP and not 1 <= md.msg_seq_number <= HIGHEST_NUMBER:
            raise Failed(mq.MQRC_MSG_SEQ_NUMBER_ERROR)
        if flags & IS_SEGMENT and not 0 <= md.offset <= HIGHEST_NUMBER:
            raise Failed(mq.MQRC_OFFSET_ERROR)
    if not flags & IS_SEGMENT:
        return
    not_last = not flags & mq.MQMF_LAST_SEGMENT
    if md.msg_type == mq.MQMT_REPORT:
        # IBM MQ, "OriginalLength". Unverified: such a segment can be empty, because its data belongs to another message.
        if md.original_length < max(len(body), not_last):
            raise Failed(mq.MQRC_ORIGINAL_LENGTH_ERROR)
    elif not body and not_last:
        raise Failed(mq.MQRC_SEGMENT_LENGTH_ZERO)
