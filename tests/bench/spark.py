"""Spark source and sink on ``local[2]`` against raw pymqi loops, in one run on one queue manager.

A raw loop makes the same calls by hand as cheaply as Python can (structures packed beforehand): browsing each group by its
GroupId, putting each group in logical order with a commit after as many messages as the sink commits after; without
status records. Both sides have two processes, each with half of the groups; what is compared is rows in a second with
two of them. Loops and Spark take turns, the session and its workers are warm, and the time is that of the whole action:
planning, tasks, the end of the batch.
"""

from __future__ import annotations

import multiprocessing
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pymqi
from pymqi import CMQC, pymqe
from rich.console import Console
from rich.table import Table

from mqembedded import EmbeddedQueueManager
from mqgroups.spark.java import java_home
from tests.faults.reader import Reader

INPUT, OUTPUT, RAW_OUTPUT = "BENCH.IN", "BENCH.OUT", "BENCH.RAW"
ROOT = Path(__file__).parents[2]
MODEL = "BENCH.MODEL"
MQSC = f"DEFINE QMODEL({MODEL}) DEFTYPE(PERMDYN) MAXDEPTH(999999999) DEFPSIST(YES) SHARE DEFSOPT(SHARED) REPLACE\n"
EVERY = 100
PROCESSES = 2
AIMS = {"source": 0.95, "sink": 0.9}
PAYLOAD = b"x" * 100
_PUT = CMQC.MQPMO_SYNCPOINT | CMQC.MQPMO_SYNC_RESPONSE | CMQC.MQPMO_NEW_MSG_ID | CMQC.MQPMO_FAIL_IF_QUIESCING
_BROWSE = CMQC.MQGMO_COMPLETE_MSG | CMQC.MQGMO_NO_PROPERTIES | CMQC.MQGMO_FAIL_IF_QUIESCING


def measure(groups: int, messages: int, rounds: Callable[[str], Iterable[int]]) -> dict[str, Any]:
    """Return rows in a second of each round, and shares of time, for so many groups of so many messages.

    ``rounds`` returns the numbers of the rounds of source or sink.
    """
    with tempfile.TemporaryDirectory() as directory:
        mqsc = Path(directory, "bench.mqsc")
        mqsc.write_text(MQSC)
        files = [ROOT / "docker" / "20-mqgroups.mqsc", mqsc]
        with (
            EmbeddedQueueManager("BENCH", mqsc=files, command_server=False) as qmgr,
            _raw_processes(qmgr) as raw,
            session(qmgr, directory) as spark,
        ):
            reader = Reader(qmgr)
            for queue in (INPUT, OUTPUT, RAW_OUTPUT):
                reader.make_queue(queue, MODEL)
            reader.close()
            raw("put", INPUT, groups, messages)
            sides: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
                "source": (lambda: raw("browse", INPUT, groups, messages), lambda: read(spark, qmgr)),
                "sink": (
                    lambda: raw("put", RAW_OUTPUT, groups, messages),
                    lambda: write(spark, qmgr, groups, messages),
                ),
            }
            found: dict[str, Any] = {"groups": groups, "messages": messages, "payload_bytes": len(PAYLOAD)}
            for side, (by_hand, by_spark) in sides.items():
                found[side] = _in_turns(qmgr, by_hand, by_spark, groups * messages, rounds(side))
            return found


