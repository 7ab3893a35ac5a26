"""Names of message properties: legal names, synonyms, and wildcards.

Names have a hierarchy: ``a.b.c`` is the property ``c`` in the group ``b`` of the folder ``a``. A name without a dot is in the
folder ``usr``. Inside the queue manager, a name is a path, which is a tuple that starts with the folder. ``path_of`` and
``name_of`` convert between names and paths, and know the synonyms.

Values are in ``values.py``, sets of properties in ``sets.py``.

Source: IBM MQ, "Property names", "Property name restrictions", reason code 2442.
"""

from __future__ import annotations

from collections.abc import Callable

from mqembedded import constants as mq

Path = tuple[str, ...]

# The greatest depth of a property, counted with folder and property, and the most properties, or folders, of a message. IBM MQ
# documents no such limits (unverified). These limits bound the cost of reading a message.
DEEPEST = 256
MOST_PROPERTIES = 10_000
USER_FOLDER = "usr"
DESCRIPTOR = ("Root", "MQMD")
# MQPROP_COMPATIBILITY looks for properties in these folders, which JMS programs expect in an MQRFH2 (IBM MQ, "PropertyControl").
COMPATIBLE_FOLDERS = frozenset({"mcd", "jms", "usr", "mqext"})

_KEYWORDS = frozenset("NULL TRUE FALSE NOT AND OR BETWEEN LIKE IN IS ESCAPE".split())
_SYNONYMS: dict[str, Path] = {
    "JMSCorrelationID": ("jms", "Cid"),
    "JMSDeliveryMode": ("jms", "Dlv"),
    "JMSDestination": ("jms", "Dst"),
    "JMSExpiration": ("jms", "Exp"),
    "JMSPriority": ("jms", "Pri"),
    "JMSReplyTo": ("jms", "Rto"),
    "JMSTimestamp": ("jms", "Tms"),
    "JMSType": ("mcd", "Type"),
    "JMSXGroupID": ("jms", "Gid"),
    "JMSXGroupSeq": ("jms", "Seq"),
    "MQTopicString": ("mqps", "Top"),
    "MQSubUserData": ("mqps", "Sud"),
    "MQIsRetained": ("mqps", "Ret"),
}
_NAMES = {path: name for name, path in _SYNONYMS.items()}
# The JMS properties that an application can set, with their types.
_SETTABLE_JMS = {
    "JMSCorrelationID": mq.MQTYPE_STRING,
    "JMSReplyTo": mq.MQTYPE_STRING,
    "JMSType": mq.MQTYPE_STRING,
    "JMSXGroupID": mq.MQTYPE_STRING,
    "JMSXGroupSeq": mq.MQTYPE_INT32,
}


class PropertyError(Exception):
    """The queue manager refuses a request for message properties. ``reason`` is the MQI reason code."""

    def __init__(self, reason: int) -> None:
        super().__init__(mq.reason_name(reason))
        self.reason = reason


def path_of(name: str) -> Path:
    """Return the path of the property with this name."""
    synonym = _SYNONYMS.get(name)
    if synonym is not None:
        return synonym
    path = tuple(name.split("."))
    return path if len(path) > 1 else (USER_FOLDER, *path)


def name_of(path: Path) -> str:
    """Return the name that MQINQMP returns: the synonym if there is one, else the name without the folder ``usr``."""
    synonym = _NAMES.get(path)
    if synonym is not None:
        return synonym
    return ".".join(path[1:] if path[0] == USER_FOLDER else path)


def matcher(pattern: str) -> Callable[[Path], bool]:
    """Return a function that tests paths against a pattern from MQINQMP. A ``%`` at the end matches any characters, even dots.

    A pattern without a dot is compared with names as MQINQMP returns them, so ``c%`` finds ``colour`` in the folder ``usr``. A
    pattern with a dot is compared with full names, including ``usr.``.

    Raises:
        PropertyError: MQRC_PROPERTY_NAME_ERROR if a ``%`` is not at the end (unverified).
    """
    stem = pattern[:-1] if pattern.endswith("%") else pattern
    if "%" in stem:
        raise PropertyError(mq.MQRC_PROPERTY_NAME_ERROR)
    if stem == pattern:
        wanted = path_of(pattern)
        return lambda path: path == wanted
    if "." in stem:
        return lambda path: ".".join(path).startswith(stem)
    return lambda path: name_of(path).startswith(stem)


def check_length(name: bytes) -> None:
    """Raise PropertyError with MQRC_PROPERTY_NAME_LENGTH_ERR if a name is empty or too long (reason code 2513)."""
    if not 0 < len(name) <= mq.MQ_MAX_PROPERTY_NAME_LENGTH:
        raise PropertyError(mq.MQRC_PROPERTY_NAME_LENGTH_ERR)


def check_name(name: str) -> None:
    """Raise PropertyError with MQRC_PROPERTY_NAME_ERROR if no application can set a property with this name."""
    folded = name.lower()
    parts = name.split(".")
    if (
        len(parts) > DEEPEST
        or not all(map(_is_java_identifier, parts))
        or (name.startswith("JMS") and name not in _SETTABLE_JMS)
        or name.startswith(("usr.JMS", "Body"))
        or name.removeprefix("usr.").upper() in _KEYWORDS
        or (folded.startswith("mq") and not folded.startswith("mq_usr") and len(parts) > 2)
        or (name.startswith("Root") and not name.startswith("Root.MQMD."))
        # The folder has no groups (IBM MQ, "Supported MQRFH2 folders"). This reason code is unverified.
        or (parts[0] == USER_FOLDER and len(parts) > 2)
    ):
        raise PropertyError(mq.MQRC_PROPERTY_NAME_ERROR)


def check_type(name: str, kind: int) -> None:
    """Raise PropertyError with MQRC_PROPERTY_TYPE_ERROR if the JMS property with this name must have another type."""
    if _SETTABLE_JMS.get(name, kind) != kind:
        raise PropertyError(mq.MQRC_PROPERTY_TYPE_ERROR)


def is_accessible(path: Path) -> bool:
    """Return whether an element of an MQRFH2 folder is a property that the MQI shows (IBM MQ, "MQRFH2 folder restrictions")."""
    folder, *rest = path
    if any("." in part for part in path):
        return False
    if folder != USER_FOLDER:
        return True
    return len(rest) == 1 and not rest[0].startswith("JMS") and rest[0].upper() not in _KEYWORDS


def _is_java_identifier(part: str) -> bool:
    """Return whether a part of a name is a Java identifier that has only characters of the Basic Multilingual Plane."""
    return part.replace("$", "_").isidentifier() and max(part) <= "\uffff"
