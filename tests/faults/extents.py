"""How much of the campaign is done, in its short form and in full."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from tests.faults.pattern import Pattern
from tests.faults.patterns import CLUSTER_ROLES, PLAIN_ROLES, THIN_ROLES


@dataclass(frozen=True)
class Task:
    """A piece of work for a worker: cases of one pattern and phase, by name."""

    phase: str
    pattern: str
    cases: tuple[str, ...]


@dataclass(frozen=True)
class Extent:
    """How much is done of each phase: shares of what there is, from 0 to 1, and numbers of cases that are drawn.

    Attributes:
        single, single_kills, double, double_kills: faults at MQI calls, and pairs of them.
        zombies: stopped at each call, replaced by a successor that finishes.
        zombie_variants: for each of them, so many drawn more whose successor or whose own way is disturbed too.
        lines: interruptions at each line of the library; of its opcodes a tenth of that.
        pairs: so much of ``lines`` again with a second interruption in the recovery.
        cancellations: of tasks, at each await, alone and with a fault or another cancellation after it.
        stops: at each call, alone and with a fault after it.
        refusals: at each call, at each level that goes on.
        functions: of the application that raise, at each place.
        settings: pairs of settings, of the starts before and after a program is cut off.
        foreign_ends: at each call, by each way to end a unit of work.
        intrusions: of a second thread at each call.
        silences: lines that fall silent at each call, of a queue manager of somebody else; each takes a few heartbeats.
        signals, races: that come at any time.
        drawn: several faults and programs.
    """

    single: float = 0
    single_kills: float = 0
    double: float = 0
    double_kills: float = 0
    zombies: float = 0
    zombie_variants: float = 0
    lines: float = 0
    pairs: float = 0
    cancellations: float = 0
    stops: float = 0
    refusals: float = 0
    functions: float = 0
    settings: float = 0
    foreign_ends: float = 0
    intrusions: float = 0
    silences: float = 0
    signals: int = 0
    races: int = 0
    drawn: int = 0


@dataclass(frozen=True)
class Extents:
    """How much is done of the patterns of one queue manager, of batches, asyncio and others there, of the patterns of clusters,
    and of producers there without a safety; and whether it is done of every pattern, or of one of each role.
    """

    plain: Extent
    other: Extent
    cluster: Extent
    without: Extent
    every_pattern: bool = True

    def of(self, pattern: Pattern) -> Extent:
        """Return what is done of a pattern."""
        if pattern.role in THIN_ROLES:
            return Extent(**{phase: getattr(self.other, phase) for phase in THIN_ROLES[pattern.role]})
        if pattern.role in CLUSTER_ROLES:
            return self.cluster
        return self.plain if pattern.role in PLAIN_ROLES else self.other

    def among(self, patterns: Iterable[Pattern], turn: int) -> list[Pattern]:
        """Return the patterns that are done; where that is one of each role, each turn has another one."""
        if self.every_pattern:
            return list(patterns)
        by_role: dict[str, list[Pattern]] = {}
        for pattern in patterns:
            by_role.setdefault(pattern.role, []).append(pattern)
        return [those[turn % len(those)] for those in by_role.values()]


_Table: TypeAlias = dict[str, tuple[float, float, float, float, float]]
# Five forms: short; a glimpse of that under a few settings with all readings that are not the usual ones; a stride in each run of
# the tests, about 50 cases of each role; full; and a look of that under each reading, and under combinations of them.
_PLAIN: _Table = {
    "single": (0.12, 0.01, 0.05, 1, 0.2),
    "single_kills": (0.03, 0.003, 0.03, 1, 0.05),
    "double": (0.004, 0.02, 0.0006, 0.25, 0.003),
    "double_kills": (0.0004, 0.002, 0.0001, 0.03, 0.0005),
    "zombies": (0.05, 0.02, 0.1, 1, 0.1),
    "zombie_variants": (0.06, 0.05, 0.05, 2, 0.2),
    "lines": (0.004, 0.001, 0.0025, 0.4, 0.006),
    "pairs": (0.001, 0.0003, 0.0008, 0.1, 0.001),
    "stops": (0.007, 0.003, 0.0015, 0.3, 0.02),
    "refusals": (0.025, 0.005, 0.01, 1, 0.1),
    "settings": (0.02, 0.001, 0.002, 1, 0.01),
    "foreign_ends": (0.012, 0.006, 0.006, 0.3, 0.03),
    "intrusions": (0.03, 0.01, 0.03, 1, 0.05),
    "silences": (0.015, 0.01, 0, 0.3, 0),
    "signals": (10, 1, 0, 300, 10),
    "races": (3, 1, 1, 50, 2),
    "drawn": (40, 3, 3, 2000, 60),
}
_OTHER: _Table = {
    "single": (0.06, 0.015, 0.05, 1, 0.1),
    "single_kills": (0.03, 0, 0.03, 1, 0.05),
    "double": (0.005, 0, 0.0006, 0.1, 0),
    "double_kills": (0, 0, 0.0001, 0.02, 0),
    "zombies": (0.06, 0.03, 0.1, 1, 0.1),
    "zombie_variants": (0.06, 0, 0.05, 2, 0.1),
    "cancellations": (0.3, 0.03, 0.1, 1, 0.1),
    "functions": (0.03, 0.002, 0.01, 1, 0.02),
}
_CLUSTER: _Table = {
    "single": (0.03, 0.003, 0.03, 1, 0.04),
    "single_kills": (0.03, 0, 0.01, 1, 0.02),
    "double": (0.005, 0, 0.0003, 0.05, 0),
    "double_kills": (0.001, 0, 0, 0.005, 0),
    "zombies": (0.03, 0.005, 0.03, 1, 0.04),
    "zombie_variants": (0.05, 0, 0, 0.5, 0.05),
    "drawn": (12, 1, 1, 400, 10),
}
_WITHOUT: _Table = {
    "single": (0.03, 0, 0, 0.3, 0),
    "single_kills": (0.03, 0, 0, 0.3, 0),
}


def _form(number: int, *, every_pattern: bool = True) -> Extents:
    def extent(table: _Table) -> Extent:
        return Extent(**{name: values[number] for name, values in table.items()})  # type: ignore[arg-type]  # counts are whole

    return Extents(extent(_PLAIN), extent(_OTHER), extent(_CLUSTER), extent(_WITHOUT), every_pattern)


SHORT = _form(0)
GLIMPSE = _form(1, every_pattern=False)
STRIDE = _form(2, every_pattern=False)
FULL = _form(3)
LOOK = _form(4)


class Sample:
    """What is taken of all cases; the same seed takes the same."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def drawing(self, what: str) -> random.Random:
        """Return the draws that belong to a case."""
        return random.Random(f"{self.seed} {what}")

    def of(self, cases: Iterable[str], share: float) -> tuple[str, ...]:
        """Return so many of all cases, drawn one from each stretch, so that they are from everywhere."""
        every = tuple(cases)
        if share >= 1 or not every:
            return every
        draw = self.drawing(every[0])
        count = int(len(every) * share + draw.random())
        return tuple(every[int((stretch + draw.random()) * len(every) / count)] for stretch in range(count))


def split(phase: str, pattern: str, cases: Iterable[str], size: int = 40) -> Iterator[Task]:
    """Yield tasks of so many cases each."""
    every = tuple(cases)
    for start in range(0, len(every), size):
        yield Task(phase, pattern, every[start : start + size])
