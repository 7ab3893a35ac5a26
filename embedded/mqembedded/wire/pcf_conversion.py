"""Converts the integers of PCF messages (MQFMT_ADMIN) to another byte order, and their text to another character set.

Source: IBM MQ, "Structures for commands and responses". ``admin/pcf.py`` interprets the messages.
"""

from __future__ import annotations

import struct

from mqembedded.code_pages import code_page
from mqembedded.wire import pcf_constants as pcf

# By structure type: the number of integers after the identifier, and what follows them (text, bytes, integers of 4 or 8 bytes).
_TEXT, _BYTES = "text", "bytes"
_LAYOUTS: dict[int, tuple[int, str]] = {
    pcf.MQCFT_INTEGER: (1, _BYTES),
    pcf.MQCFT_STRING: (2, _TEXT),
    pcf.MQCFT_INTEGER_LIST: (1, "i"),
    pcf.MQCFT_STRING_LIST: (3, _TEXT),
    pcf.MQCFT_BYTE_STRING: (1, _BYTES),
    pcf.MQCFT_INTEGER_FILTER: (2, _BYTES),
    pcf.MQCFT_STRING_FILTER: (3, _TEXT),
    pcf.MQCFT_BYTE_STRING_FILTER: (2, _BYTES),
    pcf.MQCFT_GROUP: (1, _BYTES),
    pcf.MQCFT_INTEGER64: (1, "q"),
    pcf.MQCFT_INTEGER64_LIST: (1, "q"),
}


def convert_pcf(data: bytes, source: tuple[str, int], target: tuple[str, int]) -> bytes | None:
    """Return a PCF message in another byte order and character set, or None if it cannot be converted.

    Args:
        data: the message.
        source, target: each is a byte order ("<" or ">", as in ``struct``) and a CCSID that has a code page.
    """

    read, write = (code_page(ccsid, little_endian=order == "<") for order, ccsid in (source, target))
    assert read is not None and write is not None

    def numbers(many: int, raw: bytes, code: str = "i") -> bytes:
        return struct.pack(f"{target[0]}{many}{code}", *struct.unpack(f"{source[0]}{many}{code}", raw))

    try:
        made, at = numbers(9, data[: pcf.MQCFH_STRUC_LENGTH]), pcf.MQCFH_STRUC_LENGTH
        while at < len(data):
            kind, length = struct.unpack_from(f"{source[0]}2i", data, at)
            integers, rest_is = _LAYOUTS[kind]
            end = 12 + 4 * integers
            if not end <= length <= len(data) - at:
                return None
            rest = data[at + end : at + length]
            if rest_is == _TEXT:
                rest = write.encode(read.decode(rest)[0], "replace")[0]
            elif rest_is != _BYTES:
                rest = numbers(len(rest) // struct.calcsize("=" + rest_is), rest, rest_is)
            if len(rest) != length - end:
                return None
            made += numbers(3 + integers, data[at : at + end]) + rest
            at += length
    except (KeyError, struct.error, UnicodeDecodeError):
        return None
    return made
