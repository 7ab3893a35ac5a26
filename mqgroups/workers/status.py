"""The state of a worker: numbers in shared memory, which the worker writes and the supervisor reads.

A worker may be a process that is killed at any moment. With shared memory the supervisor never has to wait for a worker.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from multiprocessing.sharedctypes import RawArray

_READY, _GROUPS, _SINCE_NS, _BEAT_NS, _HOPELESS = range(5)


class Board:
    """The numbers that describe one worker's state. The object can be passed to a new process."""

    def __init__(self) -> None:
        # 64-bit integers. Only the worker writes them, each in one piece.
        self._numbers = RawArray("q", 5)

    def clear(self) -> None:
        """Record that the worker is not running."""
        for each in (_READY, _SINCE_NS, _BEAT_NS, _HOPELESS):
            self._numbers[each] = 0

    def beats(self, connected: bool) -> None:
        """Record that the worker has opened its queues and is alive now. ``connected``: whether it is connected."""
        self._numbers[_READY] = connected
        self._numbers[_BEAT_NS] = time.monotonic_ns()

    def begins(self) -> None:
        """Record that the handler begins a group."""
        self._numbers[_SINCE_NS] = time.monotonic_ns()

    def ends(self, *, whole: bool) -> None:
        """Record that the handler has returned or failed. ``whole``: whether the group was handled to its end."""
        self._numbers[_SINCE_NS] = 0
        self._numbers[_GROUPS] += whole

    def fails(self, *, clears_up: bool) -> None:
        """Record that the worker ends with an error. ``clears_up``: whether the error can go away by itself."""
        self._numbers[_HOPELESS] = not clears_up

    @property
    def is_hopeless(self) -> bool:
        """Whether the worker has ended with an error that does not go away by itself."""
        return bool(self._numbers[_HOPELESS])

    @property
    def ready(self) -> bool:
        """Whether the worker has opened its queues, and is connected."""
        return bool(self._numbers[_READY])

    @property
    def groups(self) -> int:
        """How many groups were handled to their end, in all runs of the worker."""
        return int(self._numbers[_GROUPS])

    @property
    def group_s(self) -> float:
        """For how many seconds the handler has had its present group; 0 if it has no group."""
        since_ns = self._numbers[_SINCE_NS]
        return (time.monotonic_ns() - since_ns) / 1e9 if since_ns else 0.0

    @property
    def quiet_s(self) -> float:
        """How many seconds ago ``beats`` was last called; 0 if ``beats`` was not called in this run of the worker."""
        beat_ns = self._numbers[_BEAT_NS]
        return max(0.0, (time.monotonic_ns() - beat_ns) / 1e9) if beat_ns else 0.0


@dataclass(frozen=True, slots=True)
class WorkerStatus:
    """One worker, as its supervisor sees it."""

    name: str
    """The name of the worker's consumer or pipe."""
    running: bool
    """Whether the worker's process or thread runs."""
    ready: bool
    """Whether the worker is connected and has opened its queues."""
    groups: int
    """How many groups the worker has completed, in all its runs."""
    group_s: float
    """For how many seconds the handler has had its present group; 0 between groups."""
    quiet_s: float
    """How many seconds ago the worker last asked for a message, or waited for a message; 0 before it is ready."""
    restarts: int
    """How often the supervisor has started the worker again."""
