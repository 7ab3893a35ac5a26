"""Finds the MQTYPE_* of a Python value, and checks names and values of message properties before they are put.

    bool MQTYPE_BOOLEAN   int MQTYPE_INT32, or MQTYPE_INT64   float MQTYPE_FLOAT64
    str MQTYPE_STRING     bytes MQTYPE_BYTE_STRING            None MQTYPE_NULL

The bindings' C layers do not check a value. If a value does not fit its type, they change it silently, or the process crashes.
So every name and value is checked here first. ``property_folders.py`` reads properties from messages.

Source: IBM MQ, "Property names", "Property name restrictions", "MQSETMP".
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from mqgroups.errors import MessageRefused
from mqgroups.mqi import constants as mq
from mqgroups.mqi.abc import PropertyValue

_SQL_WORDS = frozenset("NULL TRUE FALSE NOT AND OR BETWEEN LIKE IN IS ESCAPE".split())
# The JMS properties that a program may set, with the type that JMS defines.
_SETTABLE_JMS = {
    "JMSCorrelationID": mq.MQTYPE_STRING,
    "JMSReplyTo": mq.MQTYPE_STRING,
    "JMSType": mq.MQTYPE_STRING,
    "JMSXGroupID": mq.MQTYPE_STRING,
    "JMSXGroupSeq": mq.MQTYPE_INT32,
}
_INT32, _INT64 = 1 << 31, 1 << 63
# An error shows at most this many characters of a name.
_LONGEST_SHOWN = 100


def checked(properties: Mapping[str, PropertyValue]) -> tuple[tuple[str, PropertyValue], ...]:
    """Return the properties of a message, as values that the C layers accept; raises MessageRefused for an invalid property."""
    if not isinstance(properties, Mapping):
        raise MessageRefused(f"properties must be a mapping of names to values, got {type(properties).__name__}")
    return tuple((_name(name), _of_jms(name, _value(name, value))) for name, value in properties.items())


def type_of(value: PropertyValue) -> tuple[int, int]:
    """Return the MQTYPE_* and the length argument of MQSETMP for a value from ``checked``."""
    if value is None:
        return mq.MQTYPE_NULL, 0
    if isinstance(value, bool):
        return mq.MQTYPE_BOOLEAN, 4
    if isinstance(value, int):
        return (mq.MQTYPE_INT32, 4) if -_INT32 <= value < _INT32 else (mq.MQTYPE_INT64, 8)
    if isinstance(value, float):
        return mq.MQTYPE_FLOAT64, 8
    if isinstance(value, bytes):
        return mq.MQTYPE_BYTE_STRING, len(value)
    return mq.MQTYPE_STRING, mq.MQVL_NULL_TERMINATED


def _value(name: str, value: object) -> PropertyValue:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        if not -_INT64 <= value < _INT64:
            raise _refused(name, f"an int of {value.bit_length()} bits; it must be between -2**63 and 2**63-1")
        return int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise _refused(name, "a float that is not finite; give a finite number")
        return float(value)
    if isinstance(value, str):
        if "\0" in value:
            raise _refused(name, "a str that contains U+0000; give bytes")
        try:
            value.encode()
        except UnicodeEncodeError:
            raise _refused(name, "a str with half of a surrogate pair, which has no UTF-8; give bytes") from None
        return value
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    raise _refused(name, f"{type(value).__name__}; it must be str, int, bool, float, bytes or None")


def _of_jms(name: str, value: PropertyValue) -> PropertyValue:
    kind = _SETTABLE_JMS.get(name)
    if kind is not None and type_of(value)[0] != kind:
        expected = "str" if kind == mq.MQTYPE_STRING else "an int of 32 bits"
        raise _refused(name, f"{type(value).__name__}; JMS defines it as {expected}")
    return value


def _name(name: object) -> str:
    if not isinstance(name, str):
        raise MessageRefused(f"a property's name must be a str, got {type(name).__name__}")
    why = _why_not(name)
    if why is not None:
        raise MessageRefused(f"a property cannot have the name {_shown(name)}: {why}")
    return name


def _why_not(name: str) -> str | None:
    if not name:
        return "it is empty"
    if (
        len(name) > mq.MQ_MAX_PROPERTY_NAME_LENGTH
        or len(name.encode("utf-8", "replace")) > mq.MQ_MAX_PROPERTY_NAME_LENGTH
    ):
        return f"it is longer than {mq.MQ_MAX_PROPERTY_NAME_LENGTH} bytes"
    parts = name.split(".")
    if not all(part.replace("$", "_").isidentifier() and max(part) <= "\uffff" for part in parts):
        return "its parts between the dots may have letters, digits, _ and $, and must not begin with a digit"
    plain = name.removeprefix("usr.")
    if plain.upper() in _SQL_WORDS:
        return "it is a keyword of message selectors"
    if plain.startswith("JMS") and name not in _SETTABLE_JMS:
        return f"names that begin with JMS are reserved, except {', '.join(sorted(_SETTABLE_JMS))}"
    if name.startswith(("Body", "Root")):
        return "names that begin with Body or Root are reserved"
    is_ibm_s = name.lower().startswith("mq") and not name.lower().startswith("mq_usr")
    if len(parts) > 2 and (is_ibm_s or parts[0] == "usr"):
        return "names that begin with mq or usr may have only one dot"
    return None


def _refused(name: str, found: str) -> MessageRefused:
    return MessageRefused(f"property {_shown(name)} is {found}")


def _shown(name: str) -> str:
    return repr(name if len(name) <= _LONGEST_SHOWN else name[:_LONGEST_SHOWN] + "...")
