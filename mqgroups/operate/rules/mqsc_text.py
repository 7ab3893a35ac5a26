"""Reads MQSC as text: the commands of a file, and the attributes that a command sets or a DISPLAY shows.

It reads only the forms that this package writes and shows: ``NAME(VALUE)`` and words. Not here: what commands mean.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

# A value is in quotes, with inner quotes doubled, or ends at the closing parenthesis. It can contain parentheses.
_ATTRIBUTE = re.compile(r"\b([A-Z][A-Z0-9]*)\((\s*'(?:[^']|'')*'\s*|[^()]*(?:\([^()]*\)[^()]*)*)\)")
_NUMBER = re.compile("[0-9]{1,10}")
_TOKEN = re.compile(rf"{_ATTRIBUTE.pattern}|\S+")


@dataclass(frozen=True, slots=True)
class MQSCCommand:
    """A command: its text in one line, and the comment lines before the command, without their asterisks."""

    text: str
    comments: tuple[str, ...] = ()

    @property
    def attributes(self) -> dict[str, str]:
        """The attributes that have a value in parentheses, by name."""
        return attributes(self.text)

    @property
    def words(self) -> list[str]:
        """The words without a value: the verb, and attributes such as NOSHARE."""
        return _ATTRIBUTE.sub(" ", self.text).split()


def attributes(text: str) -> dict[str, str]:
    """Return the values of the ``NAME(VALUE)`` pairs by name, without quotes and blanks around the values."""
    return {name: value.strip().strip("'").replace("''", "'").strip() for name, value in _ATTRIBUTE.findall(text)}


def as_number(value: str) -> int | None:
    """Return the number in an attribute's value; ``None`` if it is no number. MQ's numbers have at most ten digits."""
    return int(value) if _NUMBER.fullmatch(value) else None


def broken(command: str, width: int, indent: str = "") -> list[str]:
    """Split a command into lines that runmqsc reads as one command. Each line except the last ends with ``+``.

    Each line except the first begins with ``indent``. A line is longer than ``width`` only if one attribute alone is longer.
    """
    lines: list[str] = []
    for token in (found[0] for found in _TOKEN.finditer(command)):
        if lines and len(lines[-1]) + len(token) + len(" ") <= width - len(" +"):
            lines[-1] += f" {token}"
        else:
            lines.append((indent if lines else "") + token)
    if len(lines) > 1 and len(lines[-2]) + len(lines[-1].strip()) + len(" ") <= width:
        lines[-2:] = [f"{lines[-2]} {lines[-1].strip()}"]
    return [f"{line} +" for line in lines[:-1]] + lines[-1:]


def commands(text: str) -> Iterator[MQSCCommand]:
    """Yield the commands of an MQSC file. A line that ends with ``+`` or ``-`` continues in the next line (IBM MQ, "runmqsc").

    Comments before a blank line do not belong to a command.
    """
    comments: list[str] = []
    begun = ""
    for line in text.splitlines():
        stripped = line.strip()
        if not begun and not stripped:
            comments.clear()
        elif not begun and stripped.startswith("*"):
            comments.append(stripped[1:].strip())
        elif stripped:
            if stripped.endswith(("+", "-")):
                begun += stripped[:-1].rstrip() + " "
                continue
            yield MQSCCommand(begun + stripped, tuple(comments))
            begun = ""
            comments.clear()
