"""Values of message properties: their bytes in a program's memory, and the conversion from one type to another.

A value is a Python value with its MQTYPE_* number: ``bool``, ``int``, ``float``, ``str``, ``bytes``, or None for MQTYPE_NULL.
``folders.py`` has the text of values in an MQRFH2.

Source: IBM MQ, "MQSETMP", "MQINQMP" and "Options (MQLONG)" of MQIMPO, which has the table of type conversions.
"""

from __future__ import annotations

import re
import struct
from codecs import CodecInfo

from mqembedded import constants as mq
from mqembedded.code_pages import UTF_8, code_page
from mqembedded.properties.names import PropertyError

PropertyValue = bool | int | float | str | bytes | None

_INTEGERS = {mq.MQTYPE_INT8: "b", mq.MQTYPE_INT16: "h", mq.MQTYPE_INT32: "i", mq.MQTYPE_INT64: "q"}
_FLOATS = {mq.MQTYPE_FLOAT32: "f", mq.MQTYPE_FLOAT64: "d"}
# MQBOOL has the length of MQLONG.
_NUMBERS = {mq.MQTYPE_BOOLEAN: "i", **_INTEGERS, **_FLOATS}
TYPES = frozenset({*_NUMBERS, mq.MQTYPE_STRING, mq.MQTYPE_BYTE_STRING, mq.MQTYPE_NULL})
_INTEGER_TEXT = re.compile(r" *([+-]?[0-9]+)")
_FLOAT_TEXT = re.compile(r" *([+-]?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)")
_WORDS = {"TRUE": True, "1": True, "FALSE": False, "0": False}


def codec(ccsid: int, encoding: int) -> CodecInfo | None:
    """Return the code page of a character set that a program names, or None if the character set is unknown.

    MQCCSI_Q_MGR and MQCCSI_APPL mean UTF-8.
    """
    own = ccsid in (mq.MQCCSI_Q_MGR, mq.MQCCSI_APPL)
    return code_page(UTF_8 if own else ccsid, little_endian=byte_order(encoding, 0xF) == "<")


def byte_order(encoding: int, mask: int) -> str | None:
    """Return the byte order ``<`` or ``>`` that an MQENC_* value gives integers (mask 0xF) or floating-point numbers (0xF00).

    The result is None for floating-point numbers of System/390, which are not IEEE.
    """
    return {mq.MQENC_NORMAL & mask: ">", mq.MQENC_REVERSED & mask: "<"}.get(encoding & mask)


def _layout(kind: int, encoding: int) -> struct.Struct | None:
    order = byte_order(encoding, 0xF00 if kind in _FLOATS else 0xF)
    return None if order is None else struct.Struct(order + _NUMBERS[kind])


def unpack(kind: int, raw: bytes, length: int, encoding: int, ccsid: int) -> PropertyValue:
    """Return the value that MQSETMP sets. ``length`` is ValueLength. ``raw`` has the bytes at Value (b"" for a null pointer).

    Raises:
        PropertyError: MQRC_PROPERTY_TYPE_ERROR, MQRC_BUFFER_LENGTH_ERROR, MQRC_BUFFER_ERROR,
            MQRC_PROP_NUMBER_FORMAT_ERROR, MQRC_SOURCE_CCSID_ERROR.
    """
    if kind not in TYPES:
        raise PropertyError(mq.MQRC_PROPERTY_TYPE_ERROR)
    if length == mq.MQVL_NULL_TERMINATED and kind == mq.MQTYPE_STRING:
        length = len(raw)
    elif kind in _NUMBERS:
        if length != struct.calcsize("=" + _NUMBERS[kind]):
            raise PropertyError(mq.MQRC_BUFFER_LENGTH_ERROR)
    elif length < 0 or (length and kind == mq.MQTYPE_NULL):
        raise PropertyError(mq.MQRC_BUFFER_LENGTH_ERROR)
    if len(raw) != length:
        raise PropertyError(mq.MQRC_BUFFER_ERROR)
    if kind == mq.MQTYPE_NULL:
        return None
    if kind == mq.MQTYPE_BYTE_STRING:
        return raw
    if kind == mq.MQTYPE_STRING:
        return decode(raw, ccsid, encoding)
    layout = _layout(kind, encoding)
    if layout is None:
        raise PropertyError(mq.MQRC_PROP_NUMBER_FORMAT_ERROR)
    value: int | float = layout.unpack(raw)[0]
    return bool(value) if kind == mq.MQTYPE_BOOLEAN else value


