"""The stream source: reads complete groups as they arrive, and removes them when Spark has processed them.

Spark uses one object of this class in one process for as long as the query runs, and pickled copies in the tasks that read.
``offsets.py`` decides; this module carries it out:

    latestOffset(start)     [remove start]  browse for groups that are not known yet  → the next offset, or start
    partitions(start, end)  the groups of end, in bundles: from the offset alone
    read(bundle)            browse each group                                          in tasks
    commit(end)             remove the groups of end

A micro-batch that is repeated after a crash has the same ``end``, so it has the same groups. They are still on the queue, because
only groups of a finished micro-batch are removed. Spark calls ``latestOffset(start)`` when the micro-batch that ended at
``start`` is finished, so that call may remove it as well (``eagerCommit``). Under availableNow it does, because no later call
would remove the last micro-batch.

A group that was to be removed and is not found is remembered (``offsets.py``), because it may reappear. IBM does not document how
long that can take: a queue manager begins to back out when it closes the handles of a dead connection, and this process has
waited for that. ``_COMES_BACK_WITHIN_S`` is assumed to be longer.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow

from mqgroups.spark.batch_source import Bundle, bundles, read_bundle
from mqgroups.spark.browse import Head
from mqgroups.spark.connections import connected
from mqgroups.spark.offsets import NOTHING_REMOVED, Key, Limits, Offset, Planned, admitted
from mqgroups.spark.options import SourceOptions
from mqgroups.spark.reservation import ReservedQueue

if TYPE_CHECKING:
    from pyarrow import RecordBatch

    from mqgroups.connection.connection import Connection


_COMES_BACK_WITHIN_S = 600


class GroupStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads the groups that arrive on a queue."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._q_mgr: Connection | None = None
        self._queue: ReservedQueue | None = None
        self._removed_to = NOTHING_REMOVED
        # The missed keys and their times, also from all offsets up to ``_learned_to``.
        self._missed: dict[Key, int] = {}
        self._learned_to = -1
        # Under availableNow: the groups that were there when the query started and are not planned yet.
        self._target: dict[Key, Head] | None = None
        # The number of messages of the last group, as a guess: groups often have the same size.
        self._messages = 1

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """Return the offset at which a new query begins. Raises QueueReserved."""
        self._reserved()
        return Offset().to_json()

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        """Return ``maxGroupsPerTrigger`` as Spark's limit on rows, which counts groups here."""
        return ReadMaxRows(self._options.max_groups_per_trigger)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        """Note the groups that are on the queue; the query ends when it has read them."""
        self._target = {head.key: head for head in self._reserved().heads()}

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """Return the offset of the next micro-batch, or ``start`` if no group arrives within ``pollTimeoutMs``."""
        offset = Offset.from_json(start)
        self._learn(offset)
        # Taken before removal: a key that is searched for the last time may have been noted with the query's target.
        known = offset.known() | self._missed.keys()
        if self._is_eager:
            self._remove(offset)
        groups = self._next_groups(known, self._limits(limit))
        if not groups:
            return start
        following = offset.followed_by(groups, self._removed_to, self._missed)
        self._learned_to = following.seq
        return following.to_json()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[Bundle]:
        """Return the bundles of the micro-batch that ends at ``end``; empty if it also begins there."""
        # When a query restarts with an unfinished micro-batch, Spark calls this first.
        self._reserved()
        offset = Offset.from_json(end)
        return [] if Offset.from_json(start).seq == offset.seq else bundles(offset.groups, self._options)

    def read(self, partition: InputPartition) -> Iterator[RecordBatch]:
        """Yield the rows of one bundle."""
        return read_bundle(partition, self._options)

    def commit(self, end: dict[str, Any]) -> None:
        """Remove the groups up to ``end``."""
        self._remove(Offset.from_json(end))

    def stop(self) -> None:
        """Disconnect. Spark does not always call this; the end of the process has the same effect."""
        if self._q_mgr is not None:
            self._q_mgr.close()
            self._q_mgr = self._queue = None

    @property
    def _is_eager(self) -> bool:
        choice = self._options.eager_commit
        return choice == "true" or (choice == "auto" and self._target is not None)

    def _limits(self, limit: ReadLimit) -> Limits:
        """Return the limits of a micro-batch; no limits if Spark asks for everything."""
        if not isinstance(limit, ReadMaxRows):
            return Limits()
        options = self._options
        return Limits(limit.max_rows, options.max_messages_per_trigger, options.max_bytes_per_trigger)

    def _next_groups(self, known: frozenset[Key], limits: Limits) -> list[Planned]:
        queue = self._reserved()
        if self._target is not None:
            for key in known:
                self._target.pop(key, None)
            groups = admitted(self._sized(list(self._target.values()), limits), limits)
            for planned in groups:
                del self._target[planned.key]
            return groups

        def unknown(heads: Iterable[Head]) -> Iterator[Planned]:
            return self._sized((head for head in heads if head.key not in known), limits)

        wait_ms = self._options.poll_timeout_ms
        return admitted(unknown(queue.heads()), limits) or admitted(unknown(queue.more_heads(wait_ms)), limits)

    def _sized(self, heads: Iterable[Head], limits: Limits) -> Iterator[Planned]:
        queue = self._reserved()
        for head in heads:
            planned = queue.planned(head, self._messages) if limits.data_bytes is None else queue.measured(head)
            self._messages = planned.messages
            yield planned

    def _remove(self, offset: Offset) -> None:
        self._learn(offset)
        now_s = int(time.time())
        keys = offset.to_remove(self._removed_to)
        for_the_last_time = [key for key, since in self._missed.items() if now_s - since >= _COMES_BACK_WITHIN_S]
        if keys or for_the_last_time:
            queue = self._reserved()
            missed = queue.remove([*for_the_last_time, *keys], self._options.messages_per_unit_of_work)
            for key in for_the_last_time:
                del self._missed[key]
            since = int(time.time())
            self._missed.update((key, since) for key in keys if key in missed)
        self._removed_to = max(self._removed_to, offset.seq)

    def _learn(self, offset: Offset) -> None:
        """Add the missed keys of an offset that another process wrote; those of this process are known already."""
        if offset.seq > self._learned_to:
            now_s = int(time.time())
            for key, since in offset.missed:
                self._missed.setdefault(key, min(since, now_s))
            self._learned_to = offset.seq

    def _reserved(self) -> ReservedQueue:
        """Return the queue; connect and open it on first use."""
        if self._queue is None:
            options = self._options
            q_mgr = connected(options.connection)
            wait_s = options.reservation_timeout_ms / 1000
            try:
                self._queue = ReservedQueue(q_mgr, options.queue, exclusive=options.exclusive, wait_s=wait_s)
            except BaseException:
                q_mgr.close()
                raise
            self._q_mgr = q_mgr
        return self._queue
