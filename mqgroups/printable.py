"""Shows texts from other programs, and half-made objects, safely in terminals, logs, files and tracebacks.

A text from a message, a record or a server can have a line end, which could forge a line of a log, or an escape character, which
controls the terminal. The text can be a megabyte long. Data for programs (attributes, JSON) has the unchanged text.

If a constructor fails, the half-made object is ``self`` in frames of the traceback. A tool that shows the local variables of the
frames calls ``__repr__`` of this object. An error in ``__repr__`` would hide the constructor's error.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

_T = TypeVar("_T")
# The most characters that a text from another program may have in a sentence of this package.
LONGEST = 1000
# The most characters that a group's name may have in a row or a page. Other programs may use names of 30,000 characters.
LONGEST_NAME = 100


def printable(text: str) -> str:
    """Return text with ``?`` for each control character, and for each character that changes the direction of text."""
    return text if text.isprintable() else "".join(each if each.isprintable() else "?" for each in text)


def brief(text: str, most: int = LONGEST) -> str:
    """Return the printable beginning of a text. If the text is longer than ``most``, ``...`` replaces the rest."""
    return printable(text if len(text) <= most else f"{text[: most - 3]}...")


class OneLine(logging.Formatter):
    """A formatter that writes a log record as one line. It indents a traceback, whose lines then do not look like records."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the name is logging's
        """Return the record as ``Formatter`` does, without control characters."""
        return printable(super().formatMessage(record))

    def formatException(self, ei: Any) -> str:  # noqa: N802 - the name is logging's
        """Return the traceback as ``Formatter`` does, indented and without control characters."""
        return "\n".join(f"  {printable(line)}" for line in super().formatException(ei).splitlines())


def even_half_made(shown: Callable[[_T], str]) -> Callable[[_T], str]:
    """Decorate a ``__repr__``. If the object does not have all attributes yet, the result has only the class's name."""

    @wraps(shown)
    def show(self: _T) -> str:
        try:
            return shown(self)
        except (AttributeError, LookupError):
            return f"<{type(self).__name__}, not made>"

    return show
