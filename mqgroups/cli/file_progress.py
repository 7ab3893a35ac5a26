"""Output of ``send`` and ``receive``: a line for each file on standard output, and progress on standard error."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from mqgroups.cli.console import say
from mqgroups.cli.progress_line import ProgressLine
from mqgroups.cli.table import Listing, Output
from mqgroups.cli.words import size
from mqgroups.printable import printable
from mqgroups.progress import Bars

if TYPE_CHECKING:
    from rich.progress import ProgressColumn, TaskID

_VALUES: Listing[dict[str, Any]] = Listing((), lambda values: values)
# Drawing each line of a file would cost more than sending it.
_DRAW_S = 0.1


class FileLines:
    """Prints a line for each file when it is done, so what was printed stays true if the command is killed."""

    def __init__(self, output: Output, *more: str) -> None:
        """Begin, in CSV with the titles; ``more``: the names of what ``say`` gets besides."""
        self._output = output
        if output == "csv":
            say(",".join(("file", "result", "data_bytes", *more)))

    def say(self, file: str, result: str, data_bytes: int | None, **more: str) -> None:
        """Print what became of a file; an empty result says that all is well."""
        values = {"file": file, "result": result, "data_bytes": data_bytes, **more}
        if self._output == "json":
            say(json.dumps(values))
        elif self._output == "csv":
            for line in islice(_VALUES.csv_lines([values]), 1, None):
                say(line)
        else:
            length = size(data_bytes) if self._output == "wide" and data_bytes is not None else ""
            said = ", ".join(filter(None, (result, length)))
            say(f"{file}: {said}" if said else file)


class FileProgress(Bars):
    """One line, in a ``with`` statement, for the file in hand; nothing is left of it at a terminal."""

    _numbers: ClassVar[int] = 52
    _is_transient: ClassVar[bool] = True

    def __init__(self) -> None:
        super().__init__()
        self._line = ProgressLine()
        self._task: TaskID | None = None
        self._shown: tuple[str, Path] | None = None
        self._next_s = 0.0

    def __call__(self, doing: str, path: Path, done: int, total: int | None) -> None:
        """Show how many bytes of a file are done; ``total`` is ``None`` if its length is not known."""
        now_s, changed = time.monotonic(), (doing, path) != self._shown
        if not changed and now_s < self._next_s and done != total:
            return
        self._shown, self._next_s = (doing, path), now_s + _DRAW_S
        if self._bars is None:
            of = "" if total is None else f" of {size(total)}"
            self._line.say(f"{doing} {path.name}: {size(done)}{of}")
            return
        if changed:
            if self._task is not None:
                self._bars.remove_task(self._task)
            text = self._fitting(self._bars, f"{doing} {printable(path.name)}")
            self._task = self._bars.add_task(text, total=total)
        if self._task is not None:
            self._bars.update(self._task, completed=done)

    def _columns(self) -> Sequence[ProgressColumn]:
        from rich.progress import BarColumn, DownloadColumn, TransferSpeedColumn

        return [BarColumn(bar_width=None), DownloadColumn(), TransferSpeedColumn()]