def decode(raw: bytes, ccsid: int, encoding: int) -> str:
    """Return bytes as text; raise PropertyError with MQRC_SOURCE_CCSID_ERROR if the character set is unknown or does not fit."""
    page = codec(ccsid, encoding)
    if page is None:
        raise PropertyError(mq.MQRC_SOURCE_CCSID_ERROR)
    try:
        return page.decode(raw)[0]
    except UnicodeDecodeError as error:
        raise PropertyError(mq.MQRC_SOURCE_CCSID_ERROR) from error


def pack(kind: int, value: PropertyValue, encoding: int, ccsid: int) -> bytes | None:
    """Return a value's bytes in this encoding and character set, or None if they cannot represent the value."""
    if isinstance(value, bytes):
        return value
    if value is None:
        return b""
    if isinstance(value, str):
        page = codec(ccsid, encoding)
        try:
            return None if page is None else page.encode(value)[0]
        except UnicodeEncodeError:
            return None
    layout = _layout(kind, encoding)
    return None if layout is None else layout.pack(value)


def convert(kind: int, value: PropertyValue, wanted: int) -> PropertyValue:
    """Return a value converted to another type (MQIMPO_CONVERT_TYPE).

    Raises:
        PropertyError: MQRC_PROPERTY_TYPE_ERROR, MQRC_PROP_CONV_NOT_SUPPORTED, MQRC_PROP_NUMBER_FORMAT_ERROR.
    """
    if wanted not in TYPES and wanted != mq.MQTYPE_AS_SET:
        raise PropertyError(mq.MQRC_PROPERTY_TYPE_ERROR)
    if wanted in (kind, mq.MQTYPE_AS_SET):
        return value
    if isinstance(value, str):
        return _from_text(value, wanted)
    if wanted == mq.MQTYPE_STRING and value is not None:
        return text(kind, value)
    # Conversions without loss, from a number type to a longer type of the same sort.
    widens = (kind in _INTEGERS and wanted in _INTEGERS) or (kind in _FLOATS and wanted in _FLOATS)
    if widens and wanted > kind:
        return value
    if kind == mq.MQTYPE_BOOLEAN and wanted in _INTEGERS:
        return int(bool(value))
    raise PropertyError(mq.MQRC_PROP_CONV_NOT_SUPPORTED)


def text(kind: int, value: PropertyValue) -> str:
    """Return the text that the type conversion of MQINQMP makes of a value."""
    if isinstance(value, bytes):
        return value.hex().upper()
    if kind == mq.MQTYPE_BOOLEAN:
        return "TRUE" if value else "FALSE"
    if kind == mq.MQTYPE_FLOAT32:
        # Nine digits distinguish any two 32-bit floating-point numbers.
        return f"{value:.9g}"
    return str(value)


def _from_text(value: str, wanted: int) -> PropertyValue:
    if wanted == mq.MQTYPE_BOOLEAN:
        word = _WORDS.get(value.upper())
        if word is None:
            raise PropertyError(mq.MQRC_PROP_NUMBER_FORMAT_ERROR)
        return word
    if wanted not in _INTEGERS and wanted not in _FLOATS:
        raise PropertyError(mq.MQRC_PROP_CONV_NOT_SUPPORTED)
    # The conversion ends at the first character that does not belong to the number.
    found = (_INTEGER_TEXT if wanted in _INTEGERS else _FLOAT_TEXT).match(value)
    if found is None:
        raise PropertyError(mq.MQRC_PROP_NUMBER_FORMAT_ERROR)
    try:
        number = int(found[1]) if wanted in _INTEGERS else float(found[1])
    except ValueError as error:
        # Python refuses to read integers with thousands of digits.
        raise PropertyError(mq.MQRC_PROP_NUMBER_FORMAT_ERROR) from error
    return fitting(wanted, number)


def fitting(kind: int, number: int | float) -> int | float:
    """Return a number as a value of the type ``kind``, rounded if needed; raise PropertyError if the type cannot hold it."""
    layout = struct.Struct("=" + _NUMBERS[kind])
    try:
        packed: int | float = layout.unpack(layout.pack(number))[0]
    except (struct.error, OverflowError) as error:
        raise PropertyError(mq.MQRC_PROP_NUMBER_FORMAT_ERROR) from error
    return packed
