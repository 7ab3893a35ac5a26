"""Reads single keys at a terminal, without waiting for Enter."""

from __future__ import annotations

import select
import sys
import termios
import time
import tty
from types import TracebackType
from typing import Any


class Keys:
    """The keyboard, in a ``with`` statement; without a terminal no key is ever pressed."""

    def __init__(self) -> None:
        self._is_terminal = sys.stdin.isatty() and sys.stdout.isatty()
        self._before: list[Any] | None = None

    def wait(self, seconds: float) -> str:
        """Wait so long, or until a key is pressed; returns the key, or an empty text."""
        if not self._is_terminal:
            time.sleep(max(0.0, seconds))
            return ""
        ready, _, _ = select.select([sys.stdin], [], [], max(0.0, seconds))
        return sys.stdin.read(1) if ready else ""

    def __enter__(self) -> Keys:
        if self._is_terminal:
            self._before = termios.tcgetattr(sys.stdin)
            tty.setcbreak(sys.stdin)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._before is not None:
            termios.tcsetattr(sys.stdin, termios.TCSADRAIN, self._before)
