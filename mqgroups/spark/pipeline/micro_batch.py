"""Process one micro-batch, from messages to outputs, so that it can be repeated after a crash.

Spark calls this for micro-batch N until it has written N into its commit log, each time with the same groups. Every step checks
whether it was done already. The effect of a SIGKILL depends on its time:

    before offsets/N is written             nothing has happened; the groups are on the queue
    while groups are counted, transformed   the same; nothing was written
    while Parquet is written                a folder in staging is left, which the next attempt replaces
    after the folder was renamed            the folder is complete, and is not written again
    while groups are put                    some groups are whole, some are begun. The sink's status records show which, and the
                                            next attempt resumes. (txnAppId, txnVersion) is (pipeline and query, N)
    after the sink's high-water mark        nothing of N is put again
    while quarantine is written             as for Parquet, or as for groups
    while the record is written             half a line is left, and removed at the next start
    after that, before commits/N            the next attempt finds all steps done
    after commits/N                         the source removes N's groups, in this attempt or one of the next two

The groups stay on the queue until then. The transform must give the same result each time. If it does not, the sink refuses to
resume a group with different messages (``BatchRefused``).
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from mqgroups.spark.pipeline.config import PipelineConfig
from mqgroups.spark.pipeline.folders import FOLDER_COLUMNS, BatchFolders
from mqgroups.spark.pipeline.outputs import (
    KEY,
    NUMBER,
    check_columns,
    group_messages,
    quarantine_lines,
    quarantine_messages,
    refuse_columns,
)
from mqgroups.spark.pipeline.records import BatchRecord, BatchRecords, Rejected
from mqgroups.spark.pipeline.rows import group_facts, parsed, passed_rows
from mqgroups.spark.pipeline.transform import Transformation
from mqgroups.spark.pipeline.verdicts import GroupFacts, Verdict, verdict

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


_JOB_DESCRIPTION = "spark.job.description"


class Watcher(Protocol):
    """Is notified of a micro-batch's progress: ``began``, ``counted``, ``parquet``, ``outgoing``, ``quarantine``, its record."""

    def step(self, batch: int, name: str) -> None:
        """Note that a step is done."""

    def done(self, record: BatchRecord) -> None:
        """Note that a micro-batch is done."""


