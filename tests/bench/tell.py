"""Progress of a benchmark: what is measured now, and which round it is, from the first second on."""

from __future__ import annotations

import time
from collections.abc import Iterator

from rich.console import Console

# Where the output is no terminal, a line after so many seconds.
_SAY_AFTER_S = 10.0
_LEAST_ROUNDS = 3


class Tell:
    """Tells what a part of the benchmark does: in one changing line on a terminal, else in a line now and then."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._part = ""
        self._began_s = self._said_s = time.monotonic()
        self._status = console.status("")

    def begin(self, part: str, title: str) -> None:
        """Begin a part."""
        self._part, self._began_s = part, time.monotonic()
        self._console.print(f"[bold]{part}[/bold]: {title}")
        self._said_s = self._began_s
        if self._console.is_terminal:
            self._status.start()

    def now(self, what: str, *, at_once: bool = True) -> None:
        """Say what comes next."""
        now_s = time.monotonic()
        line = f"{self._part}: {what}, {now_s - self._began_s:.0f} s"
        if self._console.is_terminal:
            self._status.update(line)
        elif at_once or now_s - self._said_s >= _SAY_AFTER_S:
            self._said_s = now_s
            self._console.print(line, highlight=False)

    def end(self) -> float:
        """End a part; returns how many seconds it took."""
        self._status.stop()
        return time.monotonic() - self._began_s

    def rounds(self, what: str, rounds: int, seconds: float) -> Iterator[int]:
        """Yield 0, which warms up, and the numbers of so many rounds; fewer if ``seconds`` are over, but at least three."""
        began_s = time.monotonic()
        for number in range(rounds + 1):
            if number > _LEAST_ROUNDS and time.monotonic() - began_s > seconds:
                return
            self.now(f"{what}, round {number} of {rounds}" if number else f"{what}, warming up", at_once=not number)
            yield number
