"""What a command found: printed line by line, or with --json as one document at the end."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any, NoReturn

import click

from mqgroups.cli.console import complain, console
from mqgroups.cli.exit_codes import ExitCode
from mqgroups.core.status import StatusRecord, encode
from mqgroups.errors import MQGroupsError

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text


class Report:
    """The findings of one command, and its exit code.

    Attributes:
        values: what --json prints, besides the exit code.
        code: the highest of the exit codes that findings had.
    """

    def __init__(self, *, as_json: bool, **values: Any) -> None:
        self.values = values
        self.code = ExitCode.DONE
        self._as_json = as_json

    def print(self, *found: str | Text | Table) -> None:
        """Print text, and tables that have rows; nothing with --json."""
        if self._as_json:
            return
        for each in found:
            if isinstance(each, str):
                click.echo(each)
            elif getattr(each, "row_count", True):
                console().print(each)

    def add(self, **values: Any) -> None:
        """Add values to the JSON document."""
        self.values |= values

    def at_least(self, code: ExitCode) -> None:
        """Raise the exit code to ``code``, unless it is higher already."""
        self.code = max(self.code, code)

    def fail(self, code: ExitCode, error: MQGroupsError) -> NoReturn:
        """Print an error to standard error, and end the command."""
        complain(str(error))
        self.add(**error_values(error))
        self.code = code
        self.end()

    def end(self) -> NoReturn:
        """Print the JSON document, if it is wanted, and exit."""
        if self._as_json:
            click.echo(json.dumps({**self.values, "exit_code": self.code}, indent=2))
        sys.exit(self.code)


def record_values(record: StatusRecord | None) -> dict[str, Any] | None:
    """Return a status record as JSON has it on its queue, without the digest."""
    if record is None:
        return None
    values: dict[str, Any] = json.loads(encode(record))
    del values["sha256"]
    return values


def error_values(error: MQGroupsError) -> dict[str, str]:
    """Return the class and the message of an error."""
    return {"error": type(error).__name__, "message": str(error)}