def _in_turns(
    qmgr: EmbeddedQueueManager,
    by_hand: Callable[[], Any],
    by_spark: Callable[[], Any],
    rows: int,
    rounds: Iterable[int],
) -> dict[str, Any]:
    reader = Reader(qmgr)
    figures: dict[str, list[float]] = {f"{who}_{what}": [] for who in ("raw", "spark") for what in ("rows_s", "share")}
    for number in rounds:
        for who, work in (("raw", by_hand), ("spark", by_spark)):
            began, used = time.perf_counter(), _cpu_s(qmgr.pid)
            took = work() or time.perf_counter() - began
            share = (_cpu_s(qmgr.pid) - used) / took
            if number:  # the first round warms up
                figures[f"{who}_rows_s"].append(rows / took)
                figures[f"{who}_share"].append(share)
            for queue in (OUTPUT, RAW_OUTPUT):
                reader.delete(queue)
                reader.make_queue(queue, MODEL)
    reader.close()
    ratios = [spark / raw for spark, raw in zip(figures["spark_rows_s"], figures["raw_rows_s"], strict=True)]
    return {**figures, "ratio": statistics.median(ratios)}


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def report(console: Console, found: dict[str, Any]) -> None:
    """Print what was measured."""
    table = Table(
        title=f"Spark local[2], {found['groups']} groups of {found['messages']:,} messages of {found['payload_bytes']} bytes, "
        f"embedded queue manager (not IBM MQ), median of {len(found['source']['raw_rows_s'])} rounds"
    )
    for column in (
        "",
        "raw loops, rows/s",
        "Spark, rows/s",
        "per core",
        "÷ raw loops",
        "aim",
        "queue manager, raw",
        "Spark",
    ):
        table.add_column(column, justify="right" if column else "left")
    for side, aim in AIMS.items():
        one = found[side]
        raw, spark, raw_share, spark_share = (
            statistics.median(one[name]) for name in ("raw_rows_s", "spark_rows_s", "raw_share", "spark_share")
        )
        row = (f"{raw:,.0f}", f"{spark:,.0f}", f"{spark / PROCESSES:,.0f}", f"{one['ratio']:.2f}", f"≥ {aim}")
        table.add_row(side, *row, f"{raw_share:.0%}", f"{spark_share:.0%}")
    console.print(table)
    console.print(
        "Ratios are medians of those within a round. Queue manager: its CPU time as a share of the time measured; it is one "
        "process beside the two that read or write."
    )


# --- Spark


