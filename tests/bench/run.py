"""A run of the benchmark: how much of everything, and which round it is."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

_SAY_AFTER_S = 10.0
_LEAST_ROUNDS = 3


@dataclass(slots=True)
class Run:
    """What a part is given.

    Attributes:
        short: fewer messages and rounds.
        tables: for documents, by the name of their marks.
    """

    short: bool = False
    tables: dict[str, str] = field(default_factory=dict)

    def of(self, in_full: Any, in_short: Any) -> Any:
        """Return one of two values, by how much is asked for."""
        return in_short if self.short else in_full

    def rounds(self, what: str, rounds: int, seconds: float) -> Iterator[int]:
        """Yield 0, which warms up, and the numbers of so many rounds; fewer if ``seconds`` are over, but at least three."""
        began_s = said_s = time.monotonic()
        print(f"  {what}", flush=True)
        for number in range(rounds + 1):
            now_s = time.monotonic()
            if number > _LEAST_ROUNDS and now_s - began_s > seconds:
                return
            if now_s - said_s >= _SAY_AFTER_S:
                said_s = now_s
                print(f"  {what}, round {number} of {rounds}, {now_s - began_s:.0f} s", flush=True)
            yield number
