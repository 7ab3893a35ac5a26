"""Commands for current activity: the status of queues, open handles, connections, and server-connection channels.

Source: IBM MQ, "Inquire Queue Status", "Inquire Connection", "Inquire Channel Status", with their response topics. A connection's
process is the process of the application. (On IBM MQ it is the process of the channel.)
"""

from __future__ import annotations

import calendar
import time
from collections.abc import Iterator

from mqembedded import constants as mq
from mqembedded.admin import pcf, stopping
from mqembedded.admin.commands.request import (
    Request,
    Row,
    Shape,
    byte_string,
    check_generic,
    integer,
    integers,
    matches,
    row,
    text,
)
from mqembedded.admin.pcf import PCFError
from mqembedded.connection import Connection
from mqembedded.messages.handle import INPUT, Handle
from mqembedded.messages.queue import Queue
from mqembedded.objects.kinds import Kind
from mqembedded.queue_manager import QueueManager
from mqembedded.wire import pcf_constants as cf

_LENGTHS = {
    cf.MQCACF_APPL_TAG: cf.MQ_APPL_TAG_LENGTH,
    cf.MQCACH_REMOTE_APPL_TAG: cf.MQ_APPL_TAG_LENGTH,
    cf.MQCACF_USER_IDENTIFIER: 64,
    cf.MQCACF_OBJECT_NAME: mq.MQ_OBJECT_NAME_LENGTH,
    cf.MQCACH_CHANNEL_NAME: mq.MQ_CHANNEL_NAME_LENGTH,
    cf.MQCACH_CONNECTION_NAME: mq.MQ_CONN_NAME_LENGTH,
}
# The offsets of PutDate and PutTime in an MQMD.
_PUT_DATE = slice(304, 318)

QUEUE_STATUS = Shape(
    text(mq.MQCA_Q_NAME),
    (*integers(cf.MQIACF_Q_STATUS_ATTRS), *integer(cf.MQIACF_Q_STATUS_TYPE, cf.MQIACF_OPEN_TYPE)),
    filters=True,
)
CONNECTION = Shape(
    (),
    (
        *byte_string(cf.MQBACF_CONNECTION_ID, cf.MQBACF_GENERIC_CONNECTION_ID),
        *integers(cf.MQIACF_CONNECTION_ATTRS),
        *integer(cf.MQIACF_CONN_INFO_TYPE),
    ),
    filters=True,
)
STOP_CONNECTION = Shape(byte_string(cf.MQBACF_CONNECTION_ID))
CHANNEL_STATUS = Shape(text(cf.MQCACH_CHANNEL_NAME), (*integers(cf.MQIACH_CHANNEL_INSTANCE_ATTRS),), filters=True)


def queue_status(q_mgr: QueueManager, request: Request) -> list[Row]:
    """Carry out MQCMD_INQUIRE_Q_STATUS, with a response for each queue, or for each open handle of a queue."""
    generic = request.text(mq.MQCA_Q_NAME, mq.MQ_Q_NAME_LENGTH)
    check_generic(generic)
    kind = request.integer(cf.MQIACF_Q_STATUS_TYPE, (cf.MQIACF_Q_STATUS, cf.MQIACF_Q_HANDLE), cf.MQIACF_Q_STATUS)
    opened = request.integer(cf.MQIACF_OPEN_TYPE, (cf.MQQSOT_ALL, cf.MQQSOT_INPUT, cf.MQQSOT_OUTPUT), cf.MQQSOT_ALL)
    wanted = request.selectors(cf.MQIACF_Q_STATUS_ATTRS)
    if wanted is not None and request.filter is not None:
        wanted |= {request.filter.identifier}
    queues = [queue for queue in q_mgr.catalogue.all() if matches(queue.name, generic)]
    if not queues:
        raise PCFError(mq.MQRC_UNKNOWN_OBJECT_NAME)
    rows = []
    for queue in queues:
        if not isinstance(queue, Queue):
            continue
        always = [
            pcf.string(mq.MQCA_Q_NAME, queue.name, mq.MQ_Q_NAME_LENGTH),
            pcf.integer(cf.MQIACF_Q_STATUS_TYPE, kind),
        ]
        if kind == cf.MQIACF_Q_STATUS:
            found: list[dict[int, object]] = [_status(queue)] if _is_opened_for(queue, opened) else []
            known = _QUEUE_STATUS_SELECTORS
        else:
            found = [
                {**_who(connection), **_how(handle)}
                for connection, handle in _handles(q_mgr, queue)
                if _is_handle_for(handle, opened)
            ]
            known = _HANDLE_SELECTORS
        rows += [row(always, values, wanted, _LENGTHS) for values in found if request.passes(values, known)]
    if not rows:
        raise PCFError(cf.MQRCCF_Q_STATUS_NOT_FOUND)
    return rows


