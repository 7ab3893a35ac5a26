"""What is killed while the pipeline runs on a cluster, besides its driver: executors, a worker, the queue manager."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from random import Random
from typing import Any

from examples.pipeline.cluster import SparkCluster
from examples.pipeline.driver import Point, any_point
from mqembedded import EmbeddedQueueManager


class Kind(Enum):
    """What is killed."""

    EXECUTOR = "an executor"
    WORKER = "a worker, whose executors end with it"
    QUEUE_MANAGER = "the queue manager"


FULL = (*[Kind.EXECUTOR] * 4, Kind.WORKER, Kind.QUEUE_MANAGER)
SHORT = (Kind.EXECUTOR, Kind.WORKER, Kind.QUEUE_MANAGER)


@dataclass(frozen=True, slots=True)
class Disturbance:
    """One kill; ``place`` says which one of several, from 0 to less than 1."""

    kind: Kind
    point: Point
    place: float


def plan(chance: Random, kinds: Sequence[Kind], batches: int) -> list[Disturbance]:
    """Return kills of these kinds in any of so many micro-batches."""
    return [Disturbance(kind, any_point(chance, [False] * batches), chance.random()) for kind in kinds]


class Disturber:
    """Kills when the pipeline reports the step that was drawn; each kill happens once."""

    def __init__(
        self,
        planned: Sequence[Disturbance],
        cluster: SparkCluster,
        q_mgr: EmbeddedQueueManager,
        tell: Callable[[str], None],
        sleep: Callable[[float], None],
    ) -> None:
        self.left = list(planned)
        self._cluster = cluster
        self._q_mgr = q_mgr
        self._tell = tell
        self._sleep = sleep

    def reported(self, line: dict[str, Any]) -> None:
        """Kill what is to be killed at this line of the pipeline."""
        for each in [each for each in self.left if each.point.is_at(line)]:
            self.left.remove(each)
            self._sleep(each.point.after_s)
            self._kill(each)
            self._tell(f"kill -9 {each.kind.value}, {each.point}")

    def _kill(self, each: Disturbance) -> None:
        if each.kind is Kind.EXECUTOR:
            self._cluster.kill_executor(each.place)
        elif each.kind is Kind.WORKER:
            self._cluster.kill_worker(each.place)
        else:
            self._q_mgr.kill()
            self._q_mgr.start()
