"""Message properties as the queue manager hands them over: an MQRFH2 in front of the data, taken off and read.

``MQGMO_PROPERTIES_FORCE_MQRFH2`` brings all properties of a message with the MQGET that brings its data; message handles would
take a call for each property. Pure.

Source: IBM MQ, topics "MQRFH2" (q099240) and "Property names". That nested folders are joined with dots, and ``usr`` is left
out of names, follows MQINQMP; unverified on IBM MQ for folders other than ``usr`` and ``jms``.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from xml.etree import ElementTree

_FIXED_LENGTH = 36
_XSI = "http://www.w3.org/2001/XMLSchema-instance"
_HEX = re.compile("(?:[0-9A-Fa-f]{2})*")
_NIL = f"{{{_XSI}}}nil"
RF_HEADER_2 = "MQHRF2"


@dataclass(frozen=True, slots=True)
class Headed:
    """A message's data behind its MQRFH2, what that says of it, and the properties by name: bytes, text as UTF-8."""

    data: bytes
    encoding: int
    ccsid: int
    format: str
    properties: dict[str, bytes | None]


def taken_off(data: bytes, encoding: int) -> Headed | None:
    """Return what is behind the MQRFH2 at the beginning of ``data``; ``None`` if there is none that can be read.

    ``encoding`` is the message descriptor's, which tells the byte order of the header's integers.
    """
    order = "<" if encoding & 0xF == 2 else ">"
    if len(data) < _FIXED_LENGTH or data[:4] != b"RFH ":
        return None
    length, data_encoding, ccsid, format_name = struct.unpack_from(order + "8xiii8s", data)
    if not _FIXED_LENGTH <= length <= len(data):
        return None
    properties: dict[str, bytes | None] = {}
    at = _FIXED_LENGTH
    while at + 4 <= length:
        (size,) = struct.unpack_from(order + "i", data, at)
        if not 0 <= size <= length - at - 4:
            return None
        properties.update(_properties(data[at + 4 : at + 4 + size]))
        at += 4 + size
    name = format_name.split(b"\0", 1)[0].rstrip(b" ").decode("utf-8", "replace")
    return Headed(data[length:], data_encoding, ccsid, name, properties)


def _properties(folder: bytes) -> dict[str, bytes | None]:
    """Return the properties of one folder; none of one that is no XML."""
    try:
        # Inside an element there can be no document type, and so no entities of the sender's.
        root = ElementTree.fromstring(f'<r xmlns:xsi="{_XSI}">{folder.decode()}</r>')
    except (ElementTree.ParseError, UnicodeDecodeError):
        return {}
    found: dict[str, bytes | None] = {}
    for top in root:
        _collect(top, "" if top.tag == "usr" else top.tag, found)
    return found


def _collect(element: ElementTree.Element, name: str, found: dict[str, bytes | None]) -> None:
    for child in element:
        _collect(child, f"{name}.{child.tag}" if name else child.tag, found)
    if len(element) or not name:
        return
    text = element.text or ""
    if element.get(_NIL) == "true":
        found[name] = None
    elif element.get("dt") == "bin.hex" and _HEX.fullmatch(text):
        found[name] = bytes.fromhex(text)
    else:
        found[name] = text.encode()