def connection(q_mgr: QueueManager, request: Request) -> list[Row]:
    """Carry out MQCMD_INQUIRE_CONNECTION: return connections, their open handles, or both."""
    exact = request.parameters.get(cf.MQBACF_CONNECTION_ID)
    generic = request.parameters.get(cf.MQBACF_GENERIC_CONNECTION_ID)
    if exact is None and generic is None:
        raise PCFError(cf.MQRCCF_PARM_COUNT_TOO_SMALL)
    kinds = (cf.MQIACF_CONN_INFO_CONN, cf.MQIACF_CONN_INFO_HANDLE, cf.MQIACF_CONN_INFO_ALL)
    kind = request.integer(cf.MQIACF_CONN_INFO_TYPE, kinds, cf.MQIACF_CONN_INFO_CONN)
    wanted = request.selectors(cf.MQIACF_CONNECTION_ATTRS)
    if wanted is not None and request.filter is not None:
        wanted |= {request.filter.identifier}
    rows = []
    for found in list(q_mgr.connections.values()):
        identifier = found.connection_id
        if exact is not None and identifier != exact.value:
            continue
        if generic is not None and not identifier.startswith(_bytes(generic.value)):
            continue
        always = [pcf.byte_string(cf.MQBACF_CONNECTION_ID, identifier)]
        if kind != cf.MQIACF_CONN_INFO_HANDLE:
            values = {**_who(found), **_unit_of_work(found)}
            if request.passes(values, _CONNECTION_SELECTORS):
                kind_of_row = pcf.integer(cf.MQIACF_CONN_INFO_TYPE, cf.MQIACF_CONN_INFO_CONN)
                rows.append(row([*always, kind_of_row], values, wanted, _LENGTHS))
        if kind != cf.MQIACF_CONN_INFO_CONN:
            kind_of_row = pcf.integer(cf.MQIACF_CONN_INFO_TYPE, cf.MQIACF_CONN_INFO_HANDLE)
            for handle in found.handles.values():
                values = _object(q_mgr, handle)
                # A filter can also use attributes of a handle's connection (unverified).
                if request.passes({**_who(found), **_unit_of_work(found), **values}, _CONNECTION_SELECTORS):
                    rows.append(row([*always, kind_of_row], values, wanted, _LENGTHS))
    if not rows:
        reason = cf.MQRCCF_CONNECTION_ID_ERROR if exact is not None else cf.MQRCCF_NONE_FOUND
        raise PCFError(reason)
    return rows


def stop_connection(q_mgr: QueueManager, request: Request) -> list[Row]:
    """Carry out MQCMD_STOP_CONNECTION."""
    identifier = request.parameters[cf.MQBACF_CONNECTION_ID].value
    stopping.stop_connection(q_mgr, lambda each: each == identifier)
    return []


