"""Converts message properties to the folders of an MQRFH2, and back. Folders are text in a syntax like XML.

Folders without properties can have any content. Folders with properties have a known name or a special attribute::

    <usr><colour>green</colour><size dt='i4'>42</size></usr>
    <shop content='properties'><basket><id dt='bin.hex'>00FF</id></basket></shop>

``rfh2.py`` has the header that contains the folders.

Source: IBM MQ, "NameValueData", "Supported MQRFH2 folders", "Mapping from property names to MQRFH2 folder and element names",
"MQRFH2 folder restrictions". Unverified: the order of attributes, and the words for the values of MQPD fields.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from mqembedded import constants as mq
from mqembedded.properties.names import DEEPEST, MOST_PROPERTIES, PropertyError, is_accessible
from mqembedded.properties.sets import Property
from mqembedded.properties.values import PropertyValue, fitting, text

_PROPERTY_FOLDERS = frozenset("mq mq_usr mqps mqext jms mcd usr sib sib_usr sib_context".split())
_DATA_TYPES = {
    mq.MQTYPE_BOOLEAN: "boolean",
    mq.MQTYPE_BYTE_STRING: "bin.hex",
    mq.MQTYPE_INT8: "i1",
    mq.MQTYPE_INT16: "i2",
    mq.MQTYPE_INT32: "i4",
    mq.MQTYPE_INT64: "i8",
    mq.MQTYPE_FLOAT32: "r4",
    mq.MQTYPE_FLOAT64: "r8",
}
_KINDS = {**{word: kind for kind, word in _DATA_TYPES.items()}, "string": mq.MQTYPE_STRING, "int": mq.MQTYPE_INT32}
_SUPPORT = {
    mq.MQPD_SUPPORT_OPTIONAL: "optional",
    mq.MQPD_SUPPORT_REQUIRED: "required",
    mq.MQPD_SUPPORT_REQUIRED_IF_LOCAL: "reqlocal",
}
_CONTEXT = {mq.MQPD_NO_CONTEXT: "none", mq.MQPD_USER_CONTEXT: "user"}
_COPY = {
    mq.MQCOPY_ALL: "all",
    mq.MQCOPY_FORWARD: "forward",
    mq.MQCOPY_PUBLISH: "publish",
    mq.MQCOPY_REPLY: "reply",
    mq.MQCOPY_REPORT: "report",
}
_TAG = re.compile(r"<(/?)([^\s/<>=]+)((?:\s+[^\s=<>]+\s*=\s*(?:'[^']*'|\"[^\"]*\"))*)\s*(/?)>")
_ATTRIBUTE = re.compile(r"\s+([^\s=<>]+)\s*=\s*(?:'([^']*)'|\"([^\"]*)\")")
_REFERENCE = re.compile(r"&(#x[0-9A-Fa-f]+|#[0-9]+|[a-z]+);")
_ENTITIES = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}


@dataclass(slots=True)
class Element:
    """An element of a folder, which contains either text or further elements."""

    name: str
    attributes: dict[str, str]
    elements: list[Element] = field(default_factory=list)
    text: str = ""


def folders_of(properties: Iterable[Property]) -> list[str]:
    """Return the folders that contain these properties, in the order of each folder's first property."""
    roots: dict[str, Element] = {}
    for one in properties:
        folder = one.path[0]
        root = roots.get(folder)
        if root is None:
            marked = {} if folder in _PROPERTY_FOLDERS else {"content": "properties"}
            root = roots[folder] = Element(folder, marked)
        parent = root
        for group in one.path[1:-1]:
            # Properties of a group are adjacent, so the group is the last element, or does not exist yet. (A property with the
            # same name is not that group, because a message's handle and header can disagree.)
            last = parent.elements[-1] if parent.elements else None
            if last is None or last.name != group or not last.elements:
                parent.elements.append(Element(group, {}))
            parent = parent.elements[-1]
        parent.elements.append(Element(one.path[-1], _attributes(one), text=_text(one)))
    return [_written(root) for root in roots.values()]


