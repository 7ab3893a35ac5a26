"""Spark's source and sink over a slow line: partitions that wait at the same time, and puts that do not wait for each answer."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from mqembedded import EmbeddedQueueManager
from tests.bench import spark
from tests.faults.reader import Reader

LATENCY_MS = 1.0
PARTITIONS = (1, 2, 4)
PUT_RESPONSES = ("sync", "async")


@dataclass(frozen=True)
class Rates:
    """Rows a second, medians: of reads by number of partitions, of writes by ``putResponse``."""

    read: dict[int, float]
    write: dict[str, float]


def measure(groups: int, messages: int, rounds: Callable[[str], Iterable[int]]) -> Rates:
    """Measure with so many groups of so many messages, on a line that delays everything by a millisecond in each direction."""
    with tempfile.TemporaryDirectory() as directory:
        mqsc = Path(directory, "bench.mqsc")
        mqsc.write_text(spark.MQSC)
        files = [spark.ROOT / "docker" / "20-mqgroups.mqsc", mqsc]
        with (
            EmbeddedQueueManager("BENCH", mqsc=files, command_server=False, latency_ms=LATENCY_MS) as qmgr,
            spark.session(qmgr, directory, cores=max(PARTITIONS)) as session,
        ):
            reader = Reader(qmgr)
            for queue in (spark.INPUT, spark.OUTPUT):
                reader.make_queue(queue, spark.MODEL)
            reader.close()
            spark.write(session, qmgr, groups, messages, spark.INPUT, putResponse="async")
            reads: dict[int, list[float]] = {partitions: [] for partitions in PARTITIONS}
            writes: dict[str, list[float]] = {response: [] for response in PUT_RESPONSES}
            rows = groups * messages
            for number in rounds("Spark at 1 ms"):
                for partitions, rates in reads.items():
                    rate = _rate(rows, partial(spark.read, session, qmgr, partitions))
                    rates += [rate] * bool(number)  # the first round warms up
                for response, rates in writes.items():
                    rate = _rate(rows, partial(spark.write, session, qmgr, groups, messages, putResponse=response))
                    rates += [rate] * bool(number)
            return Rates(
                {partitions: statistics.median(rates) for partitions, rates in reads.items()},
                {response: statistics.median(rates) for response, rates in writes.items()},
            )


def _rate(rows: int, work: Callable[[], None]) -> float:
    began_s = time.perf_counter()
    work()
    return rows / (time.perf_counter() - began_s)
