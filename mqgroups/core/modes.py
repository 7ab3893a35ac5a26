"""Modes: settings whose value is one of a few words.

They are ``Literal`` types, not enums, because the same words are written in configuration files, as Spark options and on command
lines. So a word needs no translation, and mypy still refuses a misspelt word (``poison="Halt"``). ``problem`` checks values that
come from outside the program, against the same types.

Not here: the modes of the Spark data source (``spark/options.py``).
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, get_args

RoleName: TypeAlias = Literal["put", "get"]
StatusLayout: TypeAlias = Literal["classic", "segmented"]
PutResponse: TypeAlias = Literal["sync", "async"]
Interrupted: TypeAlias = Literal["resume", "abandon"]
Bind: TypeAlias = Literal["group", "open"]
Unprocessed: TypeAlias = Literal["halt", "quarantine"]
Trace: TypeAlias = Literal["unit of work", "message", "off"]
# Which checks of a salvage an operator may override (``operate.rules.salvage.DOUBTS``).
Accept: TypeAlias = Literal["in-use", "other-owners", "begun", "nothing-interrupted", "dead-letters"]


def problem(setting: str, given: object, mode: Any) -> str | None:
    """Return an error text if ``given`` is not a word of ``mode`` (one of the types above); otherwise ``None``."""
    words = get_args(mode)
    if given in words:
        return None
    shown = [repr(word) for word in words]
    return f"{setting} must be {', '.join(shown[:-1])} or {shown[-1]}, got {given!r}"
