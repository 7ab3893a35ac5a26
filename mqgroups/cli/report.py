"""The findings of a command: printed as text and tables, or as one JSON document.

A JSON document is complete only when the command ends. Each row is printed immediately, so the number of rows is not limited.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, NoReturn

import click

from mqgroups.cli.console import complain, console, echo, table_lines, wrapped
from mqgroups.cli.exit_codes import ExitCode
from mqgroups.cli.table import Listing, Row
from mqgroups.cli.words import number
from mqgroups.core.status import StatusRecord, encode
from mqgroups.errors import MQGroupsError
from mqgroups.printable import printable

if TYPE_CHECKING:
    from rich.text import Text

# The maximum number of rows of a table. A longer table is not readable.
MOST_ROWS = 1000


class Report:
    """The findings of one command, and its exit code.

    Attributes:
        values: the values that a JSON document has besides rows and the exit code.
        code: the exit code that follows from the findings.
    """

    def __init__(self, output: str = "table", **values: Any) -> None:
        self.values = values
        self.code = ExitCode.DONE
        self.is_json = output == "json"
        self._has_rows = False

    def print(self, *found: str | Text, wrap: bool = True) -> None:
        """Print texts, unless the output is JSON. ``wrap`` breaks lines at blanks, so make it false for lines that users copy."""
        if self.is_json:
            return
        for each in found:
            if isinstance(each, str):
                text = printable(each)
                echo(wrapped(text) if wrap else text)
            else:
                shown = console()
                shown.print(each, soft_wrap=not shown.is_terminal)

    def note(self, sentence: str) -> None:
        """Print a remark to standard error, or add it to the JSON document."""
        self.values.setdefault("notes", []).append(sentence)
        if not self.is_json:
            complain(sentence)

    def rows(self, name: str, listing: Listing[Row], rows: Iterable[Row], total: int | None = None) -> int:
        """Print rows, and return their number. In JSON the list is called ``name``. ``total``: their number, if it is known."""
        if self.is_json:
            click.echo("{" if not self._has_rows else ",")
            click.echo(f"{json.dumps(name)}: [", nl=False)
            count = 0
            for row in rows:
                click.echo(f"{',' if count else ''}\n{json.dumps(listing.values(row))}", nl=False)
                count += 1
            click.echo("]", nl=False)
            self._has_rows = True
            return count
        rest = iter(rows)
        shown = list(islice(rest, MOST_ROWS))
        lines, left_out = table_lines(listing, shown)
        for line in lines:
            echo(line)
        if more := sum(1 for _ in rest) if total is None else total - len(shown):
            self.print(f"and {number(more, 'more row')}: -o json has all")
        if left_out:
            self.print(f"not shown (no room): {', '.join(left_out)}; -o json has all")
        return len(shown) + more

    def beginning(self, listing: Listing[Row], rows: Sequence[Row], most_lines: int, command: str) -> None:
        """Print a table of at most ``most_lines``. If anything is omitted, the last line has the ``command`` that shows all."""
        lines, left_out = table_lines(listing, rows[:most_lines])
        if left_out or max(len(lines), len(rows)) > most_lines:
            lines[most_lines - 1 :] = [f"and more: {command}"]
        for line in lines:
            echo(line)

    def found(self, code: ExitCode) -> None:
        """Set the exit code to ``code``, unless it is already FAILED, which is the worst."""
        if self.code is not ExitCode.FAILED:
            self.code = code

    def fail(self, code: ExitCode, error: MQGroupsError) -> NoReturn:
        """Print an error to standard error, and end the command."""
        complain(str(error))
        self.values |= error_values(error)
        self.code = code
        self.end()

    def end(self) -> NoReturn:
        """Print what is left of the JSON document, and exit."""
        if self.is_json:
            document = json.dumps({**self.values, "exit_code": self.code}, indent=2)
            click.echo(",\n" + document.removeprefix("{\n") if self._has_rows else document)
        sys.exit(self.code)


def record_values(record: StatusRecord | None) -> dict[str, Any] | None:
    """Return the JSON values of a status record. They are the same as on the status queue, but without the digest."""
    if record is None:
        return None
    values: dict[str, Any] = json.loads(encode(record))
    del values["sha256"]
    return values


def committed(record: StatusRecord) -> str:
    """Return in words how much of the record's group is committed."""
    inside = f" and {record.offset} bytes of the next" if record.offset else ""
    return f"{number(record.msg_seq_number, 'message')}{inside}"


def error_values(error: MQGroupsError) -> dict[str, str]:
    """Return the class, the case (``because``) and the text of an error."""
    return {"error": type(error).__name__, "because": error.because, "message": str(error)}
