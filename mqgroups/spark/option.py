"""An option of format ``ibmmq``: what a field of an options class says of it, and how the text of its values is read.

A field is ``name: Annotated[type, SparkOption(meaning, use)] = default``. Spark's name is the field's in camel case, and the type
says which values there are; a ``Kind`` beside ``SparkOption`` says it more narrowly. Not here: the options (``options.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields
from enum import Enum, Flag, auto
from functools import cache
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from mqgroups.errors import ConfigurationError
from mqgroups.spark.errors import SparkOptionError


class Use(Flag):
    """The uses of the data source."""

    BATCH_READ = auto()
    STREAM_READ = auto()
    BATCH_WRITE = auto()
    STREAM_WRITE = auto()
    READ = BATCH_READ | STREAM_READ
    WRITE = BATCH_WRITE | STREAM_WRITE
    ALL = READ | WRITE

    @property
    def shown(self) -> str:
        """The uses in words, such as ``batch read``."""
        names = {Use.READ: "read", Use.WRITE: "write", Use.ALL: "all"}
        return names.get(self) or ", ".join((each.name or "").lower().replace("_", " ") for each in self)


@dataclass(frozen=True, slots=True)
class Kind:
    """The values of an option: a description, and a function that converts the text (ValueError if it is not valid)."""

    words: str
    value: Callable[[str], Any]


@dataclass(frozen=True, slots=True)
class SparkOption:
    """What an option's field says in addition to its name, type and default.

    Attributes:
        name: Spark's, if it is not the field's in camel case.
    """

    meaning: str
    use: Use = Use.ALL
    name: str = ""


def integer(least: int, most: int | None = None) -> Kind:
    """Return the whole numbers from ``least`` to ``most``."""

    def value(text: str) -> int:
        number = int(text)
        if number < least or (most is not None and number > most):
            raise ValueError
        return number

    return Kind(f"integer, at least {least}" if most is None else f"integer, {least} to {most}", value)


def _choice(values: Mapping[str, Any]) -> Kind:
    known = {word.lower(): value for word, value in values.items()}

    def value(text: str) -> Any:
        if text.lower() not in known:
            raise ValueError
        return known[text.lower()]

    return Kind(" or ".join(f"`{word}`" for word in values), value)


def some_text(length: int | None = None) -> Kind:
    """Return all texts that are not empty; or, of at most ``length`` characters, those in ASCII."""

    def value(text: str) -> str:
        if not text or (length is not None and (len(text) > length or not text.isascii())):
            raise ValueError
        return text

    return Kind("text" if length is None else f"1 to {length} characters", value)


@dataclass(frozen=True, slots=True)
class Option:
    """One option, as its field says it. ``default`` is the field's, ``MISSING`` if the option is required."""

    name: str
    field: str
    kind: Kind
    default: Any
    use: Use
    meaning: str

    def value(self, text: str) -> Any:
        """Return the value of a text; raises SparkOptionError."""
        try:
            return self.kind.value(text)
        except ConfigurationError as error:
            raise SparkOptionError(self.name, str(error)) from error
        except ValueError as error:
            shown = "its value" if self.field == "password" else repr(text)
            raise SparkOptionError(self.name, f"{shown} is not valid; expected {self.kind.words}") from error

    @property
    def shown_default(self) -> str:
        """The default, for the documentation."""
        if self.default is MISSING:
            return "required"
        if self.default is None or self.default in ("", ()):
            return "none"
        is_word = isinstance(self.default, bool | Enum)
        return f"`{_camel(self.default) if is_word else self.default}`"


@cache
def options_of(cls: type) -> tuple[Option, ...]:
    """Return the options that the fields of a dataclass say. Its ``PREFIX`` is put before Spark's names."""
    hints, prefix = get_type_hints(cls, include_extras=True), getattr(cls, "PREFIX", "")
    found = []
    for field in fields(cls):
        parts = getattr(hints[field.name], "__metadata__", ())
        if said := next((part for part in parts if isinstance(part, SparkOption)), None):
            name = prefix + (said.name or _camel(field.name))
            kind = _kind(hints[field.name])
            found.append(Option(name, field.name, kind, field.default, said.use, said.meaning))
    return tuple(found)


def _kind(hint: Any) -> Kind:
    """Return the values that a field's type has as text."""
    for part in getattr(hint, "__metadata__", ()):
        if isinstance(part, Kind):
            return part
    if get_origin(hint) is Annotated:
        return _kind(get_args(hint)[0])
    if get_origin(hint) is Literal:
        return _choice({word: word for word in get_args(hint)})
    if NoneType in get_args(hint):
        return _kind(get_args(hint)[0])
    if hint is bool:
        return _choice({"true": True, "false": False})
    if isinstance(hint, type) and issubclass(hint, Enum):
        return _choice({_camel(each): each for each in hint})
    some = some_text()
    return Kind(some.words, lambda given: hint(some.value(given)))


def _camel(name: Any) -> str:
    first, *more = (name.name if isinstance(name, Enum) else str(name)).lower().split("_")
    return first + "".join(word.capitalize() for word in more)
