"""One micro-batch through the pipeline, from messages to outputs, and again as often as it takes.

Spark calls this for micro-batch N until it has written N into its commit log, each time with the same groups. Every step
finds out by itself whether it was done, so what a SIGKILL leaves behind depends only on where it hits:

    before offsets/N is written             nothing has happened; the groups are on the queue
    while groups are counted, transformed   the same; nothing was written
    while Parquet is written                a folder in staging, which the next attempt writes anew
    after the folder was renamed            it is there: not written again
    while groups are put                    some groups whole, some begun: the sink's status records say which, and the next
                                            attempt goes on there. (txnAppId, txnVersion) = (pipeline and query, N) is its name
    after the sink's high-water mark        nothing of N is put again
    in quarantine                           as for Parquet, or as for groups
    while the record is written             half a line, cut off at the next start
    after it, before commits/N              the next attempt finds everything done
    after commits/N                         the source removes N's groups, by this attempt, the next, or the one after

The groups stay on the queue through all of it. The one thing asked of the transform is to come to the same each time; where
it does not, what is not written yet is refused (``InputChanged``), and nothing is guessed.
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


class Watcher(Protocol):
    """Is told how far a micro-batch is: ``began``, ``counted``, ``parquet``, ``outgoing``, ``quarantine``; then its record."""

    def step(self, batch: int, name: str) -> None:
        """Take note of a step that is done."""

    def done(self, record: BatchRecord) -> None:
        """Take note of a micro-batch that is done."""


class MicroBatches:
    """Does micro-batches; ``foreachBatch`` of a pipeline's query."""

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
            watcher: is told how far it is.
            new_checkpoint: whether records of another checkpoint are no reason to stop.

        Raises:
            RecordsUnreadable: the records of former micro-batches are not this version's.
        """
        self._config, self._transform, self._watcher = config, transform, watcher
        self._records = BatchRecords(config.report)
        # The last is all that can come again: Spark goes on at the micro-batch after it, or does it once more.
        self._last = next(reversed(self._records.open()), None)
        self._new_checkpoint = new_checkpoint
        self._parquet = None if config.parquet is None else BatchFolders(spark, config.parquet.path)
        self._bad = None if config.quarantine.path is None else BatchFolders(spark, config.quarantine.path)

    def __call__(self, batch: DataFrame, number: int) -> None:
        """Do micro-batch ``number``, or what is missing of it."""
        query = batch.sparkSession.sparkContext.getLocalProperty("sql.streaming.queryId")
        if not self._new_checkpoint:
            self._records.check_query(query, self._last)
        began_s = time.time()
        self._watcher.step(number, "began")
        messages = parsed(batch, self._config.body).persist()
        try:
            self._process(messages, query, number, began_s)
        finally:
            messages.unpersist()

    def _process(self, messages: DataFrame, query: str, number: int, began_s: float) -> None:
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
            result = self._transform(passed_rows(messages, rejected)).persist()
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

    def _recorded(self, record: BatchRecord) -> BatchRecord:
        """Add a record, unless a former attempt has; returns the one there is."""
        last = self._last
        if last is not None and (last.query, last.batch) == (record.query, record.batch):
            return last
        self._records.add(record)
        self._last = record
        return record

    def _verdict(self, facts: GroupFacts) -> Verdict | None:
        return verdict(facts, has_trailer=self._config.body.trailer is not None)

    def _publish(self, result: DataFrame, query: str, number: int) -> tuple[int, int]:
        """Write the result to where it goes; returns how many rows it has, and how many groups are put."""
        parquet, outgoing = self._config.parquet, self._config.outgoing
        if outgoing is not None:
            check_columns(result, [outgoing.group_by, *outgoing.order_by], "outgoing")
        if parquet is not None and self._parquet is not None:
            check_columns(result, parquet.partition_by, "parquet.partitionBy")
            refuse_columns(result, FOLDER_COLUMNS)
            if not self._parquet.has(query, number):
                self._parquet.write(query, number, result.write.partitionBy(*parquet.partition_by).parquet)
            self._watcher.step(number, "parquet")
        if outgoing is None:
            return result.count(), 0
        counted = result.agg(F.count("*"), F.count_distinct(F.col(f"`{outgoing.group_by}`"))).first()
        assert counted is not None
        rows_out, groups_out = counted
        self._put(group_messages(result, outgoing), outgoing.options, "", query, number)
        self._watcher.step(number, "outgoing")
        return rows_out, groups_out

    def _quarantine(self, rejected: DataFrame, query: str, number: int) -> None:
        quarantine = self._config.quarantine
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
