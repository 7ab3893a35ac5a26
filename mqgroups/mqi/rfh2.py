"""Removes message properties from MQRFH2 headers in front of a message's data, and makes such headers.

Property folders are removed from every header, as IBM MQ does if a program asks for properties in a message handle (IBM MQ,
"PROPCTL queue options"). A header that has only property folders is removed as a whole, and its description of the data moves to
the descriptor or header in front of it. An application's own folders are kept. A header that is invalid or longer than
``_MOST_BYTES`` is kept, together with everything behind it. The same applies to a header if the names in the message's
headers up to this header would take more memory than ``MOST_WEIGHT``. Otherwise any sender could fill the receiver's memory.

Layout: IBM MQ, "MQRFH2". The header's numbers are in the encoding that the descriptor gives, its characters in ASCII or EBCDIC,
its folders in UTF-8 or UTF-16. Not here: the folders (``property_folders.py``).
"""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from mqgroups.code_pages import UTF_8, UTF_16
from mqgroups.mqi import constants as mq
from mqgroups.mqi import structures as st
from mqgroups.mqi.property_folders import MOST_WEIGHT, PADDING, holds_properties, weight

_FIXED, _LENGTH, _FIXED_LENGTH = struct.Struct("4s4i8s2i"), struct.Struct("i"), 36
_DESCRIBES = slice(12, 28)
_INTEGERS = {mq.MQENC_NORMAL & 0xF: ">", mq.MQENC_REVERSED & 0xF: "<"}
_CODECS = {b"RFH ": "ascii", "RFH ".encode("cp500"): "cp500"}
_MD_ENCODING, _MD_CCSID = slice(st.MD_ENCODING, st.MD_CODED_CHAR_SET_ID), slice(st.MD_CODED_CHAR_SET_ID, 32)
_NATIVE, _INHERIT = _LENGTH.pack(mq.MQENC_NATIVE), _LENGTH.pack(mq.MQCCSI_INHERIT)
# A header as ``packed`` returns it, with only a ``traceparent``. Its groups: encoding, CCSID and format of the data; the folder.
_ONLY_CONTEXT = re.compile(
    re.escape(struct.pack("4s2i", b"RFH ", 2, 136))
    + rb"(.{4})(.{4})([ -~]{8})"
    + re.escape(struct.pack("3i", 0, UTF_8, 96))
    + rb"(<usr><traceparent>[0-9a-f-]{55}</traceparent></usr>)   ",
    re.DOTALL,
)
# The limit for all headers of a message. The objects for their folders and texts take up to 60 times as much memory.
_MOST_BYTES = 1 << 20
# A longer header is not remembered.
_LONGEST_REMEMBERED = 4096


class TakenProperties(NamedTuple):
    """The folders of properties that were removed from a message, and the original MQMD and data of this message."""

    folders: tuple[str, ...]
    md: bytes
    data: bytes


class Describes(NamedTuple):
    """The encoding, CCSID and format that a descriptor or a header gives for the data behind it."""

    encoding: int
    ccsid: int
    format_name: bytes


@dataclass(frozen=True)
class Header:
    """An MQRFH2.

    Attributes:
        length: the length of the header, in bytes.
        describes: encoding, CCSID and format of the data behind the header.
        folders: the text of each folder, without padding.
        properties: the folders that hold message properties.
        weight: the memory that the names in all folders take, in the unit of ``MOST_WEIGHT``.
    """

    length: int
    describes: Describes
    folders: tuple[str, ...]
    properties: tuple[str, ...]
    weight: int
    _order: str
    _codec: str
    _raw: bytes
    # Where each folder is in ``_raw``, with its length field.
    _places: tuple[slice, ...]

    @property
    def is_only_properties(self) -> bool:
        """Whether all folders hold properties. It is false for a header without folders, which is the sender's own and kept."""
        return len(self.properties) == len(self.folders) > 0

    def without_properties(self, describes: Describes) -> bytes:
        """Return the header without its folders of properties, and with a new description of the data behind it."""
        pairs, properties = zip(self.folders, self._places, strict=True), set(self.properties)
        others = b"".join(self._raw[place] for folder, place in pairs if folder not in properties)
        encoding, ccsid, format_name = describes
        written = format_name.decode("ascii", "replace").encode(self._codec, "replace")
        described = struct.pack(self._order + "2i8s", encoding, ccsid, written)
        length = struct.pack(self._order + "i", _FIXED_LENGTH + len(others))
        return self._raw[:8] + length + described + self._raw[_DESCRIBES.stop : _FIXED_LENGTH] + others


def without_properties(md: bytes, data: bytes) -> tuple[bytes, bytes, TakenProperties] | None:
    """Return descriptor and data without properties, and the removed properties; ``None`` if the message has none."""
    if (found := _with_context_only(md, data)) is not None:
        return found
    describes = described_by(md)
    if describes.format_name != mq.MQFMT_RF_HEADER_2:
        return None
    folders: list[str] = []
    kept: list[Header] = []
    # The final descriptions: the descriptor's, and then the kept headers'.
    says = [describes]
    at = weighs = 0
    while (one := header(data, *says[-1][:2], at)) is not None:
        weighs += one.weight
        if weighs > MOST_WEIGHT:
            break
        at += one.length
        folders += one.properties
        if one.is_only_properties:
            says[-1] = one.describes
        else:
            kept.append(one)
            says.append(one.describes)
        if one.describes.format_name != mq.MQFMT_RF_HEADER_2:
            break
    if not folders:
        return None
    headers = b"".join(each.without_properties(says[number]) for number, each in enumerate(kept, 1))
    return st.describing(md, *says[0]), headers + data[at:], TakenProperties(tuple(folders), md, data)


