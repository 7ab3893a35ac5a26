"""Read message properties from the MQRFH2 in front of a message's data.

With ``MQGMO_PROPERTIES_FORCE_MQRFH2`` one MQGET returns the data and all properties; with a message handle each property takes a
call. Pure functions.

Source: IBM MQ, topics "MQRFH2" (q099240) and "Property names". Names follow MQINQMP: nested folders are joined with dots, and
``usr`` is left out; unverified on IBM MQ for folders other than ``usr`` and ``jms``.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from mqgroups.mqi import rfh2
from mqgroups.mqi.property_folders import elements

_HEX = re.compile("[0-9A-Fa-f]*")
RF_HEADER_2 = "MQHRF2"


class Headed(NamedTuple):
    """A message's data behind its MQRFH2, the header's description of that data, and the properties: bytes, text as UTF-8."""

    data: bytes
    encoding: int
    ccsid: int
    format: str | None
    properties: dict[str, bytes | None]


def taken_off(data: bytes, encoding: int, ccsid: int) -> Headed | None:
    """Separate the MQRFH2 at the start of ``data``; ``None`` if there is no MQRFH2 that can be read.

    ``encoding`` and ``ccsid`` are those of the message descriptor.
    """
    header = rfh2.header(data, encoding, ccsid)
    if header is None:
        return None
    properties: dict[str, bytes | None] = {}
    for folder in header.folders:
        properties.update(_properties(folder))
    encoding, ccsid, format_name = header.describes
    return Headed(data[header.length :], encoding, ccsid, format_text(format_name), properties)


@lru_cache
def format_text(format_name: bytes) -> str | None:
    """Return a format, or another name in the MQMD; ``None`` if it is not ASCII, so that it could not be put again."""
    name = format_name.split(b"\0", 1)[0].rstrip(b" ")
    return name.decode("ascii") if name.isascii() else None


def _properties(folder: str) -> dict[str, bytes | None]:
    """Return the properties of one folder of any kind; empty if the folder cannot be read."""
    try:
        return {name: _bytes(attributes, text) for name, attributes, text in elements(folder)}
    except ValueError:
        return {}


def _bytes(attributes: dict[str, str], text: str) -> bytes | None:
    if attributes.get("xsi:nil") == "true":
        return None
    if attributes.get("dt") == "bin.hex" and not len(text) % 2 and _HEX.fullmatch(text):
        return bytes.fromhex(text)
    return text.encode()
