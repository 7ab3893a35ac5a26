"""The exit codes of the command ``mqgroups``."""

from __future__ import annotations

from enum import IntEnum

from mqgroups.errors import ConfigurationError, MQGroupsError


class ExitCode(IntEnum):
    """The exit code of a command, which shows how the command ended."""

    DONE = 0
    # Also: something was found that needs an operator. The output shows what.
    FAILED = 1
    USAGE = 2
    # For checks: everything that was seen is in order, but something could not be seen.
    NOT_SEEN = 3
    # A running program has the name that the command needs.
    OWNER_ACTIVE = 4
    # A temporary failure (``MQGroupsError.clears_up``): EX_TEMPFAIL of sysexits.h.
    TRY_AGAIN = 75
    # Ended with Ctrl-C, as in a shell, or with SIGTERM before all was done.
    INTERRUPTED = 130

    @classmethod
    def of(cls, error: MQGroupsError) -> ExitCode:
        """Return the exit code for a command that ended with this error."""
        if isinstance(error, ConfigurationError):
            return cls.USAGE
        return cls.TRY_AGAIN if error.clears_up else cls.FAILED
