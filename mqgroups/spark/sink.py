"""The sink of format ``ibmmq``: what Spark's tasks put, and what its driver says when all tasks have.

    task      write(rows)   groups_of(rows), each by BatchProducer.put_group     a claim, units of work
    driver    commit()      complete_batch                                       the high-water mark, then away with the records
              abort()       nothing: attempts may still be at work

A task may be done several times, at once too, and Spark asks nobody before it lets them write. Which attempt puts a group is
decided by its records on the status queue (``core.claim``); here it is only said whose batch it is:

              sink                             batch                       run
    stream    the query's id (checkpoint)      the micro-batch's           made for each execution of the micro-batch
    batch     txnAppId, or one of its own      txnVersion, or 0            made for each write

The id of a query and of a micro-batch come from the task's local properties, internal names of Spark's, though old ones; where
they are not set the task fails. A batch write never uses them: two writes in one foreachBatch are two batches.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage

from mqgroups.batch.completion import complete_batch
from mqgroups.batch.producer import BatchProducer, BatchSettings
from mqgroups.core.unit_of_work import Every
from mqgroups.spark.connections import lent
from mqgroups.spark.errors import IdentityMissing, ModeRefused
from mqgroups.spark.options import SinkOptions
from mqgroups.spark.sink_rows import columns_of, groups_of
from mqgroups.telemetry import logs

if TYPE_CHECKING:
    from pyarrow import RecordBatch
    from pyspark.sql.types import StructType

_log = logging.getLogger("mqgroups.spark.sink")

_QUERY_ID = "sql.streaming.queryId"
_BATCH_ID = "streaming.sql.batchId"
# A write without txnAppId will not be done again by anybody but late attempts at its own tasks.
_MARK_OF_ONE_WRITE_EXPIRES_S = 24 * 60 * 60


@dataclass(frozen=True, slots=True)
class Batch:
    """Which batch a task's rows are of."""

    sink: str
    number: int


@dataclass(frozen=True)
class PartitionWritten(WriterCommitMessage):
    """What a task tells the driver.

    Attributes:
        batch: which batch.
        groups: how many groups the task's rows were.
        messages: how many messages this attempt has put; others were there already.
    """

    batch: Batch
    groups: int
    messages: int


class _GroupWriter:
    """What batch and stream writers have in common. Pickled from the driver to the tasks: it holds values only."""

    def __init__(self, schema: StructType, options: SinkOptions, overwrite: bool) -> None:
        if overwrite:
            raise ModeRefused(
                "format 'ibmmq' appends: messages that are put cannot be replaced. Use mode('append'), of a stream "
                "outputMode('append')"
            )
        self._columns = columns_of(schema, options)
        self._options = options
        self._run = uuid.uuid4().hex

    def _put(self, rows: Iterator[RecordBatch], batch: Batch, task: TaskContext) -> PartitionWritten:
        """Put a task's rows."""
        options = self._options
        settings = BatchSettings(
            queue=options.queue,
            sink=batch.sink,
            batch=batch.number,
            run=self._run,
            partition=task.partitionId(),
            # Spark's number of an attempt begins again when a stage does: it tells attempts apart only with something unique.
            token=f"{task.taskAttemptId()}-{uuid.uuid4().hex}",
            status_queue=options.status_queue if options.delivery == "exactlyOnce" else None,
            commit_every=Every(options.messages_per_unit_of_work, options.bytes_per_unit_of_work),
            claim_wait_s=options.claim_timeout_ms / 1000,
            persistence=options.persistence,
            status_model=options.status_model,
            claim_model=options.claim_model,
        )
        groups = messages = 0
        with lent(options.connection) as q_mgr:
            producer = BatchProducer(q_mgr, settings)
            try:
                if producer.is_completed():
                    extra = self._log_fields()
                    _log.info(
                        "batch %d of %s was completed before; nothing is put", batch.number, batch.sink, extra=extra
                    )
                    for _ in rows:
                        pass
                else:
                    for group in groups_of(rows, self._columns, task.partitionId()):
                        groups += 1
                        messages += producer.put_group(group.key, group.messages, priority=group.priority)
            finally:
                producer.close()
        return PartitionWritten(batch, groups, messages)

    def _log_fields(self) -> dict[str, str | int]:
        options = self._options
        return logs.fields(q_mgr_name=options.connection.q_mgr_name, role="put", queue=options.queue)

    def _complete(self, written: Sequence[WriterCommitMessage | None], mark_expires_s: int | None = None) -> None:
        """Complete the batch that tasks have written."""
        status_queue = self._options.status_queue
        batches = {each.batch for each in written if isinstance(each, PartitionWritten)}
        if self._options.delivery != "exactlyOnce" or status_queue is None:
            return
        for batch in batches:
            with lent(self._options.connection) as q_mgr:
                complete_batch(
                    q_mgr,
                    status_queue,
                    batch.sink,
                    self._options.queue,
                    batch.number,
                    f"driver-{uuid.uuid4().hex}",
                    mark_expires_s=mark_expires_s,
                    claim_wait_s=self._options.claim_timeout_ms / 1000,
                )


class GroupBatchWriter(_GroupWriter, DataSourceArrowWriter):
    """Writes a DataFrame as message groups."""

    def __init__(self, schema: StructType, options: SinkOptions, overwrite: bool) -> None:
        super().__init__(schema, options, overwrite)
        self._batch = Batch(options.txn_app_id or f"write-{self._run}", options.txn_version or 0)

    def write(self, iterator: Iterator[RecordBatch]) -> PartitionWritten:
        """Put the groups of a task's rows."""
        return self._put(iterator, self._batch, _task())

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Say that all groups are whole, and take away the records that said so of each."""
        self._complete(messages, None if self._options.txn_app_id else _MARK_OF_ONE_WRITE_EXPIRES_S)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:  # noqa: ARG002 - they conclude nothing
        """Only note it: a late attempt may still put, and the next one goes on."""
        sink, queue = self._batch.sink, self._options.queue
        _log.warning("write %s to queue %s failed; its records stay", sink, queue, extra=self._log_fields())


class GroupStreamWriter(_GroupWriter, DataSourceStreamArrowWriter):
    """Writes a micro-batch as message groups."""

    def write(self, iterator: Iterator[RecordBatch]) -> PartitionWritten:
        """Put the groups of a task's rows."""
        task = _task()
        batch = Batch(_local_property(task, _QUERY_ID), int(_local_property(task, _BATCH_ID)))
        return self._put(iterator, batch, task)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: ARG002, N803 - Spark's
        """Say that all groups of the micro-batch are whole, and take away the records that said so of each."""
        self._complete(messages)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: ARG002, N803 - Spark's
        """Only note it: a late attempt may still put, and the micro-batch will be done again."""
        queue = self._options.queue
        _log.warning("micro-batch %d to queue %s failed; its records stay", batchId, queue, extra=self._log_fields())


def _task() -> TaskContext:
    task = TaskContext.get()
    if task is None:
        raise IdentityMissing("TaskContext")
    return task


def _local_property(task: TaskContext, name: str) -> str:
    value: str | None = task.getLocalProperty(name)
    if value is None:
        raise IdentityMissing(name)
    return value
