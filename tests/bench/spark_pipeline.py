"""The flights pipeline against its source alone: the same groups, in the same micro-batches, on one queue manager, in turns.

The source alone is a stream read into Spark's sink ``noop``: groups are planned, read and removed, and nothing is done with the
rows. A run reads some micro-batches (``availableNow``) and is measured from the beginning of the second one to that of the last;
so its start is left out, and as many micro-batches are removed as are read. Processor time is that of the queue manager and of
this process with its JVM and all Python workers.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import astuple, dataclass, field
from functools import partial
from itertools import cycle, islice, pairwise
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

import mqgroups
from mqembedded import EmbeddedQueueManager
from mqgroups.demo import source
from mqgroups.spark.pipeline import run
from mqgroups.spark.pipeline.config import PipelineConfig, read_config
from tests.bench import spark

CONFIG = spark.ROOT / "examples" / "pipeline" / "flights.toml"
MQSC = spark.ROOT / "docker" / "20-mqgroups.mqsc"
QUEUES = {"source": "ORDERS", "pipeline": "FLIGHTS"}
PASSWORD = "of the benchmark"
MICRO_BATCHES = 4
STEPS = {
    ("began", "counted"): "read, parse, check and count",
    ("counted", "parquet"): "transform, and write Parquet",
    ("parquet", "outgoing"): "put the outgoing groups",
    ("outgoing", "done"): "write the record",
    ("done", "began"): "Spark's commit, removal of the groups, the next plan",
}


@dataclass(frozen=True, slots=True)
class Spent:
    """What a message took in one run: seconds that passed, seconds of processor time."""

    passed: float
    processor: float


@dataclass(slots=True)
class Found:
    """All runs: by side what each run took; of the pipeline, by step the seconds of each micro-batch; its messages."""

    messages: int
    spent: dict[str, list[Spent]] = field(default_factory=lambda: {side: [] for side in QUEUES})
    steps: dict[str, list[float]] = field(default_factory=lambda: {step: [] for step in STEPS.values()})

    @property
    def rows(self) -> float:
        """Rows a second of the pipeline ÷ those of its source, median of the rounds."""
        return self._ratio(lambda spent: spent.passed)

    @property
    def processor(self) -> float:
        """The same by processor time."""
        return self._ratio(lambda spent: spent.processor)

    def _ratio(self, of: Callable[[Spent], float]) -> float:
        pairs = zip(self.spent["source"], self.spent["pipeline"], strict=True)
        return statistics.median(of(alone) / of(whole) for alone, whole in pairs)


@dataclass(slots=True)
class _Marks:
    """Notes when a step of a micro-batch was done, and the processor time when one began; the watcher of a pipeline."""

    steps: list[tuple[str, float]] = field(default_factory=list)
    processor: list[float] = field(default_factory=list)

    def step(self, batch: int, name: str) -> None:  # noqa: ARG002 - the watcher's
        if name == "began":
            self.processor.append(_processor_s())
        self.steps.append((name, time.perf_counter()))

    def done(self, record: Any) -> None:  # noqa: ARG002 - the watcher's
        self.steps.append(("done", time.perf_counter()))

    def spent(self, messages: int) -> Spent:
        """Return what each of so many messages took, from the beginning of the second micro-batch to that of the last."""
        began = [at for name, at in self.steps if name == "began"]
        return Spent((began[-1] - began[1]) / messages, (self.processor[-1] - self.processor[1]) / messages)


def measure(groups: int, rounds: Callable[[str], Iterable[int]]) -> Found:
    """Measure with so many groups in a micro-batch."""
    days = list(islice(cycle(source.days(source.DEFAULT_TABLE)), groups * MICRO_BATCHES))
    measured = sum(len(day.flights) + 1 for day in days[groups:-groups])
    found = Found(measured // (MICRO_BATCHES - 2))
    with (
        tempfile.TemporaryDirectory() as directory,
        EmbeddedQueueManager("BENCH", mqsc=[MQSC], command_server=False, users={"app": PASSWORD}) as qmgr,
        spark.session(qmgr, directory) as session,
        mqgroups.connect(qmgr.q_mgr_name, qmgr.channel, qmgr.conn_name, user="app", password=PASSWORD) as connection,
    ):
        config = _config(qmgr, Path(directory), groups)
        run.session(config, master=f"local[{spark.PROCESSES}]")  # gives the session the settings of the pipeline
        work: dict[str, Callable[[_Marks], None]] = {
            "source": partial(_source, session, config, directory),
            "pipeline": lambda marks: run.start(config, session, marks, available_now=True).wait(),
        }
        for number in rounds(f"pipeline, {groups} groups at a time"):
            for side, queue in QUEUES.items():
                _put(connection, queue, days)
                marks = _Marks()
                work[side](marks)
                if not number:  # the first round warms up
                    continue
                found.spent[side].append(marks.spent(measured))
                for (before, began), (step, ended) in pairwise(marks.steps):
                    if (before, step) in STEPS:
                        found.steps[STEPS[before, step]].append(ended - began)
    return found


def report(console: Console, found: Found) -> None:
    """Print what was measured."""
    table = Table(
        title=f"Pipeline of flights, local[2], micro-batches of {found.messages:,} messages, embedded queue manager (not IBM MQ)"
    )
    for column in ("", "rows a second", "µs of processor time a message"):
        table.add_column(column, justify="right" if column else "left")
    for side, spent in found.spent.items():
        passed, processor = (statistics.median(each) for each in zip(*map(astuple, spent), strict=True))
        table.add_row(side, f"{1 / passed:,.0f}", f"{processor * 1e6:,.0f}")
    console.print(table)
    for step, seconds in found.steps.items():
        console.print(f"  {step}: {statistics.median(seconds):.2f} s", highlight=False)


def _put(connection: mqgroups.QueueManager, queue: str, days: Sequence[source.Day]) -> None:
    with connection.group_producer(queue, name=queue, commit_every=500) as producer:
        for day in days:
            with producer.group() as group:
                for message in (*day.flights, f"TRAILER,{len(day.flights)}"):
                    group.put(message)


def _source(session: Any, config: PipelineConfig, directory: str, marks: _Marks) -> None:
    def each(batch: Any, number: int) -> None:
        marks.step(number, "began")
        batch.write.format("noop").mode("overwrite").save()

    options = {**config.read_options, "queue": QUEUES["source"]}
    writer = session.readStream.format("ibmmq").options(**options).load().writeStream.foreachBatch(each)
    writer = writer.option("checkpointLocation", f"{directory}/source")
    writer.trigger(availableNow=True).start().awaitTermination()


def _config(qmgr: EmbeddedQueueManager, work: Path, groups: int) -> PipelineConfig:
    (work / "password").write_text(PASSWORD)
    given = {
        "mq.queueManager": qmgr.q_mgr_name,
        "mq.channel": qmgr.channel,
        "mq.connectionNameList": qmgr.conn_name,
        "mq.passwordFile": work / "password",
        "checkpoint": work / "checkpoint",
        "source.maxGroupsPerTrigger": groups,
        "parquet.path": work / "delays",
        "report.path": work / "report",
    }
    return read_config(CONFIG, [f"{key}={value}" for key, value in given.items()])


def _processor_s() -> float:
    """Return the processor time of this process and of all that it started, also of those that have ended."""
    parents, spent = {}, {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(") ")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        pid = int(stat.parent.name)
        parents[pid] = int(fields[1])
        spent[pid] = sum(map(int, fields[11:15]))
    ours = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in ours} - ours:
        ours |= more
    return sum(spent[pid] for pid in ours) / os.sysconf("SC_CLK_TCK")
