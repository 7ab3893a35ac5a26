"""MQGMO_CONVERT: character data from one coded character set to another.

Only text (MQFMT_STRING) is converted. Everything else that would have to be is returned as it is, with the warning that
IBM MQ has for it: MQRC_FORMAT_ERROR for data without a format, MQRC_NOT_CONVERTED for formats that are not known here.
Characters that the target does not have become its substitute.

Source: IBM MQ, topics "Data conversion" and those of the reason codes 2110, 2111, 2115, 2119.
"""

from __future__ import annotations

import codecs
from functools import lru_cache

from mqgroups.embedded.messages.queue import Message
from mqgroups.embedded.queue_manager import CCSID
from mqgroups.embedded.wire.structures import describes_data, describing_data
from mqgroups.mqi import constants as mq

# CCSIDs whose Python codec is not called cp<number>. Those that Python has no codec for are errors, as unknown ones are.
_CODECS = {
    367: "ascii",
    813: "iso8859-7",
    819: "latin-1",
    912: "iso8859-2",
    913: "iso8859-3",
    914: "iso8859-4",
    915: "iso8859-5",
    916: "iso8859-8",
    920: "iso8859-9",
    923: "iso8859-15",
    943: "cp932",
    954: "euc-jp",
    964: "euc-tw",
    970: "euc-kr",
    1089: "iso8859-6",
    1208: "utf-8",
    1386: "gbk",
    5488: "gb18030",
}
_UTF_16 = frozenset({1200, 13488, 17584})
_INTEGER_REVERSED = 2


@lru_cache
def codec_name(ccsid: int, encoding: int) -> str | None:
    """Return the name of Python's codec for a CCSID; None if there is none.

    UTF-16 comes in the byte order that ``encoding`` gives to binary integers.
    """
    if ccsid in _UTF_16:
        return "utf-16-le" if encoding & 0xF == _INTEGER_REVERSED else "utf-16-be"
    name = _CODECS.get(ccsid, f"cp{ccsid:03d}")
    try:
        return codecs.lookup(name).name
    except LookupError:
        return None


def convert(
    data: bytes, format_name: bytes, source: tuple[int, int], target: tuple[int, int]
) -> tuple[bytes | None, int]:
    """Convert message data.

    Args:
        data: the message's data.
        format_name: its Format, 8 bytes.
        source: CCSID and encoding it has.
        target: CCSID and encoding it is to have.

    Returns:
        The converted data and MQRC_NONE, or None and the reason of the warning with which it is returned unconverted.
    """
    if source == target:
        return data, mq.MQRC_NONE
    if format_name != mq.MQFMT_STRING:
        return None, mq.MQRC_FORMAT_ERROR if format_name == mq.MQFMT_NONE else mq.MQRC_NOT_CONVERTED
    read, write = codec_name(*source), codec_name(*target)
    if read is None:
        return None, mq.MQRC_SOURCE_CCSID_ERROR
    if write is None:
        return None, mq.MQRC_TARGET_CCSID_ERROR
    if read == write:
        return data, mq.MQRC_NONE
    try:
        return data.decode(read).encode(write, "replace"), mq.MQRC_NONE
    except UnicodeDecodeError:
        return None, mq.MQRC_NOT_CONVERTED


def converted_message(md: bytes, data: bytes, asked: tuple[int, int], buffer_length: int) -> tuple[bytes, bytes, int]:
    """Return descriptor and data in the Encoding and CCSID asked for, or unchanged with the reason code."""
    encoding, ccsid = describes_data(md)
    target = (CCSID if asked[1] in (mq.MQCCSI_Q_MGR, mq.MQCCSI_APPL) else asked[1], asked[0])
    converted, reason = convert(data, md[32:40], (ccsid, encoding), target)
    if converted is not None and len(converted) > buffer_length:
        # It fitted before, so it counts as delivered, unconverted (reason code 2120).
        converted, reason = None, mq.MQRC_CONVERTED_MSG_TOO_BIG
    if converted is None:
        return md, data, reason
    return describing_data(md, *target), converted, reason


def alike(parts: list[Message]) -> tuple[list[Message], int]:
    """Return the segments from the first on that can be put together, and why they are not all, or MQRC_NONE."""
    if len(parts) == 1:
        return parts, mq.MQRC_NONE
    first = describes_data(parts[0].md)
    for number, part in enumerate(parts):
        encoding, ccsid = describes_data(part.md)
        if ccsid != first[1]:
            return parts[:number], mq.MQRC_INCONSISTENT_CCSIDS
        if encoding != first[0]:
            return parts[:number], mq.MQRC_INCONSISTENT_ENCODINGS
    return parts, mq.MQRC_NONE
