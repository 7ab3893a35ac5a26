"""Prints errors, logs, tables, lists of commands, and the progress of a command.

rich is imported only when it is used, so that ``mqgroups --help`` stays fast.
"""

from __future__ import annotations

import json
import logging
import sys
import textwrap
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self

import click

from mqgroups.cli.exit_codes import ExitCode
from mqgroups.cli.words import size
from mqgroups.errors import MQGroupsError
from mqgroups.printable import OneLine, brief, printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

    from mqgroups.cli.table import Listing, Output, Row

# The widths of text and of tables for a file or a pipe, which has no width.
_WIDTH, _WIDEST = 200, 10_000
# How often a line of progress is printed without a terminal. A quick command prints no such line.
_EVERY_S = 10.0
# The extras of this package to install if a module is missing.
_EXTRAS = {"mqembedded": "ibmmq,demo"}


def console(*, err: bool = False) -> Console:
    """Return a rich console for coloured text and tables, without colours if the output is not a terminal."""
    from rich.console import Console

    made = Console(stderr=err, highlight=False, soft_wrap=True)
    return made if made.is_terminal else Console(stderr=err, highlight=False, soft_wrap=True, width=_WIDTH)


class Commands(click.Group):
    """A group of commands whose help lists each command with its whole first sentence. click would cut off the sentence.

    Attributes:
        sections: the titles in the list, each with the names of the commands below it. If it is empty, there are no titles.
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
    """Return a table's lines, and the titles of the columns for which there is no room. Without rows there are no lines."""
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
    """Print text above the progress bar, if there is one. Characters that the output's charset lacks are escaped."""
    # Without ``file``, click.echo would use the output from before the bar, and replace an ASCII output by a UTF-8 output.
    click.echo(text, file=sys.stderr if err else sys.stdout)


def say_file(output: Output, file: str, result: str, data_bytes: int | None, **more: str) -> None:
    """Print what was done with a file. An empty ``result`` means that the file is in order."""
    text = f"{file}: {result}" if result else file
    if output == "json":
        text = json.dumps({"file": file, "result": result, "data_bytes": data_bytes, **more})
    echo(printable(text))


def complain(message: str) -> None:
    """Print an error to standard error. Names in it may come from other programs, so the message is made printable."""
    echo(wrapped(f"mqgroups: {printable(message)}", err=True), err=True)


def wrapped(text: str, *, err: bool = False) -> str:
    """Break long lines at blanks for a terminal, because the terminal would break them in the middle of words."""
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
    """Log warnings, and what this package waits for, to standard error. The lines have colours only at a terminal."""
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
    own errors, which explain what to do. Any other exception is a bug and keeps its traceback.
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
        # The reader of the output, such as head, has ended. click ends quietly.
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


class ProgressLine:
    """A line on standard error that shows a command's progress, and disappears at the end of the ``with`` block.

    If standard error is not a terminal, a new line is printed from time to time instead.
    """

    def __init__(self) -> None:
        self._bar: Progress | None = None
        self._next_s = time.monotonic() + _EVERY_S

    def say(self, sentence: str, done: float | None = None, total: float | None = None) -> None:
        """Show the progress in a sentence, with a bar if ``total`` is known."""
        if self._bar is not None:
            if not self._bar.tasks:
                self._bar.add_task("")
            self._bar.update(self._bar.task_ids[0], description=brief(sentence), completed=done or 0, total=total)
        elif time.monotonic() >= self._next_s:
            self._next_s = time.monotonic() + _EVERY_S
            echo(brief(sentence), err=True)

    def say_bytes(self, doing: str, path: Path, done: int, total: int | None) -> None:
        """Show how many bytes of a file are done."""
        self.say(f"{doing} {path.name}: {size(done)}{'' if total is None else f' of {size(total)}'}", done, total)

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn
            from rich.table import Column

            self._bar = Progress(
                TextColumn("{task.description}", markup=False, table_column=Column(ratio=3, no_wrap=True)),
                BarColumn(bar_width=None, table_column=Column(ratio=1)),
                console=Console(stderr=True),
                # At a terminal, the command's output appears above the bar. Otherwise the output is not changed.
                redirect_stdout=sys.stdout.isatty(),
                expand=True,
                transient=True,
            )
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        bar, self._bar = self._bar, None
        if bar is not None:
            bar.stop()