def _with_context_only(md: bytes, data: bytes) -> tuple[bytes, bytes, TakenProperties] | None:
    """Do the same as ``without_properties`` if the only header has only trace context; otherwise return ``None``.

    The cache of ``_read`` does not help with such a header, because each message may have another trace context. For an uncached
    header, the general way takes ten times as long.
    """
    only = _ONLY_CONTEXT.match(data)
    if only is None or md[_MD_ENCODING] != _NATIVE or md[st.MD_FORMAT] != mq.MQFMT_RF_HEADER_2:
        return None
    encoding, ccsid, format_name, folder = only.groups()
    if format_name == mq.MQFMT_RF_HEADER_2:
        return None
    describes = encoding + (md[_MD_CCSID] if ccsid == _INHERIT else ccsid) + format_name
    taken = TakenProperties((folder.decode(),), md, data)
    return md[: st.MD_ENCODING] + describes + md[st.MD_FORMAT.stop :], data[only.end() :], taken


def header(data: bytes, encoding: int, ccsid: int, at: int = 0) -> Header | None:
    """Return the MQRFH2 at position ``at`` of data with this encoding and CCSID; ``None`` if it cannot be read."""
    order = _INTEGERS.get(encoding & 0xF)
    if order is None or len(data) - at < _FIXED_LENGTH:
        return None
    (length,) = struct.unpack_from(order + "i", data, at + 8)
    if not _FIXED_LENGTH <= length <= min(len(data), _MOST_BYTES) - at:
        return None
    read = _read if length <= _LONGEST_REMEMBERED else _read.__wrapped__
    return read(order, ccsid, data[at : at + length])


def usr_folder(texts: Mapping[str, str]) -> bytes:
    """Return the length field and the text of a folder ``usr`` with these properties."""
    elements = "".join(
        f"<{name}>{text.replace('&', '&amp;').replace('<', '&lt;')}</{name}>" for name, text in texts.items()
    )
    folder = f"<usr>{elements}</usr>".encode()
    folder = folder.ljust(-(-len(folder) // 4) * 4)
    return _LENGTH.pack(len(folder)) + folder


def packed(folder: bytes, ccsid: int, format_name: bytes) -> bytes:
    """Return a header with one folder, in this machine's encoding. ``ccsid`` and ``format_name`` are those of the data."""
    return _FIXED.pack(b"RFH ", 2, _FIXED_LENGTH + len(folder), mq.MQENC_NATIVE, ccsid, format_name, 0, UTF_8) + folder


def described_by(md: bytes) -> Describes:
    """Return the description that an MQMD gives of its data. A NUL-terminated format name is padded with blanks."""
    name = md[st.MD_FORMAT].split(b"\0", 1)[0].ljust(mq.MQ_FORMAT_LENGTH)
    return Describes(st.long_at(md, st.MD_ENCODING), st.long_at(md, st.MD_CODED_CHAR_SET_ID), name)


# Consecutive messages often have the same header.
@lru_cache(maxsize=16)
def _read(order: str, inherited_ccsid: int, raw: bytes) -> Header | None:
    codec = _CODECS.get(raw[:4])
    version, length, encoding, ccsid, format_name, _, name_value_ccsid = struct.unpack_from(order + "4i8s2i", raw, 4)
    characters = _characters(name_value_ccsid, order)
    if codec is None or version != 2 or characters is None:
        return None
    folders, places = [], []
    at = _FIXED_LENGTH
    while at < length:
        if at + 4 > length:
            return None
        (folder_length,) = struct.unpack_from(order + "i", raw, at)
        place = slice(at, at + 4 + folder_length)
        if folder_length < 0 or place.stop > length:
            return None
        try:
            folders.append(raw[at + 4 : place.stop].decode(characters).strip(PADDING))
        except UnicodeDecodeError:
            return None
        places.append(place)
        at = place.stop
    if ccsid == mq.MQCCSI_INHERIT:
        ccsid = inherited_ccsid
    # As in the MQMD, a NUL ends a name, because ``struct`` and pymqi's own class pad names with NULs.
    name = format_name.decode(codec, "replace").split("\0", 1)[0]
    describes = Describes(encoding, ccsid, name.ljust(mq.MQ_FORMAT_LENGTH).encode())
    weights = [weight(folder) for folder in folders]
    weighs = sum(filter(None, weights))
    if weighs > MOST_WEIGHT:
        return None
    can_be_read = zip(folders, weights, strict=True)
    properties = tuple(folder for folder, each in can_be_read if each is not None and holds_properties(folder))
    return Header(length, describes, tuple(folders), properties, weighs, order, codec, raw, tuple(places))


def _characters(ccsid: int, order: str) -> str | None:
    if ccsid in UTF_16:
        return "utf-16-le" if order == "<" else "utf-16-be"
    return "utf-8" if ccsid == UTF_8 else None
