"""Part ``spark``: reads, streams and writes on ``local[2]`` beside loops in plain pymqi, and over a slow line on ``local[4]``.

Both sides have two processes, each with half of the groups; what is compared is rows in a second with two of them. Loops and
Spark take turns, the session and its workers are warm, and the time is that of the whole action: planning, tasks, the end of the
batch. A read browses and removes nothing; a stream reads and then removes, in its driver.

A user would write a loop that gets, in place of a stream. So over the slow line a stream is measured beside four of these: in
steady state, which is all but the first and the last micro-batch; as a whole, from start to end; and with one micro-batch.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from mqembedded import EmbeddedQueueManager
from tests.bench.raw_processes import EVERY, PAYLOAD, PROCESSES, Raw, raw_processes
from tests.bench.run import Run
from tests.bench.site import MODEL, queue_manager
from tests.faults.reader import Reader

INPUT, OUTPUT, RAW_OUTPUT, STREAMED, RAW_STREAMED = QUEUES = ("B.IN", "B.OUT", "B.RAW.OUT", "B.STREAM", "B.RAW.STREAM")
_SLOW_PARTITIONS = 4
Work = Callable[[], object]


def measure(run: Run) -> dict[str, float]:
    """Measure rows in a second."""
    groups, messages, rounds = run.of((20, 2_000, 5), (8, 200, 1))
    with queue_manager() as qmgr, raw_processes(qmgr) as raw, _session(qmgr, PROCESSES) as spark:
        queues, by_spark = _Queues(qmgr), _Spark(spark, qmgr, groups, messages)

        def by_hand(what: str, queue: str) -> Work:
            return lambda: raw(what, queue, groups, messages)

        def fill_streamed() -> None:
            for queue in (STREAMED, RAW_STREAMED):
                queues.empty(queue)
                raw("put", queue, groups, messages)

        raw("put", INPUT, groups, messages)
        empty_outputs = partial(queues.empty, OUTPUT, RAW_OUTPUT)
        read, write = partial(by_spark.read, PROCESSES), partial(by_spark.write, OUTPUT)
        stream_all = partial(by_spark.stream, PROCESSES)
        figures = {
            name: _faster(by_hand(what, queue), work, run.rounds(name, rounds, 100), prepare)
            for name, what, queue, work, prepare in (
                ("read", "browse", INPUT, read, queues.empty),
                ("stream", "take", RAW_STREAMED, stream_all, fill_streamed),
                ("write", "put", RAW_OUTPUT, write, empty_outputs),
            )
        }
    groups, messages, rounds = run.of((8, 1_000, 3), (8, 100, 1))
    with queue_manager(latency_ms=1) as qmgr, _session(qmgr, _SLOW_PARTITIONS) as spark:
        queues, by_spark = _Queues(qmgr), _Spark(spark, qmgr, groups, messages)
        by_spark.write(INPUT, putResponse="async")
        read_all, write, empty_output = by_spark.read, partial(by_spark.write, OUTPUT), partial(queues.empty, OUTPUT)

        def stream(partitions: int) -> float:
            queues.empty(STREAMED)
            by_spark.write(STREAMED, putResponse="async")
            return _seconds(partial(by_spark.stream, partitions))

        for name, what, work, one, other, prepare in (
            ("partitions", "read", read_all, {"partitions": 1}, {"partitions": _SLOW_PARTITIONS}, queues.empty),
            ("stream partitions", "stream", stream, {"partitions": 1}, {"partitions": _SLOW_PARTITIONS}, queues.empty),
            ("put response", "write", write, {"putResponse": "sync"}, {"putResponse": "async"}, empty_output),
        ):
            told = run.rounds(f"{what} at 1 ms", rounds, 60)
            figures[name] = _faster(partial(work, **one), partial(work, **other), told, prepare)
        with raw_processes(qmgr, _SLOW_PARTITIONS) as raw:
            figures |= _beside_get_loops(run, raw, queues, by_spark)
    return figures


def _beside_get_loops(run: Run, raw: Raw, queues: _Queues, by_spark: _Spark) -> dict[str, float]:
    groups, messages, rounds = run.of((40, 500, 3), (12, 20, 1))
    found: dict[str, list[float]] = {"stream steady": [], "stream whole": [], "stream one": []}
    for number in run.rounds("stream beside loops that get, at 1 ms", rounds, 200):
        for queue in (RAW_STREAMED, STREAMED):
            queues.empty(queue)
            raw("put", queue, groups, messages)
        by_hand = groups * messages / raw("get", RAW_STREAMED, groups, messages)
        began_s = time.perf_counter()
        batches = by_spark.stream(_SLOW_PARTITIONS, maxGroupsPerTrigger=str(_SLOW_PARTITIONS))
        whole_s = time.perf_counter() - began_s
        queues.empty(STREAMED)
        raw("put", STREAMED, groups, messages)
        one_s = _seconds(partial(by_spark.stream, _SLOW_PARTITIONS))
        if number:
            rows, steady_s = (sum(values) for values in zip(*batches[1:-1], strict=True))
            for name, rate in (
                ("stream steady", rows / steady_s),
                ("stream whole", groups * messages / whole_s),
                ("stream one", groups * messages / one_s),
            ):
                found[name].append(rate / by_hand)
    return {name: statistics.median(ratios) for name, ratios in found.items()}


def _faster(one: Work, other: Work, rounds: Iterable[int], prepare: Callable[[], None]) -> float:
    """Return how many times as fast the second is as the first: the median of the ratios within a round.

    What takes part in a round may return how many seconds it took; else the time of the call counts.
    """
    ratios = []
    for number in rounds:
        prepare()
        slow_s, fast_s = _seconds(one), _seconds(other)
        if number:  # the first round warms up
            ratios.append(slow_s / fast_s)
    return statistics.median(ratios)


def _seconds(work: Work) -> float:
    began_s = time.perf_counter()
    told_s = work()
    return told_s if isinstance(told_s, float) else time.perf_counter() - began_s


class _Queues:
    """The queues, made anew from a model to empty them."""

    def __init__(self, qmgr: EmbeddedQueueManager) -> None:
        self._reader = Reader(qmgr)
        for queue in QUEUES:
            self._reader.make_queue(queue, MODEL)

    def empty(self, *queues: str) -> None:
        for queue in queues:
            self._reader.delete(queue)
            self._reader.make_queue(queue, MODEL)


class _Spark:
    """What Spark does with so many groups of so many messages."""

    def __init__(self, spark: Any, qmgr: EmbeddedQueueManager, groups: int, messages: int) -> None:
        self._spark = spark
        self._groups, self._messages = groups, messages
        self._options = {
            "mq.queueManager": qmgr.q_mgr_name,
            "mq.channel": qmgr.channel,
            "mq.connectionNameList": qmgr.conn_name,
        }

    def read(self, partitions: int) -> None:
        """Read the input queue."""
        reader = self._spark.read.format("ibmmq").options(**self._options, queue=INPUT, maxPartitions=partitions)
        reader.load().write.format("noop").mode("overwrite").save()

    def stream(self, partitions: int, **more: str) -> list[tuple[int, float]]:
        """Read the queue for streams until it is empty; returns rows and seconds of each micro-batch."""
        options = {**self._options, "queue": STREAMED, "maxPartitions": partitions, **more}
        with tempfile.TemporaryDirectory() as checkpoint:
            rows = self._spark.readStream.format("ibmmq").options(**options).load()
            writer = rows.writeStream.format("noop").option("checkpointLocation", checkpoint)
            query = writer.trigger(availableNow=True).start()
            query.awaitTermination()
            told = [each for each in query.recentProgress if each.numInputRows]
            return [(each.numInputRows, each.durationMs["triggerExecution"] / 1000) for each in told]

    def write(self, queue: str, **more: str) -> None:
        """Put groups to a queue, with more options."""
        # A partition has whole groups, in a row.
        ids = self._spark.range(0, self._groups * self._messages, 1, PROCESSES)
        rows = ids.selectExpr(
            f"id DIV {self._messages} AS group_key",
            "id AS msg_seq_number",
            f"CAST(lpad(CAST(id AS STRING), {len(PAYLOAD)}, 'x') AS BINARY) AS value",
        )
        writer = rows.write.format("ibmmq").mode("append").options(**self._options, queue=queue, **more)
        writer.option("statusQueue", "MQGROUPS.SHARED.BENCH").option("messagesPerUnitOfWork", EVERY).save()


@contextmanager
def _session(qmgr: EmbeddedQueueManager, cores: int) -> Iterator[Any]:
    """Return a session whose workers reach a queue manager."""
    from pyspark.sql import SparkSession

    from mqgroups.spark import register

    with tempfile.TemporaryDirectory() as directory:
        os.environ.update(
            qmgr.environment(),
            PYSPARK_PYTHON=sys.executable,
            SPARK_LOCAL_IP="127.0.0.1",
            SPARK_LOCAL_DIRS=directory,
        )
        builder = SparkSession.builder.master(f"local[{cores}]").config("spark.ui.enabled", "false")
        spark = builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()
        spark.sparkContext.setLogLevel("ERROR")
        register(spark)
        yield spark
        spark.stop()
