"""The stream source: reads complete groups as they arrive, and removes them when Spark has processed them.

Spark uses one reader in one process during the whole query, and pickled copies in the tasks that read. ``arrivals.py`` decides
which groups are new, ``manifests.py`` which groups can be removed, ``offsets.py`` how many groups fit. This module does the work,
in these calls of Spark:

    getDefaultReadLimit()   reserve the queue
    latestOffset(start)     find new groups, put their manifest, return the next offset; or remove earlier groups, return start
    partitions(start, end)  return the groups of end's manifest, in bundles; then find groups in advance (``ahead.py``)
    read(bundle)            browse each group, then put a sign     in tasks
    commit(end)             begin to remove the groups of end      removers do the rest (``removal.py``)

A micro-batch that is repeated after a crash has the same ``end``, and so the same groups. These groups are still on the queue,
because only groups of a finished micro-batch are removed. Spark calls ``commit(end)`` only when there is a next micro-batch. But
when Spark calls ``latestOffset(start)``, the micro-batch that ended at ``start`` is finished. So if there are no new groups, this
call removes the groups of that micro-batch. An idle query, or a query under availableNow, therefore leaves the queue empty. Do
not use asynchronous progress tracking, because then Spark calls ``latestOffset`` before that micro-batch is finished.

Several groups with the same GroupId are read and removed one after the other.

If a removal does not find a group, the group may reappear later. So ``manifests.py`` remembers it. IBM does not document how long
this can take. A queue manager begins to back out when it closes the handles of a dead connection, and this process has waited for
that. The assumption is that the backout then ends within ``COMES_BACK_WITHIN_S``.
"""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceStreamReader

from mqgroups.errors import ConfigurationError
from mqgroups.spark.ahead import Ahead
from mqgroups.spark.arrivals import Arrivals
from mqgroups.spark.batch_source import Bundle, BundleReader
from mqgroups.spark.connections import connected
from mqgroups.spark.errors import CheckpointUnusable
from mqgroups.spark.failures import told_briefly
from mqgroups.spark.manifest_queue import ManifestQueue
from mqgroups.spark.manifests import Manifests
from mqgroups.spark.offsets import Limits, Offset, Planned, admitted
from mqgroups.spark.older import ReadMaxRows, SupportsTriggerAvailableNow
from mqgroups.spark.options import SourceOptions
from mqgroups.spark.removal import Removers, Share
from mqgroups.spark.reservation import ReservedQueue
from mqgroups.spark.rows import put_time_us
from mqgroups.spark.signs import put_note
from mqgroups.telemetry import logs
from mqgroups.telemetry.place import Place

if TYPE_CHECKING:
    from pyspark.sql.streaming.datasource import ReadLimit

    from mqgroups.connection.connection import Connection

_log = logging.getLogger("mqgroups.spark")

# Counting the messages of a group takes at least one call. With more groups, partitions are similar without counting.
_MOST_COUNTED = 1000
_SOURCE_BYTES, _MANIFEST_BYTES = 24, 16


