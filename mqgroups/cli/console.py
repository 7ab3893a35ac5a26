"""Prints errors, logs, tables and lists of commands.

rich is imported only when it is used, so that ``mqgroups --help`` stays fast.
"""

from __future__ import annotations

import json
import logging
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, ClassVar

import click

from mqgroups.cli.exit_codes import ExitCode
from mqgroups.errors import MQGroupsError
from mqgroups.printable import OneLine, printable

if TYPE_CHECKING:
    from rich.console import Console

    from mqgroups.cli.table import Listing, Output, Row

# The widths of text and of tables for a file or a pipe, which has none of its own.
_WIDTH, _WIDEST = 200, 10_000
# The extras to install for a module that is missing.
_EXTRAS = {"mqembedded": "ibmmq,demo"}


def console(*, err: bool = False) -> Console:
    """Return a rich console for coloured text and tables; without colours if the output is not a terminal."""
    from rich.console import Console

    made = Console(stderr=err, highlight=False, soft_wrap=True)
    return made if made.is_terminal else Console(stderr=err, highlight=False, soft_wrap=True, width=_WIDTH)


class Commands(click.Group):
    """Commands whose help lists each with its whole first sentence; click would cut it.

    Attributes:
        sections: the titles of the list, with the names below each; empty for one list.
    """

    sections: ClassVar[Mapping[str, Sequence[str]]] = {}

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(map(len, self.list_commands(ctx)))
        for title, names in (self.sections or {"Commands": self.list_commands(ctx)}).items():
            found = [(name, self.get_command(ctx, name)) for name in names]
            with formatter.section(title):
                rows = [(name.ljust(width), command.get_short_help_str(1000)) for name, command in found if command]
                formatter.write_dl(rows)


def table_lines(listing: Listing[Row], rows: Sequence[Row]) -> tuple[list[str], list[str]]:
    """Return a table as lines, none without rows, without blanks at their ends; and the columns that it has no room for."""
    if not rows:
        return [], []
    shown = console()
    if not shown.is_terminal:
        shown.width = _WIDEST
    table, left_out = listing.table(rows, shown.width)
    with shown.capture() as printed:
        shown.print(table, soft_wrap=False)
    return [line.rstrip() for line in printed.get().splitlines()], left_out


def echo(text: str, *, err: bool = False) -> None:
    """Print text above a progress bar. Characters that the charset lacks are escaped, also if it is ASCII."""
    # click.echo by itself keeps the output of before a bar, and replaces one for ASCII by one for UTF-8.
    click.echo(text, file=sys.stderr if err else sys.stdout)


def say_file(output: Output, file: str, result: str, data_bytes: int | None, **more: str) -> None:
    """Print what became of a file; an empty result says that all is well."""
    text = f"{file}: {result}" if result else file
    if output == "json":
        text = json.dumps({"file": file, "result": result, "data_bytes": data_bytes, **more})
    echo(printable(text))


def complain(message: str) -> None:
    """Print an error to standard error; names and reasons in it may be somebody else's."""
    echo(wrapped(f"mqgroups: {printable(message)}", err=True), err=True)


def wrapped(text: str, *, err: bool = False) -> str:
    """Break the lines of a text at blanks where it is shown at a terminal, which would break them in the middle of words."""
    target = console(err=err)
    if not target.is_terminal:
        return text
    by_words = textwrap.TextWrapper(target.width, break_long_words=False, break_on_hyphens=False)
    lines = []
    for line in text.split("\n"):
        by_words.subsequent_indent = " " * (len(line) - len(line.lstrip()))
        lines.append(by_words.fill(line))
    return "\n".join(lines)


def log() -> None:
    """Log to standard error, in colours at a terminal, else a line each: warnings, and what this package waits for."""
    from rich.logging import RichHandler

    to = console(err=True)
    handler = RichHandler(console=to, show_path=False) if to.is_terminal else logging.StreamHandler()
    handler.setFormatter(OneLine("%(message)s" if to.is_terminal else "%(asctime)s %(levelname)s %(message)s"))
    logging.basicConfig(level="WARNING", handlers=[handler])
    logging.getLogger("mqgroups").setLevel("INFO")


@contextmanager
def one_message() -> Iterator[None]:
    """End the command with one message and an exit code instead of a traceback.

    This is for errors that a user can correct: a package that is not installed, a file that cannot be read, and this package's
    own errors, which say what to do. Any other exception is a bug and keeps its traceback.
    """
    try:
        yield
        return
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        extras = _EXTRAS.get(missing)
        if extras is None:
            raise
        complain(f"this command needs {missing}: pip install 'mqgroups[{extras}]'")
    except BrokenPipeError:
        # The reader of the output has ended, such as head; click ends quietly.
        raise
    except OSError as error:
        said = error.strerror or str(error)
        complain(said if error.filename is None else f"{error.filename}: {said}")
    except Exception as error:
        if not type(error).__module__.startswith("mqgroups."):
            raise
        complain(str(error))
        if isinstance(error, MQGroupsError):
            sys.exit(ExitCode.of(error))
    sys.exit(ExitCode.FAILED)
