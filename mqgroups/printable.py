"""Shows texts and objects of others in terminals, logs, files and tracebacks.

A line end in the text of a message, a record or a peer would begin a line of a log that nobody has written, an escape character
controls the terminal, and a text may be a megabyte long. What programs read (attributes, JSON) keeps the text as it is.

The text of our own errors says what to do, and sixty lines of a traceback before it hide that (``without_own_frames``).

An object whose constructor has not ended is ``self`` in the frames of its error. Whoever shows the locals of frames asks for its
representation, and an error there would hide the first one.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import wraps
from types import TracebackType
from typing import Any, TypeVar

_log = logging.getLogger("mqgroups")
_T = TypeVar("_T")
_E = TypeVar("_E", bound=BaseException)
# Of somebody else's words in one of our sentences.
LONGEST = 1000
# Whose frames may be between a call and its error: ours, and those of the thread of an asyncio connection.
_OURS = frozenset({"mqgroups", "asyncio", "concurrent"})


def printable(text: str) -> str:
    """Return text with ``?`` for each control character, and for each character that changes the direction of what follows."""
    return text if text.isprintable() else "".join(each if each.isprintable() else "?" for each in text)


def brief(text: str, most: int = LONGEST) -> str:
    """Return the beginning of a text, printable, with ``...`` at its end if it was longer."""
    return printable(text if len(text) <= most else f"{text[: most - 3]}...")


class OneLine(logging.Formatter):
    """Writes a log record as one line; the lines of a traceback are indented below it, so that none looks like a record."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the name is logging's
        """As ``Formatter``."""
        return printable(super().formatMessage(record))

    def formatException(self, ei: Any) -> str:  # noqa: N802 - the name is logging's
        """As ``Formatter``."""
        return "\n".join(f"  {printable(line)}" for line in super().formatException(ei).splitlines())


def without_frames(error: _E) -> _E:
    """Return an error without the frames of its traceback, to be raised anew. The log has them, at level DEBUG."""
    _log.debug("%s", error, exc_info=error)
    return error.with_traceback(None)


def without_own_frames(error: _E) -> _E:
    """Do the same where the application called us; but a traceback with a function of the application in it stays as it is."""
    return without_frames(error) if _is_all_ours(error.__traceback__) else error


def _is_all_ours(traceback: TracebackType | None) -> bool:
    while traceback is not None:
        if traceback.tb_frame.f_globals.get("__name__", "").partition(".")[0] not in _OURS:
            return False
        traceback = traceback.tb_next
    return True


def even_half_made(shown: Callable[[_T], str]) -> Callable[[_T], str]:
    """Return a ``__repr__`` that names the class only if something is missing."""

    @wraps(shown)
    def show(self: _T) -> str:
        try:
            return shown(self)
        except (AttributeError, LookupError):
            return f"<{type(self).__name__}, not made>"

    return show