class GroupStreamReader(BundleReader, DataSourceStreamReader, SupportsTriggerAvailableNow):
    """The reader of a stream, which reads the groups that arrive on a queue."""

    def __init__(self, options: SourceOptions) -> None:
        super().__init__(options)
        self._q_mgr: Connection | None = None
        self._reservation: tuple[ReservedQueue, Manifests, Arrivals] | None = None
        self._ahead = Ahead()
        # The manifests whose groups are being removed.
        self._removing: tuple[str, ...] = ()
        # How many messages the last group had. Groups often have the same size.
        self._messages = 1

    @told_briefly
    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """Return the offset at which a new query begins. Raises QueueReserved."""
        self._reserved()
        return self._beginning.to_json()

    @told_briefly
    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        """Return ``maxGroupsPerTrigger`` as Spark's limit on rows. Here the limit counts groups. Raises QueueReserved.

        Spark calls this before it reads its log. So this call reserves the queue, and waits for another driver of the same
        checkpoint if necessary. Then Spark reads the log in the state that the other driver has left.
        """
        self._reserved()
        return self._default_limit

    @property
    def _default_limit(self) -> ReadLimit:
        return ReadMaxRows(self._options.max_groups_per_trigger)

    @told_briefly
    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        """Find the groups that are on the queue now. The query ends when it has read these groups."""
        _, _, arrivals = self._reserved()
        arrivals.find_all_and_close()

    @told_briefly
    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """Return the offset of the next micro-batch, or ``start`` if no group arrives within ``pollTimeoutMs``."""
        _, manifests, arrivals = self._reserved()
        offset = self._learned(start)
        if (offered := manifests.offered(offset)) is not None:
            return offered.to_json()
        limits = self._limits(limit)
        self._note_removed(wait=False)
        groups = self._groups_of(arrivals.found(manifests), limits)
        if not groups and self._note_removed(wait=arrivals.wait_for_removal):
            self._remove(offset)
            if arrivals.wait_for_removal:
                self._note_removed(wait=True)
                # Groups that were held because of the removed groups.
                groups = self._groups_of(arrivals.found(manifests), limits)
        groups = groups or self._groups_of(arrivals.next_ones(manifests, self._options.poll_timeout_ms), limits)
        if not groups:
            self._note_removed(wait=False)
            manifests.tidy(offset)
            return start
        names = secrets.token_hex(_SOURCE_BYTES), secrets.token_hex(_MANIFEST_BYTES)
        following = manifests.follow(offset, *names, groups, self._options.max_partitions)
        arrivals.planned(planned.key for planned in groups)
        return following.to_json()

    @told_briefly
    def reportLatestOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """Return the lag for the query's progress (``sources[0].latestOffset``). Spark calls this after each ``latestOffset``.

        ``waiting``: the number of complete groups that were found and are in no micro-batch. ``oldest``: when the oldest of them
        was put. ``incomplete``: when the first message on the queue was put, if its group is not complete. ``unfinished``: the
        number of groups that are in micro-batches and not removed. ``depth``: the number of all messages on the queue.
        """
        queue, manifests, arrivals = self._reserved()
        arrivals.look_for_one(manifests)
        depth = queue.depth()
        first = queue.first_key() if depth else None
        is_whole = first is None or not first.is_group or manifests.holds(first) or arrivals.waits(first)
        return {
            "queueManager": self._options.connection.q_mgr_name,
            "queue": queue.name,
            "waiting": arrivals.waiting,
            "oldest": _shown(arrivals.stamps),
            "incomplete": None if is_whole or first is None else _shown([first.stamp]),
            "unfinished": manifests.unfinished,
            "depth": depth,
        }

    @told_briefly
    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[Bundle]:
        """Return the bundles of the micro-batch that ends at ``end``. After a crash in a micro-batch, Spark calls this first."""
        _, manifests, _ = self._reserved()
        if Offset.from_json(start).seq == Offset.from_json(end).seq:
            return []
        offset = self._learned(end)
        bundles = [
            Bundle(tuple(bundle), (offset.source, offset.manifest, number))
            for number, bundle in enumerate(manifests.bundles(offset))
        ]
        self._ahead.begin(self._look_ahead())
        return bundles

    def __reduce__(self) -> tuple[type[BundleReader], tuple[SourceOptions]]:
        # A task gets only the part that reads, and does not import the other modules. This halves the start time of the task.
        return BundleReader, (self._options,)

    @told_briefly
    def commit(self, end: dict[str, Any]) -> None:
        """Begin to remove the groups up to ``end``. Raises CheckpointUnusable, or an error of the previous removal."""
        self._reserved()
        self._remove(Offset.from_json(end))

    def stop(self) -> None:
        """Wait until the removal has ended, and disconnect. If Spark does not call this, the effect is that of a crash."""
        if self._q_mgr is None or self._reservation is None:
            return
        self._ahead.end()
        try:
            self._note_removed(wait=True)
        finally:
            self._reservation[0].close()
            self._q_mgr.close()
            self._q_mgr = self._reservation = None

    @property
    def _beginning(self) -> Offset:
        return Offset(queue=self._options.queue)

    def _learned(self, value: dict[str, Any]) -> Offset:
        """Convert an offset from Spark's log, and read the manifests that the offset names. Raises CheckpointUnusable."""
        offset = Offset.from_json(value)
        try:
            self._opened[1].learn(offset)
        except CheckpointUnusable as error:
            if offset.queue in ("", self._options.queue):
                raise
            raise CheckpointUnusable(
                f"the query's checkpoint is of queue {offset.queue}, and this source reads queue {self._options.queue}. Start "
                "the query with its own queue, or with another checkpoint. Keep the order of several queues",
                "missing",
                status_queue=error.status_queue or self._options.status_queue,
                found=self._options.queue,
                expected=offset.queue,
            ) from None
        return offset

    def _limits(self, limit: ReadLimit) -> Limits:
        """Return the limits of a micro-batch. There are no limits if Spark asks for all groups."""
        if not isinstance(limit, ReadMaxRows):
            return Limits()
        return Limits(limit.max_rows, self._options.max_messages_per_trigger)

    def _groups_of(self, heads: Iterable[Planned], limits: Limits) -> Sequence[Planned]:
        """Return the groups of the next micro-batch, which are the first of ``heads`` that fit within the limits."""
        _, _, arrivals = self._opened
        groups = [arrivals.latest(planned) for planned in list(admitted(self._candidates(heads, limits), limits))]
        if len(groups) <= _MOST_COUNTED or limits.messages is not None:
            return groups
        # Otherwise the counted groups would weigh more than the other groups.
        return [Planned(planned.key, 0) for planned in groups]

    def _candidates(self, heads: Iterable[Planned], limits: Limits) -> Iterator[Planned]:
        """Count the messages of these groups, and yield the groups. Omit groups that only look complete."""
        queue, _, arrivals = self._opened
        for number, planned in enumerate(heads):
            counted = planned
            if number < _MOST_COUNTED or limits.messages is not None:
                counted = queue.counted(planned, self._messages)
                # Either the group looks complete because of another group with its GroupId, or another application has got it.
                if not counted.messages and queue.beginning(counted) is None:
                    arrivals.refuse(planned.key)
                    continue
                self._messages = counted.messages
                arrivals.counted(counted)
            yield counted

    def _look_ahead(self) -> Iterator[object]:
        """Find and count the groups of the next micro-batch, and find the groups after them, step by step."""
        _, manifests, arrivals = self._opened
        limits = self._limits(self._default_limit)
        yield from admitted(self._candidates(arrivals.found(manifests), limits), limits)
        yield from arrivals.look_on(manifests)

    def _remove(self, offset: Offset) -> None:
        """Wait for the previous removal, and begin to remove the groups up to ``offset``. Raises CheckpointUnusable."""
        self._note_removed(wait=True)
        queue, manifests, _ = self._opened
        manifests.learn(offset)
        by_manifest = manifests.to_remove(offset, int(time.time()))
        if by_manifest:
            note, hidden = partial(put_note, self._options.status_queue, offset.source), manifests.hidden(by_manifest)
            queue.remove(
                Share(share, hidden, partial(note, manifest, number))
                for manifest, shares in by_manifest.items()
                for number, share in enumerate(shares)
            )
            self._removing = tuple(by_manifest)
        if (unread := manifests.unread(offset, self._removing)) is not None:
            self._note_removed(wait=True)
            raise unread

    def _note_removed(self, *, wait: bool) -> bool:
        """Mark the removed groups. Returns false, and marks nothing, if removers are at work and ``wait`` is false."""
        queue, manifests, arrivals = self._opened
        if queue.is_removing and not wait:
            return False
        removing, self._removing = self._removing, ()
        if removing:
            missed = queue.removed()
            arrivals.removed(manifests.removed(removing, missed, int(time.time())))
        return True

    def _reserved(self) -> tuple[ReservedQueue, Manifests, Arrivals]:
        """Stop finding groups in advance. Return the queue, its manifests and its arrivals. The first call reserves the queue."""
        self._ahead.end()
        if self._reservation is None:
            q_mgr = connected(self._options.connection)
            try:
                self._reservation = self._open(q_mgr)
            except BaseException:
                q_mgr.close()
                raise
            self._q_mgr = q_mgr
        return self._reservation

    @property
    def _opened(self) -> tuple[ReservedQueue, Manifests, Arrivals]:
        """The objects that ``_reserved`` returns. Call ``_reserved`` first."""
        assert self._reservation is not None
        return self._reservation

    def _open(self, q_mgr: Connection) -> tuple[ReservedQueue, Manifests, Arrivals]:
        options = self._options
        connect = partial(connected, options.connection)
        removers = Removers(connect, options.queue, options.max_partitions, options.messages_per_unit_of_work)
        queue = ReservedQueue(q_mgr, options.queue, options.connection.reconnect_wait_s, removers)
        messages = ManifestQueue(q_mgr, queue, options.status_queue, options.status_model)
        return queue, Manifests(messages), Arrivals(queue)


