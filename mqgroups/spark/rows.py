"""Messages as rows: the columns of a read, message properties, and Arrow record batches of limited size.

A record batch is yielded when its data reaches 4 MiB. So a worker never holds more data than 4 MiB and one message. pyarrow is
imported when the first record batch is made.

Properties are read from an MQRFH2 (``MQGMO_PROPERTIES_FORCE_MQRFH2``), because one MQGET then returns them with the data. A
message handle would need a call for each property. Property names are as in MQINQMP: nested folders are joined with dots, and
``usr`` is omitted. This is unverified on IBM MQ except for ``usr`` and ``jms``. Source: IBM MQ, "MQRFH2", "Property names".
"""

from __future__ import annotations

import re
import struct
from array import array
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from functools import lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

from mqgroups.mqi import constants as mq
from mqgroups.mqi import rfh2
from mqgroups.mqi import structures as st
from mqgroups.mqi.property_folders import elements
from mqgroups.spark.options import SourceOptions

if TYPE_CHECKING:
    from pyarrow import Array, DataType, RecordBatch

    from mqgroups.spark.browse import Got

_COLUMNS = {
    "value": "BINARY",
    "key": "BINARY",
    "queue": "STRING",
    "group_id": "BINARY",
    "msg_seq_number": "INT",
    "last_msg_in_group": "BOOLEAN",
    "msg_id": "BINARY",
    "correl_id": "BINARY",
    "timestamp": "TIMESTAMP",
    "format": "STRING",
    "ccsid": "INT",
    "encoding": "INT",
}
_MQMD_COLUMNS = {
    **dict.fromkeys("priority persistence expiry backout_count msg_type feedback report put_appl_type".split(), "INT"),
    "accounting_token": "BINARY",
    **dict.fromkeys(
        "reply_to_q reply_to_q_mgr user_identifier put_appl_name appl_identity_data appl_origin_data".split(), "STRING"
    ),
}
_HEADERS_COLUMN = {"headers": "MAP<STRING, BINARY>"}
# Report, MsgType, Expiry, Feedback, Encoding, CodedCharSetId, Format, Priority, Persistence, MsgId, CorrelId, BackoutCount,
# ReplyToQ, ReplyToQMgr, UserIdentifier, AccountingToken, ApplIdentityData, PutApplType, PutApplName, PutDate and PutTime,
# ApplOriginData, GroupId, MsgSeqNumber: at their places in the MQMD. The other fields describe segments.
_MD = struct.Struct("=8xiiiiii8sii24s24si48s48s12s32s32si28s16s4s24si12x")
_EPOCH = date(1970, 1, 1).toordinal()
_BATCH_BYTES = 4 * 1024 * 1024
# The number of rows is also limited, because each row costs a few machine words besides its data.
_MOST_ROWS = 10_000
_RF_HEADER_2 = "MQHRF2"
_HEX = re.compile("[0-9A-Fa-f]*")


class Headed(NamedTuple):
    """The data after a message's MQRFH2, the MQRFH2's description of this data, and the MQRFH2's properties in UTF-8."""

    data: bytes
    encoding: int
    ccsid: int
    format: str | None
    properties: dict[str, bytes | None]


def columns(options: SourceOptions) -> dict[str, str]:
    """Return the columns of a read, and their types in SQL."""
    return (
        _COLUMNS
        | (_MQMD_COLUMNS if options.include_mqmd else {})
        | (_HEADERS_COLUMN if options.include_headers else {})
    )


def record_batches(
    messages: Iterable[Got], options: SourceOptions, batch_bytes: int = _BATCH_BYTES
) -> Iterator[RecordBatch]:
    """Yield the messages as record batches, in the same order. The last message of a batch may exceed ``batch_bytes``."""
    import pyarrow

    arrow_schema = _arrow_schema(pyarrow, options)
    rows: list[tuple[Any, ...]] = []
    data_bytes = 0
    for message in messages:
        row = _row(message, options)
        rows.append(row)
        # This length includes the properties in front of the data, which may have many megabytes.
        data_bytes += len(message.data)
        if data_bytes >= batch_bytes or len(rows) == _MOST_ROWS:
            yield _batch(pyarrow, rows, arrow_schema)
            rows, data_bytes = [], 0
    if rows:
        yield _batch(pyarrow, rows, arrow_schema)


@lru_cache
def put_time_us(stamp: bytes) -> int | None:
    """Convert PutDate and PutTime (16 digits, GMT) to microseconds since 1970; ``None`` if they are not valid."""
    try:
        day_us = _day_us(stamp[:8])
        hours, minutes, hundredths = int(stamp[8:10]), int(stamp[10:12]), int(stamp[12:16])
    except ValueError:
        return None
    if not (0 <= hours < 24 and 0 <= minutes < 60 and 0 <= hundredths < 6000):
        # A program that sets all context can put any text here. Python has no time after the year 9999.
        return None
    return day_us + (hours * 60 + minutes) * 60_000_000 + hundredths * 10_000


@lru_cache
def _day_us(day: bytes) -> int:
    year, month, day_of_month = int(day[:4]), int(day[4:6]), int(day[6:8])
    return (date(year, month, day_of_month).toordinal() - _EPOCH) * 86_400_000_000


