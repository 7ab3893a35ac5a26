"""Shows how far a command is, on standard error: one line that changes at a terminal, else a line now and then."""

from __future__ import annotations

import shutil
import sys
import time
from types import TracebackType

import click

from mqgroups.printable import brief

_TERMINAL_S = 0.1
# A command that is quick prints nothing to a log.
_LOG_S = 10.0


class ProgressLine:
    """A line of progress, in a ``with`` statement; nothing is left of it at a terminal."""

    def __init__(self) -> None:
        self._is_terminal = sys.stderr.isatty()
        self._next_s = time.monotonic() + (0.0 if self._is_terminal else _LOG_S)
        self._shown = False

    def say(self, sentence: str) -> None:
        """Show how far the command is, unless something was shown a moment ago."""
        now_s = time.monotonic()
        if now_s < self._next_s:
            return
        sentence = brief(sentence)
        if self._is_terminal:
            self._next_s = now_s + _TERMINAL_S
            self._shown = True
            click.echo(f"\r\x1b[K{sentence[: shutil.get_terminal_size().columns - 1]}", err=True, nl=False)
        else:
            self._next_s = now_s + _LOG_S
            click.echo(sentence, err=True)

    def clear(self) -> None:
        """Remove the line from a terminal."""
        if self._shown:
            click.echo("\r\x1b[K", err=True, nl=False)
            self._shown = False

    def __enter__(self) -> ProgressLine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.clear()
