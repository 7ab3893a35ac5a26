"""What Spark does with the objects of the format, in this process and without a JVM: a query's checkpoint, and tasks.

The checkpoint is what a killed driver was seen to leave with PySpark 4.3: the offset log is written before ``commit`` of the
micro-batch before; a micro-batch without an entry in the commit log is planned again from the same two offsets, in a new process;
a ``commit`` that was skipped is never made up for. A driver asks for the read limit before it reads these logs.
PySpark 4.0 and 4.1 ask for none, and do one micro-batch with availableNow.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Iterable
from typing import Any
from unittest.mock import patch


class Checkpoint:
    """The logs of a query, and drivers that go by them."""

    def __init__(self, process: Callable[[Any, Any, int], object]) -> None:
        """``process`` does a micro-batch: it gets the reader, its partitions and its number."""
        self.offsets: list[dict[str, Any]] = []
        self.committed = 0
        self._process = process

    def run(
        self, reader: Any, *, available_now: bool = True, older: bool = False, step: Callable[[], None] = lambda: None
    ) -> None:
        """Do micro-batches until no more come. ``step`` is called wherever a driver may die; ``older``: PySpark 4.0 or 4.1."""
        if older and self.offsets:
            seen = _kept(self.offsets[-1])
            assert reader.partitions(seen, seen) == []
        if not older and available_now:
            reader.prepareForTriggerAvailableNow()
        limit = None if older else reader.getDefaultReadLimit()
        if len(self.offsets) > self.committed:
            self._micro_batch(reader, step)
            if older and available_now:
                return
        while True:
            step()
            start = self._start(reader)
            end = reader.latestOffset() if older else reader.latestOffset(start, limit)
            if end == start:
                return
            step()
            self.offsets.append(_kept(end))
            if self.committed:
                step()
                reader.commit(start)
            step()
            self._micro_batch(reader, step)
            if older and available_now:
                return

    def _start(self, reader: Any) -> Any:
        return _kept(reader.initialOffset() if self.committed == 0 else self.offsets[self.committed - 1])

    def _micro_batch(self, reader: Any, step: Callable[[], None]) -> None:
        partitions = reader.partitions(self._start(reader), _kept(self.offsets[self.committed]))
        self._process(reader, partitions, self.committed)
        step()
        self.committed += 1


def _kept(offset: Any) -> Any:
    return json.loads(json.dumps(offset))


class Clock:
    """A clock that stands still, for ``stream_source.time``."""

    def __init__(self) -> None:
        self.now_s = 1000

    def time(self) -> int:
        """Return the time, as ``time.time`` does."""
        return self.now_s


class Task:
    """The context of a task."""

    def __init__(self, partition: int, properties: dict[str, str]) -> None:
        self.partitionId = lambda: partition
        self.taskAttemptId = lambda: partition
        self.getLocalProperty = properties.get

    def get(self) -> Task:
        """Return the context, as the class does."""
        return self


def tasks(writer: Any, partitions: Iterable[Iterable[Any]], properties: dict[str, str] | None = None) -> list[Any]:
    """Have each partition's record batches written by a copy of the writer; returns what the driver gets for ``commit``."""
    written = []
    for number, batches in enumerate(partitions):
        with patch("mqgroups.spark.sink.TaskContext", Task(number, properties or {})):
            written.append(pickle.loads(pickle.dumps(writer)).write(iter(batches)))
    return written
