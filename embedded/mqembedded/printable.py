"""Shows text from messages and peers safely in terminals and logs, and half-made objects in tracebacks.

A line end in text from a message or a peer could forge a log line. An escape character could control the terminal.

If a constructor fails, the half-made object is ``self`` in the frames of the traceback. A program that shows local variables
calls ``repr`` on this object, and an error in ``__repr__`` would hide the constructor's error.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

_T = TypeVar("_T")


def printable(text: str) -> str:
    """Return text in which ``?`` replaces all characters that Python does not consider printable, such as control characters."""
    return text if text.isprintable() else "".join(each if each.isprintable() else "?" for each in text)


class OneLine(logging.Formatter):
    """A log formatter that writes a record as one line, and indents tracebacks below it, so that no text can forge a record."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        """Format the message as ``Formatter`` does, on one line."""
        return printable(super().formatMessage(record))

    def formatException(self, ei: Any) -> str:
        """Format the traceback as ``Formatter`` does, with indented lines."""
        return "\n".join(f"  {printable(line)}" for line in super().formatException(ei).splitlines())


def even_half_made(shown: Callable[[_T], str]) -> Callable[[_T], str]:
    """Return a ``__repr__`` that calls ``shown``, and shows only the class name if an attribute is missing."""

    @wraps(shown)
    def show(self: _T) -> str:
        try:
            return shown(self)
        except (AttributeError, LookupError):
            return f"<{type(self).__name__}, not made>"

    return show
