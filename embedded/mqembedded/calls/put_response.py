"""Asynchronous puts: which puts are asynchronous, what they return, and MQSTAT.

A client that puts asynchronously does not wait for the queue manager. The call returns MQCC_OK with the few fields that the
client knows, and the queue manager keeps the outcome for MQSTAT. The C library sends most of these MQPUTs without waiting
(ASYNC_PUT, with identifiers from IDENTIFIERS). For the other MQPUTs, and for MQPUT1, the library waits, but the application sees
no difference. Undefined fields keep the values that the program sent, so that tests find a program that relies on them.

Only clients put asynchronously. A put is asynchronous with MQPMO_ASYNC_RESPONSE, or if DEFPRESP of the queue was asynchronous at
MQOPEN. MQPUT1 in syncpoint is asynchronous, too, except with Put1DefaultAlwaysSync=YES in the client configuration file. Source:
IBM MQ, "Using asynchronous put in a client application", "DefaultPutResponse", "MQPUT1 sync point behavior change", "MQSTAT",
"2003".

Unverified: the returned fields (ApplIdentityData, PutApplType, PutApplName, ApplOriginData, and MsgId and CorrelId if the queue
manager makes them); DEFPRESP does not affect MQPUT1; errors in structures, handles and options are returned at once; every
message can be put asynchronously; after a failed put of a persistent message, other calls in the unit of work succeed, and MQCMIT
backs out. MQCMIT then ends with MQCC_WARNING and MQRC_BACKED_OUT, as the pages of both codes document. With another reading
(``readings.py``), the completion code is different.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

from mqembedded import constants as mq
from mqembedded.answer import Answer, Failed
from mqembedded.calls.context import PASSES, set_context
from mqembedded.connection import Connection
from mqembedded.messages.put_status import Destination, PutStatus, status_answered
from mqembedded.objects.attributes import ALIAS, LOCAL, MODEL, REMOTE
from mqembedded.objects.others import CatalogueError
from mqembedded.queue_manager import QueueManager
from mqembedded.wire.structures import NO_ID, MessageDescriptor, PutMessageOptions, StructureError

_COMES_BACK = ("appl_identity_data", "put_appl_type", "put_appl_name", "appl_origin_data")
_MD = struct.pack("<4si", b"MD  ", 1).ljust(324, b"\0")
_OBJECT_TYPES = {ALIAS: mq.MQOT_ALIAS_Q, LOCAL: mq.MQOT_LOCAL_Q, MODEL: mq.MQOT_MODEL_Q, REMOTE: mq.MQOT_REMOTE_Q}


def put_is_asynchronous(connection: Connection, options: int, default: int) -> bool:
    """Return whether an MQPUT with these MQPMO options is asynchronous. ``default`` is the queue's DEFPRESP at MQOPEN."""
    if not connection.origin.is_client or options & mq.MQPMO_SYNC_RESPONSE:
        return False
    return bool(options & mq.MQPMO_ASYNC_RESPONSE) or default == mq.MQPRT_ASYNC_RESPONSE


def put1_is_asynchronous(connection: Connection, options: int) -> bool:
    """Return whether an MQPUT1 with these MQPMO options is asynchronous."""
    by_default = options & mq.MQPMO_SYNCPOINT and not connection.origin.put1_always_sync
    return put_is_asynchronous(connection, options, mq.MQPRT_ASYNC_RESPONSE if by_default else mq.MQPRT_SYNC_RESPONSE)


def put_without_telling(
    q_mgr: QueueManager,
    connection: Connection,
    name: str,
    md_raw: bytes,
    pmo: PutMessageOptions,
    before: list[object],
    put: Callable[[], Answer],
) -> Answer:
    """Make an asynchronous put, and record its outcome for MQSTAT. The answer is the same whether or not the put has failed.

    Args:
        q_mgr: the queue manager.
        connection: the connection that puts.
        name: the queue's name as given to MQOPEN or MQPUT1.
        md_raw: the MQMD as it was sent.
        pmo: the MQPMO as it was sent.
        before: the reply fields in front of the MQMD. MQPUT has none. MQPUT1 has the MQOD as it was sent.
        put: a function that makes the put, and returns its real answer, with MQMD and MQPMO last.
    """
    md = MessageDescriptor(md_raw)
    destination, default_persistence = _destination(q_mgr, name)
    try:
        comp, reason, values = put()
    except Failed as failed:
        comp, reason = mq.MQCC_FAILED, failed.reason
        done = _never_put(q_mgr, connection, MessageDescriptor(md_raw), pmo)
        _doom(q_mgr, connection, md, pmo, default_persistence)
    else:
        packed = values[-2]
        assert isinstance(packed, bytes)
        done = MessageDescriptor(packed)
    connection.put_status = connection.put_status.after(comp, reason, destination)
    made = [
        *(["msg_id"] if pmo.options & mq.MQPMO_NEW_MSG_ID or md.msg_id == NO_ID else []),
        *(["correl_id"] if pmo.options & mq.MQPMO_NEW_CORREL_ID else []),
    ]
    for field in (*_COMES_BACK, *made):
        setattr(md, field, getattr(done, field))
    return mq.MQCC_OK, mq.MQRC_NONE, [*before, md.pack(md.version), pmo.raw]