@contextmanager
def session(qmgr: EmbeddedQueueManager, directory: str, cores: int = PROCESSES) -> Iterator[Any]:
    """Return a session whose workers reach a queue manager."""
    from pyspark.sql import SparkSession

    from mqgroups.spark import register

    os.environ.update(
        qmgr.environment(),
        JAVA_HOME=str(java_home()),
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


def options(qmgr: EmbeddedQueueManager, queue: str) -> dict[str, str]:
    """Return the options for a queue."""
    return {
        "mq.queueManager": qmgr.q_mgr_name,
        "mq.channel": qmgr.channel,
        "mq.connectionNameList": qmgr.conn_name,
        "queue": queue,
    }


def read(spark: Any, qmgr: EmbeddedQueueManager, partitions: int = PROCESSES) -> None:
    """Read the input queue."""
    rows = spark.read.format("ibmmq").options(**options(qmgr, INPUT)).option("maxPartitions", partitions).load()
    rows.write.format("noop").mode("overwrite").save()


def write(spark: Any, qmgr: EmbeddedQueueManager, groups: int, messages: int, queue: str = OUTPUT, **more: str) -> None:
    """Put groups to a queue, with more options."""
    # A partition has whole groups, in a row.
    ids = spark.range(0, groups * messages, 1, PROCESSES)
    text = f"lpad(CAST(id AS STRING), {len(PAYLOAD)}, 'x')"
    rows = ids.selectExpr(f"id DIV {messages} AS group_key", "id AS msg_seq_number", f"CAST({text} AS BINARY) AS value")
    writer = rows.write.format("ibmmq").mode("append").options(**options(qmgr, queue), **more)
    writer.option("statusQueue", "MQGROUPS.SHARED.BENCH").option("messagesPerUnitOfWork", EVERY).save()


# --- loops by hand


Raw = Callable[[str, str, int, int], float]


@contextmanager
def _raw_processes(qmgr: EmbeddedQueueManager) -> Iterator[Raw]:
    """Have processes that make calls by hand; what is given lets all of them do a share, and returns the seconds."""
    os.environ.update(qmgr.environment())
    context = multiprocessing.get_context("spawn")
    pipes = []
    for number in range(PROCESSES):
        mine, its = context.Pipe()
        context.Process(
            target=_raw, args=(its, number, qmgr.q_mgr_name, qmgr.channel, qmgr.conn_name), daemon=True
        ).start()
        pipes.append(mine)

    def work(what: str, queue: str, groups: int, messages: int) -> float:
        for pipe in pipes:
            pipe.send((what, queue, groups // PROCESSES, messages))
        for pipe in pipes:
            pipe.recv()  # it is ready: queues open, groups known
        began = time.perf_counter()
        for pipe in pipes:
            pipe.send(None)
        for pipe in pipes:
            pipe.recv()
        return time.perf_counter() - began

    yield work
    for pipe in pipes:
        pipe.send(None)


def _raw(pipe: Any, number: int, q_mgr_name: str, channel: str, conn_name: str) -> None:
    qmgr = pymqi.QueueManager(None, disconnect_on_exit=False)
    qmgr.connect_tcp_client(q_mgr_name, pymqi.CD(), channel, conn_name)
    while (asked := pipe.recv()) is not None:
        what, name, groups, messages = asked
        queue = pymqi.Queue(qmgr, name, CMQC.MQOO_OUTPUT if what == "put" else CMQC.MQOO_BROWSE)
        if what == "put":
            work = partial(_put, qmgr, queue, groups, messages)
        else:
            group_ids = _group_ids(queue)
            work = partial(_browse, qmgr, queue, group_ids[number * groups : (number + 1) * groups], messages)
        pipe.send("ready")
        pipe.recv()
        work()
        pipe.send("done")
        queue.close()


def _group_ids(queue: pymqi.Queue) -> list[bytes]:
    """Return the GroupIds on a queue, by the first message of each."""
    found: list[bytes] = []
    while True:
        md = pymqi.MD(Version=2, MsgSeqNumber=1)
        gmo = pymqi.GMO(Version=2, Options=CMQC.MQGMO_BROWSE_NEXT, MatchOptions=CMQC.MQMO_MATCH_MSG_SEQ_NUMBER)
        try:
            queue.get(None, md, gmo)
        except pymqi.MQMIError as error:
            if error.reason != CMQC.MQRC_NO_MSG_AVAILABLE:
                raise
            return found
        found.append(md.GroupId)


def _browse(qmgr: pymqi.QueueManager, queue: pymqi.Queue, group_ids: list[bytes], messages: int) -> None:
    hconn, hobj, mqget = qmgr.get_handle(), queue.get_handle(), pymqe.MQGET
    first, following = (
        bytearray(pymqi.GMO(Version=2, Options=_BROWSE | step, MatchOptions=CMQC.MQMO_MATCH_GROUP_ID).pack())
        for step in (CMQC.MQGMO_BROWSE_FIRST, CMQC.MQGMO_BROWSE_NEXT)
    )
    for group_id in group_ids:
        md = bytearray(pymqi.MD(Version=2, GroupId=group_id).pack())
        gmo = first
        for _ in range(messages):
            # The library writes into the bytes it is given: every call gets a copy of its own.
            *_, comp, reason = mqget(hconn, hobj, bytes(md), bytes(gmo), 4096)
            if comp:
                raise RuntimeError(reason)
            gmo = following


def _put(qmgr: pymqi.QueueManager, queue: pymqi.Queue, groups: int, messages: int) -> None:
    hconn, hobj, mqput, mqcmit = qmgr.get_handle(), queue.get_handle(), pymqe.MQPUT, pymqe.MQCMIT
    middle = bytearray(pymqi.MD(Version=2, Persistence=1, MsgFlags=CMQC.MQMF_MSG_IN_GROUP).pack())
    last = bytearray(pymqi.MD(Version=2, Persistence=1, MsgFlags=CMQC.MQMF_LAST_MSG_IN_GROUP).pack())
    pmo = bytearray(pymqi.PMO(Version=2, Options=_PUT | CMQC.MQPMO_LOGICAL_ORDER).pack())
    for _ in range(groups):
        for number in range(1, messages + 1):
            md = middle if number < messages else last
            *_, comp, reason = mqput(hconn, hobj, bytes(md), bytes(pmo), PAYLOAD)
            if comp:
                raise RuntimeError(reason)
            if (number % EVERY == 0 or number == messages) and mqcmit(hconn)[0]:
                raise RuntimeError("MQCMIT")
