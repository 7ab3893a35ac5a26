"""The sink of format ``ibmmq``: Spark's tasks put groups, and its driver completes the batch.

    task      write(rows)   groups_of(rows), each by BatchProducer.put_group     a claim, then units of work
    driver    commit()      complete_batch                                       puts the high-water mark, and removes the records
              abort()       removes nothing, because attempts may still be running

Spark may run a task several times, even at the same time, and lets all attempts write. The records on the status queue decide
which attempt puts a group (``core.claim``). This module identifies the batch by these values:

              sink                             batch                       run
    stream    the query's id (checkpoint)      the micro-batch's number    a new id for each execution of the micro-batch
    batch     txnAppId, or a new id            txnVersion, or 0            a new id for each write

The ids of query and micro-batch come from the task's local properties. Spark does not document these properties, but they are
old. If they are not set, the task fails. The ids do not identify a batch write, because two writes in one foreachBatch are two
batches. But the high-water mark of a batch write names its query, the query's run, and the write. So the sink distinguishes two
cases from a repeated write: a new checkpoint, whose micro-batches begin at 0 again, and a second write of the same name in one
foreachBatch. For a repeated write the sink puts nothing, so a wrong decision would lose groups.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from mqgroups.batch.completion import complete_batch
from mqgroups.batch.errors import BatchRefused, second_write
from mqgroups.batch.producer import BatchProducer, BatchSettings
from mqgroups.core.claim import CompletedBatch
from mqgroups.core.unit_of_work import LONGEST_S, Every
from mqgroups.spark.connections import lent
from mqgroups.spark.errors import IdentityMissing, WriteRefused
from mqgroups.spark.failures import told_briefly
from mqgroups.spark.older import DataSourceStreamArrowWriter
from mqgroups.spark.options import SinkOptions
from mqgroups.spark.sink_rows import columns_of, groups_of
from mqgroups.status.owner import new_owner_id
from mqgroups.telemetry import logs
from mqgroups.telemetry.place import Place

if TYPE_CHECKING:
    from pyarrow import RecordBatch
    from pyspark.sql.types import StructType

_log = logging.getLogger("mqgroups.spark.sink")

_QUERY_ID = "sql.streaming.queryId"
_BATCH_ID = "streaming.sql.batchId"
# The property with the id of a query's run.
_JOB_GROUP = "spark.jobGroup.id"
# Large messages should not fill the queue manager's log.
_BYTES_IN_A_UNIT_OF_WORK = 8 * 1024 * 1024
_DAY_S = 24 * 60 * 60


@dataclass(frozen=True)
class Batch(WriterCommitMessage):
    """The batch to which a task's rows belong. Each task sends it to the driver.

    Attributes:
        sink, number: these two identify the batch.
        query: the id of the query whose foreachBatch writes the batch; ``None`` for any other write.
        query_run: the id of this query's run; ``None`` for any other write.
    """

    sink: str
    number: int
    query: str | None = None
    query_run: str | None = None


class _GroupWriter:
    """The common base of batch and stream writers. It has only values, because the driver pickles it for the tasks."""

    def __init__(self, schema: StructType, options: SinkOptions, overwrite: bool) -> None:
        if overwrite:
            raise WriteRefused(
                "format 'ibmmq' can only append, because messages that were put cannot be replaced. Use mode('append'), or "
                "outputMode('append') for a stream",
                "mode",
            )
        self._columns = columns_of(schema, options)
        self._options = options
        self._run = uuid.uuid4().hex

    def _put(self, rows: Iterator[RecordBatch], batch: Batch, task: TaskContext) -> Batch:
        options = self._options
        settings = BatchSettings(
            options.queue,
            name=batch.sink,
            batch=batch.number,
            run=self._run,
            partition=task.partitionId(),
            # Spark restarts the numbers of attempts with each stage, so the token also needs a unique part.
            token=f"{task.taskAttemptId()}-{new_owner_id()}",
            status_queue=options.status_queue,
            commit_every=Every(options.messages_per_unit_of_work, _BYTES_IN_A_UNIT_OF_WORK, LONGEST_S),
            owner_wait_s=options.connection.reconnect_wait_s,
            persistence=options.persistence,
            put_response=options.put_response,
            status_model=options.status_model,
            record_users=options.record_users,
        )
        with lent(options.connection) as q_mgr:
            producer = BatchProducer(q_mgr, settings)
            try:
                completed = producer.completed()
                if completed is not None:
                    this = CompletedBatch(batch.number, batch.query, self._run, batch.query_run)
                    if this.is_second(completed):
                        raise second_write(batch.sink, options.queue, batch.number)
                    if batch.query is not None and completed.query not in (None, batch.query):
                        raise BatchRefused(
                            f"batches up to {completed.number} of txnAppId {batch.sink} count as written: by status queue "
                            f"{options.status_queue}, query {completed.query} wrote them, but this is query {batch.query}. A new "
                            "checkpoint begins at batch 0 again. Nothing was put. Give another txnAppId that contains the "
                            "query's id, and start the query again with the same checkpoint",
                            "another-query",
                        )
                    # No row is taken, so Spark computes only what is before a shuffle.
                    extra = self._log_fields()
                    _log.warning(
                        "batch %d of %s was completed earlier; nothing is put", batch.number, batch.sink, extra=extra
                    )
                else:
                    for group in groups_of(rows, self._columns, task.partitionId()):
                        producer.put_group(group.key, group.messages, priority=group.priority)
            finally:
                producer.close()
        return batch

    def _log_fields(self) -> dict[str, str | int]:
        options = self._options
        return logs.fields(Place(options.connection.q_mgr_name), role="put", queue=options.queue)

    def _complete(self, written: Sequence[WriterCommitMessage | None], *, can_be_repeated: bool = True) -> None:
        for batch in {each for each in written if isinstance(each, Batch)}:
            with lent(self._options.connection) as q_mgr:
                complete_batch(
                    q_mgr,
                    self._options.status_queue,
                    batch.sink,
                    self._options.queue,
                    batch.number,
                    f"driver-{new_owner_id()}",
                    query=batch.query,
                    run=self._run,
                    within=batch.query_run,
                    mark_expires_s=mark_expires_s(self._options.keep_mark_days, can_be_repeated=can_be_repeated),
                    owner_wait_s=self._options.connection.reconnect_wait_s,
                    record_users=self._options.record_users,
                )


class GroupBatchWriter(_GroupWriter, DataSourceArrowWriter):
    """A writer that puts a DataFrame as message groups."""

    def __init__(self, schema: StructType, options: SinkOptions, overwrite: bool) -> None:
        super().__init__(schema, options, overwrite)
        self._batch = Batch(options.txn_app_id or f"write-{self._run}", options.txn_version or 0)

    @told_briefly
    def write(self, iterator: Iterator[RecordBatch]) -> Batch:
        """Put the groups of a task's rows."""
        task = _task()
        query = task.getLocalProperty(_QUERY_ID)
        run = None if query is None else task.getLocalProperty(_JOB_GROUP)
        return self._put(iterator, replace(self._batch, query=query, query_run=run), task)

    @told_briefly
    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Put the high-water mark, which shows that all groups are complete, and remove the status records of the groups."""
        self._complete(messages, can_be_repeated=self._options.txn_app_id is not None)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:  # noqa: ARG002 - they are not needed
        """Log the failure. A late attempt can still put messages, so the status records stay. The next write uses the records."""
        sink, queue = self._batch.sink, self._options.queue
        _log.warning("write %s to queue %s failed; its status records are kept", sink, queue, extra=self._log_fields())


class GroupStreamWriter(_GroupWriter, DataSourceStreamArrowWriter):
    """A writer that puts a micro-batch as message groups."""

    @told_briefly
    def write(self, iterator: Iterator[RecordBatch]) -> Batch:
        """Put the groups of a task's rows."""
        task = _task()
        batch = Batch(_local_property(task, _QUERY_ID), int(_local_property(task, _BATCH_ID)))
        return self._put(iterator, batch, task)

    @told_briefly
    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: ARG002, N803 - Spark's
        """Put the high-water mark, which shows that all groups are complete, and remove the status records of the groups."""
        self._complete(messages)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: ARG002, N803 - Spark's
        """Log the failure. A late attempt can still put messages, so the status records stay. Spark repeats the micro-batch."""
        queue = self._options.queue
        _log.warning(
            "micro-batch %d to queue %s failed; its status records are kept", batchId, queue, extra=self._log_fields()
        )


def mark_expires_s(keep_mark_days: int | None, *, can_be_repeated: bool) -> int | None:
    """Return after how many seconds the mark of a completed batch expires. ``None`` means that it stays until the next batch.

    Without its mark, a repeated batch is put a second time. Only the user knows how long a query or job can be stopped before it
    repeats its last batch. So by default the mark does not expire. A write without txnAppId is repeated only by late attempts of
    its own tasks, which end within a day. The queue manager removes the mark (Expiry in MQMD), so the driver needs no authority.
    """
    if keep_mark_days is not None:
        return keep_mark_days * _DAY_S
    return None if can_be_repeated else _DAY_S


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
