"""Settings are frozen dataclasses. A field defines meaning, allowed values and default of a setting in one place.

    @dataclass(frozen=True, kw_only=True)
    class Putting(Settings):
        \"\"\"Settings of producers and pipes.

        Attributes:
            priority: the messages' priority, 0 to 9. By default it is the queue's.
        \"\"\"

        priority: Annotated[int | None, Whole(0, 9)] = None

The fields define the checks of an object (``Settings``), the signature and help of the function that takes the settings
(``method_of``, ``function_of``), the options of commands (``cli.options``), and the tables of the reference (``table``).

A function in a field's annotation checks the field. If the value is not ``None``, the function gets the field's name and value,
and may raise ConfigurationError. If there is no function, the type determines the check: ``bool``, ``float`` (seconds), ``str``,
an enum, or the words of a ``Literal``. The other parts of an annotation are for other modules (``Field.notes``).
"""

from __future__ import annotations

import enum
import inspect
import math
import re
import sys
import types
from collections.abc import Callable, Collection
from dataclasses import MISSING, dataclass, fields
from functools import cache, wraps
from typing import (
    Annotated,
    Any,
    Concatenate,
    Literal,
    ParamSpec,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from mqgroups.core import modes
from mqgroups.errors import ConfigurationError

_P = ParamSpec("_P")
_S = TypeVar("_S", bound="Settings")
_Q = TypeVar("_Q")
_R = TypeVar("_R")


_Check = Callable[[str, Any], object]


@dataclass(frozen=True, slots=True)
class Field:
    """One setting, as its dataclass field defines it.

    Attributes:
        kind: the type.
        check: the function that raises ConfigurationError for a value that is not allowed.
        default: ``inspect.Parameter.empty`` if there is none.
        positional: whether a call can pass the value without the setting's name.
        help: the description. Its first sentence alone is the help of a command's option.
        notes: the parts of the annotation that are not functions.
    """

    name: str
    kind: Any
    check: _Check
    default: Any
    positional: bool
    help: str
    notes: tuple[Any, ...] = ()

    @property
    def choices(self) -> tuple[str, ...]:
        """The allowed words if the type is a ``Literal``; empty for other types."""
        return tuple(get_args(self.kind)) if get_origin(self.kind) is Literal else ()

    @property
    def first_sentence(self) -> str:
        """The first sentence of the help, without markup."""
        return re.split(r"(?<=\.)\s", self.help.replace("``", ""), maxsplit=1)[0]

    def check_value(self, value: object) -> None:
        """Raise ConfigurationError if ``value`` is not allowed."""
        if value is not None or type(None) not in _alternatives(self.kind):
            self.check(self.name, value)


class Settings:
    """The base of settings. A new object checks each setting, and then combinations of settings."""

    def __post_init__(self) -> None:
        for each in settings_of(type(self)):
            each.check_value(getattr(self, each.name))
        self.check_together()

    def check_together(self) -> None:
        """Raise ConfigurationError if settings cannot be combined."""


def settings_of(cls: type[Settings]) -> tuple[Field, ...]:
    """Return the fields of ``cls``, in the order of its signature."""
    return _settings_of(cast("Any", cls))


@cache
def _settings_of(cls: Any) -> tuple[Field, ...]:
    hints, helps = get_type_hints(cls, include_extras=True), _helps(cls)
    found = []
    for each in fields(cls):
        kind, *parts = get_args(hints[each.name]) if get_origin(hints[each.name]) is Annotated else (hints[each.name],)
        default = inspect.Parameter.empty if each.default is MISSING else each.default
        check = next((part for part in parts if callable(part)), None) or _check_of(kind)
        notes = tuple(part for part in parts if not callable(part))
        found.append(Field(each.name, kind, check, default, not each.kw_only, helps.get(each.name, ""), notes))
    return tuple(sorted(found, key=lambda each: not each.positional))


def _helps(cls: type) -> dict[str, str]:
    """Return the description of each attribute, from the docstrings of a class and its bases."""
    found: dict[str, str] = {}
    for each in reversed(cls.__mro__):
        _, _, attributes = inspect.cleandoc(each.__doc__ or "").partition("\nAttributes:\n")
        for name, text in re.findall(r"^    (\w+): (.*(?:\n {8}.*)*)", attributes, re.MULTILINE):
            found[name] = re.sub(r"\s+", " ", text)
    return found


def method_of(
    settings: Callable[_P, _S],
) -> Callable[[Callable[[_Q, _S], _R]], Callable[Concatenate[_Q, _P], _R]]:
    """Return a decorator for a method that takes settings. The decorated method takes their fields as arguments."""

    return lambda method: _taking(cast("type[Settings]", settings), method, "self")


def function_of(settings: Callable[_P, _S]) -> Callable[[Callable[[_S], _R]], Callable[_P, _R]]:
    """Return a decorator for a function that takes settings; see ``method_of``."""

    return lambda function: _taking(cast("type[Settings]", settings), function)


def _taking(cls: type[Settings], made_of: Callable[..., Any], *before: str) -> Any:
    """Return a function that calls ``made_of``, with the fields of ``cls`` in its signature and documentation."""

    @wraps(made_of)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            signature.bind(*args, **kwargs)
        except TypeError as error:
            # The error of the constructor names a class that the application does not know.
            raise TypeError(f"{made_of.__name__}(): {error}") from None
        return made_of(*args[: len(before)], cls(*args[len(before) :], **kwargs))

    parameter = inspect.Parameter
    signature = inspect.signature(made_of).replace(
        parameters=[parameter(name, parameter.POSITIONAL_ONLY) for name in before]
        + [
            parameter(
                each.name,
                parameter.POSITIONAL_OR_KEYWORD if each.positional else parameter.KEYWORD_ONLY,
                default=each.default,
                annotation=each.kind,
            )
            for each in settings_of(cls)
        ]
    )
    described: Any = call
    described.__signature__ = signature
    text, raises, errors = inspect.cleandoc(made_of.__doc__ or "").partition("Raises:")
    arguments = "".join(f"    {each.name}: {each.help}\n" for each in settings_of(cls))
    call.__doc__ = f"{text}Args:\n{arguments}\n{raises}{errors}"
    return call


def table(*classes: tuple[str, type[Settings]]) -> str:
    """Return a Markdown table of all settings of ``classes``. Each pair has a name for the table, and a class."""
    found: dict[str, tuple[Field, list[str]]] = {}
    for words, cls in classes:
        for each in settings_of(cls):
            found.setdefault(each.name, (each, []))[1].append(words)
    several = len(classes) > 1
    lines = ["| setting | default | for | meaning |", "|---|---|---|---|"]
    if not several:
        lines = ["| setting | default | meaning |", "|---|---|---|"]
    for each, of in found.values():
        default = "required" if each.default is inspect.Parameter.empty else f"`{_shown(each.default)}`"
        use = f"{'all' if len(of) == len(classes) else ', '.join(of)} | " if several else ""
        lines.append(f"| `{each.name}` | {default} | {use}{each.help.replace('``', '`')} |")
    return "\n".join(lines) + "\n"


def _shown(default: object) -> str:
    if isinstance(default, enum.Enum):
        return f"{type(default).__name__}.{default.name}"
    return getattr(default, "__qualname__", "") or repr(default)


def _alternatives(kind: Any) -> tuple[Any, ...]:
    return get_args(kind) if get_origin(kind) in (Union, types.UnionType) else (kind,)


def _check_of(kind: Any) -> _Check:
    """Return the function that checks values of the type ``kind``."""
    only = [each for each in _alternatives(kind) if each is not type(None)]
    if get_origin(kind) is Literal:
        return lambda name, value: _refuse(modes.problem(name, value, kind))
    for known, check in _CHECKS.items():
        if only == [known]:
            return check
    (first,) = only
    if isinstance(first, type) and issubclass(first, enum.Enum):
        return lambda name, value: _check_member(name, value, first)
    raise TypeError(f"a setting of type {kind} needs a function that checks it")


def _refuse(problem: str | None) -> None:
    if problem is not None:
        raise ConfigurationError(problem)


def check_text(what: str, value: object) -> None:
    """Raise ConfigurationError if ``value`` is not a str."""
    if not isinstance(value, str):
        raise ConfigurationError(f"{what} must be a str, got {value!r}")


def check_collection(what: str, value: object, of: str = "names") -> None:
    """Raise ConfigurationError if ``value`` is not a collection. A str is refused, although it is a collection, too."""
    if isinstance(value, str) or not isinstance(value, Collection):
        raise ConfigurationError(f"{what} must be a collection of {of}, got {value!r}")


def check_flag(what: str, value: object) -> None:
    """Raise ConfigurationError if ``value`` is neither True nor False. The text ``"false"`` is refused, too."""
    if not isinstance(value, bool):
        raise ConfigurationError(f"{what} must be True or False, got {value!r}")


def checked_seconds(what: str, seconds: float) -> float:
    """Return ``seconds``; raises ConfigurationError if it is NaN, negative, too large for a float, or not a number."""
    is_number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    if not is_number or not (0 <= seconds <= sys.float_info.max or seconds == math.inf):
        raise ConfigurationError(f"{what} must be 0 or more seconds, got {seconds!r}")
    return seconds


_CHECKS: dict[Any, _Check] = {bool: check_flag, float: checked_seconds, str: check_text}


def _check_member(what: str, value: object, members: type[enum.Enum]) -> None:
    if not isinstance(value, members):
        words = " or ".join(f"mqgroups.{members.__name__}.{each.name}" for each in members)
        raise ConfigurationError(f"{what} must be {words}, got {value!r}")


@dataclass(frozen=True, slots=True)
class Whole:
    """A check that accepts whole numbers from ``least`` to ``most``."""

    least: int
    most: int = sys.maxsize

    @property
    def words(self) -> str:
        """The accepted numbers in words, for an error text."""
        return f"at least {self.least}" if self.most == sys.maxsize else f"{self.least} to {self.most}"

    def __call__(self, what: str, value: object) -> None:
        if isinstance(value, bool) or not isinstance(value, int) or not self.least <= value <= self.most:
            raise ConfigurationError(f"{what} must be a whole number, {self.words}, got {value!r}")
