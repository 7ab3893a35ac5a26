"""Message properties as the queue manager hands them over: an MQRFH2 in front of the data, taken off and read.

``MQGMO_PROPERTIES_FORCE_MQRFH2`` brings all properties of a message with the MQGET that brings its data; message handles would
take a call for each property. Pure.

Source: IBM MQ, topics "MQRFH2" (q099240) and "Property names". That nested folders are joined with dots, and ``usr`` is left
out of names, follows MQINQMP; unverified on IBM MQ for folders other than ``usr`` and ``jms``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from xml.etree import ElementTree

from mqgroups.mqi import rfh2

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


def taken_off(data: bytes, encoding: int, ccsid: int) -> Headed | None:
    """Return what is behind the MQRFH2 at the beginning of ``data``; ``None`` if there is none that can be read.

    ``encoding`` and ``ccsid`` are the message descriptor's.
    """
    header = rfh2.header(data, encoding, ccsid)
    if header is None:
        return None
    properties: dict[str, bytes | None] = {}
    for folder in header.folders:
        properties.update(_properties(folder))
    name = header.format_name.split(b"\0", 1)[0].rstrip(b" ").decode("utf-8", "replace")
    return Headed(data[header.length :], header.encoding, header.ccsid, name, properties)


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
