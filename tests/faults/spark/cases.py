"""What is drawn from a seed: the queries of the campaign, their starts, and who is killed where."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from tests.faults.spark.points import DRIVER, POINTS, POINTS_OF_TASKS, Kill, Point, pause

ZOMBIE = "an executor that is paused, replaced, and goes on"
_CONF = {
    "spark.master": "local[2,4]",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.codegen.wholeStage": "false",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}
_CLUSTER = {
    "spark.master": "local-cluster[2,1,1024]",
    "spark.executor.memory": "512m",
    "spark.network.timeout": "10s",
    "spark.network.timeoutInterval": "1s",
    "spark.executor.heartbeatInterval": "1s",
}


@dataclass(frozen=True)
class Start:
    """One start of a query.

    Attributes:
        groups: how many groups come to the input queue before.
        kills: armed in it; what kills the driver waits until the others are done.
        calls: the whole session is killed when the queue manager has had so many calls; 0 for never.
        drop: the connection that makes this call, counted from the start, is lost; 0 for none.
    """

    groups: int
    kills: tuple[Kill, ...] = ()
    calls: int = 0
    drop: int = 0

    @property
    def ends_driver(self) -> bool:
        """Whether the driver is to be killed."""
        return bool(self.calls) or any(kill.whom in DRIVER for kill in self.kills)


@dataclass(frozen=True)
class Case:
    """One query and what is done to it; ``on_cluster``: on the standalone cluster, where ``conf`` says nothing of a master."""

    seed: int
    starts: tuple[Start, ...]
    conf: dict[str, str] = field(default_factory=lambda: _CONF)
    on_cluster: bool = False


def cases_of(seed: int, cases: int, starts: int, processes: int) -> Iterator[Case]:
    """Yield cases with so many starts each, each of which has processes killed before the driver is; all points in turn."""
    draw = random.Random(seed)
    ends = _in_turn(draw, [*POINTS, None, None, None])
    within = _in_turn(draw, POINTS)
    for number in range(cases):
        done = tuple(_drawn_start(draw, next(ends), [next(within) for _ in range(processes)]) for _ in range(starts))
        yield Case(seed * 1000 + number, done)


def cases_on_cluster(seed: int, cases: int, starts: int, kills: int) -> Iterator[Case]:
    """Yield cases on the cluster: in each start so many kills, four of executors to one of a worker; all points in turn."""
    draw = random.Random(seed)
    points, whom = _in_turn(draw, POINTS_OF_TASKS), _in_turn(draw, [*["executor"] * 4, "worker"])
    for number in range(cases):
        done = tuple(
            Start(kills, tuple(next(points).drawn(draw, next(whom)) for _ in range(kills))) for _ in range(starts)
        )
        yield Case(seed * 1000 + 500 + number, done, on_cluster=True)


_T = TypeVar("_T")


def _in_turn(draw: random.Random, all_of_them: Sequence[_T]) -> Iterator[_T]:
    """Yield each of them once in a random order, and again in another one."""
    while True:
        yield from draw.sample(all_of_them, len(all_of_them))


def _drawn_start(draw: random.Random, end: Point | None, within: Sequence[Point]) -> Start:
    kills = [point.drawn(draw, "process") for point in within]
    if end is not None:
        kills.append(end.drawn(draw, draw.choice(DRIVER)))
    calls = 0 if end is not None else draw.randint(100, 1500)
    drop = draw.randint(1, 500) if draw.random() < 0.3 else 0
    return Start(3 + len(within), tuple(kills), calls, drop)


def zombie(seed: int) -> Case:
    """Return the case of an executor that is paused in the middle of a group."""
    return Case(seed, (Start(1, (pause(ZOMBIE),)),), conf=_CLUSTER)
