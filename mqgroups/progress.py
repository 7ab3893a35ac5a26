"""A progress bar for programs at a terminal. It is used as ``on_progress``.

    with mqgroups.ProgressBar(total=len(rows)) as bar:
        with qmgr.group_producer("ORDERS", name="ORDERS.LOADER", on_progress=bar) as producer:
            ...

    ORDERS.LOADER orders-0815.csv ━━━━━━━━━━━━━━╸━━━━━━━━━  1,200 messages  3.1 MB  412/s  0:00:03

The bar is drawn on standard error, and only if that is a terminal. Otherwise nothing is written, and rich is not needed.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Self

from mqgroups.core.group_key import shown_id
from mqgroups.errors import ConfigurationError
from mqgroups.printable import printable
from mqgroups.status.hooks import Progress

if TYPE_CHECKING:
    from rich.progress import Progress as Bars
    from rich.progress import TaskID

# The width of the shortest bar and the numbers in a line, and the least width of the text, which is cut if there is no room.
_NUMBERS, _LEAST = 46, 16


class ProgressBar:
    """A bar with a line for each producer and consumer that has this object as ``on_progress``. Several threads can use it."""

    def __init__(self, total: int | None = None) -> None:
        """``total``: the number of messages that each producer or consumer will commit; ``None`` if it is not known."""
        self._bars: Bars | None = None
        self._total = total
        self._lines: dict[tuple[str, str], TaskID] = {}

    def __enter__(self) -> Self:
        """Begin to draw, if standard error is a terminal.

        Raises:
            ConfigurationError: standard error is a terminal, and rich is not installed.
        """
        if sys.stderr.isatty():
            try:
                from rich.console import Console
                from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
                from rich.progress import Progress as Bars
            except ImportError as error:
                raise ConfigurationError("a progress bar needs rich: pip install 'mqgroups[cli]'") from error
            self._bars = Bars(
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                *(TextColumn(f"{{task.fields[{name}]}}", markup=False) for name in ("messages", "data", "rate")),
                TimeElapsedColumn(),
                console=Console(stderr=True),
                # Output of the program goes above the bar if it goes to the terminal.
                redirect_stdout=sys.stdout.isatty(),
            )
            self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        bars, self._bars = self._bars, None
        if bars is not None:
            bars.stop()

    def __call__(self, progress: Progress) -> None:
        """Draw how much is committed. Pass this object itself as ``on_progress=`` of a producer, consumer or pipe."""
        bars, owner = self._bars, (progress.role, progress.name)
        if bars is None:
            return
        from rich.filesize import decimal

        text = f"{progress.name} {printable(progress.group_name or shown_id(progress.group_id))}"
        most = max(_LEAST, bars.console.width - _NUMBERS)
        fields: dict[str, Any] = {
            "description": text if len(text) <= most else f"{text[: most - 1]}…",
            "messages": f"{progress.total_messages:,} messages",
            "data": decimal(progress.total_bytes),
            "rate": f"{progress.rate:,.0f}/s",
        }
        if owner not in self._lines:
            self._lines[owner] = bars.add_task(total=self._total, **fields)
        bars.update(self._lines[owner], completed=progress.total_messages, **fields)
