"""Several workers at once: how much faster are they than one?

The line to the queue manager is slow (``latency_ms``), as it is where queue managers are on other machines. So a worker waits
most of the time, and another one can work meanwhile, until the queue manager, or this machine, is busy. All groups are on the
queue beforehand. Measured is the time in which all workers work: from when the last one has ended its first group until the first
one finds nothing more.
"""

from __future__ import annotations

import functools
import itertools
import os
import statistics
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

import mqgroups
from mqgroups.embedded import EmbeddedQueueManager

QUEUE = "BENCH"
MQSC = "DEFINE QLOCAL(BENCH) MAXDEPTH(999999999) DEFPSIST(YES) REPLACE\n"
_STATUS_MODEL = "DEFINE QMODEL(MQGROUPS.STATUS.MODEL) DEFTYPE(PERMDYN) DEFPSIST(YES) NOSHARE DEFSOPT(EXCL) REPLACE\n"
MESSAGES, EVERY = 20, 10
_NAP_S = 0.01


def open_consumer(q_mgr: mqgroups.QueueManager, /, *, name: str, wait_s: float) -> mqgroups.GroupConsumer:
    return q_mgr.group_consumer(QUEUE, name=name, wait_s=wait_s, commit_every=EVERY)


def handle(directory: Path, group: mqgroups.IncomingGroup) -> None:
    """Get all messages of a group, and note when they were got."""
    got = sum(1 for _ in group)
    with (directory / str(os.getpid())).open("a") as file:
        file.write(f"{time.monotonic()} {got}\n")


def rate(ends: Sequence[Sequence[tuple[float, int]]]) -> float:
    """Return messages a second while all workers worked.

    Args:
        ends: for each worker when each of its groups ended, seconds, and how many messages it had.

    Raises:
        ValueError: there is no time in which all of them worked.
    """
    begin, end = max(each[0][0] for each in ends), min(each[-1][0] for each in ends)
    if not end > begin:
        raise ValueError("the workers never all worked at once; put more groups")
    return sum(messages for each in ends for at, messages in each if begin < at <= end) / (end - begin)


def measure(counts: Sequence[int], groups: int, rounds: int, latency_ms: float) -> dict[int, list[float]]:
    """Return messages a second of each round, by the number of workers; ``groups`` for each worker."""
    rates: dict[int, list[float]] = {count: [] for count in counts}
    with tempfile.TemporaryDirectory() as folder:
        mqsc = Path(folder, "bench.mqsc")
        mqsc.write_text(MQSC + _STATUS_MODEL)
        for number, count in itertools.product(range(rounds), counts):
            data = Path(folder, f"data-{number}-{count}")
            with EmbeddedQueueManager("BENCH", data=data, mqsc=[mqsc]) as qmgr:
                _fill(qmgr, groups * count)
            directory = Path(folder, f"ends-{number}-{count}")
            directory.mkdir()
            with EmbeddedQueueManager("BENCH", data=data, mqsc=[mqsc], latency_ms=latency_ms) as qmgr:
                _work(qmgr, count, groups * count, directory)
            ends = [[_end(line) for line in path.read_text().splitlines()] for path in directory.iterdir()]
            assert sum(messages for each in ends for _, messages in each) == groups * count * MESSAGES
            rates[count].append(rate(ends))
    return rates


def _end(line: str) -> tuple[float, int]:
    at, messages = line.split()
    return float(at), int(messages)


def _fill(qmgr: EmbeddedQueueManager, groups: int) -> None:
    with (
        mqgroups.connect(qmgr.q_mgr_name, qmgr.channel, qmgr.conn_name) as connection,
        connection.group_producer(QUEUE, name="FILL", commit_every=1000) as producer,
    ):
        for _ in range(groups):
            with producer.group() as group:
                for _ in range(MESSAGES):
                    group.put(b"x" * 100)


def _work(qmgr: EmbeddedQueueManager, count: int, groups: int, directory: Path) -> None:
    os.environ.update(qmgr.environment())
    workers = mqgroups.Workers(
        functools.partial(handle, directory),
        connect=functools.partial(mqgroups.connect, qmgr.q_mgr_name, qmgr.channel, qmgr.conn_name),
        open=open_consumer,
        name="BENCH",
        workers=count,
    )

    def stop_when_done() -> None:
        while sum(one.groups for one in workers.status()) < groups:
            time.sleep(_NAP_S)
        workers.stop()

    watching = threading.Thread(target=stop_when_done)
    watching.start()
    assert workers.run(), "a worker did not stop in order"
    watching.join()


def summary(rates: dict[int, list[float]]) -> list[dict[str, float]]:
    """Return for each number of workers the median rate, and how much of ``workers`` times the rate of one it is."""
    one = statistics.median(rates[1])
    medians = {count: statistics.median(found) for count, found in rates.items()}
    return [
        {"workers": count, "messages_per_s": round(median, 1), "share_of_linear": round(median / one / count, 3)}
        for count, median in medians.items()
    ]


def report(console: Console, rows: Sequence[dict[str, float]], latency_ms: float) -> None:
    """Print the figures as a table."""
    table = Table(
        title=f"Workers, groups of {MESSAGES} messages in {MESSAGES // EVERY} units of work, {latency_ms:g} ms in each "
        "direction, embedded queue manager (not IBM MQ)"
    )
    for column in ("workers", "messages/s", "of linear"):
        table.add_column(column, justify="right")
    for row in rows:
        table.add_row(f"{row['workers']:g}", f"{row['messages_per_s']:,.0f}", f"{row['share_of_linear']:.2f}")
    console.print(table)
