"""Run a pipeline: make the Spark session, run the query, and write the report.

In client mode this process is the driver: pyspark starts the JVM with ``spark-submit`` and the arguments that are passed on. In
cluster mode, ``spark-submit --deploy-mode cluster`` runs the program ``mqgroups/__main__.py`` with the arguments
``pipeline run CONFIG.toml``; the JVM then exists already.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mqgroups.errors import MQGroupsError
from mqgroups.spark import register
from mqgroups.spark.failures import cause
from mqgroups.spark.pipeline.config import PipelineConfig
from mqgroups.spark.pipeline.errors import QueryFailed
from mqgroups.spark.pipeline.micro_batch import MicroBatches, Watcher
from mqgroups.spark.pipeline.records import BatchRecord, BatchRecords
from mqgroups.spark.pipeline.report import Report, report_of, write_json
from mqgroups.spark.pipeline.transform import transformation

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery

_LOG4J = Path(__file__).with_name("log4j2.properties")
# How often ``wait`` checks whether to stop.
_LOOK_S = 0.25
_SHUFFLE, _ADAPTIVE = "spark.sql.shuffle.partitions", "spark.sql.adaptive.enabled"
_DEFAULTS = {"spark.sql.session.timeZone": "UTC", "spark.ui.showConsoleProgress": "false"}


def set_up(submit_arguments: Sequence[str], *, quiet: bool) -> None:
    """Prepare this process's environment for a session: the driver's Python, arguments for ``spark-submit``.

    Args:
        submit_arguments: arguments of spark-submit, without a program.
        quiet: whether Spark logs errors only.
    """
    if "PYSPARK_GATEWAY_PORT" in os.environ:
        return
    if quiet:
        options = [f"-Dlog4j2.configurationFile={_LOG4J.as_uri()}", os.environ.get("SPARK_SUBMIT_OPTS", "")]
        os.environ["SPARK_SUBMIT_OPTS"] = " ".join(options).strip()
    os.environ["PYSPARK_SUBMIT_ARGS"] = shlex.join([*submit_arguments, "pyspark-shell"])
    # ``session`` sets the workers' Python only if they run on this machine; on a cluster its administrator chooses it.
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)


def session(
    config: PipelineConfig, *, master: str | None = None, settings: Mapping[str, str] | None = None
) -> SparkSession:
    """Return a session for a pipeline. ``settings`` override those of the pipeline."""
    if master is None or master.startswith("local"):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName(config.name)
    if master is not None:
        builder = builder.master(master)
    given = {**_DEFAULTS, **config.spark, **(settings or {})}
    for name, value in given.items():
        builder = builder.config(name, value)
    found: SparkSession = builder.getOrCreate()
    context = found.sparkContext
    if context.master.startswith("local"):
        # Spark's own defaults are for clusters: 200 partitions, and a job and a plan for each stage, which would merge them. A
        # cluster's cores are not known yet, because executors register later.
        for name, value in ((_SHUFFLE, str(context.defaultParallelism)), (_ADAPTIVE, "false")):
            if name not in given and not context.getConf().contains(name):
                found.conf.set(name, value)
    register(found)
    return found


def start(
    config: PipelineConfig,
    spark: SparkSession,
    watcher: Watcher,
    *,
    available_now: bool = False,
    new_checkpoint: bool = False,
) -> RunningPipeline:
    """Start a pipeline's query.

    Args:
        config: the pipeline.
        spark: a session.
        watcher: is notified of progress, in a separate thread.
        available_now: process the groups that are on the queue now, and end.
        new_checkpoint: whether the records may have micro-batches of another checkpoint.

    Raises:
        PipelineConfigError: the transform cannot be imported.
        CheckpointUnusable: this version cannot read the records of earlier micro-batches.
    """
    batches = MicroBatches(config, spark, transformation(config), watcher, new_checkpoint=new_checkpoint)
    failures: list[Exception] = []

    def each(batch: DataFrame, number: int) -> None:
        # Spark turns an exception into text, so it is also kept here, for ``wait`` to raise it.
        try:
            batches(batch, number)
        except Exception as error:
            failures.append(error)
            raise

    writer = (
        spark.readStream.format("ibmmq")
        .options(**config.read_options)
        .load()
        .writeStream.queryName(config.name)
        .option("checkpointLocation", config.checkpoint)
        .foreachBatch(each)
    )
    writer = writer.trigger(availableNow=True) if available_now else writer.trigger(processingTime=config.trigger)
    return RunningPipeline(writer.start(), failures)


class RunningPipeline:
    """A running query."""

    def __init__(self, query: StreamingQuery, failures: list[Exception]) -> None:
        self.query = query
        self._failures = failures

    def wait(self, stop: Callable[[], bool] = lambda: False) -> None:
        """Return when the query has ended by itself, or end it as soon as ``stop`` returns true.

        The next start finishes the current micro-batch. ``stop`` is called at short intervals, so that no signal handler needs to
        raise during a call to the JVM; that would leave the connection to the JVM in an unknown state.

        Raises:
            MQGroupsError: the query failed with this error of the package.
            QueryFailed: the query failed with any other error.
        """
        try:
            while not self.query.awaitTermination(_LOOK_S):
                if stop():
                    self.query.stop()
                    return
        except Exception as error:
            failure = self._failures[-1] if self._failures else None
            if isinstance(failure, MQGroupsError):
                raise failure from error
            raise QueryFailed(f"Spark ended the query. {cause(failure or error)}") from error


def write_report(config: PipelineConfig) -> tuple[Report, Path] | None:
    """Write the report on the micro-batches of the current checkpoint; returns it and its file, ``None`` if there are none.

    Raises:
        CheckpointUnusable: this version cannot read the records.
    """
    records = of_last_query(BatchRecords(config.report).read())
    if not records:
        return None
    report = report_of(config.name, records)
    return report, write_json(report, records, config.report)


def of_last_query(records: Sequence[BatchRecord]) -> list[BatchRecord]:
    """Return the records of the query that wrote the last record."""
    return [record for record in records if record.query == records[-1].query]
