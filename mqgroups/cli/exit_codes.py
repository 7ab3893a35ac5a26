"""The exit codes of the command ``mqgroups``."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """How a command ended."""

    DONE = 0
    # Or something was found that an operator has to look at; the output says what.
    FAILED = 1
    USAGE = 2
    # Of a check: what was seen is in order, but something could not be seen.
    NOT_SEEN = 3
    # A program at work has the name that the command needs.
    OWNER_ACTIVE = 4
    # Ctrl-C, as in a shell, or SIGTERM, before all was done.
    INTERRUPTED = 130
