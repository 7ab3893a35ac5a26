"""MQINQ and MQSET."""

from __future__ import annotations

import struct
import time
from collections.abc import Container, Iterable, Mapping

from mqembedded import constants as mq
from mqembedded.answer import Answer, Failed
from mqembedded.connection import Connection
from mqembedded.messages.handle import Handle
from mqembedded.messages.queue import Queue
from mqembedded.objects.attributes import ALIAS, QUEUE_ATTRIBUTES, Attribute, Value, character_length
from mqembedded.objects.definition import Definition
from mqembedded.objects.kinds import ATTRIBUTES, Q_MGR_ATTRIBUTES, Kind
from mqembedded.objects.others import CatalogueError, ObjectValue
from mqembedded.queue_manager import COMMAND_LEVEL, MAX_PRIORITY, VERSION, QueueManager
from mqembedded.wire import pcf_constants as pcf

_NOT_APPLICABLE = -1
_SETTABLE = frozenset(
    {
        mq.MQIA_INHIBIT_GET,
        mq.MQIA_INHIBIT_PUT,
        mq.MQIA_DIST_LISTS,
        mq.MQIA_TRIGGER_CONTROL,
        mq.MQIA_TRIGGER_DEPTH,
        mq.MQIA_TRIGGER_MSG_PRIORITY,
        mq.MQIA_TRIGGER_TYPE,
        mq.MQCA_TRIGGER_DATA,
    }
)
_ON_ALIAS = frozenset({mq.MQIA_INHIBIT_GET, mq.MQIA_INHIBIT_PUT})
_PERMITTED: dict[int, tuple[int, Container[int]]] = {
    mq.MQIA_INHIBIT_GET: (mq.MQRC_INHIBIT_VALUE_ERROR, (0, 1)),
    mq.MQIA_INHIBIT_PUT: (mq.MQRC_INHIBIT_VALUE_ERROR, (0, 1)),
    mq.MQIA_TRIGGER_CONTROL: (mq.MQRC_TRIGGER_CONTROL_ERROR, (0, 1)),
    mq.MQIA_TRIGGER_TYPE: (mq.MQRC_TRIGGER_TYPE_ERROR, (0, 1, 2, 3)),
    mq.MQIA_TRIGGER_DEPTH: (mq.MQRC_TRIGGER_DEPTH_ERROR, range(1, 1_000_000_000)),
    mq.MQIA_TRIGGER_MSG_PRIORITY: (mq.MQRC_TRIGGER_MSG_PRIORITY_ERR, range(MAX_PRIORITY + 1)),
}


def _is_integer(selector: int) -> bool:
    return mq.MQIA_FIRST <= selector <= mq.MQIA_LAST


# The attributes that MQINQ returns for a cluster queue without a local instance (IBM MQ, "MQINQ and clusters").
_OF_CLUSTER_QUEUES = (
    mq.MQIA_DEF_BIND,
    mq.MQIA_DEF_PERSISTENCE,
    mq.MQIA_DEF_PRIORITY,
    mq.MQIA_INHIBIT_PUT,
    mq.MQCA_Q_DESC,
    mq.MQIA_Q_TYPE,
)


def _lengths(attributes: tuple[Attribute, ...], others: Iterable[int]) -> dict[int, int]:
    """Return the length of each selector's value (0 for an integer). The alteration date and time are included."""
    dates = (mq.MQCA_ALTERATION_DATE, mq.MQCA_ALTERATION_TIME)
    return {
        **{selector: character_length(selector) for selector in (*others, *dates)},
        **{attribute.selector: attribute.length for attribute in attributes},
    }


# The valid selectors of each object type, with the lengths of their values.
_SELECTORS = {
    mq.MQOT_Q: _lengths(
        QUEUE_ATTRIBUTES,
        (
            mq.MQCA_Q_NAME,
            mq.MQCA_CREATION_DATE,
            mq.MQCA_CREATION_TIME,
            mq.MQIA_Q_TYPE,
            mq.MQIA_CURRENT_Q_DEPTH,
            mq.MQIA_OPEN_INPUT_COUNT,
            mq.MQIA_OPEN_OUTPUT_COUNT,
        ),
    ),
    mq.MQOT_Q_MGR: _lengths(
        Q_MGR_ATTRIBUTES,
        (
            mq.MQCA_Q_MGR_NAME,
            mq.MQCA_Q_MGR_IDENTIFIER,
            mq.MQCA_COMMAND_INPUT_Q_NAME,
            mq.MQCA_VERSION,
            mq.MQCA_INSTALLATION_NAME,
            mq.MQIA_CODED_CHAR_SET_ID,
            mq.MQIA_COMMAND_LEVEL,
            mq.MQIA_MAX_PRIORITY,
            mq.MQIA_PLATFORM,
            mq.MQIA_SYNCPOINT,
            mq.MQIA_DIST_LISTS,
        ),
    ),
    mq.MQOT_NAMELIST: {
        **_lengths(ATTRIBUTES[Kind.NAMELIST], (pcf.MQIA_NAME_COUNT,)),
        pcf.MQCA_NAMELIST_NAME: mq.MQ_NAMELIST_NAME_LENGTH,
        pcf.MQCA_NAMES: mq.MQ_OBJECT_NAME_LENGTH,
    },
    mq.MQOT_PROCESS: _lengths(ATTRIBUTES[Kind.PROCESS], (mq.MQCA_PROCESS_NAME,)),
}


