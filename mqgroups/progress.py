"""A progress bar for programs at a terminal, made of what ``on_progress`` is told.

    with mqgroups.ProgressBar(total=len(rows)) as bar:
        with qmgr.group_producer("ORDERS", name="ORDERS.LOADER", on_progress=bar) as producer:
            ...

    ORDERS.LOADER orders-0815.csv ━━━━━━━━━━━━━━╸━━━━━━━━━  1,200 messages  3.1 MB  412/s  0:00:03

The bar is drawn on standard error, and only if that is a terminal. Otherwise nothing is written, and rich is not needed.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, ClassVar, Self

from mqgroups.errors import ConfigurationError
from mqgroups.printable import printable
from mqgroups.status.hooks import Progress

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import ProgressColumn, TaskID

# The least characters that a line's text has.
_LEAST = 16


class Bars:
    """Bars on standard error, in a ``with`` statement. Nothing is drawn if that is no terminal.

    A subclass says what a line has after its text (``_columns``), and how many characters numbers and the shortest bar need.
    """

    _numbers: ClassVar[int]
    # As wide as the terminal, and gone when the block ends.
    _is_transient: ClassVar[bool] = False

    def __init__(self) -> None:
        self._bars: RichProgress | None = None

    def __enter__(self) -> Self:
        """Begin to draw, if standard error is a terminal.

        Raises:
            ConfigurationError: it is one, and rich is not installed.
        """
        if sys.stderr.isatty():
            try:
                from rich.console import Console
                from rich.progress import Progress as RichProgress
                from rich.progress import TextColumn

                columns = self._columns()
            except ImportError as error:
                raise ConfigurationError("a progress bar needs rich: pip install 'mqgroups[cli]'") from error
            self._bars = RichProgress(
                TextColumn("{task.description}", markup=False),
                *columns,
                console=Console(stderr=True),
                # What the program prints goes above the bar, but stays where it was sent if that is no terminal.
                redirect_stdout=sys.stdout.isatty(),
                expand=self._is_transient,
                transient=self._is_transient,
            )
            self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        bars, self._bars = self._bars, None
        if bars is not None:
            bars.stop()

    def _columns(self) -> Sequence[ProgressColumn]:
        """Return what comes after the text of a line."""
        raise NotImplementedError  # each kind of bar has its own

    def _fitting(self, bars: RichProgress, text: str) -> str:
        """Return a text, cut if there is not room for it and the numbers, which go first."""
        most = max(_LEAST, bars.console.width - self._numbers)
        return text if len(text) <= most else f"{text[: most - 1]}…"


class ProgressBar(Bars):
    """One line for each producer and consumer that has it as ``on_progress``. Several threads may use it."""

    _numbers: ClassVar[int] = 46

    def __init__(self, total: int | None = None) -> None:
        """``total``: how many messages each of them is expected to commit; ``None`` if that is not known."""
        super().__init__()
        self._total = total
        self._lines: dict[tuple[str, str], TaskID] = {}

    def __call__(self, progress: Progress) -> None:
        """Draw what is committed. Given as ``on_progress=`` of a producer, consumer or pipe."""
        bars, owner = self._bars, (progress.role, progress.name)
        if bars is None:
            return
        group = progress.group_name or progress.group_id.hex()[-12:]
        text = self._fitting(bars, f"{progress.name} {printable(group)}")
        fields: dict[str, Any] = {
            "messages": f"{progress.total_messages:,} messages",
            "data": short_size(progress.total_bytes),
            "rate": f"{progress.rate:,.0f}/s",
        }
        if owner not in self._lines:
            self._lines[owner] = bars.add_task(text, total=self._total, **fields)
        bars.update(self._lines[owner], completed=progress.total_messages, description=text, **fields)

    def _columns(self) -> Sequence[ProgressColumn]:
        from rich.progress import BarColumn, TextColumn, TimeElapsedColumn

        texts = [TextColumn(f"{{task.fields[{name}]}}", markup=False) for name in ("messages", "data", "rate")]
        return [BarColumn(), *texts, TimeElapsedColumn()]


def short_size(data_bytes: int) -> str:
    """Return a number of bytes with a decimal unit."""
    size, unit = float(data_bytes), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if size < 1000:
            break
        size, unit = size / 1000, larger
    return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
