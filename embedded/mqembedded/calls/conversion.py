"""MQGMO_CONVERT: converts character data from one coded character set to another.

This module converts text (MQFMT_STRING), PCF (MQFMT_ADMIN), and MQRFH2 headers with the data that they describe. It returns other
data unconverted, with IBM MQ's warning: MQRC_FORMAT_ERROR for data without a format, MQRC_NOT_CONVERTED for formats that are
unknown here. A character that the target set does not have becomes the target set's substitute character.

Source: IBM MQ, "Conversion processing", "MQRFH2" and the reason codes 2110, 2111, 2115, 2119, 2272. If an MQRFH2 already has the
requested form, only its fields that describe the following data are checked (support page 212795). Unverified: the reason code if
the data after a header cannot be converted. Unlike this module, IBM MQ does not convert between languages (CCSID 850 to 1025).
"""

from __future__ import annotations

import struct
from codecs import CodecInfo
from typing import NamedTuple

from mqembedded import constants as mq
from mqembedded.code_pages import UTF_16, code_page
from mqembedded.messages.queue import Message
from mqembedded.queue_manager import CCSID
from mqembedded.wire.pcf_conversion import convert_pcf
from mqembedded.wire.structures import blank_padded, describes_data, describing_data

_ORDERS = {1: ">", 2: "<"}
_FIXED = 36
# The most headers in a message. Each header costs a nested call.
_MOST_HEADERS = 100


class Form(NamedTuple):
    """The description of data: CCSID and encoding."""

    ccsid: int
    encoding: int

    @property
    def order(self) -> str:
        """The byte order of integers, as a character for ``struct``."""
        return _ORDERS.get(self.encoding & 0xF, "<")

    @property
    def page(self) -> CodecInfo | None:
        """The code page, or None for an unknown CCSID. UTF-16 has the byte order of integers."""
        return code_page(self.ccsid, little_endian=self.order == "<")


class Converted(NamedTuple):
    """Data, the form of the data, and the reason code of the warning that MQGET returns with the data."""

    data: bytes
    form: Form
    reason: int = mq.MQRC_NONE


def convert(data: bytes, format_name: bytes, source: Form, target: Form, headers: int = 0) -> Converted:
    """Convert message data from one form to another. If it is not possible, return unchanged data and a warning.

    ``headers`` is the number of headers in front of the data. They can be converted although the data behind them is not.
    """
    format_name = blank_padded(format_name, 8)
    if data and format_name == mq.MQFMT_RF_HEADER_2 and headers < _MOST_HEADERS:
        return _convert_rfh2(data, source, target, headers)
    if source == target or not data:
        return Converted(data, source)
    if format_name not in (mq.MQFMT_STRING, mq.MQFMT_ADMIN):
        return Converted(data, source, mq.MQRC_FORMAT_ERROR if format_name == mq.MQFMT_NONE else mq.MQRC_NOT_CONVERTED)
    read, write = source.page, target.page
    if read is None:
        return Converted(data, source, mq.MQRC_SOURCE_CCSID_ERROR)
    if write is None:
        return Converted(data, source, mq.MQRC_TARGET_CCSID_ERROR)
    if format_name == mq.MQFMT_ADMIN:
        converted = convert_pcf(data, (source.order, source.ccsid), (target.order, target.ccsid))
        return Converted(data, source, mq.MQRC_NOT_CONVERTED) if converted is None else Converted(converted, target)
    if read.name == write.name:
        return Converted(data, target)
    try:
        return Converted(write.encode(read.decode(data)[0], "replace")[0], target)
    except UnicodeDecodeError:
        return Converted(data, source, mq.MQRC_NOT_CONVERTED)


def _convert_rfh2(data: bytes, source: Form, target: Form, headers: int) -> Converted:
    """Convert an MQRFH2 and its data. The folders are in Unicode. In UTF-16, their byte order is the header's byte order."""
    unconverted = Converted(data, source, mq.MQRC_NOT_CONVERTED)
    read = source.page
    if len(data) < _FIXED or read is None:
        return unconverted
    struc_id, _, length, encoding, ccsid, format_name, flags, name_ccsid = struct.unpack_from(
        source.order + "4s4i8s2i", data
    )
    if not _FIXED <= length <= len(data):
        return unconverted
    inner = Form(source.ccsid if ccsid == mq.MQCCSI_INHERIT else ccsid, encoding)
    if source == target == inner:
        return Converted(data, source)
    header, reason = target, mq.MQRC_NONE
    write = target.page
    if write is None or len(write.encode("RFH ")[0]) != len(struc_id):
        header, reason = Form(CCSID, mq.MQENC_NATIVE), mq.MQRC_PARTIALLY_CONVERTED
        write = header.page
    assert write is not None
    try:
        name = read.decode(format_name)[0].split("\0", 1)[0].ljust(8)
        names = [write.encode(text)[0] for text in (read.decode(struc_id)[0], name)]
        folders = _convert_folders(data[_FIXED:length], source.order, header.order, name_ccsid in UTF_16)
        behind = convert(data[length:], name.encode(), inner, target, headers + 1)
    except (UnicodeError, struct.error):
        return unconverted
    described = (behind.form.encoding, behind.form.ccsid, names[1], flags, name_ccsid)
    fixed = struct.pack(header.order + "4s4i8s2i", names[0], 2, length, *described)
    return Converted(fixed + folders + behind.data, header, behind.reason or reason)


def _convert_folders(raw: bytes, read: str, write: str, utf_16: bool) -> bytes:
    if read == write:
        return raw
    made, at = b"", 0
    while at < len(raw):
        (length,) = struct.unpack_from(read + "i", raw, at)
        text = raw[at + 4 : at + 4 + length]
        if utf_16:
            text = struct.pack(f"{write}{length // 2}H", *struct.unpack(f"{read}{length // 2}H", text))
        made += struct.pack(write + "i", length) + text
        at += 4 + max(length, 0)
    return made


def converted_message(md: bytes, data: bytes, asked: tuple[int, int], buffer_length: int) -> tuple[bytes, bytes, int]:
    """Return MQMD, data and a reason code. MQMD and data are in the requested form, or unchanged after an error."""
    encoding, ccsid = describes_data(md)
    target = Form(CCSID if asked[1] in (mq.MQCCSI_Q_MGR, mq.MQCCSI_APPL) else asked[1], asked[0])
    converted = convert(data, md[32:40], Form(ccsid, encoding), target)
    if len(converted.data) > buffer_length:
        # The message fitted into the buffer before the conversion, so it is delivered unconverted (reason code 2120).
        return md, data, mq.MQRC_CONVERTED_MSG_TOO_BIG
    return describing_data(md, *converted.form), converted.data, converted.reason


def alike(parts: list[Message]) -> tuple[list[Message], int]:
    """Return the first segments that can be joined, and the reason code if the next segment cannot be joined, or MQRC_NONE."""
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