def channel_status(q_mgr: QueueManager, request: Request) -> list[Row]:
    """Carry out MQCMD_INQUIRE_CHANNEL_STATUS, with a response for each connection and for each stopped channel."""
    generic = request.text(cf.MQCACH_CHANNEL_NAME, mq.MQ_CHANNEL_NAME_LENGTH)
    check_generic(generic)
    wanted = request.selectors(cf.MQIACH_CHANNEL_INSTANCE_ATTRS)
    if wanted is not None and request.filter is not None:
        wanted |= {request.filter.identifier}
    found_values: list[tuple[str, dict[int, object]]] = [
        (name, {cf.MQIACH_CHANNEL_STATUS: cf.MQCHS_STOPPED, cf.MQCACH_CONNECTION_NAME: ""})
        for name in sorted(q_mgr.stopped_channels & q_mgr.catalogue.objects.of(Kind.CHANNEL).keys())
    ]
    for found in list(q_mgr.connections.values()):
        origin = found.origin
        values: dict[int, object] = {
            cf.MQIACH_CHANNEL_STATUS: cf.MQCHS_STOPPING if found.quiescing else cf.MQCHS_RUNNING,
            cf.MQIACH_HB_INTERVAL: origin.heartbeats.interval_s,
            # "0: the channel runs as before version 7" (IBM MQ, "DISPLAY CHSTATUS").
            cf.MQIACH_CURRENT_SHARING_CONVS: min(1, origin.heartbeats.conversations),
            cf.MQIACH_MAX_SHARING_CONVS: origin.heartbeats.conversations,
            cf.MQCACH_CONNECTION_NAME: origin.conn_name,
            cf.MQCACH_REMOTE_APPL_TAG: found.appl_name,
        }
        found_values.append((origin.channel_name, values))
    rows = []
    for name, values in found_values:
        always = [
            pcf.string(cf.MQCACH_CHANNEL_NAME, name, mq.MQ_CHANNEL_NAME_LENGTH),
            pcf.integer(cf.MQIACH_CHANNEL_TYPE, cf.MQCHT_SVRCONN),
        ]
        if name and matches(name, generic) and request.passes(values, _CHANNEL_STATUS_SELECTORS):
            rows.append(row(always, values, wanted, _LENGTHS))
    if not rows:
        raise PCFError(cf.MQRCCF_CHL_STATUS_NOT_FOUND)
    return rows


def _bytes(value: object) -> bytes:
    return value if isinstance(value, bytes) else b""


def _status(queue: Queue) -> dict[int, object]:
    """Return the status of a queue. Dates and times of the last put and get are blank, as on IBM MQ without monitoring."""
    return {
        mq.MQIA_CURRENT_Q_DEPTH: queue.depth,
        mq.MQIA_OPEN_INPUT_COUNT: queue.open_input_count,
        mq.MQIA_OPEN_OUTPUT_COUNT: queue.open_output_count,
        cf.MQIACF_UNCOMMITTED_MSGS: queue.uncommitted,
        cf.MQIACF_OLDEST_MSG_AGE: _oldest_age(queue),
        cf.MQIA_MONITORING_Q: cf.MQMON_OFF,
        cf.MQCACF_LAST_GET_DATE: " " * 12,
        cf.MQCACF_LAST_GET_TIME: " " * 8,
        cf.MQCACF_LAST_PUT_DATE: " " * 12,
        cf.MQCACF_LAST_PUT_TIME: " " * 8,
    }


def _oldest_age(queue: Queue) -> int:
    """Return the oldest message's age in seconds, from PutDate and PutTime (0 for an empty queue, -1 if it is unknown)."""
    oldest = queue.oldest()
    if oldest is None:
        return 0
    try:
        put = time.strptime(oldest.md[_PUT_DATE].decode("latin-1"), "%Y%m%d%H%M%S")
    except ValueError:
        return cf.MQMON_NOT_AVAILABLE
    return max(0, int(time.time()) - calendar.timegm(put))


def _handles(q_mgr: QueueManager, queue: Queue) -> Iterator[tuple[Connection, Handle]]:
    for found in q_mgr.connections.values():
        for handle in found.handles.values():
            if handle.queue is queue:
                yield found, handle


def _is_opened_for(queue: Queue, opened: int) -> bool:
    return (
        opened == cf.MQQSOT_ALL
        or (opened == cf.MQQSOT_INPUT and queue.open_input_count > 0)
        or (opened == cf.MQQSOT_OUTPUT and queue.open_output_count > 0)
    )


def _is_handle_for(handle: Handle, opened: int) -> bool:
    return (
        opened == cf.MQQSOT_ALL
        or (opened == cf.MQQSOT_INPUT and handle.for_input)
        or (opened == cf.MQQSOT_OUTPUT and bool(handle.options & mq.MQOO_OUTPUT))
    )


def _who(found: Connection) -> dict[int, object]:
    origin = found.origin
    return {
        cf.MQCACF_APPL_TAG: found.appl_name,
        cf.MQIA_APPL_TYPE: mq.MQAT_USER if origin.channel_name else cf.MQAT_SYSTEM_EXTENSION,
        cf.MQIACF_PROCESS_ID: origin.pid,
        cf.MQIACF_THREAD_ID: 0,
        cf.MQCACF_USER_IDENTIFIER: found.user,
        cf.MQCACH_CHANNEL_NAME: origin.channel_name,
        cf.MQCACH_CONNECTION_NAME: origin.conn_name,
    }