class MicroBatches:
    """Processes micro-batches: the ``foreachBatch`` function of a pipeline's query."""

    def __init__(
        self,
        config: PipelineConfig,
        spark: SparkSession,
        transform: Transformation,
        watcher: Watcher,
        *,
        new_checkpoint: bool = False,
    ) -> None:
        """Open the records.

        Args:
            config, transform: the pipeline.
            spark: the session its query runs in.
            watcher: is notified of progress.
            new_checkpoint: whether the records may belong to another checkpoint.

        Raises:
            CheckpointUnusable: this version cannot read the records of earlier micro-batches.
        """
        self._config, self._transform, self._watcher = config, transform, watcher
        self._records = BatchRecords(config.report)
        # Only the last one matters: Spark repeats that micro-batch, or continues with the next one.
        self._last = next(reversed(self._records.open()), None)
        self._new_checkpoint = new_checkpoint
        self._context = spark.sparkContext
        self._parquet = None if config.parquet is None else BatchFolders(spark, config.parquet.path)
        self._bad = None if config.quarantine.path is None else BatchFolders(spark, config.quarantine.path)

    def __call__(self, batch: DataFrame, number: int) -> None:
        """Process micro-batch ``number``, or the steps that are not done yet."""
        query = self._context.getLocalProperty("sql.streaming.queryId")
        if not self._new_checkpoint:
            self._records.check_query(query, self._last)
        began_s = time.time()
        of_spark = self._context.getLocalProperty(_JOB_DESCRIPTION)
        self._watcher.step(number, "began")
        messages = parsed(batch, self._config.body).persist()
        try:
            self._process(messages, query, number, began_s)
        finally:
            messages.unpersist()
            self._context.setLocalProperty(_JOB_DESCRIPTION, of_spark)

    def _process(self, messages: DataFrame, query: str, number: int, began_s: float) -> None:
        self._describe(number, "check groups")
        groups = group_facts(messages, self._config)
        verdicts = {facts.key: self._verdict(facts) for facts in groups}
        self._watcher.step(number, "counted")
        good = [facts for facts in groups if verdicts[facts.key] is None]
        bad = [facts for facts in groups if verdicts[facts.key] is not None]
        rejected = None
        if bad:
            rejected = F.broadcast(_verdict_frame(messages.sparkSession, verdicts))
        rows_out = groups_out = 0
        if good:
            result = self._result(passed_rows(messages, rejected)).persist()
            try:
                rows_out, groups_out = self._publish(result, query, number)
            finally:
                result.unpersist()
        if rejected is not None:
            self._quarantine(messages.join(rejected, "key"), query, number)
        done_s = time.time()
        record = BatchRecord(
            query=query,
            batch=number,
            began_s=began_s,
            done_s=done_s,
            groups=len(groups),
            messages=sum(facts.messages for facts in groups),
            rows=sum(facts.rows for facts in good),
            rows_out=rows_out,
            groups_out=groups_out,
            latencies_s=tuple(round(done_s - facts.last_put_s, 2) for facts in good if facts.last_put_s is not None),
            rejected=tuple(_rejected(facts, verdicts[facts.key]) for facts in bad),
        )
        self._watcher.done(self._recorded(record))

    def _describe(self, number: int, what: str) -> None:
        """Name the jobs that follow, for the page of Spark's UI."""
        self._context.setJobDescription(f"{self._config.name}, micro-batch {number}: {what}")

    def _recorded(self, record: BatchRecord) -> BatchRecord:
        """Add a record, unless an earlier attempt has added it; returns the stored record."""
        last = self._last
        if last is not None and (last.query, last.batch) == (record.query, record.batch):
            return last
        self._records.add(record)
        self._last = record
        return record

    def _verdict(self, facts: GroupFacts) -> Verdict | None:
        return verdict(facts, has_trailer=self._config.body.trailer is not None)

    def _result(self, rows: DataFrame) -> DataFrame:
        """Return the transform's result, checked, and with the rows of each outgoing group in one partition."""
        parquet, outgoing = self._config.parquet, self._config.outgoing
        result = self._transform(rows)
        if outgoing is not None:
            check_columns(result, [outgoing.group_by, *outgoing.order_by], "outgoing")
            # One shuffle here, instead of one for counting the groups and one for putting them.
            result = result.repartition(F.col(f"`{outgoing.group_by}`"))
        if parquet is not None:
            check_columns(result, parquet.partition_by, "parquet.partitionBy")
            refuse_columns(result, FOLDER_COLUMNS)
        return result

    def _publish(self, result: DataFrame, query: str, number: int) -> tuple[int, int]:
        """Write the result to its outputs; returns its number of rows, and the number of groups put."""
        parquet, outgoing = self._config.parquet, self._config.outgoing
        if parquet is not None and self._parquet is not None:
            if not self._parquet.has(query, number):
                self._describe(number, "write Parquet")
                self._parquet.write(query, number, result.write.partitionBy(*parquet.partition_by).parquet)
            self._watcher.step(number, "parquet")
        self._describe(number, "count the result")
        if outgoing is None:
            return result.count(), 0
        sizes = result.groupBy(F.col(f"`{outgoing.group_by}`").alias("key")).agg(F.count("*").alias("rows"))
        ((rows_out, groups_out),) = sizes.agg(F.coalesce(F.sum("rows"), F.lit(0)), F.count("key")).collect()
        self._describe(number, "put groups")
        self._put(group_messages(result, outgoing), outgoing.options, "", query, number)
        self._watcher.step(number, "outgoing")
        return rows_out, groups_out

    def _quarantine(self, rejected: DataFrame, query: str, number: int) -> None:
        quarantine = self._config.quarantine
        self._describe(number, "put rejected groups in quarantine")
        if self._bad is None:
            self._put(quarantine_messages(rejected), quarantine.options, "/quarantine", query, number)
        elif not self._bad.has(query, number):
            self._bad.write(query, number, quarantine_lines(rejected).write.json)
        self._watcher.step(number, "quarantine")

    def _put(self, frame: DataFrame, options: Mapping[str, str], what: str, query: str, number: int) -> None:
        writer = frame.write.format("ibmmq").mode("append").options(**options)
        writer.options(
            groupBy=KEY, sequenceColumn=NUMBER, txnAppId=f"{self._config.name}/{query}{what}", txnVersion=str(number)
        ).save()


def _verdict_frame(spark: SparkSession, verdicts: Mapping[bytes, Verdict | None]) -> DataFrame:
    found = sorted((key, each.reason.value, each.detail) for key, each in verdicts.items() if each is not None)
    return spark.createDataFrame(found, "key binary, reason string, detail string")


def _rejected(facts: GroupFacts, found: Verdict | None) -> Rejected:
    assert found is not None
    return Rejected(facts.key.hex(), found.reason.value, found.detail, facts.messages)
