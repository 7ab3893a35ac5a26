"""How much of the campaign is done, in its short form and in full."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from tests.faults.pattern import Pattern
from tests.faults.patterns import CLUSTER_ROLES, OPERATED_ROLES, PLAIN_ROLES


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
    signals: int = 0
    races: int = 0
    drawn: int = 0


@dataclass(frozen=True)
class Extents:
    """How much is done of the patterns of one queue manager, of batches, asyncio and files there, of the patterns of clusters,
    and of producers there without a safety; and whether it is done of every pattern, or of one of each role.
    """

    plain: Extent
    other: Extent
    cluster: Extent
    without: Extent
    every_pattern: bool = True

    def of(self, pattern: Pattern) -> Extent:
        """Return what is done of a pattern; of what operators do there are no zombies."""
        if pattern.role in OPERATED_ROLES:
            return replace(self.other, zombies=0, zombie_variants=0)
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


SHORT = Extents(
    plain=Extent(
        single=0.35,
        single_kills=0.05,
        double=0.004,
        double_kills=0.0004,
        zombies=0.08,
        zombie_variants=0.1,
        lines=0.005,
        pairs=0.001,
        stops=0.02,
        refusals=0.05,
        settings=0.02,
        foreign_ends=0.025,
        intrusions=0.03,
        signals=10,
        races=3,
        drawn=40,
    ),
    other=Extent(
        single=0.1,
        single_kills=0.05,
        double=0.005,
        zombies=0.1,
        zombie_variants=0.1,
        cancellations=0.02,
        functions=0.05,
    ),
    cluster=Extent(
        single=0.03, single_kills=0.03, double=0.005, double_kills=0.001, zombies=0.03, zombie_variants=0.05, drawn=12
    ),
    without=Extent(single=0.03, single_kills=0.03),
)
# Of the short form, under each reading that is not the usual one: something of each phase.
GLIMPSE = Extents(
    plain=Extent(
        single=0.01,
        single_kills=0.003,
        double=0.02,
        double_kills=0.002,
        zombies=0.02,
        zombie_variants=0.05,
        lines=0.001,
        pairs=0.0003,
        stops=0.003,
        refusals=0.005,
        settings=0.001,
        foreign_ends=0.006,
        intrusions=0.01,
        signals=1,
        races=1,
        drawn=3,
    ),
    other=Extent(single=0.015, zombies=0.03, cancellations=0.002, functions=0.002),
    cluster=Extent(single=0.003, zombies=0.005, drawn=1),
    without=Extent(),
    every_pattern=False,
)
FULL = Extents(
    plain=Extent(
        single=1,
        single_kills=1,
        double=0.25,
        double_kills=0.03,
        zombies=1,
        zombie_variants=2,
        lines=0.4,
        pairs=0.1,
        stops=0.3,
        refusals=1,
        settings=1,
        foreign_ends=0.3,
        intrusions=1,
        signals=300,
        races=50,
        drawn=2000,
    ),
    other=Extent(
        single=1,
        single_kills=1,
        double=0.1,
        double_kills=0.02,
        zombies=1,
        zombie_variants=2,
        cancellations=1,
        functions=1,
    ),
    cluster=Extent(
        single=1, single_kills=1, double=0.05, double_kills=0.005, zombies=1, zombie_variants=0.5, drawn=400
    ),
    without=Extent(single=0.3, single_kills=0.3),
)
# Of the full form, under each reading that is not the usual one, and under combinations of them.
LOOK = Extents(
    plain=Extent(
        single=0.2,
        single_kills=0.05,
        double=0.003,
        double_kills=0.0005,
        zombies=0.1,
        zombie_variants=0.2,
        lines=0.006,
        pairs=0.001,
        stops=0.02,
        refusals=0.1,
        settings=0.01,
        foreign_ends=0.03,
        intrusions=0.05,
        signals=10,
        races=2,
        drawn=60,
    ),
    other=Extent(single=0.1, single_kills=0.05, zombies=0.1, zombie_variants=0.1, cancellations=0.02, functions=0.02),
    cluster=Extent(single=0.04, single_kills=0.02, zombies=0.04, zombie_variants=0.05, drawn=10),
    without=Extent(),
)


class Sample:
    """What is taken of all cases; the same seed takes the same."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def takes(self, case: str, share: float) -> bool:
        """Whether a case is among so many of all."""
        return share >= 1 or self.drawing(case).random() < share

    def drawing(self, what: str) -> random.Random:
        """Return the draws that belong to a case."""
        return random.Random(f"{self.seed} {what}")

    def of(self, cases: Iterable[str], share: float) -> tuple[str, ...]:
        """Return so many of all cases."""
        return tuple(case for case in cases if self.takes(case, share))


def split(phase: str, pattern: str, cases: Iterable[str], size: int = 40) -> Iterator[Task]:
    """Yield tasks of so many cases each."""
    every = tuple(cases)
    for start in range(0, len(every), size):
        yield Task(phase, pattern, every[start : start + size])
