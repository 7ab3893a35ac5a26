"""What a restart costs: from opening a producer on an interrupted group to its first commit, for groups of all sizes.

The record says where the group stands, so nothing of the group itself is looked at: calls and time do not grow with it.
"""

from __future__ import annotations

import statistics
import time

from rich.console import Console
from rich.table import Table

import mqgroups
from mqembedded import EmbeddedQueueManager

QUEUE = "BENCH"
STATUS = "BENCH.STATUS"
_LARGEST_UNIT_OF_WORK = 5_000


def measure(qmgr: EmbeddedQueueManager, sizes: list[int], rounds: int) -> dict[str, dict[str, float]]:
    """Return for each number of committed messages: MQI calls of a restart, and the median of its milliseconds."""
    found = {}
    for size in sizes:
        with _connected(qmgr) as connection:
            _interrupt(connection, size, min(size, _LARGEST_UNIT_OF_WORK))
        times, calls = [], 0
        for number in range(rounds + 1):
            with _connected(qmgr) as connection:
                qmgr.clear_faults()
                began = time.perf_counter()
                _interrupt(connection, 1, 1)
                took = time.perf_counter() - began
                calls = sum(qmgr.calls().values())
            if number:  # the first round warms up
                times.append(took)
        with _connected(qmgr) as connection:
            _empty(connection, size + rounds + 1)
        found[str(size)] = {"mqi_calls": calls, "ms": round(statistics.median(times) * 1e3, 3)}
    return found


def _connected(qmgr: EmbeddedQueueManager) -> mqgroups.QueueManager:
    return mqgroups.connect(qmgr.q_mgr_name, qmgr.channel, qmgr.conn_name)


def _interrupt(connection: mqgroups.QueueManager, messages: int, every: int) -> None:
    """Commit so many messages more of the group, and leave it interrupted."""
    producer = connection.group_producer(QUEUE, name="BENCH", commit_every=every, status_queue=STATUS, owner_wait_s=10)
    group = producer.group()
    # One is held back.
    for _ in range(messages + 1):
        group.put(b"x" * 100)


def _empty(connection: mqgroups.QueueManager, committed: int) -> None:
    """End the group and get it off the queue."""
    with (
        connection.group_producer(QUEUE, name="BENCH", status_queue=STATUS, owner_wait_s=10) as producer,
        producer.group() as group,
    ):
        assert group.resume_from == committed, f"{group.resume_from} messages committed, expected {committed}"
        group.put(b"last")
    with connection.group_consumer(
        QUEUE, name="BENCH", commit_every=_LARGEST_UNIT_OF_WORK, status_queue=STATUS
    ) as consumer:
        for _ in next(iter(consumer)):
            pass


def report(console: Console, restarts: dict[str, dict[str, float]]) -> None:
    """Print the figures as a table."""
    table = Table(
        title="Restart of a producer on an interrupted group, to its first commit, embedded queue manager (not IBM MQ)"
    )
    for column in ("messages committed before", "MQI calls", "ms"):
        table.add_column(column, justify="right")
    for size, row in restarts.items():
        table.add_row(f"{int(size):,}", str(row["mqi_calls"]), f"{row['ms']:.2f}")
    console.print(table)
