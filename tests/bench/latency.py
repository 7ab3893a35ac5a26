"""Part ``latency``: putting and getting over a slow line. Everything arrives later by the latency, in each direction.

An MQGET in syncpoint is a round trip, and IBM's read ahead does not cover it (topic q026320: not with MQGMO_SYNCPOINT). So fewer
calls are needed for the same data, or several at the same time.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial

import mqgroups
from mqembedded import EmbeddedQueueManager
from tests.bench.documents import markdown
from tests.bench.loops import Loop, Ours, Pymqi, RawAsync, ratio, take_turns
from tests.bench.run import Run
from tests.bench.site import QUEUE, queue_manager

OURS, SYNC, SEGMENTED = "mqgroups", 'mqgroups, `put_response="sync"`', "mqgroups, segmented status"
RAW, PYMQI = "a loop by hand, asynchronous, the same calls", "a loop of pymqi"
# Segments of a record need a status queue of their own, which the library makes.
_SEGMENTED = {"status_layout": "segmented", "name": "BENCH.SEGMENTED", "status_queue": None}
EVERY = 100
ROW_BYTES = 100


@dataclass(frozen=True, slots=True)
class Way:
    """One way to get rows of 100 bytes in groups.

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


ONE, MANY = Way("a row in each message"), Way("a row in each message, 8 groups at a time", at_a_time=8)
WAYS = (
    ONE,
    Way("100 rows in each message", rows=100),
    Way("100 rows in 10 segments, segment by segment", rows=100, messages=20, segment_rows=10, stream=True),
    Way("100 rows in 10 segments, MQGMO_COMPLETE_MSG", rows=100, messages=20, segment_rows=10),
    MANY,
)


def measure(run: Run) -> dict[str, float]:
    """Measure; the tables are for the page on performance."""
    latencies_ms = run.of((0, 1, 5), (0, 1))
    puts: dict[str, list[str]] = {name: [] for name in (OURS, SYNC, SEGMENTED, RAW, PYMQI)}
    gets: dict[str, list[str]] = {way.name: [] for way in WAYS}
    figures = {}
    for ms in latencies_ms:
        with queue_manager(latency_ms=ms) as qmgr:
            loops: dict[str, Callable[[], Loop]] = {
                OURS: partial(Ours, qmgr),
                SYNC: partial(Ours, qmgr, {"put_response": "sync"}),
                SEGMENTED: partial(Ours, qmgr, _SEGMENTED),
                RAW: partial(RawAsync, qmgr),
                PYMQI: partial(Pymqi, qmgr),
            }
            payloads = [b"x" * ROW_BYTES] * run.of(1_000, 200)
            told = run.rounds(f"put at {ms} ms", run.of(15, 1), run.of(20, 5))
            spent = take_turns(loops, ("put",), payloads, EVERY, told)["put"]
            for other, name in ((PYMQI, "pymqi"), (SYNC, "put"), (RAW, "raw")):
                figures[f"{name} {ms}"] = ratio(spent[other], spent[OURS], lambda each: each.passed)
            for name, took in spent.items():
                puts[name].append(f"{len(payloads) / statistics.median(each.passed for each in took):,.0f}")
        with queue_manager(latency_ms=ms) as qmgr:
            rates = _get(qmgr, run.rounds(f"get at {ms} ms", run.of(9, 1), run.of(30, 5)))
            figures[f"get {ms}"] = rates[MANY] / rates[ONE]
            for way, rate in rates.items():
                gets[way.name].append(f"{rate:,.0f}")
    columns = [f"{ms} ms" for ms in latencies_ms]
    for name, what, rows in (
        ("latency-put", "messages a second", puts),
        ("latency-get", f"rows of {ROW_BYTES} bytes a second", gets),
    ):
        run.tables[name] = markdown([what, *columns], [[key, *cells] for key, cells in rows.items()], columns)
        print(run.tables[name])
    return figures


def _get(qmgr: EmbeddedQueueManager, rounds: Iterator[int]) -> dict[Way, float]:
    """Return rows a second, medians of the rounds."""
    found: dict[Way, list[float]] = {way: [] for way in WAYS}
    for number in rounds:
        for way in WAYS[number % len(WAYS) :] + WAYS[: number % len(WAYS)]:
            _fill(qmgr, way)
            took_s = _drain(qmgr, way)
            if number:  # the first round warms up
                found[way].append(way.rows * way.messages * way.at_a_time / took_s)
    return {way: statistics.median(rates) for way, rates in found.items()}


def _fill(qmgr: EmbeddedQueueManager, way: Way) -> None:
    """Put a group for each consumer."""
    segment_bytes = way.segment_rows * ROW_BYTES or None
    with (
        mqgroups.connect(qmgr.q_mgr_name, qmgr.channel, qmgr.conn_name) as connection,
        connection.group_producer(QUEUE, name="FILL", commit_every=10_000, segment_bytes=segment_bytes) as producer,
    ):
        for _ in range(way.at_a_time):
            with producer.group() as group:
                for _ in range(way.messages):
                    group.put(b"x" * ROW_BYTES * way.rows)


def _drain(qmgr: EmbeddedQueueManager, way: Way) -> float:
    """Get a group with each consumer at the same time; returns the seconds from the first call to the last commit."""
    with ExitStack() as opened, ThreadPoolExecutor(way.at_a_time) as pool:
        works = [opened.enter_context(_consumer(qmgr, way, number)) for number in range(way.at_a_time)]
        began_s = time.perf_counter()
        for done in [pool.submit(work) for work in works]:
            done.result()
        return time.perf_counter() - began_s


@contextmanager
def _consumer(qmgr: EmbeddedQueueManager, way: Way, number: int) -> Iterator[Callable[[], None]]:
    with (
        mqgroups.connect(qmgr.q_mgr_name, qmgr.channel, qmgr.conn_name) as connection,
        connection.group_consumer(
            QUEUE, name=f"GET.{number}", commit_every=EVERY, wait_s=10, stream=way.stream
        ) as consumer,
    ):

        def work() -> None:
            got = sum(len(chunk) for message in next(iter(consumer)) for chunk in message.chunks())
            assert got == way.rows * way.messages * ROW_BYTES, f"{got} bytes got"

        yield work
