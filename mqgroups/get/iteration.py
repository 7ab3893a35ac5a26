"""The iterator of groups, and of the messages in one.

Not a generator: if two threads called one, Python would fail before ``Turn`` could refuse one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from mqgroups.connection.interruptions import Turn

_T = TypeVar("_T")


class Iteration(Generic[_T]):
    """Returns what ``advance`` returns for the item before, until that is ``None``. If it raises, the iteration has ended."""

    def __init__(self, turn: Turn, advance: Callable[[_T | None], _T | None]) -> None:
        """``turn``: is taken for each call of ``advance``, which gets ``None`` the first time."""
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
