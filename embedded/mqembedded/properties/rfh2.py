"""MQRFH2 headers. Applications put them in front of their data, or the queue manager makes them from message properties.

A header has a fixed part and a variable part. The variable part consists of pairs of NameValueLength and NameValueData. Each pair
is a folder (``folders.py``). On a queue, a message's properties are stored in the form of a variable part. ``control.py`` decides
the form in which properties are delivered.

Source: IBM MQ, "MQRFH2" and its fields, reason codes 2334 and 2421. Unverified: which of the two codes MQPUT returns for a fault;
that MQPUT checks only property folders.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from mqembedded import constants as mq
from mqembedded.code_pages import UTF_8, UTF_16
from mqembedded.properties.folders import property_folders
from mqembedded.properties.names import MOST_PROPERTIES, PropertyError
from mqembedded.properties.values import byte_order, codec

# The encoding and the CCSID of a header itself.
Form: TypeAlias = tuple[int, int]
NATIVE: Form = (mq.MQENC_NATIVE, UTF_8)
_FIXED = "4siiii8sii"
# "Only the listed Unicode character sets are valid for NameValueCCSID."
_UNICODE = frozenset({UTF_8, *UTF_16})
_IN_EBCDIC = "RFH ".encode("cp500")
FIXED_LENGTH = struct.calcsize("<" + _FIXED)


@dataclass(frozen=True, slots=True)
class Header:
    """An MQRFH2: the fields that describe the data after it, and its folders as text."""

    encoding: int
    coded_char_set_id: int
    format: bytes
    flags: int
    folders: tuple[str, ...]


def variable_part(folders: Iterable[str]) -> bytes:
    """Return the variable part for these folders: pairs of length and UTF-8 data, padded with blanks to multiples of four."""
    parts = []
    for folder in folders:
        data = folder.encode()
        data = data.ljust(-len(data) % 4 + len(data))
        parts.append(struct.pack("<i", len(data)) + data)
    return b"".join(parts)


def read_variable_part(raw: bytes, order: str = "<", name: str = "utf-8", most: int | None = None) -> list[str]:
    """Return the folders in a variable part. ``order`` is the byte order of the lengths; ``name`` is the name of a Python codec.

    Raises:
        PropertyError: MQRC_RFH_ERROR; MQRC_RFH_FORMAT_ERROR if bytes are not in the character set, or there are more than
            ``most`` folders.
    """
    folders = []
    at = 0
    while at < len(raw):
        if at + 4 > len(raw):
            raise PropertyError(mq.MQRC_RFH_ERROR)
        (length,) = struct.unpack_from(order + "i", raw, at)
        at += 4
        if not 0 <= length <= len(raw) - at:
            raise PropertyError(mq.MQRC_RFH_ERROR)
        try:
            folders.append(raw[at : at + length].decode(name))
        except UnicodeDecodeError as error:
            raise PropertyError(mq.MQRC_RFH_FORMAT_ERROR) from error
        at += length
        if most is not None and len(folders) > most:
            raise PropertyError(mq.MQRC_RFH_FORMAT_ERROR)
    return folders


def packed(
    variable: bytes, encoding: int, coded_char_set_id: int, format_: bytes, flags: int = 0, form: Form = NATIVE
) -> bytes:
    """Return an MQRFH2 in this form. ``encoding``, ``coded_char_set_id`` and ``format_`` describe the data after the header."""
    length = FIXED_LENGTH + len(variable)
    order = byte_order(form[0], 0xF)
    if form == NATIVE or order is None:
        fixed = (b"RFH ", 2, length, encoding, coded_char_set_id, format_, flags, UTF_8)
        return struct.pack("<" + _FIXED, *fixed) + variable
    struc_id, format_ = (text.decode("ascii").encode(f"cp{form[1]}") for text in (b"RFH ", format_))
    fixed = (struc_id, 2, length, encoding, coded_char_set_id, format_, flags, UTF_8)
    folders = [folder.encode() for folder in read_variable_part(variable)]
    return struct.pack(order + _FIXED, *fixed) + b"".join(struct.pack(order + "i", len(f)) + f for f in folders)


def split(data: bytes, encoding: int, format_: bytes) -> tuple[list[Header], bytes]:
    """Return the MQRFH2 headers in front of the data, and the data after them.

    A header in EBCDIC and everything after it count as data.

    Raises:
        PropertyError: MQRC_RFH_ERROR, MQRC_RFH_FORMAT_ERROR.
    """
    headers: list[Header] = []
    at, left = 0, MOST_PROPERTIES
    while format_ == mq.MQFMT_RF_HEADER_2 and not data.startswith(_IN_EBCDIC, at):
        header, length = _read(data, at, encoding, left)
        headers.append(header)
        # A header without folders counts as one folder.
        left -= max(1, len(header.folders))
        encoding, format_ = header.encoding, header.format
        at += length
    return headers, data[at:]


def _read(data: bytes, at: int, encoding: int, most: int) -> tuple[Header, int]:
    """Return the header at the offset ``at``, and its length. The header is allowed to have at most ``most`` folders."""
    if most <= 0:
        raise PropertyError(mq.MQRC_RFH_FORMAT_ERROR)
    order = byte_order(encoding, 0xF)
    if order is None or len(data) - at < FIXED_LENGTH:
        raise PropertyError(mq.MQRC_RFH_ERROR)
    struc_id, version, length, inner, ccsid, format_, flags, name_ccsid = struct.unpack_from(order + _FIXED, data, at)
    if struc_id != b"RFH " or version != 2 or not FIXED_LENGTH <= length <= len(data) - at:
        raise PropertyError(mq.MQRC_RFH_ERROR)
    name = codec(name_ccsid, encoding)
    if name is None or name_ccsid not in _UNICODE:
        raise PropertyError(mq.MQRC_RFH_ERROR)
    folders = read_variable_part(data[at + FIXED_LENGTH : at + length], order, name.name, most)
    return Header(inner, ccsid, format_.split(b"\0", 1)[0].ljust(8), flags, tuple(folders)), length


def check(data: bytes, encoding: int, format_: bytes) -> None:
    """Check headers and property folders as MQPUT does. A header is not allowed to have the same property folder twice.

    Raises:
        PropertyError: MQRC_RFH_ERROR, MQRC_RFH_FORMAT_ERROR; MQRC_PROPERTIES_TOO_BIG if there are more than MOST_PROPERTIES.
    """
    left = MOST_PROPERTIES
    for header in split(data, encoding, format_)[0]:
        found = property_folders(header.folders, left)
        if len(found) != len({name for name, _ in found}):
            raise PropertyError(mq.MQRC_RFH_FORMAT_ERROR)
        left -= sum(len(properties) for _, properties in found)