def failed_untold(
    q_mgr: QueueManager, connection: Connection, hobj: int, md_raw: bytes, pmo_raw: bytes, reason: int
) -> Answer:
    """Record for MQSTAT that an ASYNC_PUT was refused with this reason code."""
    handle = connection.handles.get(hobj)
    destination, default_persistence = _destination(q_mgr, handle.opened_name if handle is not None else "")
    connection.put_status = connection.put_status.after(mq.MQCC_FAILED, reason, destination)
    try:
        md, pmo = MessageDescriptor(md_raw), PutMessageOptions.read(pmo_raw)
    except StructureError:
        # The structures cannot be read, so the put is not known to be in syncpoint.
        pass
    else:
        _doom(q_mgr, connection, md, pmo, default_persistence)
    return mq.MQCC_OK, mq.MQRC_NONE, []


def _doom(
    q_mgr: QueueManager,
    connection: Connection,
    md: MessageDescriptor,
    pmo: PutMessageOptions,
    default_persistence: int | None,
) -> None:
    """Make MQCMIT back out the unit of work if the failed put was in syncpoint and its message was persistent."""
    persistence = default_persistence if md.persistence == mq.MQPER_PERSISTENCE_AS_Q_DEF else md.persistence
    if q_mgr.platform.puts_in_syncpoint(pmo.options) and persistence != mq.MQPER_NOT_PERSISTENT:
        q_mgr.doom(connection)


def identifiers(q_mgr: QueueManager, connection: Connection) -> Answer:
    """Carry out IDENTIFIERS: return a block of identifiers and the context fields for a client's messages."""
    first, at, count = q_mgr.identifiers.block()
    md = MessageDescriptor(_MD)
    q_mgr.default_identity_context(connection, md)
    q_mgr.default_origin_context(connection, md)
    raw = md.pack(1)
    return mq.MQCC_OK, mq.MQRC_NONE, [first, at, count, raw[240:304] + raw[320:324]]


def _never_put(
    q_mgr: QueueManager, connection: Connection, md: MessageDescriptor, pmo: PutMessageOptions
) -> MessageDescriptor:
    """Return the descriptor that the client returns for a message that the queue manager has refused."""
    md.msg_id, md.correl_id = q_mgr.new_identifier(), q_mgr.new_identifier()
    if not pmo.options & PASSES:
        set_context(q_mgr, connection, md, pmo)
    return md


def _destination(q_mgr: QueueManager, name: str) -> tuple[Destination, int | None]:
    """Return MQSTAT's destination for a queue name, and the queue's DEFPSIST (None if the name is unknown)."""
    with q_mgr.lock:
        named = q_mgr.catalogue.get(name)
        if named is None:
            return Destination(mq.MQOT_Q, name), None
        default_persistence = named.values[mq.MQIA_DEF_PERSISTENCE]
        assert isinstance(default_persistence, int)
        try:
            queue, _ = q_mgr.catalogue.resolve(name)
        except CatalogueError:
            return Destination(_OBJECT_TYPES[named.type], name, q_mgr.name), default_persistence
        found = Destination(_OBJECT_TYPES[named.type], name, q_mgr.name, queue.name, q_mgr.name)
        return found, default_persistence


def status(_: QueueManager, connection: Connection, kind: int, sts: bytes) -> Answer:
    """Carry out MQSTAT (IBM MQ, "MQSTAT").

    Connections never reconnect here, so the two types for reconnection return MQCC_OK and MQRC_NONE (IBM MQ, "MQSTS").
    """
    asks_for_puts = kind == mq.MQSTAT_TYPE_ASYNC_ERROR
    if not asks_for_puts and kind not in (mq.MQSTAT_TYPE_RECONNECTION, mq.MQSTAT_TYPE_RECONNECTION_ERROR):
        raise Failed(mq.MQRC_STAT_TYPE_ERROR)
    if not asks_for_puts and not connection.origin.is_client:
        raise Failed(mq.MQRC_ENVIRONMENT_ERROR)
    try:
        answered = status_answered(sts, connection.put_status if asks_for_puts else PutStatus())
    except StructureError as error:
        raise Failed(mq.MQRC_STS_ERROR) from error
    if asks_for_puts:
        connection.put_status = PutStatus()
    return mq.MQCC_OK, mq.MQRC_NONE, [answered]
