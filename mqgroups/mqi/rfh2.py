"""The MQRFH2 in front of a message: read far enough to find what is in it and what is behind it.

Layout: IBM MQ Developing applications reference, topic MQRFH2. Its numbers are in the encoding that the descriptor says, its
characters in ASCII or EBCDIC; the folders are UTF-8, or else the header is left alone.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import lru_cache

from mqgroups.mqi import constants as mq
from mqgroups.mqi import structures as st

_FIXED_LENGTH = 36
_INTEGERS = {mq.MQENC_NORMAL & 0xF: ">", mq.MQENC_REVERSED & 0xF: "<"}
_CODECS = {b"RFH ": "ascii", "RFH ".encode("cp500"): "cp500"}
_UTF_8 = 1208


@dataclass(frozen=True, slots=True)
class Header:
    """An MQRFH2.

    Attributes:
        length: how many bytes of the data it is.
        encoding, ccsid, format_name: of what is behind it.
        folders: each without its padding.
    """

    length: int
    encoding: int
    ccsid: int
    format_name: bytes
    folders: tuple[bytes, ...]


def leading(md: bytes, data: bytes) -> Header | None:
    """Return the MQRFH2 that data begins with, as its descriptor says; ``None`` if there is none that can be read."""
    if md[st.MD_FORMAT] != mq.MQFMT_RF_HEADER_2:
        return None
    return header(data, st.long_at(md, st.MD_ENCODING), st.long_at(md, st.MD_CODED_CHAR_SET_ID))


def header(data: bytes, encoding: int, ccsid: int) -> Header | None:
    """Return the MQRFH2 at the beginning of data whose descriptor has these values; ``None`` if it cannot be read."""
    order = _INTEGERS.get(encoding & 0xF)
    if order is None or len(data) < _FIXED_LENGTH:
        return None
    (length,) = struct.unpack_from(order + "i", data, 8)
    if not _FIXED_LENGTH <= length <= len(data):
        return None
    return _read(order, ccsid, data[:length])


# Messages that were put one after the other often have the same.
@lru_cache(maxsize=16)
def _read(order: str, inherited_ccsid: int, header: bytes) -> Header | None:
    codec = _CODECS.get(header[:4])
    version, length, encoding, ccsid, format_name, _, name_value_ccsid = struct.unpack_from(order + "4i8s2i", header, 4)
    if codec is None or version != 2 or name_value_ccsid != _UTF_8:
        return None
    folders = []
    at = _FIXED_LENGTH
    while at + 4 <= length:
        (folder_length,) = struct.unpack_from(order + "i", header, at)
        at += 4 + folder_length
        if folder_length < 0 or at > length:
            return None
        folders.append(header[at - folder_length : at].rstrip(b" \0"))
    if ccsid == mq.MQCCSI_INHERIT:
        ccsid = inherited_ccsid
    return Header(length, encoding, ccsid, format_name.decode(codec, "replace").encode(), tuple(folders))
