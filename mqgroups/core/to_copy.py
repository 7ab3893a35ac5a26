"""Makes lines that people copy, as commands of the shell or of MQSC. Other people may have written the words in them."""

from __future__ import annotations

import shlex


def to_copy(line: str, *words: str) -> str:
    """Return ``line`` with each ``{}`` replaced by a word: quoted, and with ``?`` for characters that cannot be printed.

    In parentheses, as in ``QLOCAL({})``, the word is a value of MQSC, whose quotes are doubled. Elsewhere it is a shell's word.
    """
    first, *rest = line.split("{}")
    for before, word, behind in zip([first, *rest][:-1], words, rest, strict=True):
        shown = "".join(each if each.isprintable() else "?" for each in word)
        first += "'{}'".format(shown.replace("'", "''")) if before.endswith("(") else shlex.quote(shown)
        first += behind
    return first
