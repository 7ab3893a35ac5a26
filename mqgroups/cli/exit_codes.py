"""The exit codes of the command ``mqgroups``. The help of each command says which of them it has."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """How a command ended. Of several findings the highest code counts."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    INTERRUPTED = 3
    OWNER_ACTIVE = 4
    DISARRAY = 5
    NO_CONNECTION = 6
    MISSING = 7
    DOUBLED = 8
    # Of ``embedded exec``, as a shell has them; a program that signal n ended has SIGNAL + n.
    NOT_STARTED = 125
    NOT_EXECUTABLE = 126
    NOT_FOUND = 127
    SIGNAL = 128
