"""Text of others, made fit to be shown: what a message, a record or a peer says goes to terminals, logs and files.

A line end in such a text would begin a line of a log that nobody has written, an escape character controls the terminal, and a
text may be a megabyte long. What programs read (attributes, JSON) keeps the text as it is.
"""

from __future__ import annotations

import logging
from typing import Any

# Of somebody else's words in one of our sentences.
LONGEST = 1000


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
