"""An option of format ``ibmmq``, made from a field of settings (``mqgroups/setting.py``).

The option has the name of the field in camel case. The field's type converts the text of a value, the field's check checks the
value, and the field's help is the option's meaning. If a field has no help or no check, the library's setting with the same name
provides it. The options themselves are in ``options.py``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from enum import Enum, Flag, auto
from inspect import Parameter
from typing import Any, Literal, cast, get_args, get_origin

from mqgroups.errors import ConfigurationError
from mqgroups.mqi.secret import SECRETS, Secret
from mqgroups.setting import Field, Settings, Whole, settings_of
from mqgroups.settings import Producing
from mqgroups.spark.errors import SparkOptionError


class Use(Flag):
    """A use of the data source. Each field of the options is annotated with its uses."""

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
        if self is Use.ALL:
            return "all"
        both = [each for each in (Use.READ, Use.WRITE) if each in self]
        single = [each for each in self if not any(each in two for two in both)]
        return ", ".join((each.name or "").lower().replace("_", " ") for each in (*single, *both))


@dataclass(frozen=True, slots=True)
class Option:
    """An option of the data source.

    Attributes:
        field: the name of the field that has the option's value.
        words: the possible values, in words for people.
        convert: a function that converts a text to a value. It raises ValueError if the text is not a value.
        default: the default of the field; ``Parameter.empty`` if the option is required.
    """

    name: str
    field: str
    words: str
    convert: Callable[[str], Any]
    check: Callable[[str, Any], object]
    default: Any
    use: Use
    meaning: str

    def value(self, text: str) -> Any:
        """Convert a text to a value. Raises SparkOptionError."""
        try:
            if not text:
                raise ValueError
            value = self.convert(text)
        except ValueError as error:
            raise SparkOptionError(self.name, f"{text!r} is not valid; expected {self.words}") from error
        try:
            self.check(self.name, value)
        except ConfigurationError as error:
            raise SparkOptionError(self.name, str(error)) from error
        return value

    def line(self, *, of_connection: bool) -> str:
        """Return the option's line in the documentation. The line of a connection's option has no values and no uses."""
        default = "" if self.default in (None, "", ()) else f"`{_word(self.default)}`"
        default = "required" if self.default is Parameter.empty else default
        kind = () if of_connection else (self.words, self.use.shown)
        return f"| {' | '.join((f'`{self.name}`', *kind, default, self.meaning))} |"


def options_of(cls: type) -> Iterator[Option]:
    """Yield an option for each field of the dataclass, if the field is annotated with a use."""
    of_library = {field.name: field for field in settings_of(Producing)}
    for field in settings_of(cast("type[Settings]", cls)):
        same = of_library.get(field.name, field)
        for use in field.notes:
            words, convert = _reading(field)
            meaning = field.help or same.first_sentence
            yield _option(camel(field.name), field, words, convert, meaning, use, same.check)


def options_of_connection(field: Field, name: str) -> Iterator[Option]:
    """Yield the options for a setting of connections. A secret has several options, because it can be given in several ways."""
    if field.name not in SECRETS:
        yield _option(name, field, *_reading(field), field.first_sentence)
        return
    is_password = field.name == "password"
    what = "the password" if is_password else field.first_sentence.rstrip(".")
    for suffix, (way, words) in _WAYS.items() if is_password else list(_WAYS.items())[1:]:
        yield _option(name + suffix, field, "text", way, words.format(what))


_WAYS: dict[str, tuple[Callable[[str], Secret], str]] = {
    "": (Secret, "{} itself; prefer the two options below"),
    "File": (Secret.from_file, "a file with {}"),
    "Env": (Secret.from_variable, "an environment variable with {}"),
}


def _option(
    name: str,
    field: Field,
    words: str,
    convert: Callable[[str], Any],
    meaning: str,
    use: Use = Use.ALL,
    check: Callable[[str, Any], object] | None = None,
) -> Option:
    meaning = meaning.replace("``", "`").rstrip(".")
    return Option(name, field.name, words, convert, check or field.check, field.default, use, meaning)


def _reading(field: Field) -> tuple[str, Callable[[str], Any]]:
    """Return a text about the possible values of a field, and a function that converts a text to a value."""
    kind = next((each for each in get_args(field.kind) if each is not type(None)), field.kind)
    kind = field.kind if get_origin(field.kind) in (Literal, Collection) else kind
    if kind is int:
        limits = f", {field.check.words}" if isinstance(field.check, Whole) else ""
        return f"integer{limits}", int
    if get_origin(kind) is Collection:
        return "text, with commas between several", lambda text: tuple(each.strip() for each in text.split(","))
    words: dict[str, Any] = {}
    if kind is bool:
        words = {"true": True, "false": False}
    elif get_origin(kind) is Literal:
        words = {word: word for word in get_args(kind)}
    elif isinstance(kind, type) and issubclass(kind, Enum):
        words = {_word(member): member for member in kind}
    known = {word.lower(): value for word, value in words.items()}

    def chosen(text: str) -> Any:
        if text.lower() not in known:
            raise ValueError
        return known[text.lower()]

    return (" or ".join(f"`{word}`" for word in words), chosen) if words else ("text", str)


def _word(value: object) -> str:
    if isinstance(value, Enum):
        return camel(value.name)
    return str(value).lower() if isinstance(value, bool) else str(value)


def camel(name: str) -> str:
    """Return a field's name in camel case."""
    return re.sub("_(.)", lambda letter: letter[1].upper(), name.lower())
