"""Makes lines that people copy, as commands of the shell or of MQSC. The words in these lines can come from other people."""

from __future__ import annotations

import shlex


def to_copy(line: str, *words: str) -> str:
    """Return ``line`` with each ``{}`` replaced by one of ``words``, which is quoted and has ``?`` for unprintable characters.

    In parentheses, as in ``QLOCAL({})``, the word is quoted for MQSC, which doubles quotes. Elsewhere it is quoted for the shell.
    """
    first, *rest = line.split("{}")
    for before, word, behind in zip([first, *rest][:-1], words, rest, strict=True):
        shown = "".join(each if each.isprintable() else "?" for each in word)
        first += "'{}'".format(shown.replace("'", "''")) if before.endswith("(") else shlex.quote(shown)
        first += behind
    return first
