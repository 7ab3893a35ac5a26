"""The exit codes of the command ``mqgroups``. The help of each command lists those that it uses."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """How a command ended. If a command has several findings, it exits with the highest code."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    INTERRUPTED = 3
    # The same number: something needs attention, but not at once.
    WARNING = 3
    OWNER_ACTIVE = 4
    DISARRAY = 5
    NO_CONNECTION = 6
    MISSING = 7
    DOUBLED = 8
    # Ctrl-C, as in a shell.
    CTRL_C = 130
    # If signal n ended it, the code is SIGNAL + n, as in a shell.
    SIGNAL = 128
