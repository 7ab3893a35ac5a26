"""Shows texts and objects of others safely in terminals, logs, files and tracebacks.

A line end in the text of a message, a record or a peer would forge a line of a log, an escape character controls the terminal,
and a text may be a megabyte long. Data for programs (attributes, JSON) keeps the text as it is.

If a constructor fails, the half-made object is ``self`` in the frames of its error. A program that shows the locals of frames
asks for its representation, and an error there would hide the first one.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

_T = TypeVar("_T")
# The most characters of others in a sentence of this package.
LONGEST = 1000
# The most characters of a group's name in a row or a page; names of others may have 30,000.
LONGEST_NAME = 100


def printable(text: str) -> str:
    """Return text with ``?`` for each control character, and for each character that changes the direction of text."""
    return text if text.isprintable() else "".join(each if each.isprintable() else "?" for each in text)


def brief(text: str, most: int = LONGEST) -> str:
    """Return the beginning of a text, printable, with ``...`` at its end if it was longer."""
    return printable(text if len(text) <= most else f"{text[: most - 3]}...")


class OneLine(logging.Formatter):
    """Writes a log record as one line, and the lines of a traceback indented below it, so that none looks like a record."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the name is logging's
        """As ``Formatter``."""
        return printable(super().formatMessage(record))

    def formatException(self, ei: Any) -> str:  # noqa: N802 - the name is logging's
        """As ``Formatter``."""
        return "\n".join(f"  {printable(line)}" for line in super().formatException(ei).splitlines())


def even_half_made(shown: Callable[[_T], str]) -> Callable[[_T], str]:
    """Return a ``__repr__`` that names the class only if something is missing."""

    @wraps(shown)
    def show(self: _T) -> str:
        try:
            return shown(self)
        except (AttributeError, LookupError):
            return f"<{type(self).__name__}, not made>"

    return show
