"""The stream source with many groups: what planning, reading and committing a micro-batch take, and how large its offset is.

The reader is called as Spark's source process calls it, in this process: no JVM, and one task at a time. All groups are in one
micro-batch. ``new`` is the second micro-batch: some more groups arrive while those of the first one are still on the queue, as in
a running query. ``restart`` is what a new process needs to plan from there.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from mqgroups.connection.holder import connection_of
from mqgroups.core.model import MsgFlag
from mqgroups.embedded import EmbeddedQueueManager
from mqgroups.mqi import constants as mq
from mqgroups.mqi import structures as st
from mqgroups.queue_manager import connect
from mqgroups.spark.options import Use, source_options
from mqgroups.spark.stream_source import GroupStreamReader

QUEUE = "BENCH.GROUPS"
MQSC = f"DEFINE QLOCAL({QUEUE}) DEFPSIST(YES) SHARE DEFSOPT(SHARED) MAXDEPTH(999999999) REPLACE\n"
NEW = 100
_PAYLOAD = b"x" * 100
_ROOT = Path(__file__).parents[2]
_IN_A_UNIT_OF_WORK = 1000


@dataclass(frozen=True)
class Step:
    """What a step took: seconds, and MQI calls."""

    seconds: float
    calls: int


@dataclass(frozen=True)
class Figures:
    """The steps for so many groups of so many messages, on a line with this latency in each direction."""

    groups: int
    messages: int
    latency_ms: float
    planning: Step
    bundling: Step
    reading: Step
    new: Step
    restart: Step
    committing: Step
    offset_bytes: int


def measure(groups: int, messages: int, latency_ms: float = 0) -> Figures:
    """Measure with so many groups of so many messages."""
    with _queue_manager(latency_ms) as qmgr:
        _put(qmgr, groups, messages)
        options = _options(qmgr, groups)
        reader = GroupStreamReader(options)
        limit, start = reader.getDefaultReadLimit(), reader.initialOffset()
        timed = _Timed(qmgr)
        one = timed("planning", lambda: reader.latestOffset(start, limit))
        bundles = timed("bundling", lambda: reader.partitions(start, one))
        rows = timed("reading", lambda: sum(batch.num_rows for bundle in bundles for batch in reader.read(bundle)))
        if rows != groups * messages:
            raise RuntimeError(f"{rows} rows were read, expected {groups * messages}")
        _put(qmgr, NEW, messages)
        two = timed("new", lambda: reader.latestOffset(one, limit))
        reader.stop()
        other = GroupStreamReader(options)
        # As after a kill: the second micro-batch is in Spark's log and not done.
        again = timed("restart", lambda: other.partitions(one, two))
        for bundle in again:
            _exhaust(other.read(bundle))
        timed("committing", lambda: other.commit(two))
        other.stop()
        return Figures(groups, messages, latency_ms, **timed.steps, offset_bytes=len(json.dumps(two)))


def _exhaust(batches: Iterator[Any]) -> None:
    """Read as a task of Spark does: groups that no task has read are not removed."""
    for _ in batches:
        pass


class _Timed:
    def __init__(self, qmgr: EmbeddedQueueManager) -> None:
        self._qmgr = qmgr
        self.steps: dict[str, Any] = {}

    def __call__(self, name: str, work: Callable[[], Any]) -> Any:
        self._qmgr.clear_faults()
        began_s = time.perf_counter()
        found = work()
        took_s = time.perf_counter() - began_s
        self.steps[name] = Step(round(took_s, 4), sum(self._qmgr.calls().values()))
        return found


@contextmanager
def _queue_manager(latency_ms: float) -> Iterator[EmbeddedQueueManager]:
    with tempfile.TemporaryDirectory() as directory:
        mqsc = Path(directory, "bench.mqsc")
        mqsc.write_text(MQSC)
        files = [_ROOT / "docker" / "20-mqgroups.mqsc", mqsc]
        with EmbeddedQueueManager("BENCH", mqsc=files, command_server=False, latency_ms=latency_ms) as qmgr:
            yield qmgr


def _options(qmgr: EmbeddedQueueManager, groups: int) -> Any:
    given = {
        "mq.queueManager": qmgr.q_mgr_name,
        "mq.channel": qmgr.channel,
        "mq.connectionNameList": qmgr.conn_name,
        "queue": QUEUE,
        "maxGroupsPerTrigger": str(groups),
        "messagesPerUnitOfWork": str(_IN_A_UNIT_OF_WORK),
    }
    return source_options(given, Use.STREAM_READ)


def _put(qmgr: EmbeddedQueueManager, groups: int, messages: int) -> None:
    pmo = st.pmo(st.PUT_NEW_MESSAGE | mq.MQPMO_LOGICAL_ORDER)
    middle = st.md(msg_flags=int(MsgFlag.MSG_IN_GROUP))
    last = st.md(msg_flags=int(MsgFlag.LAST_MSG_IN_GROUP))
    with connect(qmgr.q_mgr_name, qmgr.channel, qmgr.conn_name) as connected:
        connection = connection_of(connected)
        queue = connection.open_queue(QUEUE, mq.MQOO_OUTPUT)
        put = 0
        connection.begin(connection)
        for _ in range(groups):
            for number in range(1, messages + 1):
                queue.put(middle if number < messages else last, pmo, _PAYLOAD)
                put += 1
                if put % _IN_A_UNIT_OF_WORK == 0:
                    connection.commit()
                    connection.begin(connection)
        connection.commit()


def report(console: Console, found: list[Figures]) -> None:
    """Print what was measured."""
    table = Table(title=f"Groups in one micro-batch, embedded queue manager (not IBM MQ); new: {NEW} more groups")
    steps = ("planning", "bundling", "reading", "new", "restart", "committing")
    for column in (
        "groups",
        "messages",
        "latency",
        *(f"{step}, s" for step in steps),
        "calls a group",
        "offset, bytes",
    ):
        table.add_column(column, justify="right")
    for one in found:
        seconds = (f"{getattr(one, step).seconds:.2f}" for step in steps)
        calls = f"{one.planning.calls / one.groups:.2f}"
        table.add_row(
            f"{one.groups:,}", str(one.messages), f"{one.latency_ms:g} ms", *seconds, calls, str(one.offset_bytes)
        )
    console.print(table)
    new = ", ".join(str(one.new.calls) for one in found)
    console.print(
        f"Calls a group: MQI calls of planning, which also counts messages up to 1,000 groups. New: {new} calls"
    )


def as_json(found: list[Figures]) -> list[dict[str, Any]]:
    """Return the figures as JSON."""
    return [asdict(one) for one in found]
