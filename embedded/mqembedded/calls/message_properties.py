"""The verbs MQCRTMH, MQDLTMH, MQSETMP, MQINQMP and MQDLTMP.

The verbs read structures, look up the handle, and turn errors from ``properties/`` into reason codes. ``properties/`` has the
rules for properties. ``property_transfer.py`` has what MQPUT and MQGET do with message handles.

Source: IBM MQ, "MQCRTMH", "MQDLTMH", "MQSETMP", "MQINQMP", "MQDLTMP" and the pages of the structures. Unverified: the order of
the checks; the cursor moves with MQIMPO_QUERY_LENGTH, and also with MQRC_PROPERTY_VALUE_TOO_BIG if no conversion was requested
(as the page of this reason code documents).
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from mqembedded import constants as mq
from mqembedded.answer import Answer, Failed
from mqembedded.calls.opening import at_most_one
from mqembedded.code_pages import UTF_8
from mqembedded.connection import Connection
from mqembedded.properties.message_handle import MessageHandle
from mqembedded.properties.names import (
    DESCRIPTOR,
    PropertyError,
    check_length,
    check_name,
    check_type,
    name_of,
    path_of,
)
from mqembedded.properties.sets import Property
from mqembedded.properties.values import convert, decode, pack, unpack
from mqembedded.queue_manager import QueueManager
from mqembedded.wire.structures import (
    StructureError,
    version_of,
)

_PD = struct.Struct("<4s5i")
_SUPPORT = frozenset({mq.MQPD_SUPPORT_OPTIONAL, mq.MQPD_SUPPORT_REQUIRED, mq.MQPD_SUPPORT_REQUIRED_IF_LOCAL})
_CONTEXT = frozenset({mq.MQPD_NO_CONTEXT, mq.MQPD_USER_CONTEXT})
_COPY = mq.MQCOPY_ALL | mq.MQCOPY_FORWARD | mq.MQCOPY_PUBLISH | mq.MQCOPY_REPLY | mq.MQCOPY_REPORT
_PLACES = mq.MQIMPO_INQ_NEXT | mq.MQIMPO_INQ_PROP_UNDER_CURSOR
_INQUIRES = _PLACES | mq.MQIMPO_CONVERT_TYPE | mq.MQIMPO_CONVERT_VALUE | mq.MQIMPO_QUERY_LENGTH
_SETS = frozenset(
    {
        mq.MQSMPO_SET_FIRST,
        mq.MQSMPO_SET_PROP_UNDER_CURSOR,
        mq.MQSMPO_SET_PROP_AFTER_CURSOR,
        mq.MQSMPO_SET_PROP_BEFORE_CURSOR,
        mq.MQSMPO_APPEND_PROPERTY,
    }
)
_VALIDATION = frozenset({mq.MQCMHO_DEFAULT_VALIDATION, mq.MQCMHO_VALIDATE, mq.MQCMHO_NO_VALIDATION})


def _options(raw: bytes, struc_id: bytes, name: str, reason: int) -> int:
    """Return the Options field of a structure; raise Failed with ``reason`` if the bytes are not such a structure."""
    try:
        version_of(raw, struc_id, name)
    except StructureError as error:
        raise Failed(reason) from error
    (options,) = struct.unpack_from("<i", raw, 8)
    assert isinstance(options, int)
    return options


def _name(raw: bytes, ccsid: int) -> str:
    check_length(raw)
    try:
        return decode(raw, ccsid, mq.MQENC_NATIVE)
    except PropertyError as error:
        if error.reason != mq.MQRC_SOURCE_CCSID_ERROR or ccsid not in (mq.MQCCSI_APPL, UTF_8):
            raise
        # The character set is known, but the name's bytes are not valid in it.
        raise PropertyError(mq.MQRC_PROPERTY_NAME_ERROR) from error


# --- handles


def create_handle(q_mgr: QueueManager, connection: Connection, cmho: bytes) -> Answer:
    """Carry out MQCRTMH (IBM MQ, "MQCRTMH")."""
    options = _options(cmho, b"CMHO", "MQCMHO", mq.MQRC_CMHO_ERROR)
    if options not in _VALIDATION:
        raise Failed(mq.MQRC_OPTIONS_ERROR)
    handle = MessageHandle(q_mgr.new_handle_number(), validates=options != mq.MQCMHO_NO_VALIDATION)
    connection.message_handles[handle.hmsg] = handle
    return mq.MQCC_OK, mq.MQRC_NONE, [handle.hmsg]


def delete_handle(_q_mgr: QueueManager, connection: Connection, hmsg: int, dmho: bytes) -> Answer:
    """Carry out MQDLTMH (IBM MQ, "MQDLTMH")."""
    if _options(dmho, b"DMHO", "MQDMHO", mq.MQRC_DMHO_ERROR) != mq.MQDMHO_NONE:
        raise Failed(mq.MQRC_OPTIONS_ERROR)
    connection.message_handle(hmsg)
    del connection.message_handles[hmsg]
    return mq.MQCC_OK, mq.MQRC_NONE, []


# --- properties


def set_property(
    _q_mgr: QueueManager,
    connection: Connection,
    hmsg: int,
    smpo: bytes,
    raw_name: bytes,
    name_ccsid: int,
    pd: bytes,
    kind: int,
    value_length: int,
    value: bytes,
) -> Answer:
    """Carry out MQSETMP (IBM MQ, "MQSETMP")."""
    handle = connection.message_handle(hmsg)
    how = _options(smpo, b"SMPO", "MQSMPO", mq.MQRC_SMPO_ERROR)
    if how not in _SETS:
        raise Failed(mq.MQRC_OPTIONS_ERROR)
    support, context, copy_options = _description(pd)
    encoding, ccsid = struct.unpack_from("<ii", smpo, 12)
    try:
        name = _name(raw_name, name_ccsid)
        if handle.validates:
            check_name(name)
        path = path_of(name)
        if path[:2] == DESCRIPTOR:
            # These properties set fields of the descriptor. An MQPUT uses them only if it takes its MQMD from the handle.
            raise Failed(mq.MQRC_FUNCTION_NOT_SUPPORTED)
        check_type(name, kind)
        read = unpack(kind, value, value_length, encoding, ccsid)
        handle.properties.set(Property(path, kind, read, support, context, copy_options), how)
    except PropertyError as error:
        raise Failed(error.reason) from error
    return mq.MQCC_OK, mq.MQRC_NONE, [pd]


def _description(pd: bytes) -> tuple[int, int, int]:
    """Return Support, Context and CopyOptions of an MQPD. Raises Failed with MQRC_PD_ERROR."""
    if _options(pd, b"PD  ", "MQPD", mq.MQRC_PD_ERROR) != mq.MQPD_NONE:
        raise Failed(mq.MQRC_PD_ERROR)
    support, context, copy_options = struct.unpack_from("<3i", pd, 12)
    if support not in _SUPPORT or context not in _CONTEXT or copy_options & ~_COPY:
        raise Failed(mq.MQRC_PD_ERROR)
    return support, context, copy_options


class _Inquiry(NamedTuple):
    """The input fields of MQIMPO."""

    options: int
    encoding: int
    ccsid: int


def inquire_property(
    _q_mgr: QueueManager,
    connection: Connection,
    hmsg: int,
    impo: bytes,
    raw_name: bytes,
    name_ccsid: int,
    pd: bytes,
    wanted: int,
    value_length: int,
    name_room: int,
) -> Answer:
    """Carry out MQINQMP (IBM MQ, "MQINQMP"). ``name_room`` is the length of the buffer for the name, or -1 without a buffer."""
    handle = connection.message_handle(hmsg)
    options = _options(impo, b"IMPO", "MQIMPO", mq.MQRC_IMPO_ERROR)
    if options & ~_INQUIRES or not at_most_one(options, _PLACES):
        raise Failed(mq.MQRC_OPTIONS_ERROR)
    if _options(pd, b"PD  ", "MQPD", mq.MQRC_PD_ERROR) != mq.MQPD_NONE:
        raise Failed(mq.MQRC_PD_ERROR)
    if value_length < 0:
        raise Failed(mq.MQRC_BUFFER_LENGTH_ERROR)
    asked = _Inquiry(options, *struct.unpack_from("<ii", impo, 12))
    if not options & mq.MQIMPO_CONVERT_VALUE:
        asked = _Inquiry(options, mq.MQENC_NATIVE, UTF_8)
    try:
        name = _name(raw_name, name_ccsid)
        at, one = _find(handle, name, options & _PLACES)
        try:
            returned = _answer(one, asked, impo, wanted, value_length, name_room)
        except PropertyError as error:
            if error.reason != mq.MQRC_PROP_CONV_NOT_SUPPORTED:
                raise
            # The answer has the type, too.
            return mq.MQCC_FAILED, error.reason, [impo, pd, one.kind, 0, b"", b""]
    except PropertyError as error:
        raise Failed(error.reason) from error
    comp, reason, values = returned
    converts = options & (mq.MQIMPO_CONVERT_TYPE | mq.MQIMPO_CONVERT_VALUE)
    if at is not None and (comp != mq.MQCC_FAILED or (reason == mq.MQRC_PROPERTY_VALUE_TOO_BIG and not converts)):
        handle.properties.move_cursor(at, name)
    values.insert(1, _PD.pack(b"PD  ", 1, mq.MQPD_NONE, one.support, one.context, one.copy_options))
    return comp, reason, values


def _find(handle: MessageHandle, name: str, how: int) -> tuple[int | None, Property]:
    """Return the property and its cursor position. The position is None for an MQMD field, so that the cursor does not move."""
    path = path_of(name)
    if path[:2] == DESCRIPTOR and not name.endswith("%"):
        return None, handle.descriptor_field(path)
    return handle.properties.inquire(name, how)


def _answer(
    one: Property, asked: _Inquiry, impo: bytes, wanted: int, value_length: int, name_room: int
) -> tuple[int, int, list[object]]:
    """Return completion code, reason code and reply values (without the MQPD) for a property that was found."""
    kind, value, warning = one.kind, one.value, mq.MQRC_NONE
    if asked.options & mq.MQIMPO_CONVERT_TYPE:
        value = convert(kind, value, wanted)
        kind = wanted if wanted != mq.MQTYPE_AS_SET else kind
    elif one.type_string:
        warning = mq.MQRC_PROP_TYPE_NOT_SUPPORTED
    encoding, ccsid = asked.encoding, asked.ccsid
    raw = pack(kind, value, encoding, ccsid)
    if raw is None:
        warning, encoding, ccsid = mq.MQRC_PROP_VALUE_NOT_CONVERTED, mq.MQENC_NATIVE, UTF_8
        raw = pack(kind, value, encoding, ccsid) or b""
    name, name_ccsid = pack(mq.MQTYPE_STRING, name_of(one.path), asked.encoding, asked.ccsid), asked.ccsid
    if name is None:
        warning = warning or mq.MQRC_PROP_NAME_NOT_CONVERTED
        name, name_ccsid = name_of(one.path).encode(), UTF_8
    told = one.type_string.encode()[:8].ljust(8, b"\0")
    if name_room < 0:
        name, name_fields = b"", impo[48:56]
    else:
        name_fields = struct.pack("<ii", len(name), name_ccsid)
    out = impo[:20] + struct.pack("<ii", encoding, ccsid) + impo[28:48] + name_fields + told
    if len(name) > name_room >= 0:
        return mq.MQCC_FAILED, mq.MQRC_PROPERTY_NAME_TOO_BIG, [out, kind, len(raw), b"", name[:name_room]]
    if asked.options & mq.MQIMPO_QUERY_LENGTH:
        return mq.MQCC_WARNING if warning else mq.MQCC_OK, warning, [out, kind, len(raw), b"", name]
    if len(raw) > value_length:
        return mq.MQCC_FAILED, mq.MQRC_PROPERTY_VALUE_TOO_BIG, [out, kind, len(raw), raw[:value_length], name]
    return mq.MQCC_WARNING if warning else mq.MQCC_OK, warning, [out, kind, len(raw), raw, name]


def delete_property(
    _q_mgr: QueueManager, connection: Connection, hmsg: int, dmpo: bytes, raw_name: bytes, name_ccsid: int
) -> Answer:
    """Carry out MQDLTMP (IBM MQ, "MQDLTMP"). A missing property causes a warning. A cursor without a property causes an error."""
    handle = connection.message_handle(hmsg)
    options = _options(dmpo, b"DMPO", "MQDMPO", mq.MQRC_DMPO_ERROR)
    if options not in (mq.MQDMPO_DEL_FIRST, mq.MQDMPO_DEL_PROP_UNDER_CURSOR):
        raise Failed(mq.MQRC_OPTIONS_ERROR)
    try:
        name = _name(raw_name, name_ccsid)
        if options == mq.MQDMPO_DEL_PROP_UNDER_CURSOR:
            handle.properties.delete_under_cursor()
            return mq.MQCC_OK, mq.MQRC_NONE, []
        if "%" in name:
            raise Failed(mq.MQRC_PROPERTY_NAME_ERROR)
        if not handle.properties.delete(path_of(name)):
            return mq.MQCC_WARNING, mq.MQRC_PROPERTY_NOT_AVAILABLE, []
    except PropertyError as error:
        raise Failed(error.reason) from error
    return mq.MQCC_OK, mq.MQRC_NONE, []