def _integers(raw: bytes) -> tuple[int, ...]:
    return struct.unpack(f"<{len(raw) // 4}i", raw[: len(raw) // 4 * 4])


def inquire(
    q_mgr: QueueManager,
    connection: Connection,
    hobj: int,
    selectors_raw: bytes,
    int_attr_count: int,
    char_attr_length: int,
) -> Answer:
    """Carry out MQINQ (IBM MQ, "MQINQ"): return integers in the order of their selectors, then character values.

    A selector must be valid for the type of object (2067). If only queues of other types have an attribute, its value is -1 or
    asterisks, and the call ends with a warning. A buffer that is too small also gives a warning. If several of the reason codes
    2068, 2022 and 2008 apply, the first of these is returned.
    """
    with q_mgr.lock:
        handle = connection.handle(hobj)
        if handle.changed:
            raise Failed(mq.MQRC_OBJECT_CHANGED)
        if not handle.options & mq.MQOO_INQUIRE:
            raise Failed(mq.MQRC_NOT_OPEN_FOR_INQUIRE)
        known = _values(q_mgr, handle)
        valid = _SELECTORS[handle.object_type]
        integers: list[int] = []
        characters = b""
        warning = mq.MQRC_NONE
        for selector in _integers(selectors_raw):
            if selector not in valid:
                raise Failed(mq.MQRC_SELECTOR_ERROR)
            value = known.get(selector)
            if length := valid[selector]:
                # The names of a namelist are a single attribute, with 48 characters for each name.
                texts = value if isinstance(value, list) else ["*" * length if value is None else str(value)]
                characters += b"".join(text.encode("latin-1", "replace").ljust(length)[:length] for text in texts)
            else:
                integers.append(value if isinstance(value, int) else _NOT_APPLICABLE)
            if value is None:
                warning = mq.MQRC_SELECTOR_NOT_FOR_TYPE
    if int_attr_count < 0:
        raise Failed(mq.MQRC_INT_ATTR_COUNT_ERROR)
    if char_attr_length < 0:
        raise Failed(mq.MQRC_CHAR_ATTR_LENGTH_ERROR)
    if not warning and len(integers) > int_attr_count:
        warning = mq.MQRC_INT_ATTR_COUNT_TOO_SMALL
    elif not warning and len(characters) > char_attr_length:
        warning = mq.MQRC_CHAR_ATTRS_TOO_SHORT
    integers = integers[:int_attr_count]
    packed = struct.pack(f"<{len(integers)}i", *integers)
    comp = mq.MQCC_WARNING if warning else mq.MQCC_OK
    return comp, warning, [packed, characters[:char_attr_length]]


def _values(q_mgr: QueueManager, handle: Handle) -> Mapping[int, ObjectValue]:
    """Return the attributes that MQINQ can return for a handle. Raise Failed if it is a topic, or if its object is gone."""
    if handle.topic_string:
        # "MQINQ" has no selectors for topics. This reason code is unverified.
        raise Failed(mq.MQRC_SELECTOR_ERROR)
    if handle.route is not None and handle.route.is_elsewhere:
        return {**{each: handle.route.values[each] for each in _OF_CLUSTER_QUEUES}, mq.MQCA_Q_NAME: handle.opened_name}
    if handle.queue is not None:
        return _queue_values(handle, handle.queue)
    if handle.object_type == mq.MQOT_Q_MGR:
        return q_mgr_values(q_mgr)
    kind = Kind.NAMELIST if handle.object_type == mq.MQOT_NAMELIST else Kind.PROCESS
    try:
        found = q_mgr.catalogue.objects.get(kind, handle.opened_name)
    except CatalogueError as error:
        raise Failed(error.reason) from error
    if kind is Kind.PROCESS:
        return {**found, mq.MQCA_PROCESS_NAME: handle.opened_name}
    names = found[pcf.MQCA_NAMES]
    assert isinstance(names, list)
    return {**found, pcf.MQCA_NAMELIST_NAME: handle.opened_name, pcf.MQIA_NAME_COUNT: len(names)}


def _queue_values(handle: Handle, queue: Queue) -> dict[int, Value]:
    """Return the attributes that MQINQ can return for a queue handle. An alias has its own attributes (IBM MQ, "MQINQ")."""
    if handle.opened_values is queue.values:
        return {**object_values(queue), mq.MQCA_Q_NAME: handle.opened_name}
    return {
        mq.MQIA_Q_TYPE: ALIAS,
        **(handle.opened_values or {}),
        **_dates(queue.created),
        mq.MQCA_Q_NAME: handle.opened_name,
    }


def object_values(queue: Queue | Definition) -> dict[int, Value]:
    """Return all attributes of a queue by selector, including computed attributes such as the depth."""
    values = {**queue.values, **_dates(queue.created), mq.MQCA_Q_NAME: queue.name, mq.MQIA_Q_TYPE: queue.type}
    if not isinstance(queue, Queue):
        return values
    values[mq.MQIA_DEFINITION_TYPE] = queue.definition_type
    values[mq.MQIA_CURRENT_Q_DEPTH] = queue.depth
    values[mq.MQIA_OPEN_INPUT_COUNT] = queue.open_input_count
    values[mq.MQIA_OPEN_OUTPUT_COUNT] = queue.open_output_count
    return values


def _dates(created: time.struct_time) -> dict[int, Value]:
    stamp = time.strftime("%Y-%m-%d  %H.%M.%S", created)
    return {
        mq.MQCA_CREATION_DATE: stamp[:12],
        mq.MQCA_CREATION_TIME: stamp[12:],
        mq.MQCA_ALTERATION_DATE: stamp[:12],
        mq.MQCA_ALTERATION_TIME: stamp[12:],
    }


def q_mgr_values(q_mgr: QueueManager) -> dict[int, Value]:
    """Return all attributes of the queue manager by selector."""
    return {
        **q_mgr.catalogue.q_mgr_values,
        mq.MQCA_Q_MGR_NAME: q_mgr.name,
        mq.MQCA_Q_MGR_IDENTIFIER: q_mgr.store.identifier,
        mq.MQCA_COMMAND_INPUT_Q_NAME: q_mgr.platform.command_queue,
        mq.MQCA_VERSION: VERSION,
        mq.MQCA_INSTALLATION_NAME: "Embedded",
        mq.MQIA_CODED_CHAR_SET_ID: q_mgr.platform.ccsid,
        mq.MQIA_COMMAND_LEVEL: COMMAND_LEVEL,
        mq.MQIA_MAX_PRIORITY: MAX_PRIORITY,
        mq.MQIA_PLATFORM: q_mgr.platform.mqi_number,
        mq.MQIA_SYNCPOINT: mq.MQSP_AVAILABLE,
        mq.MQIA_DIST_LISTS: mq.MQDL_NOT_SUPPORTED,
        # The value is always "disabled", because records are not enforced.
        pcf.MQIA_CHLAUTH_RECORDS: pcf.MQCHLA_DISABLED,
    }


def set_attributes(
    q_mgr: QueueManager, connection: Connection, hobj: int, selectors_raw: bytes, int_attrs: bytes, char_attrs: bytes
) -> Answer:
    """Carry out MQSET (IBM MQ, "MQSET"): set all given attributes or none."""
    with q_mgr.lock:
        handle, queue = connection.queue_handle(hobj)
        if not handle.options & mq.MQOO_SET:
            raise Failed(mq.MQRC_NOT_OPEN_FOR_SET)
        integers = iter(_integers(int_attrs))
        at = 0
        values: dict[int, Value] = {}
        is_alias = handle.opened_values is not queue.values
        for selector in _integers(selectors_raw):
            if selector not in _SETTABLE or (is_alias and selector not in _ON_ALIAS):
                raise Failed(mq.MQRC_SELECTOR_ERROR)
            if _is_integer(selector):
                value = next(integers, None)
                if value is None:
                    raise Failed(mq.MQRC_INT_ATTR_COUNT_ERROR)
                reason, allowed = _PERMITTED.get(selector, (0, ()))
                if reason and value not in allowed:
                    raise Failed(reason)
                values[selector] = value
            else:
                length = character_length(selector)
                values[selector] = char_attrs[at : at + length].decode("latin-1").rstrip(" \0")
                at += length
        assert handle.opened_values is not None
        handle.opened_values.update(values)
        q_mgr.catalogue.changed(handle.opened_name, queue)
    return mq.MQCC_OK, mq.MQRC_NONE, []