class ReaderWithoutLimits(GroupStreamReader):
    """The reader of a stream for Spark 4.0 and 4.1, which call ``latestOffset`` without start and limit.

    Spark calls ``partitions(start, end)`` for each micro-batch. When a query starts again, Spark first calls ``partitions`` with
    the last offset of its log as ``start`` and ``end``. So the next micro-batch starts at the last ``end``, or at the beginning.
    """

    _at: Offset | None = None

    @told_briefly
    def latestOffset(self, start: object = None, limit: object = None) -> dict[str, Any]:  # noqa: ARG002, N802 - Spark's
        """Return the offset of the next micro-batch, or the last offset if no group arrives."""
        self._at = self._at or self._beginning
        at = self._at.to_json()
        if (following := super().latestOffset(at, self._default_limit)) == at:
            # Under availableNow Spark does not call this again.
            self._note_removed(wait=True)
        return following

    @told_briefly
    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[Bundle]:
        """Return the bundles up to ``end``. Raises ConfigurationError if Spark has called ``latestOffset`` too early."""
        if self._at and not self._at.seq and Offset.from_json(start).seq:
            raise ConfigurationError(
                "Spark asked for new groups before it named the last offset of its log. Set "
                "spark.sql.streaming.triggerAvailableNowWrapper.enabled to false, and start the query again"
            )
        self._at = Offset.from_json(end)
        return super().partitions(start, end)

    def _open(self, q_mgr: Connection) -> tuple[ReservedQueue, Manifests, Arrivals]:
        _log.warning(
            "this Spark gives sources in Python no limit, unlike 4.2: trigger(availableNow=True) takes one micro-batch of "
            "maxGroupsPerTrigger groups, whose messages stay on the queue until the next run; the progress has no lag",
            extra=logs.fields(Place(self._options.connection.q_mgr_name), queue=self._options.queue),
        )
        return super()._open(q_mgr)


def _shown(stamps: Iterable[str]) -> str | None:
    """Return the earliest of these times (PutDate and PutTime) in Spark's format; ``None`` if none is valid."""
    times_us = [us for each in stamps if (us := put_time_us(each.encode("latin-1"))) is not None]
    return datetime.fromtimestamp(min(times_us) / 1e6, UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if times_us else None
