"""Shows how far a command is, on standard error: a line that changes at a terminal, else a line now and then."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Self

from mqgroups.cli.console import echo
from mqgroups.cli.words import size
from mqgroups.printable import brief

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

# Without a terminal; a command that is quick prints nothing.
_EVERY_S = 10.0


class ProgressLine:
    """A line of progress, in a ``with`` statement; nothing is left of it at a terminal."""

    def __init__(self) -> None:
        self._bar: Bar | None = None
        self._next_s = time.monotonic() + _EVERY_S

    def say(self, sentence: str, done: float | None = None, total: float | None = None) -> None:
        """Show how far the command is; with a bar if ``total`` is known."""
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
            from rich.progress import BarColumn, TextColumn
            from rich.progress import Progress as Bar
            from rich.table import Column

            self._bar = Bar(
                TextColumn("{task.description}", markup=False, table_column=Column(ratio=3, no_wrap=True)),
                BarColumn(bar_width=None, table_column=Column(ratio=1)),
                console=Console(stderr=True),
                # What the command prints goes above the bar, but stays where it was sent if that is no terminal.
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
