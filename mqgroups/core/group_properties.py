"""The properties of a group, which its first message carries, and how a status record keeps them.

A consumer that resumes in the middle of a group cannot get the first message again, because it is committed. A producer that
resumes must know which group was interrupted. So the record of an unfinished group has the properties. They are JSON values. Two
of their types, which JSON does not have, are written like this:

    b"\\x00\\xff"     {"bytes": "AP8="}
    float("inf")    {"float": "inf"}

Properties that are longer than ``MOST_BYTES`` in a record are not kept (the record has ``None``), because every record of the
group would repeat them. Other programs' messages can have properties of any length.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Mapping
from typing import Any, TypeAlias

Value: TypeAlias = str | int | float | bool | bytes | None
# ``None``: not known.
GroupProperties: TypeAlias = Mapping[str, Value] | None

NO_PROPERTIES: Mapping[str, Value] = {}
MOST_BYTES = 32_768
# The property with the name that a producer gave its group.
NAME = "mqgroups.Name"
_INT64 = 1 << 63


def kept(properties: Mapping[str, Value]) -> GroupProperties:
    """Return the properties as a record keeps them; ``None`` if they are too long."""
    if not properties:
        return NO_PROPERTIES
    return dict(properties) if len(json.dumps(encoded(properties))) <= MOST_BYTES else None


def name_of(properties: GroupProperties) -> str:
    """Return the name of the group with these properties; empty if the group has none."""
    name = properties.get(NAME) if properties else None
    return name if isinstance(name, str) else ""


def contradiction(found: Mapping[str, Value], given: Mapping[str, Value], *, complete: bool) -> str | None:
    """Return the first name whose values in ``given`` and ``found`` differ; ``None`` if there is no such name.

    ``complete``: whether a name in ``given`` that is not in ``found`` is a contradiction too.
    """
    for name, value in given.items():
        if name not in found:
            if complete:
                return name
        elif type(found[name]) is not type(value) or found[name] != value:
            return name
    return None


def encoded(properties: GroupProperties) -> dict[str, Any] | None:
    """Return properties as values for JSON."""
    return None if properties is None else {name: _encoded(value) for name, value in properties.items()}


def decoded(values: Any) -> GroupProperties:
    """Return the properties that ``encoded`` has turned into JSON values. Raises ValueError or TypeError for any other value."""
    if values is None:
        return None
    if not isinstance(values, dict):
        raise TypeError
    return {_text(name): _decoded(value) for name, value in values.items()}


def _encoded(value: Value) -> Any:
    if isinstance(value, bytes):
        return {"bytes": base64.b64encode(value).decode("ascii")}
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": str(value)}
    return value


def _decoded(value: Any) -> Value:
    if value is None or isinstance(value, bool | float):
        return value
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, int):
        if not -_INT64 <= value < _INT64:
            raise ValueError
        return value
    ((kind, said),) = value.items() if isinstance(value, dict) else ((None, None),)
    if kind == "bytes" and isinstance(said, str):
        return base64.b64decode(said, validate=True)
    if kind == "float" and said in ("inf", "-inf", "nan"):
        return float(said)
    raise ValueError


def _text(value: str) -> str:
    # Raises UnicodeEncodeError for half of a surrogate pair, which no property has.
    value.encode()
    return value
