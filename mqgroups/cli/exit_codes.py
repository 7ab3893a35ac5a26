"""The exit codes of the command ``mqgroups``."""

from __future__ import annotations

from enum import IntEnum

from mqgroups.errors import ConfigurationError, MQGroupsError


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
    # Failed, and that clears up by itself (``MQGroupsError.clears_up``): EX_TEMPFAIL of sysexits.h.
    TRY_AGAIN = 75
    # Ctrl-C, as in a shell, or SIGTERM, before all was done.
    INTERRUPTED = 130

    @classmethod
    def of(cls, error: MQGroupsError) -> ExitCode:
        """Return the exit code of a command that ended with this error."""
        if isinstance(error, ConfigurationError):
            return cls.USAGE
        return cls.TRY_AGAIN if error.clears_up else cls.FAILED
