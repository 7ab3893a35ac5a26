"""Message context: the user and the application that put a message, and the time of the put.

MQPMO chooses where the context comes from. By default, the queue manager fills the context in. With other options, the context is
empty, is passed on from a message that the application has got, or is set by the application. To pass or set context, the
application must open the output handle with the matching option. Source: IBM MQ, "Controlling context information", "MQPMO
options" and the pages of the reason codes. ``permission.py`` checks the user's authority.
"""

from __future__ import annotations

from mqembedded import constants as mq
from mqembedded.answer import Failed
from mqembedded.connection import Connection
from mqembedded.messages.handle import Handle
from mqembedded.queue_manager import QueueManager
from mqembedded.wire.structures import MessageDescriptor, PutMessageOptions, blank_padded

IDENTITY = ("user_identifier", "accounting_token", "appl_identity_data")
ORIGIN = ("put_appl_type", "put_appl_name", "put_date", "put_time", "appl_origin_data")
_TEXT = ("user_identifier", "appl_identity_data", "put_appl_name", "put_date", "put_time", "appl_origin_data")
PASSES = mq.MQPMO_PASS_IDENTITY_CONTEXT | mq.MQPMO_PASS_ALL_CONTEXT
SETS = mq.MQPMO_SET_IDENTITY_CONTEXT | mq.MQPMO_SET_ALL_CONTEXT

# For each MQPMO option: the MQOPEN option that the output handle needs, and the reason code if the option is missing.
_NEEDED = {
    mq.MQPMO_PASS_IDENTITY_CONTEXT: (
        mq.MQOO_PASS_IDENTITY_CONTEXT
        | mq.MQOO_PASS_ALL_CONTEXT
        | mq.MQOO_SET_IDENTITY_CONTEXT
        | mq.MQOO_SET_ALL_CONTEXT,
        mq.MQRC_NOT_OPEN_FOR_PASS_IDENT,
    ),
    mq.MQPMO_PASS_ALL_CONTEXT: (
        mq.MQOO_PASS_ALL_CONTEXT | mq.MQOO_SET_IDENTITY_CONTEXT | mq.MQOO_SET_ALL_CONTEXT,
        mq.MQRC_NOT_OPEN_FOR_PASS_ALL,
    ),
    mq.MQPMO_SET_IDENTITY_CONTEXT: (
        mq.MQOO_SET_IDENTITY_CONTEXT | mq.MQOO_SET_ALL_CONTEXT,
        mq.MQRC_NOT_OPEN_FOR_SET_IDENT,
    ),
    mq.MQPMO_SET_ALL_CONTEXT: (mq.MQOO_SET_ALL_CONTEXT, mq.MQRC_NOT_OPEN_FOR_SET_ALL),
}


def check_context(connection: Connection, handle: Handle, pmo: PutMessageOptions, *, put1: bool) -> None:
    """Raise Failed if the handle was not opened with the option for this context. MQPUT1 opens its handle with this option."""
    option = pmo.options & (PASSES | SETS)
    if not option:
        return
    allowed, reason = _NEEDED[option]
    if not put1 and not handle.options & allowed:
        raise Failed(reason)
    if option & PASSES:
        _source(connection, pmo)


def _source(connection: Connection, pmo: PutMessageOptions) -> MessageDescriptor:
    """Return the descriptor of the message whose context is passed on."""
    source = connection.handles.get(pmo.context)
    if source is None or not source.options & mq.MQOO_SAVE_ALL_CONTEXT:
        raise Failed(mq.MQRC_CONTEXT_HANDLE_ERROR)
    if source.saved_context is None:
        raise Failed(mq.MQRC_CONTEXT_NOT_AVAILABLE)
    return MessageDescriptor(source.saved_context)


def set_context(q_mgr: QueueManager, connection: Connection, md: MessageDescriptor, pmo: PutMessageOptions) -> None:
    """Fill in a descriptor's context fields as MQPMO requires. Call ``check_context`` first."""
    options = pmo.options
    if options & mq.MQPMO_NO_CONTEXT:
        md.user_identifier, md.accounting_token, md.appl_identity_data = b" " * 12, bytes(32), b" " * 32
        md.put_appl_type, md.put_appl_name = mq.MQAT_NO_CONTEXT, b" " * 28
        md.put_date, md.put_time, md.appl_origin_data = b" " * 8, b" " * 8, b" " * 4
        return
    if options & PASSES:
        source = _source(connection, pmo)
        passed = IDENTITY + ORIGIN if options & mq.MQPMO_PASS_ALL_CONTEXT else IDENTITY
        for field in passed:
            setattr(md, field, getattr(source, field))
    elif options & SETS:
        # A null and all bytes after it become blanks (IBM MQ, "UserIdentifier", "AccountingToken", "PutApplName",
        # "ApplIdentityData", PutDate, PutTime).
        for field in _TEXT:
            value = getattr(md, field)
            setattr(md, field, blank_padded(value, len(value)))
    else:
        q_mgr.default_identity_context(connection, md)
    if not options & (mq.MQPMO_PASS_ALL_CONTEXT | mq.MQPMO_SET_ALL_CONTEXT):
        q_mgr.default_origin_context(connection, md)
