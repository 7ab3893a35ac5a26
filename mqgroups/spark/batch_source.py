"""The batch source, which browses the groups that are on the queue when Spark plans the DataFrame.

Spark plans a DataFrame once. For each action, and to retry a task, it reads bundles (groups for one task) again. So the source
removes nothing. To remove what was read, read a stream with ``trigger(availableNow=True)``. Streams read bundles too.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceReader, InputPartition

from mqgroups.spark.browse import BrowsedQueue, Got
from mqgroups.spark.connections import lent
from mqgroups.spark.errors import GroupGone
from mqgroups.spark.failures import rows_told_briefly, told_briefly
from mqgroups.spark.offsets import Planned, bundled
from mqgroups.spark.options import SourceOptions
from mqgroups.spark.rows import record_batches
from mqgroups.spark.signs import put_sign
from mqgroups.telemetry import logs
from mqgroups.telemetry.place import Place

if TYPE_CHECKING:
    from pyarrow import RecordBatch

_log = logging.getLogger("mqgroups.spark")


class Bundle(InputPartition):
    """The groups that one task reads. ``value`` is a tuple of ``Planned``.

    Attributes:
        sign: the source, the manifest and the number of the bundle. They identify the *sign*, a message that the task puts when
            it has read the bundle to its end. ``None`` means that the task puts no sign.
    """

    def __init__(self, value: tuple[Planned, ...], sign: tuple[str, str, int] | None = None) -> None:
        super().__init__(value)
        self.sign = sign


def read_bundle(bundle: InputPartition, options: SourceOptions) -> Iterator[RecordBatch]:
    """Yield the messages of a bundle as record batches, one group after the other, each group in sequence. This runs in a task.

    Raises:
        GroupGone: a group is missing or not complete, and ``failOnDataLoss`` is true.
        MQGroupsError: the queue cannot be read.
    """
    with (
        lent(options.connection) as q_mgr,
        BrowsedQueue(q_mgr, options.queue, convert=options.convert, headers=options.include_headers) as queue,
    ):
        yield from record_batches(_messages(queue, bundle.value, options), options)


def _messages(queue: BrowsedQueue, groups: Iterable[Planned], options: SourceOptions) -> Iterator[Got]:
    for planned in groups:
        try:
            yield from queue.messages(planned)
        except GroupGone as error:
            if options.fail_on_data_loss:
                raise
            extra = logs.fields(Place(options.connection.q_mgr_name), queue=options.queue)
            _log.warning("failOnDataLoss=false: %s", error, extra=extra)


class BundleReader:
    """The part of a reader that tasks need. It reads bundles."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options

    @rows_told_briefly
    def read(self, partition: InputPartition) -> Iterator[RecordBatch]:
        """Yield the rows of one bundle, then put the bundle's sign if it has one."""
        yield from read_bundle(partition, self._options)
        if isinstance(partition, Bundle) and partition.sign is not None:
            with lent(self._options.connection) as q_mgr:
                put_sign(q_mgr, self._options.status_queue, *partition.sign)


class GroupBatchReader(BundleReader, DataSourceReader):
    """The reader of a batch, which reads the groups that are on the queue when Spark plans it."""

    @told_briefly
    def partitions(self) -> list[Bundle]:
        """Browse the queue for its groups, and return them in bundles. Spark calls this in one process, once for each plan."""
        options = self._options
        with lent(options.connection) as q_mgr, BrowsedQueue(q_mgr, options.queue) as queue:
            bundles = bundled(list(_planned(queue)), options.max_partitions)
            # If this list were empty, Spark would make a partition of its own.
            return [Bundle(tuple(bundle)) for bundle in bundles or [[]]]


def _planned(queue: BrowsedQueue) -> Iterator[Planned]:
    # Equal messages outside groups have equal keys. The last of these keys counts all of the messages.
    heads = {head.key: head for head in queue.heads()}.values()
    with_name = Counter(head.key.name for head in heads)
    messages = 1
    for head in heads:
        if with_name[head.key.name] > 1 and queue.beginning(head) != head.key:
            # The group looks complete because of messages of another group with the same GroupId.
            continue
        planned = queue.counted(head, messages)
        messages = planned.messages
        yield planned