def _attributes(one: Property) -> dict[str, str]:
    attributes = {}
    if one.kind == mq.MQTYPE_NULL:
        attributes["xsi:nil"] = "true"
    elif one.type_string or one.kind in _DATA_TYPES:
        attributes["dt"] = one.type_string or _DATA_TYPES[one.kind]
    if one.support != mq.MQPD_SUPPORT_OPTIONAL:
        attributes["support"] = _SUPPORT[one.support]
    if one.context != mq.MQPD_NO_CONTEXT:
        attributes["context"] = _CONTEXT[one.context]
    if one.copy_options != mq.MQCOPY_DEFAULT:
        words = [word for bit, word in _COPY.items() if one.copy_options & bit]
        attributes["copy"] = ",".join(words) or "none"
    return attributes


def _text(one: Property) -> str:
    if one.kind == mq.MQTYPE_BOOLEAN:
        return "1" if one.value else "0"
    if isinstance(one.value, float) and one.kind == mq.MQTYPE_FLOAT64:
        return repr(one.value)
    if one.value is None:
        return ""
    return one.value if isinstance(one.value, str) else text(one.kind, one.value)


def _escaped(value: str) -> str:
    return value.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _quoted(value: str) -> str:
    return _escaped(value).replace("'", "&apos;")


def _written(element: Element) -> str:
    attributes = "".join(f" {name}='{_quoted(value)}'" for name, value in element.attributes.items())
    inside = "".join(map(_written, element.elements)) or _escaped(element.text)
    return f"<{element.name}{attributes}>{inside}</{element.name}>"


def parse_folder(folder: str, most: int | None = None) -> Element:
    """Read the text of a folder, and return its root element.

    Raises:
        PropertyError: MQRC_RFH_FORMAT_ERROR; MQRC_PROPERTIES_TOO_BIG if the folder has more than ``most`` elements.
    """
    root = Element("", {})
    open_elements = [root]
    at = count = 0
    for tag in _TAG.finditer(folder):
        _add_text(open_elements[-1], folder[at : tag.start()])
        at = tag.end()
        closes, name, attributes, empty = tag.groups()
        if closes:
            if len(open_elements) == 1 or open_elements.pop().name != name:
                raise PropertyError(mq.MQRC_RFH_FORMAT_ERROR)
            continue
        found = (
            {word: _unescaped(single or double) for word, single, double in _ATTRIBUTE.findall(attributes)}
            if attributes
            else {}
        )
        if len(open_elements) > DEEPEST:
            raise PropertyError(mq.MQRC_RFH_FORMAT_ERROR)
        count += 1
        if most is not None and count > most + 1:
            raise PropertyError(mq.MQRC_PROPERTIES_TOO_BIG)
        element = Element(name, found)
        open_elements[-1].elements.append(element)
        if not empty:
            open_elements.append(element)
    if len(open_elements) > 1 or len(root.elements) != 1 or folder[at:].strip(" \0\r\n\t"):
        raise PropertyError(mq.MQRC_RFH_FORMAT_ERROR)
    return root.elements[0]


def _add_text(element: Element, found: str) -> None:
    if "<" in found:
        # This begins like a tag, but is not a tag.
        raise PropertyError(mq.MQRC_RFH_FORMAT_ERROR)
    if element.name and not element.elements:
        element.text += _unescaped(found)
    elif found.strip():
        raise PropertyError(mq.MQRC_RFH_FORMAT_ERROR)


def _unescaped(value: str) -> str:
    def replaced(match: re.Match[str]) -> str:
        word = match[1]
        try:
            if word.startswith("#"):
                character = chr(int(word[2:], 16) if word[1] == "x" else int(word[1:]))
                character.encode()  # half a surrogate pair is no character
                return character
            return _ENTITIES[word]
        except (KeyError, ValueError, OverflowError) as error:
            raise PropertyError(mq.MQRC_RFH_FORMAT_ERROR) from error

    return _REFERENCE.sub(replaced, value) if "&" in value else value