def _unit_of_work(found: Connection) -> dict[int, object]:
    active = bool(found.unit_of_work)
    return {
        cf.MQIACF_CONNECT_OPTIONS: found.origin.connect_options,
        cf.MQIACF_UOW_STATE: cf.MQUOWST_ACTIVE if active else cf.MQUOWST_NONE,
        cf.MQIACF_UOW_TYPE: cf.MQUOWT_Q_MGR,
    }


def _how(handle: Handle) -> dict[int, object]:
    """Return the queue status attributes that describe the open options of a handle."""
    options = handle.options

    def yes(option: int) -> int:
        return cf.MQQSO_YES if options & option else cf.MQQSO_NO

    by_input = cf.MQQSO_EXCLUSIVE if handle.exclusive else cf.MQQSO_SHARED
    return {
        cf.MQIACF_OPEN_INPUT_TYPE: by_input if options & INPUT else cf.MQQSO_NO,
        cf.MQIACF_OPEN_OUTPUT: yes(mq.MQOO_OUTPUT),
        cf.MQIACF_OPEN_BROWSE: yes(mq.MQOO_BROWSE),
        cf.MQIACF_OPEN_INQUIRE: yes(mq.MQOO_INQUIRE),
        cf.MQIACF_OPEN_SET: yes(mq.MQOO_SET),
        cf.MQIACF_OPEN_OPTIONS: options,
        cf.MQIACF_HANDLE_STATE: cf.MQHSTATE_ACTIVE if handle.waits else cf.MQHSTATE_INACTIVE,
    }


def _object(q_mgr: QueueManager, handle: Handle) -> dict[int, object]:
    is_topic = bool(handle.topic_string or handle.subscription)
    return {
        cf.MQCACF_OBJECT_NAME: handle.opened_name if is_topic else handle.opened_name or q_mgr.name,
        cf.MQIACF_OBJECT_TYPE: mq.MQOT_TOPIC if is_topic else handle.object_type,
        cf.MQIACF_OPEN_OPTIONS: handle.options,
        cf.MQIACF_HANDLE_STATE: cf.MQHSTATE_ACTIVE if handle.waits else cf.MQHSTATE_INACTIVE,
    }


_WHO = frozenset(
    {
        cf.MQCACF_APPL_TAG,
        cf.MQIA_APPL_TYPE,
        cf.MQIACF_PROCESS_ID,
        cf.MQIACF_THREAD_ID,
        cf.MQCACF_USER_IDENTIFIER,
        cf.MQCACH_CHANNEL_NAME,
        cf.MQCACH_CONNECTION_NAME,
    }
)
_QUEUE_STATUS_SELECTORS = frozenset(
    {
        mq.MQIA_CURRENT_Q_DEPTH,
        mq.MQIA_OPEN_INPUT_COUNT,
        mq.MQIA_OPEN_OUTPUT_COUNT,
        cf.MQIACF_UNCOMMITTED_MSGS,
        cf.MQIACF_OLDEST_MSG_AGE,
    }
)
_OPENED = frozenset(
    {
        cf.MQIACF_OPEN_INPUT_TYPE,
        cf.MQIACF_OPEN_OUTPUT,
        cf.MQIACF_OPEN_BROWSE,
        cf.MQIACF_OPEN_INQUIRE,
        cf.MQIACF_OPEN_SET,
        cf.MQIACF_OPEN_OPTIONS,
        cf.MQIACF_HANDLE_STATE,
    }
)
_HANDLE_SELECTORS = _WHO | _OPENED
_CHANNEL_STATUS_SELECTORS = frozenset(
    {
        cf.MQIACH_CHANNEL_STATUS,
        cf.MQIACH_HB_INTERVAL,
        cf.MQIACH_CURRENT_SHARING_CONVS,
        cf.MQIACH_MAX_SHARING_CONVS,
        cf.MQCACH_CONNECTION_NAME,
        cf.MQCACH_REMOTE_APPL_TAG,
    }
)
_CONNECTION_SELECTORS = _WHO | {
    cf.MQIACF_CONNECT_OPTIONS,
    cf.MQIACF_UOW_STATE,
    cf.MQIACF_UOW_TYPE,
    cf.MQCACF_OBJECT_NAME,
    cf.MQIACF_OBJECT_TYPE,
    cf.MQIACF_OPEN_OPTIONS,
    cf.MQIACF_HANDLE_STATE,
}