def _row(message: Got, options: SourceOptions) -> tuple[Any, ...]:
    (
        report,
        msg_type,
        expiry,
        feedback,
        encoding,
        ccsid,
        format_name,
        priority,
        persistence,
        msg_id,
        correl_id,
        backout_count,
        reply_to_q,
        reply_to_q_mgr,
        user_identifier,
        accounting_token,
        appl_identity_data,
        put_appl_type,
        put_appl_name,
        stamp,
        appl_origin_data,
        group_id,
        msg_seq_number,
    ) = _MD.unpack(message.md)
    data = message.data
    name = format_text(format_name)
    headers: dict[str, bytes | None] = {}
    if options.include_headers and name == _RF_HEADER_2:
        headed = taken_off(data, encoding, ccsid)
        if headed is not None:
            data, encoding, ccsid, name, headers = headed
    group_status = message.gmo[st.GMO_GROUP_STATUS]
    in_group = group_status != mq.MQGS_NOT_IN_GROUP
    row: tuple[Any, ...] = (
        data,
        group_id if in_group else msg_id,
        options.queue,
        group_id if in_group else None,
        msg_seq_number,
        group_status != mq.MQGS_MSG_IN_GROUP,
        msg_id,
        correl_id,
        put_time_us(stamp),
        name,
        ccsid,
        encoding,
    )
    if options.include_mqmd:
        row += (priority, persistence, expiry, backout_count, msg_type, feedback, report)
        row += (put_appl_type, accounting_token)
        names = reply_to_q, reply_to_q_mgr, user_identifier, put_appl_name, appl_identity_data, appl_origin_data
        row += tuple(format_text(each) or None for each in names)
    if options.include_headers:
        row += (list(headers.items()),)
    return row


def taken_off(data: bytes, encoding: int, ccsid: int) -> Headed | None:
    """Separate the MQRFH2 at the start of ``data`` from the rest. Returns ``None`` if no MQRFH2 can be read there.

    ``encoding`` and ``ccsid`` are those of the message descriptor.
    """
    header = rfh2.header(data, encoding, ccsid)
    if header is None:
        return None
    properties: dict[str, bytes | None] = {}
    for folder in header.folders:
        properties.update(_properties(folder))
    encoding, ccsid, format_name = header.describes
    return Headed(data[header.length :], encoding, ccsid, format_text(format_name), properties)


@lru_cache
def format_text(format_name: bytes) -> str | None:
    """Return a Format or another name in the MQMD as text; ``None`` if it is not ASCII, because a sink could not put it."""
    name = format_name.split(b"\0", 1)[0].rstrip(b" ")
    return name.decode("ascii") if name.isascii() else None


def _properties(folder: str) -> dict[str, bytes | None]:
    """Return the properties of one MQRFH2 folder of any kind, or no properties if the folder cannot be read."""
    try:
        return {name: _bytes(attributes, text) for name, attributes, text in elements(folder)}
    except ValueError:
        return {}


def _bytes(attributes: dict[str, str], text: str) -> bytes | None:
    if attributes.get("xsi:nil") == "true":
        return None
    if attributes.get("dt") == "bin.hex" and not len(text) % 2 and _HEX.fullmatch(text):
        return bytes.fromhex(text)
    return text.encode()


def _batch(pyarrow: Any, rows: list[tuple[Any, ...]], arrow_schema: Any) -> RecordBatch:
    columns_of_rows = zip(*rows, strict=True)
    arrays = [as_array(field.type, column) for field, column in zip(arrow_schema, columns_of_rows, strict=True)]
    return pyarrow.record_batch(arrays, schema=arrow_schema)


def as_array(kind: DataType, column: Sequence[Any]) -> Array:
    """Return the values of a column as an Arrow array, made from the buffers of Arrow's columnar format.

    ``pyarrow.array`` would import pandas. This import takes a third of the processor time of a worker process that starts.
    """
    import pyarrow
    from pyarrow import types

    if types.is_map(kind):
        entries = [entry for row in column for entry in row]
        keys, items = zip(*entries, strict=True) if entries else ((), ())
        offsets = as_array(pyarrow.int32(), [0, *accumulate(len(row) for row in column)])
        keys, items = as_array(kind.key_type, keys), as_array(kind.item_type, items)
        return pyarrow.MapArray.from_arrays(offsets, keys, items)
    nulls = column.count(None)
    validity = None
    if nulls:
        validity = pyarrow.py_buffer(_bits(value is not None for value in column))
        nothing: Any = "" if types.is_string(kind) else b"" if types.is_binary(kind) else 0
        column = [nothing if value is None else value for value in column]
    if types.is_boolean(kind):
        parts: list[Any] = [_bits(column)]
    elif types.is_binary(kind) or types.is_string(kind):
        data = list(map(str.encode, column)) if types.is_string(kind) else column
        parts = [array("i", [0, *accumulate(map(len, data))]), b"".join(data)]
    else:
        parts = [array("q" if types.is_timestamp(kind) else "i", column)]
    return pyarrow.Array.from_buffers(kind, len(column), [validity, *map(pyarrow.py_buffer, parts)], nulls)


def _bits(flags: Iterable[object]) -> bytes:
    """Return the flags as bits. The first flag is the lowest bit of the first byte."""
    digits = "".join(["1" if flag else "0" for flag in flags])[::-1]
    return int(digits or "0", 2).to_bytes(len(digits) // 8 + 1, "little")


def _arrow_schema(pyarrow: Any, options: SourceOptions) -> Any:
    """Return the Arrow schema that Spark derives from ``columns``. Spark accepts no other schema."""
    types = {
        "BINARY": pyarrow.binary(),
        "STRING": pyarrow.string(),
        "INT": pyarrow.int32(),
        "BOOLEAN": pyarrow.bool_(),
        "TIMESTAMP": pyarrow.timestamp("us", tz="UTC"),
        "MAP<STRING, BINARY>": pyarrow.map_(pyarrow.string(), pyarrow.binary()),
    }
    return pyarrow.schema([pyarrow.field(name, types[kind]) for name, kind in columns(options).items()])
