"""Finds the folders of an MQRFH2 that hold message properties, and reads the properties as Python values.

    <usr><colour>green</colour><size dt='i4'>42</size></usr>        {"colour": "green", "size": 42}
    <shop content='properties'><basket><id dt='bin.hex'>00FF</id></basket></shop>   {"shop.basket.id": b"\\x00\\xff"}

The syntax looks like XML, but names may have a ``$``, which XML parsers refuse. Not here: the header with the folders
(``rfh2.py``).

Source: IBM MQ, "NameValueData", "Supported MQRFH2 folders", "Mapping from property names to MQRFH2 folder and element names",
"MQRFH2 folder restrictions".
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from mqgroups.mqi import constants as mq
from mqgroups.mqi.abc import PropertyValue

_OF_PROPERTIES = frozenset("mq mq_usr mqps mqext jms mcd usr sib sib_usr sib_context".split())
# The repetition is possessive (``*+``), because the expression would otherwise keep a backtracking state for each attribute.
_ATTRIBUTES = r"(?:\s+[^\s=<>]+\s*=\s*(?:'[^']*'|\"[^\"]*\"))*+"
_TAG = re.compile(rf"<(/?)([^\s/<>=]+)({_ATTRIBUTES})\s*(/?)>")
_ATTRIBUTE = re.compile(r"\s+([^\s=<>]+)\s*=\s*(?:'([^']*)'|\"([^\"]*)\")")
# A folder without groups, like nearly all folders. If this matches, the folder is valid without being parsed.
_FLAT = re.compile(
    rf"<([^\s/<>=]+){_ATTRIBUTES}\s*>\s*(?:<([^\s/<>=]+){_ATTRIBUTES}\s*(?:/>|>[^<]*</\2\s*>)\s*)*</\1\s*>", re.DOTALL
)
_REFERENCE = re.compile(r"&(?:#x([0-9A-Fa-f]{1,6})|#([0-9]{1,7})|([a-z]{2,4}));")
_ENTITIES = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}
_INTEGER = re.compile(r"\s*[+-]?[0-9]{1,19}\s*")
_HEX = re.compile(r"[0-9A-Fa-f]*")
_TRUTH = {"1": True, "true": True, "0": False, "false": False}
_BITS = {"i1": 8, "i2": 16, "i4": 32, "int": 32, "i8": 64}
# A name includes the names of all groups around it, so names can be much longer than their folder. These limits are for the
# memory of names, in characters: for one name, and for all names of a message. There, each name counts ``_WEIGHT`` characters
# more, for the memory of a property without its texts.
_LONGEST_NAME = mq.MQ_MAX_PROPERTY_NAME_LENGTH
MOST_WEIGHT = 2 << 20
_WEIGHT = 64
# The attributes that have a meaning here.
_KNOWN = frozenset(("content", "dt", "xsi:nil"))
PADDING = " \0\r\n\t"
_NO_PROPERTIES: Mapping[str, PropertyValue] = MappingProxyType({})


class Element(NamedTuple):
    """An element with text. ``name`` begins with the folder (except ``usr``) and the groups. Only known attributes are kept."""

    name: str
    attributes: dict[str, str]
    text: str


def holds_properties(folder: str) -> bool:
    """Return whether a valid folder holds message properties, according to its name or its ``content`` attribute."""
    tag = _TAG.match(folder)
    return tag is not None and (tag[2] in _OF_PROPERTIES or _attributes(tag[3]).get("content") == "properties")


def weight(folder: str) -> int | None:
    """Return how much memory the names in a folder take, in the unit of ``MOST_WEIGHT``; ``None`` if the folder is invalid."""
    # In a short folder without groups no name is too long. For a long folder the expression would keep many states.
    flat = _FLAT.fullmatch(folder) if len(folder) <= _LONGEST_NAME else None
    if flat is not None:
        opening_tags = folder.count("<") - folder.count("</")
        return len(folder) + opening_tags * (_WEIGHT + len(flat[1]))
    try:
        return sum(_WEIGHT + len(element.name) for element in elements(folder))
    except ValueError:
        return None


def values(folders: Sequence[str]) -> Mapping[str, PropertyValue]:
    """Return the properties in all folders. If a name occurs twice, its first value counts."""
    if not folders:
        return _NO_PROPERTIES
    found: dict[str, PropertyValue] = {}
    for folder in folders:
        for name, attributes, text in elements(folder):
            if name not in found:
                found[name] = _value(attributes, text)
    return MappingProxyType(found)


def elements(folder: str) -> Iterator[Element]:
    """Yield the innermost elements of a folder; raises ValueError if tags do not match, or names are too long."""
    left = MOST_WEIGHT
    # The tag's name of each open element, and the prefix of the names in that element.
    open_elements: list[tuple[str, str]] = []
    attributes: dict[str, str] = {}
    at = begun_at = 0
    is_leaf = is_over = False
    for tag in _TAG.finditer(folder):
        between = folder[at : tag.start()]
        closes, name, given, is_empty = tag.groups()
        is_text = bool(closes) and is_leaf
        if is_over or "<" in between or (not is_text and between.strip(PADDING)):
            raise ValueError("text between the tags of a folder")
        at = tag.end()
        if closes:
            if not open_elements or open_elements[-1][0] != name:
                raise ValueError("a closing tag without its opening tag")
            _, path = open_elements.pop()
            if is_leaf and open_elements:
                yield Element(path, attributes, _unescaped(folder[begun_at : tag.start()]))
            is_leaf = False
            is_over = not open_elements
            continue
        above = open_elements[-1][1] if open_elements else ""
        path = f"{above}.{name}" if above else "" if name == "usr" and not open_elements else name
        if len(path) > _LONGEST_NAME:
            raise ValueError(f"a name of more than {_LONGEST_NAME} characters")
        left -= _WEIGHT + len(path)
        if left < 0:
            raise ValueError("too many elements")
        attributes = _attributes(given)
        if is_empty:
            if open_elements:
                yield Element(path, attributes, "")
            is_leaf = False
            is_over = not open_elements
        else:
            open_elements.append((name, path))
            is_leaf, begun_at = True, at
    if not is_over or folder[at:].strip(PADDING):
        raise ValueError("a folder that does not end")


def _attributes(given: str) -> dict[str, str]:
    if not given:
        return {}
    found = (one.groups() for one in _ATTRIBUTE.finditer(given))
    return {name: _unescaped(single or double or "") for name, single, double in found if name in _KNOWN}


def _unescaped(text: str) -> str:
    return _REFERENCE.sub(_character, text) if "&" in text else text


def _character(reference: re.Match[str]) -> str:
    """Return the character for a reference such as ``&lt;``, or the reference itself if it is not valid."""
    hexadecimal, decimal, name = reference.groups()
    if name is not None:
        return _ENTITIES.get(name, reference[0])
    number = int(hexadecimal, 16) if hexadecimal is not None else int(decimal)
    is_character = 0 < number < 0xD800 or 0xDFFF < number <= 0x10FFFF
    return chr(number) if is_character else reference[0]


def _value(attributes: Mapping[str, str], text: str) -> PropertyValue:
    """Return a value, converted by its data type; the text itself if the type is unknown or the text does not fit it."""
    if attributes.get("xsi:nil") in ("true", "1"):
        return None
    kind = attributes.get("dt")
    read = _READ.get(kind) if kind is not None else None
    if read is None:
        return text
    value = read(text)
    return text if value is None else value


def _integer(bits: int) -> Callable[[str], PropertyValue]:
    highest = 1 << bits - 1

    def read(text: str) -> PropertyValue:
        if _INTEGER.fullmatch(text) is None:
            return None
        number = int(text)
        return number if -highest <= number < highest else None

    return read


def _truth(text: str) -> PropertyValue:
    return _TRUTH.get(text.strip().lower())


def _hex(text: str) -> PropertyValue:
    return bytes.fromhex(text) if len(text) % 2 == 0 and _HEX.fullmatch(text) else None


def _double(text: str) -> PropertyValue:
    try:
        # Python would also accept 1_0.
        return None if "_" in text else float(text)
    except ValueError:
        return None


def _single(text: str) -> PropertyValue:
    number = _double(text)
    if not isinstance(number, float):
        return None
    try:
        nearest: float = struct.unpack("<f", struct.pack("<f", number))[0]
    except OverflowError:
        return None
    return nearest


_READ: dict[str, Callable[[str], PropertyValue]] = {
    **{word: _integer(bits) for word, bits in _BITS.items()},
    "boolean": _truth,
    "bin.hex": _hex,
    "r4": _single,
    "r8": _double,
}
