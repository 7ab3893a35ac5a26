"""The findings of a command: printed as text and tables, as one JSON document, or as CSV.

A JSON document is complete only when the command ends. Rows are written to it as they come, so there may be any number of them.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, NoReturn

import click

from mqgroups.cli.console import complain, console, wrapped
from mqgroups.cli.exit_codes import ExitCode
from mqgroups.cli.table import Listing, Output, Row
from mqgroups.cli.words import number
from mqgroups.core.status import StatusRecord, encode
from mqgroups.errors import MQGroupsError
from mqgroups.printable import printable

if TYPE_CHECKING:
    from rich.text import Text


class Report:
    """The findings of one command, and its exit code.

    Attributes:
        values: what a JSON document says, besides rows and the exit code.
        code: the highest exit code of the findings.
    """

    def __init__(
        self, output: Output = "table", csv_of: str | None = None, csv_titles: Sequence[str] = (), **values: Any
    ) -> None:
        """Begin a report without rows: CSV has a line for each of the values ``csv_of``, or one line for all values.

        ``csv_titles``: the names in each of the values ``csv_of``.
        """
        self.values = values
        self._csv_of = csv_of
        self._csv_titles = csv_titles
        self.code = ExitCode.DONE
        self._output = output
        self._has_rows = False

    @property
    def is_text(self) -> bool:
        """Whether people read it: tables and sentences."""
        return self._output in ("table", "wide")

    @property
    def is_json(self) -> bool:
        """Whether it is a JSON document."""
        return self._output == "json"

    def print(self, *found: str | Text, wrap: bool = True) -> None:
        """Print texts; ``wrap``: not in lines that somebody may copy. With JSON and CSV nothing is printed."""
        if not self.is_text:
            return
        for each in found:
            if isinstance(each, str):
                text = printable(each)
                click.echo(wrapped(text) if wrap else text)
            else:
                shown = console()
                shown.print(each, soft_wrap=not shown.is_terminal)

    def note(self, sentence: str) -> None:
        """Print a remark to standard error, and add it to the JSON document."""
        self.values.setdefault("notes", []).append(sentence)
        if self._output != "json":
            complain(sentence)

    def rows(
        self,
        name: str,
        listing: Listing[Row],
        rows: Iterable[Row],
        limit: int | None = None,
        total: int | None = None,
    ) -> None:
        """Print rows, which are ``name`` in a JSON document.

        Args:
            name: in a JSON document.
            listing: how rows are shown.
            rows: the rows.
            limit: how many rows a table has at most; ``None``: all.
            total: how many rows there are, if that is known without counting them.
        """
        if self._output == "json":
            click.echo("{" if not self._has_rows else ",")
            click.echo(f"{json.dumps(name)}: [", nl=False)
            for count, line in enumerate(listing.json_lines(rows)):
                click.echo(("," if count else "") + "\n" + line, nl=False)
            click.echo("]", nl=False)
            self._has_rows = True
        elif self._output == "csv":
            self._has_rows = True
            for line in listing.csv_lines(rows):
                click.echo(line)
        else:
            rest = iter(rows)
            printed = listing.print_table(islice(rest, limit), wide=self._output == "wide")
            more = sum(1 for _ in rest) if total is None else total - printed
            if more:
                self.print(f"and {number(more, 'more row')}: --limit 0 shows all, --only and --older-than show fewer")

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
        """Print the JSON document, or the rest of it, and exit."""
        if self._output == "json":
            document = json.dumps({**self.values, "exit_code": self.code}, indent=2)
            click.echo(",\n" + document.removeprefix("{\n") if self._has_rows else document)
        elif self._output == "csv" and not self._has_rows:
            plain: Listing[dict[str, Any]] = Listing((), lambda values: values, self._csv_titles)
            for line in plain.csv_lines(self.values[self._csv_of] if self._csv_of else [self.values]):
                click.echo(line)
        sys.exit(self.code)


def record_values(record: StatusRecord | None) -> dict[str, Any] | None:
    """Return the JSON values of a status record, as on its queue but without the digest."""
    if record is None:
        return None
    values: dict[str, Any] = json.loads(encode(record))
    del values["sha256"]
    return values


def error_values(error: MQGroupsError) -> dict[str, str]:
    """Return the class of an error, which case of it it is, and its message."""
    return {"error": type(error).__name__, "because": error.because, "message": str(error)}
