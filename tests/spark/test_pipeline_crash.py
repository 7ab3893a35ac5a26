"""A pipeline whose driver is killed, JVM, Python and workers, at one point of its protocol after the other; and on a cluster.

Each run takes one of the points, ``--ci`` two; ``MQGROUPS_PIPELINE_KILLS=all`` takes all of them, and a cluster of Spark's, as
``make faults OF=spark`` does. ``test_pipeline.py`` repeats a micro-batch in a session.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections import Counter
from itertools import count
from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed")

from examples.pipeline.cluster import SparkCluster
from examples.pipeline.disturbance import Disturbance, Disturber, Kind
from examples.pipeline.driver import Driver, Point
from mqgroups.mqi import constants as mqi
from tests.fix_groups import Found
from tests.spark.conftest import SHORT_LIVED
from tests.spark.test_pipeline import CONFIG

pytestmark = pytest.mark.slow

_numbers = count(1)
SETTINGS = """
[spark]
"spark.sql.shuffle.partitions" = 2
"spark.ui.enabled" = false
"""
SMALL = ("source.maxGroupsPerTrigger=2", "source.messagesPerUnitOfWork=2", "outgoing.messagesPerUnitOfWork=2")
ALL_KILLS = os.environ.get("MQGROUPS_PIPELINE_KILLS") == "all"
POINTS = (
    Point(0, "began"),
    Point(0, "counted", 0.2),
    Point(1, "parquet"),
    Point(2, "outgoing"),
    Point(3, "quarantine"),
    Point(3, "done"),
)
# What a cluster's executors have to be told; workers of Spark's own have none of it.
OF_EXECUTORS = ("LD_LIBRARY_PATH", "MQGROUPS_LIBMQM", "MQGROUPS_MQI", "MQEMBEDDED_ACCESS_KEY", "TEST_MQ_PASSWORD")
# In the middle of a micro-batch: one output is written, the others are not.
SAMPLE = (Point(1, "parquet"), Point(3, "quarantine"))
# Groups of ten, known by their tens; of the last one a message is no row.
ITEMS = [[10 * group + item for item in range(10)] for group in range(6)]


@pytest.fixture
def pipeline(mq, owner, make_queue, spark_environment, tmp_path):
    """A pipeline with groups to do: its command, its environment, its outputs."""
    return Pipeline(mq, owner, make_queue(), make_queue(), spark_environment, tmp_path)


class Pipeline:
    def __init__(self, mq, owner, out, bad, environment, folder: Path):
        self.owner, self.out, self.bad, self.folder = owner, out, bad, folder
        self.name = f"TEST.{os.getpid()}.C{next(_numbers)}"
        self.path = folder / "pipeline.toml"
        text = CONFIG.format(name=self.name, mq=mq, queue=owner.queue, out=out, bad=bad)
        text = text.replace('item = "string not null", price = "int"', 'item = "int not null"')
        self.path.write_text(text + SETTINGS)
        (folder / "q.sql").write_text("SELECT item DIV 10 AS `group`, item, group_id IS NOT NULL AS whole FROM rows")
        self.environment = {
            **os.environ,
            **environment,
            "PYTHONPATH": str(Path(__file__).parents[2]),
            "SPARK_SUBMIT_OPTS": SHORT_LIVED,
        }
        for items in ITEMS:
            owner.put_group([json.dumps({"item": item}) for item in items])
        owner.put_group([json.dumps({"item": 99}), b"no row"])

    def command(self, *more: str) -> list[str]:
        """Return what runs it."""
        small = [word for each in SMALL for word in ("--set", each)]
        return [
            sys.executable,
            "-m",
            "mqgroups",
            "pipeline",
            "run",
            str(self.path),
            "-o",
            "json",
            *small,
            *more,
        ]

    def driver(self, *more: str) -> Driver:
        """Return what runs it over what is there, and may kill it."""
        return Driver(self.command("--available-now", *more), self.environment, self.folder / "log", lambda _: None)

    def check(self) -> None:
        """Every row is in each output once, bad groups are in quarantine once, and nothing is left."""
        import pyarrow.parquet

        rows = pyarrow.parquet.read_table(self.folder / "parquet", partitioning=None).to_pylist()
        assert sorted(row["item"] for row in rows) == [item for items in ITEMS for item in items]
        groups: dict[bytes, list[Found]] = {}
        for found in self.owner.on_queue(self.out):
            groups.setdefault(found.group_id, []).append(found)
        assert sorted([json.loads(found.data)["item"] for found in group] for group in groups.values()) == ITEMS
        for group in groups.values():
            assert [found.msg_seq_number for found in group] == list(range(1, 11))
            assert [found.is_last for found in group] == [False] * 9 + [True]
        rejected = self.owner.on_queue(self.bad)
        assert Counter(found.msg_seq_number for found in rejected) == {1: 1, 2: 1}
        assert rejected[1].data.endswith(b"no row")
        assert self.owner.on_queue() == []
        for status_queue in (f"MQGROUPS.SPARK.{self.name}", f"MQGROUPS.SPARK.{self.name}.BAD"):
            handle = self.owner.eye.open(status_queue, mqi.MQOO_BROWSE)
            # The high-water mark alone.
            assert len(handle.all(mqi.MQGMO_BROWSE_NEXT, length=1_000_000)) == 1
            handle.close()
        records = [json.loads(line) for line in (self.folder / "report" / "batches.jsonl").read_text().splitlines()]
        assert [record["batch"] for record in records] == [0, 1, 2, 3]
        assert sum(record["rows"] for record in records) == 60


def test_a_driver_killed_at_steps_of_its_protocol_does_every_group_once(pipeline, request):
    for point in POINTS if ALL_KILLS else SAMPLE if request.config.option.ci else SAMPLE[:1]:
        assert pipeline.driver().run(point), f"it was to be killed {point}"
    assert not pipeline.driver().run()
    pipeline.check()


@pytest.mark.skipif(not ALL_KILLS, reason="needs MQGROUPS_PIPELINE_KILLS=all: six JVMs (make faults OF=spark)")
def test_a_cluster_that_loses_an_executor_and_a_worker_does_the_same(pipeline, spark_environment, tmp_path):
    at = {Kind.EXECUTOR: Point(0, "counted"), Kind.WORKER: Point(2, "began", 0.3)}
    planned = [Disturbance(kind, point, 0.5) for kind, point in at.items()]
    with SparkCluster(tmp_path / "spark") as cluster:
        # The queue manager belongs to all tests, so it is not killed.
        disturber = Disturber(planned, cluster, None, lambda _: None, time.sleep)  # type: ignore[arg-type]  # see above
        of_executors = {name: spark_environment[name] for name in OF_EXECUTORS if name in spark_environment}
        settings = cluster.settings({**of_executors, "PYTHONPATH": pipeline.environment["PYTHONPATH"]})
        words = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
        command = pipeline.command("--available-now", "--conf", f"spark.master={cluster.url}", *words)
        assert not Driver(command, pipeline.environment, tmp_path / "log", disturber.reported).run()
    assert disturber.left == []
    pipeline.check()
