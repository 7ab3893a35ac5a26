"""What ``send`` and ``receive`` say of files: a line for each on standard output, and how far one is on standard error."""

from __future__ import annotations

import json
import sys
import time
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from mqgroups.cli.console import console, say
from mqgroups.cli.progress_line import ProgressLine
from mqgroups.cli.table import Listing, Output
from mqgroups.cli.words import size
from mqgroups.progress import printable

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

_VALUES: Listing[dict[str, Any]] = Listing((), lambda values: values)
# Drawing each line of a file would cost more than sending it.
_DRAW_S = 0.1
# The characters of the columns with numbers and of the shortest bar, and the least that a name has.
_NUMBERS, _LEAST = 52, 16


class FileLines:
    """Prints a line for each file when it is done, so what was printed stays true if the command is killed."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._has_titles = False

    def say(self, file: str, result: str, data_bytes: int | None, **more: str) -> None:
        """Print what became of a file; an empty result says that all is well."""
        values = {"file": file, "result": result, "data_bytes": data_bytes, **more}
        if self._output == "json":
            say(json.dumps(values))
        elif self._output == "csv":
            for line in islice(_VALUES.csv_lines([values]), int(self._has_titles), None):
                say(line)
            self._has_titles = True
        else:
            length = size(data_bytes) if self._output == "wide" and data_bytes is not None else ""
            said = ", ".join(filter(None, (result, length)))
            say(f"{file}: {said}" if said else file)


class FileProgress:
    """One line, in a ``with`` statement, for the file in hand; nothing is left of it at a terminal."""

    def __init__(self) -> None:
        self._line = ProgressLine()
        self._bars: Progress | None = None
        self._task: TaskID | None = None
        self._shown: tuple[str, Path] | None = None
        self._next_s = 0.0

    def __enter__(self) -> FileProgress:
        if sys.stderr.isatty():
            from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

            self._bars = Progress(
                TextColumn("{task.description}", markup=False),
                BarColumn(bar_width=None),
                DownloadColumn(),
                TransferSpeedColumn(),
                console=console(err=True),
                expand=True,
                transient=True,
                # What the command prints goes above the bar, but stays where it was sent if that is no terminal.
                redirect_stdout=sys.stdout.isatty(),
            )
            self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        bars, self._bars = self._bars, None
        if bars is not None:
            bars.stop()

    def __call__(self, doing: str, path: Path, done: int, total: int | None) -> None:
        """Show how many bytes of a file are done; ``total`` is ``None`` if its length is not known."""
        now_s, changed = time.monotonic(), (doing, path) != self._shown
        if not changed and now_s < self._next_s and done != total:
            return
        self._shown, self._next_s = (doing, path), now_s + _DRAW_S
        if self._bars is None:
            of = "" if total is None else f" of {size(total)}"
            self._line.say(f"{doing} {printable(path.name)}: {size(done)}{of}")
            return
        most = max(_LEAST, self._bars.console.width - _NUMBERS)
        text = f"{doing} {printable(path.name)}"
        text = text if len(text) <= most else f"{text[: most - 1]}…"
        if changed:
            if self._task is not None:
                self._bars.remove_task(self._task)
            self._task = self._bars.add_task(text, total=total)
        if self._task is not None:
            self._bars.update(self._task, completed=done)
