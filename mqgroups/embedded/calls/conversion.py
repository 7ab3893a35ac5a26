"""MQGMO_CONVERT: character data from one coded character set to another.

Only text (MQFMT_STRING) and PCF (MQFMT_ADMIN) are converted. Other data that would need conversion is returned unconverted, with
IBM MQ's warning for it: MQRC_FORMAT_ERROR for data without a format, MQRC_NOT_CONVERTED for formats that are unknown here. A
character that the target set does not have is replaced by the target's substitute character.

Source: IBM MQ, topics "Data conversion" and those of the reason codes 2110, 2111, 2115, 2119.
"""

from __future__ import annotations

import codecs
from functools import lru_cache

from mqgroups.embedded.messages.queue import Message
from mqgroups.embedded.queue_manager import CCSID
from mqgroups.embedded.wire.pcf_conversion import convert_pcf
from mqgroups.embedded.wire.structures import describes_data, describing_data
from mqgroups.mqi import constants as mq

# CCSIDs whose Python codec is not named cp<number>. CCSIDs without a Python codec are errors, like unknown ones.
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
_ORDERS = {1: ">", 2: "<"}


@lru_cache
def codec_name(ccsid: int, encoding: int) -> str | None:
    """Return the name of Python's codec for a CCSID; None if there is none.

    In UTF-16 the byte order is the one that ``encoding`` gives for binary integers.
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
        source: its CCSID and encoding.
        target: the CCSID and encoding to convert to.

    Returns:
        The converted data and MQRC_NONE; or None, and the reason code of the warning with which the data is returned
        unconverted.
    """
    if source == target:
        return data, mq.MQRC_NONE
    if format_name not in (mq.MQFMT_STRING, mq.MQFMT_ADMIN):
        return None, mq.MQRC_FORMAT_ERROR if format_name == mq.MQFMT_NONE else mq.MQRC_NOT_CONVERTED
    read, write = codec_name(*source), codec_name(*target)
    if read is None:
        return None, mq.MQRC_SOURCE_CCSID_ERROR
    if write is None:
        return None, mq.MQRC_TARGET_CCSID_ERROR
    if format_name == mq.MQFMT_ADMIN:
        orders = [_ORDERS.get(encoding & 0xF, "<") for _, encoding in (source, target)]
        converted = convert_pcf(data, (orders[0], read), (orders[1], write))
        return converted, mq.MQRC_NONE if converted is not None else mq.MQRC_NOT_CONVERTED
    if read == write:
        return data, mq.MQRC_NONE
    try:
        return data.decode(read).encode(write, "replace"), mq.MQRC_NONE
    except UnicodeDecodeError:
        return None, mq.MQRC_NOT_CONVERTED


def converted_message(md: bytes, data: bytes, asked: tuple[int, int], buffer_length: int) -> tuple[bytes, bytes, int]:
    """Return descriptor and data in the requested Encoding and CCSID, or unchanged with a reason code."""
    encoding, ccsid = describes_data(md)
    target = (CCSID if asked[1] in (mq.MQCCSI_Q_MGR, mq.MQCCSI_APPL) else asked[1], asked[0])
    converted, reason = convert(data, md[32:40], (ccsid, encoding), target)
    if converted is not None and len(converted) > buffer_length:
        # It fitted before the conversion, so it is delivered unconverted (reason code 2120).
        converted, reason = None, mq.MQRC_CONVERTED_MSG_TOO_BIG
    if converted is None:
        return md, data, reason
    return describing_data(md, *target), converted, reason


def alike(parts: list[Message]) -> tuple[list[Message], int]:
    """Return the leading segments that can be reassembled, and the reason code if these are not all, else MQRC_NONE."""
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
