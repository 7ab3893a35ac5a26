"""The stream source: reads complete groups as they arrive, and removes them when Spark has processed them.

Spark uses one object of this class in one process for as long as the query runs, and pickled copies in the tasks that read.
Others decide: ``arrivals.py`` which groups are new, ``manifests.py`` which ones were planned and what can be removed,
``offsets.py`` how many fit. This module carries it out:

    latestOffset(start)     [remove start]  find new groups, put their manifest  → the next offset, or start
    partitions(start, end)  the groups of end's manifest, in bundles
    read(bundle)            browse each group; of the first bundle, put a sign   in tasks
    commit(end)             remove the groups of end

A micro-batch that is repeated after a crash has the same ``end``, so it has the same groups. They are still on the queue, because
only groups of a finished micro-batch are removed. Spark calls ``latestOffset(start)`` when the micro-batch that ended at
``start`` is finished, so that call may remove it as well (``eagerCommit``). Under availableNow it does, because no later call
would remove the last micro-batch.

Of several groups with one GroupId, one is read and removed after the other. Spark removes the one before only when there is a
next micro-batch: if the other groups are all that is left, this is an empty one.

A group that was to be removed and is not found is remembered (``manifests.py``), because it may reappear. IBM does not document
how long that can take: a queue manager begins to back out when it closes the handles of a dead connection, and this process has
waited for that. ``COMES_BACK_WITHIN_S`` is assumed to be longer.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow

from mqgroups.spark.arrivals import Arrivals
from mqgroups.spark.batch_source import Bundle, bundles, read_bundle
from mqgroups.spark.browse import Head
from mqgroups.spark.connections import connected, lent
from mqgroups.spark.failures import rows_told_briefly, told_briefly
from mqgroups.spark.manifest_queue import ManifestQueue, put_sign
from mqgroups.spark.manifests import Manifests
from mqgroups.spark.offsets import Limits, Offset, Planned, admitted
from mqgroups.spark.options import SourceOptions
from mqgroups.spark.reservation import ReservedQueue

if TYPE_CHECKING:
    from pyarrow import RecordBatch

    from mqgroups.connection.connection import Connection

# Counting the messages of a group takes a call, or several. In a micro-batch with more groups their sizes even out.
_MOST_COUNTED = 1000
_SOURCE_BYTES, _MANIFEST_BYTES = 24, 16


class GroupStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads the groups that arrive on a queue."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._q_mgr: Connection | None = None
        self._reservation: tuple[ReservedQueue, Manifests, Arrivals] | None = None
        # The number of messages of the last group, as a guess: groups often have the same size.
        self._messages = 1

    @told_briefly
    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """Return the offset at which a new query begins. Raises QueueReserved."""
        self._reserved()
        return Offset().to_json()

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        """Return ``maxGroupsPerTrigger`` as Spark's limit on rows, which counts groups here."""
        return ReadMaxRows(self._options.max_groups_per_trigger)

    @told_briefly
    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        """Note the groups that are on the queue; the query ends when it has read them."""
        _, _, arrivals = self._reserved()
        arrivals.find_all_and_close()

    @told_briefly
    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """Return the offset of the next micro-batch, or ``start`` if no group arrives within ``pollTimeoutMs``."""
        _, manifests, arrivals = self._reserved()
        offset = Offset.from_json(start)
        manifests.learn(offset)
        if (offered := manifests.offered(offset)) is not None:
            return offered.to_json()
        if self._is_eager:
            self._remove(offset)
        groups = self._next_groups(offset, self._limits(limit))
        if not groups and not self._can_free(offset):
            manifests.tidy(offset)
            return start
        following = manifests.follow(
            offset, secrets.token_hex(_SOURCE_BYTES), secrets.token_hex(_MANIFEST_BYTES), groups
        )
        arrivals.planned(planned.key for planned in groups)
        return following.to_json()

    @told_briefly
    def reportLatestOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """Return what waits, for the query's progress (``sources[0].latestOffset``); Spark asks after each ``latestOffset``.

        ``depth``: messages on the queue, also of groups that are incomplete or being read; ``unfinished``: groups of
        micro-batches that are not removed; ``waiting``: groups that were found and are in no micro-batch yet.
        """
        queue, manifests, arrivals = self._reserved()
        return {
            "queue": queue.name,
            "depth": queue.depth(),
            "unfinished": manifests.unfinished,
            "waiting": arrivals.waiting,
        }

    @told_briefly
    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[Bundle]:
        """Return the bundles of the micro-batch that ends at ``end``; empty if it also begins there."""
        # When a query restarts with an unfinished micro-batch, Spark calls this first.
        _, manifests, _ = self._reserved()
        offset = Offset.from_json(end)
        if Offset.from_json(start).seq == offset.seq:
            return []
        manifests.learn(offset)
        made = bundles(manifests.groups(offset), self._options) or [Bundle(())]
        # Spark reads the first partition if it reads anything.
        made[0].sign = offset.source, offset.manifest
        return made

    @rows_told_briefly
    def read(self, partition: InputPartition) -> Iterator[RecordBatch]:
        """Yield the rows of one bundle."""
        if isinstance(partition, Bundle) and partition.sign is not None:
            with lent(self._options.connection) as q_mgr:
                put_sign(q_mgr, self._options.status_queue, *partition.sign)
        return read_bundle(partition, self._options)

    @told_briefly
    def commit(self, end: dict[str, Any]) -> None:
        """Remove the groups up to ``end``. Raises CheckpointUnusable."""
        self._remove(Offset.from_json(end))

    def stop(self) -> None:
        """Disconnect. Spark does not always call this; the end of the process has the same effect."""
        if self._q_mgr is not None:
            self._q_mgr.close()
            self._q_mgr = self._reservation = None

    @property
    def _is_eager(self) -> bool:
        _, _, arrivals = self._reserved()
        choice = self._options.eager_commit
        return choice == "true" or (choice == "auto" and arrivals.is_closed)

    def _limits(self, limit: ReadLimit) -> Limits:
        """Return the limits of a micro-batch; no limits if Spark asks for everything."""
        if not isinstance(limit, ReadMaxRows):
            return Limits()
        options = self._options
        return Limits(limit.max_rows, options.max_messages_per_trigger, options.max_bytes_per_trigger)

    def _next_groups(self, offset: Offset, limits: Limits) -> Sequence[Planned]:
        _, manifests, arrivals = self._reserved()
        wait_ms = self._options.poll_timeout_ms
        groups = admitted(self._candidates(arrivals.found(manifests), limits), limits)
        if not groups and not self._can_free(offset):
            groups = admitted(self._candidates(arrivals.next_ones(manifests, wait_ms), limits), limits)
        groups = [arrivals.latest(planned) for planned in groups]
        if len(groups) <= _MOST_COUNTED or limits.messages is not None or limits.data_bytes is not None:
            return groups
        # Those that were counted would weigh more than the others.
        return [Planned(planned.key, 0) for planned in groups]

    def _candidates(self, heads: Iterable[Head], limits: Limits) -> Iterator[Planned]:
        """Yield the groups of these heads, counted, except those that only look complete."""
        queue, _, arrivals = self._reserved()
        sized = self._sized(limits)
        for number, head in enumerate(heads):
            planned = sized(head)
            if number < _MOST_COUNTED:
                planned = self._counted(planned)
                # It is complete with messages of another group that has its GroupId; or another application has it for a moment.
                if not planned.messages and queue.beginning(planned) is None:
                    arrivals.refuse(head.key)
                    continue
            yield planned

    def _can_free(self, offset: Offset) -> bool:
        _, manifests, arrivals = self._reserved()
        return manifests.can_free(arrivals.held, offset, int(time.time()))

    def _sized(self, limits: Limits) -> Callable[[Head], Planned]:
        """Return a function that finds out as much of a group's size as the limits need."""
        if limits.data_bytes is not None:
            return self._reserved()[0].measured
        if limits.messages is not None:
            return lambda head: self._counted(head.planned)
        return lambda head: head.planned

    def _counted(self, planned: Planned) -> Planned:
        counted = self._reserved()[0].counted(planned, self._messages)
        self._messages = counted.messages
        return counted

    def _remove(self, offset: Offset) -> None:
        queue, manifests, arrivals = self._reserved()
        manifests.learn(offset)
        by_manifest = manifests.to_remove(offset, int(time.time()))
        if by_manifest:
            keys = [key for keys in by_manifest.values() for key in keys]
            missed = queue.remove(keys, self._options.messages_per_unit_of_work)
            manifests.removed(by_manifest, missed, int(time.time()))
            arrivals.removed(keys)
        manifests.refuse_unread(offset)

    def _reserved(self) -> tuple[ReservedQueue, Manifests, Arrivals]:
        """Return the queue with what is known of its groups; connect and open it on first use."""
        if self._reservation is None:
            q_mgr = connected(self._options.connection)
            try:
                self._reservation = self._opened(q_mgr)
            except BaseException:
                q_mgr.close()
                raise
            self._q_mgr = q_mgr
        return self._reservation

    def _opened(self, q_mgr: Connection) -> tuple[ReservedQueue, Manifests, Arrivals]:
        options = self._options
        wait_s = options.reservation_timeout_ms / 1000
        queue = ReservedQueue(q_mgr, options.queue, exclusive=options.exclusive, wait_s=wait_s)
        messages = ManifestQueue(q_mgr, queue, options.status_queue, options.status_model)
        return queue, Manifests(messages), Arrivals(queue)
