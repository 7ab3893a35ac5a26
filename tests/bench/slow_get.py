"""Getting over a slow line: what can be done if every MQGET waits for its answer.

An MQGET in syncpoint is a round trip, and IBM's read ahead does not cover it (topic q026320: not with MQGMO_SYNCPOINT). So fewer
calls are needed for the same data, or several at the same time. All ways get rows of 100 bytes in
groups, and wait for nothing but answers.
"""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import mqgroups
from mqembedded import EmbeddedQueueManager
from tests.bench.site import QUEUE, queue_manager
from tests.bench.tell import Tell

LATENCIES_MS = (0.2, 1.0, 5.0)
ROW_BYTES = 100
EVERY = 100
_AT_A_TIME = (2, 4, 8)


@dataclass(frozen=True, slots=True)
class Way:
    """One way to get rows.

    Attributes:
        name: as it stands in the table.
        rows: how many rows are in a message.
        messages: how many messages are in a group.
        segment_rows: how many rows are in a segment of a message; 0 for a message that is not in segments.
        stream: whether segments are got one by one.
        at_a_time: how many consumers get a group each, on a connection each.
    """

    name: str
    rows: int = 1
    messages: int = 100
    segment_rows: int = 0
    stream: bool = False
    at_a_time: int = 1

    @property
    def group_rows(self) -> int:
        """How many rows are in a group."""
        return self.rows * self.messages


ONE = Way("a row in each message")
WAYS = (
    ONE,
    Way("10 rows in each message", rows=10),
    Way("100 rows in each message", rows=100),
    Way("100 rows in 10 segments, segment by segment", rows=100, messages=20, segment_rows=10, stream=True),
    Way("100 rows in 10 segments, MQGMO_COMPLETE_MSG", rows=100, messages=20, segment_rows=10),
    *(Way(f"a row in each message, {number} groups at a time", at_a_time=number) for number in _AT_A_TIME),
)
# Rows a second of each round, by way.
Rates = dict[Way, list[float]]


def measure(tell: Tell, latency_ms: float, rounds: int, seconds: float) -> Rates:
    """Get in all ways in turns."""
    found: Rates = {way: [] for way in WAYS}
    with queue_manager(latency_ms=latency_ms) as qmgr:
        for number in tell.rounds(f"get at {latency_ms:g} ms", rounds, seconds):
            for way in WAYS[number % len(WAYS) :] + WAYS[: number % len(WAYS)]:
                _fill(qmgr, way)
                took = _drain(qmgr, way)
                if number:  # the first round warms up
                    found[way].append(way.group_rows * way.at_a_time / took)
    return found


def medians(rates: Rates) -> dict[Way, float]:
    """Return rows a second of each way."""
    return {way: statistics.median(values) for way, values in rates.items()}


def _fill(qmgr: EmbeddedQueueManager, way: Way) -> None:
    """Put a group for each consumer; asynchronously, because putting is not what is measured."""
    segment_bytes = way.segment_rows * ROW_BYTES or None
    with (
        mqgroups.connect(qmgr.q_mgr_name, qmgr.channel, qmgr.conn_name) as connection,
        connection.group_producer(
            QUEUE, name="FILL", commit_every=10_000, segment_bytes=segment_bytes, put_response="async"
        ) as producer,
    ):
        for _ in range(way.at_a_time):
            with producer.group() as group:
                for _ in range(way.messages):
                    group.put(b"x" * ROW_BYTES * way.rows)


def _drain(qmgr: EmbeddedQueueManager, way: Way) -> float:
    """Get a group with each consumer at the same time; returns the seconds from the first call to the last commit."""
    with ExitStack() as opened:
        works = [opened.enter_context(_consumer(qmgr, way, number)) for number in range(way.at_a_time)]
        if len(works) == 1:
            began = time.perf_counter()
            works[0]()
            return time.perf_counter() - began
        failed: list[BaseException] = []
        ready = threading.Barrier(len(works) + 1)
        threads = [threading.Thread(target=_run, args=(work, ready, failed)) for work in works]
        for thread in threads:
            thread.start()
        ready.wait()
        began = time.perf_counter()
        for thread in threads:
            thread.join()
        took = time.perf_counter() - began
        if failed:
            raise failed[0]
        return took


def _run(work: Callable[[], None], ready: threading.Barrier, failed: list[BaseException]) -> None:
    ready.wait()
    try:
        work()
    except BaseException as error:
        failed.append(error)


@contextmanager
def _consumer(qmgr: EmbeddedQueueManager, way: Way, number: int) -> Iterator[Callable[[], None]]:
    with (
        mqgroups.connect(qmgr.q_mgr_name, qmgr.channel, qmgr.conn_name) as connection,
        connection.group_consumer(
            QUEUE, name=f"GET.{number}", commit_every=EVERY, wait_s=10, stream=way.stream
        ) as consumer,
    ):

        def work() -> None:
            got = 0
            for message in next(iter(consumer)):
                for chunk in message.chunks():
                    got += len(chunk) // ROW_BYTES
            assert got == way.group_rows, f"{got} rows got, {way.group_rows} put"

        yield work
