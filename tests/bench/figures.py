"""Figures of the benchmark and their goals: values in, a table out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

# The columns of the table; ``docs/reference/measurements.md`` has the same.
COLUMNS = ("part", "what", "goal", "now", "met")


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure.

    Attributes:
        what: what was measured, as it stands in the table.
        value: what came of it.
        at_most, at_least: its goal; ``None`` if it has none.
        unit: behind the value; empty for ratios.
        digits: how many digits behind the point are told.
        headline: a short sentence for the README with ``{}`` for the value; empty if it is not told there.
    """

    what: str
    value: float
    at_most: float | None = None
    at_least: float | None = None
    unit: str = ""
    digits: int = 2
    headline: str = ""

    @property
    def is_met(self) -> bool | None:
        """Whether the goal is met, by the value as it is told; ``None`` without a goal."""
        value = round(self.value, self.digits)
        if self.at_most is not None:
            return value <= self.at_most
        return None if self.at_least is None else value >= self.at_least

    @property
    def now(self) -> str:
        """The value, as it is told."""
        return f"{self.value:,.{self.digits}f}{' ' if self.unit else ''}{self.unit}"

    @property
    def goal(self) -> str:
        """The goal, as it is told; empty if there is none."""
        if self.at_most is not None:
            return f"≤ {self.at_most:g}"
        return "" if self.at_least is None else f"≥ {self.at_least:g}"

    def row(self, part: str) -> tuple[str, ...]:
        """Return its row of the table."""
        met = {None: "", True: "yes", False: "**no**"}[self.is_met]
        return part, self.what, self.goal, self.now, met


def not_met(rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the rows whose goal is not met, a line each."""
    return [f"{part}: {what}: {now}, goal {goal}" for part, what, goal, now, met in rows if met == "**no**"]