def holds_properties(folder: Element) -> bool:
    """Return whether a folder contains message properties (IBM MQ, "Supported MQRFH2 folders")."""
    return folder.name in _PROPERTY_FOLDERS or folder.attributes.get("content") == "properties"


def properties_of(folder: Element) -> list[Property]:
    """Return the properties in a folder, without elements that the MQI does not show."""
    found: list[Property] = []

    def gather(element: Element, path: tuple[str, ...]) -> None:
        for inner in element.elements:
            inner_path = (*path, inner.name)
            if inner.elements:
                if inner.text.strip():
                    raise PropertyError(mq.MQRC_RFH_FORMAT_ERROR)
                gather(inner, inner_path)
            elif is_accessible(inner_path):
                found.append(_property(inner, inner_path))

    gather(folder, (folder.name,))
    return found


def _property(element: Element, path: tuple[str, ...]) -> Property:
    attributes = element.attributes
    if not attributes:
        return Property(path, mq.MQTYPE_STRING, element.text)
    copies = attributes.get("copy")
    support = _number(_SUPPORT, attributes.get("support", "optional"), mq.MQPD_SUPPORT_OPTIONAL)
    context = _number(_CONTEXT, attributes.get("context", "none"), mq.MQPD_NO_CONTEXT)
    copy_options = mq.MQCOPY_DEFAULT
    if copies is not None:
        copy_options = sum({_number(_COPY, word.strip(), mq.MQCOPY_NONE) for word in copies.split(",")})

    def made(kind: int, value: PropertyValue, type_string: str = "") -> Property:
        return Property(path, kind, value, support, context, copy_options, type_string)

    data_type = attributes.get("dt", "string")
    if attributes.get("xsi:nil") == "true":
        return made(mq.MQTYPE_NULL, None)
    kind = _KINDS.get(data_type)
    if kind is None:
        return made(mq.MQTYPE_STRING, element.text, data_type)
    try:
        value = _value(kind, element.text)
    except (ValueError, OverflowError, PropertyError):
        # The text is not a number: return it as a string.
        return made(mq.MQTYPE_STRING, element.text, data_type)
    return made(kind, value)


def _number(words: dict[int, str], wanted: str, otherwise: int) -> int:
    return next((number for number, word in words.items() if word == wanted), otherwise)


def _value(kind: int, written: str) -> PropertyValue:
    if kind == mq.MQTYPE_STRING:
        return written
    if kind == mq.MQTYPE_BYTE_STRING:
        return bytes.fromhex(written)
    if kind == mq.MQTYPE_BOOLEAN:
        if written.lower() not in ("0", "1", "false", "true"):
            raise ValueError(written)
        return written.lower() in ("1", "true")
    return fitting(kind, float(written) if kind in (mq.MQTYPE_FLOAT32, mq.MQTYPE_FLOAT64) else int(written))


def property_folders(folders: Iterable[str], most: int = MOST_PROPERTIES) -> list[tuple[str, list[Property]]]:
    """Return the name and the properties of each folder that contains properties. The content of other folders is not read.

    Raises:
        PropertyError: MQRC_RFH_FORMAT_ERROR; MQRC_PROPERTIES_TOO_BIG if these folders have more than ``most`` elements.
    """
    found = []
    for folder in folders:
        if looks_like_properties(folder):
            element = parse_folder(folder, most)
            if holds_properties(element):
                properties = properties_of(element)
                most -= len(properties)
                found.append((element.name, properties))
    return found


def looks_like_properties(folder: str) -> bool:
    """Return whether a folder's first tag shows that the folder contains properties."""
    tag = _TAG.search(folder)
    if tag is None:
        return False
    attributes = {word: single or double for word, single, double in _ATTRIBUTE.findall(tag[3])}
    return holds_properties(Element(tag[2], attributes))
