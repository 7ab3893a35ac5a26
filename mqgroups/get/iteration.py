"""An iterator over groups, or over the messages of a group.

It is not a generator. If two threads called a generator, Python itself would raise an error before ``Turn`` could do so.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from mqgroups.connection.interruptions import Turn

_T = TypeVar("_T")


class Iteration(Generic[_T]):
    """An iterator whose next item is ``advance(previous item)``. It ends when ``advance`` returns ``None`` or raises an error."""

    def __init__(self, turn: Turn, advance: Callable[[_T | None], _T | None]) -> None:
        """Prepare to call ``advance`` for each item while holding ``turn``. The previous item of the first call is ``None``."""
        self._turn = turn
        self._advance = advance
        self._before: _T | None = None
        self._ended = False

    def __iter__(self) -> Iteration[_T]:
        return self

    def __next__(self) -> _T:
        with self._turn:
            if not self._ended:
                self._ended = True
                self._before = found = self._advance(self._before)
                if found is not None:
                    self._ended = False
                    return found
        raise StopIteration
