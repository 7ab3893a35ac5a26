"""The lines that people copy: commands of the shell and of MQSC, with words in them that others may have written."""

from __future__ import annotations

import shlex


def to_copy(line: str, *words: str) -> str:
    """Return a line with a word in the place of each ``{}``, quoted, and with ``?`` for characters that cannot be printed.

    In parentheses, as in ``QLOCAL({})``, it is a value of MQSC, whose quotes are doubled; elsewhere it is one word of a shell.
    """
    first, *rest = line.split("{}")
    for before, word, behind in zip([first, *rest][:-1], words, rest, strict=True):
        shown = "".join(each if each.isprintable() else "?" for each in word)
        first += "'{}'".format(shown.replace("'", "''")) if before.endswith("(") else shlex.quote(shown)
        first += behind
    return first
