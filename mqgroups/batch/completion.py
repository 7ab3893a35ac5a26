"""Removes a batch's records from a shared status queue, when the batch is completed or when an operator purges them.

``core.claim`` describes the records. Each function can be repeated, and several programs can call it at the same time: records
that are already gone are skipped.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from contextlib import closing
from dataclasses import dataclass, field

from mqgroups.batch.errors import other_messages, would_put_again
from mqgroups.batch.shared_queue import FoundRecord, SharedStatusQueue
from mqgroups.connection.connection import Connection
from mqgroups.connection.retry import OWNER_ACTIVE, Patience, retrying
from mqgroups.core.claim import CompletedBatch, RecordKind, Sink, claim_values, high_water_mark, kind_of_record
from mqgroups.core.restart import Mismatch, Move, adopted
from mqgroups.core.status import RecordState, StatusRecord
from mqgroups.errors import MQIError, OwnerActive, QueueMissing
from mqgroups.mqi import constants as mq
from mqgroups.mqi import structures as st
from mqgroups.printable import brief
from mqgroups.status.records import foreign_record
from mqgroups.telemetry import logs

_log = logging.getLogger("mqgroups.batch")

_IN_A_UNIT_OF_WORK = 100
_GET_PART = st.gmo(
    mq.MQGMO_SYNCPOINT | mq.MQGMO_NO_WAIT | mq.MQGMO_FAIL_IF_QUIESCING, match_options=mq.MQMO_MATCH_GROUP_ID
)


@dataclass(slots=True)
class _Group:
    """The records of one group on the queue."""

    intent: FoundRecord | None = None
    status: FoundRecord | None = None


class SinkRecords:
    """All records of one sink on a shared status queue.

    Attributes:
        sink: the sink that the records belong to.
        marks: its high-water marks.
        by_group: the records of the groups in batches that are not completed, or are being completed, by batch and key.
    """

    def __init__(self, sink: Sink) -> None:
        self.sink = sink
        self.marks: list[FoundRecord] = []
        self.by_group: dict[tuple[int, str], _Group] = {}

    @property
    def records(self) -> list[FoundRecord]:
        return [*self.marks, *(each for group in self.by_group.values() for each in _pair(group))]

    @property
    def completed_batch(self) -> int | None:
        """The last batch that was completed; ``None`` if none was."""
        return max(map(_batch, self.marks), default=None)

    @property
    def groups(self) -> list[StatusRecord]:
        """The status records of the groups, by batch and key."""
        return [group.status.record for _, group in sorted(self.by_group.items()) if group.status]

    @property
    def hidden(self) -> list[str]:
        """The names of groups whose status record is hidden by a unit of work."""
        return [each.intent.record.name for each in self.by_group.values() if each.intent and not each.status]

    def add(self, kind: RecordKind | None, found: FoundRecord) -> None:
        if kind is RecordKind.HIGH_WATER_MARK:
            self.marks.append(found)
            return
        claim = claim_values(found.record.checkpoint)
        group = self.by_group.setdefault((claim["batch"], claim["key"]), _Group())
        if kind is RecordKind.INTENT:
            group.intent = found
        else:
            group.status = found


def complete_batch(
    connection: Connection,
    status_queue: str,
    sink_name: str,
    queue: str,
    batch: int,
    token: str,
    *,
    query: str | None = None,
    mark_expires_s: int | None = None,
    owner_wait_s: float = 60.0,
    record_users: Collection[str] = (),
) -> None:
    """Record that all groups of a batch, and of those before it, are complete; then remove the records of these groups.

    Call this when all parts of the batch are put; call it again if it is not known whether it was done. If the connection is lost
    while a unit of work removes records, these may come back. They agree with the high-water mark, so they do no harm until the
    next batch is completed or an operator purges them.

    Args:
        connection, status_queue: the status queue that all attempts share, and its queue manager.
        sink_name, queue, batch: which batch.
        token: the caller's identity, for the high-water mark.
        query: the streaming query that wrote the batch, if any; the high-water mark says it.
        mark_expires_s: how long to keep the high-water mark, seconds, for a sink that will have no other batch; by default for
            ever.
        owner_wait_s: how long to wait for a group of this batch that is in another program's unit of work, seconds.
        record_users: users whose records are believed besides this program's own.

    Raises:
        BatchRefused: a group of this batch is incomplete: the batch had messages for it once, and has none now.
        OwnerActive: after ``owner_wait_s`` a group is still in another program's unit of work. Nothing was changed.
        StatusError, MQIError: the status queue or a record on it cannot be used, or a call failed; call again.
    """
    sink = Sink(sink_name, queue, connection.q_mgr_identifier)

    def complete() -> None:
        with closing(SharedStatusQueue(connection, status_queue, record_users=record_users)) as shared:
            found = _find(shared, sink_name, queue).get(sink, SinkRecords(sink))
            shared.refuse_strangers(found.records)
            _refuse_hidden(shared, found, batch)
            _refuse_unfinished(found, batch, connection.q_mgr_name)
            if not any(_batch(mark) >= batch for mark in found.marks):
                with connection.unit_of_work(shared):
                    mark = high_water_mark(sink, CompletedBatch(batch, query), token)
                    shared.put(mark, sink.high_water_mark_id, expiry_s=mark_expires_s)
            # Only after the new mark is committed: an attempt that finds no records of its group must find the mark.
            _take(connection, shared, [(mark,) for mark in found.marks if _batch(mark) < batch])
            _take(connection, shared, _done_with(found, batch))

    retrying(Patience(owner_wait_s), OWNER_ACTIVE, connection.sleep)(connection.reopening, complete)


def completed_batch(
    connection: Connection, status_queue: str, sink_name: str, queue: str, record_users: Collection[str] = ()
) -> CompletedBatch | None:
    """Return the last batch of a sink that was completed; ``None`` if none was, or if there is no status queue.

    Raises StatusError, MQIError: the status queue or a record on it cannot be used, or a call failed.
    """
    sink = Sink(sink_name, queue, connection.q_mgr_identifier)

    def look() -> CompletedBatch | None:
        with closing(SharedStatusQueue(connection, status_queue, record_users=record_users)) as shared:
            return shared.completed_batch(sink)

    try:
        return connection.reopening(look)
    except QueueMissing:
        return None


def find_sinks(connection: Connection, status_queue: str, sink_name: str | None = None) -> list[SinkRecords]:
    """Return the records on a shared status queue, of all sinks or of the sinks with one name; raises StatusError, MQIError."""
    with closing(SharedStatusQueue(connection, status_queue)) as shared:
        return list(_find(shared, sink_name).values())


def purge_sink(
    connection: Connection,
    status_queue: str,
    sink_name: str,
    *,
    unfinished_groups: bool = False,
    whole_groups_too: bool = False,
    mark: bool = False,
) -> SinkPurged:
    """Remove the records of a sink whose batches will not be done again.

    Args:
        connection, status_queue, sink_name: the status queue that all attempts share, its queue manager, and whose records.
        unfinished_groups: also remove the messages of incomplete groups from their queue.
        whole_groups_too: also remove the records of whole groups in batches that are not completed. Their messages stay, so the
            same batch would put them again.
        mark: also remove the high-water mark. A batch that is done again is then put again.

    Raises:
        RepairRefused: there are records of whole groups in batches that are not completed, without ``whole_groups_too``.
        StatusError, MQIError: a record cannot be used, or a call failed; records that were removed before stay removed.
    """
    purged = SinkPurged()
    with closing(SharedStatusQueue(connection, status_queue)) as shared:
        sinks = _find(shared, sink_name).values()
        purged.whole = [record for found in sinks for record in _whole(found)]
        if purged.whole and not whole_groups_too:
            raise would_put_again(status_queue, sink_name, purged.whole)
        for found in sinks:
            groups = [group for group in found.by_group.values() if group.status is not None]
            known, before = len(found.by_group), purged.groups
            if unfinished_groups:
                for group in groups:
                    if _is_here(connection, group):
                        taken, messages = _take_with_messages(connection, shared, group)
                        purged.groups += taken
                        purged.messages += messages
                groups = [group for group in groups if not _is_here(connection, group)]
            purged.unfinished += [
                group.status.record for group in groups if group.status and _is_begun(group.status.record)
            ]
            purged.groups += _take(connection, shared, [_pair(group) for group in groups])
            purged.left += known - (purged.groups - before)
            if mark:
                purged.marks += _take(connection, shared, [(each,) for each in found.marks])
    return purged


@dataclass(slots=True)
class SinkPurged:
    """What was removed, and what stays.

    Attributes:
        groups, messages, marks: how many groups' records, messages of unfinished groups and high-water marks were removed.
        left: how many groups' records stay, because another program's unit of work hides or has replaced them.
        whole: records of whole groups that were removed; the messages stay on their queue.
        unfinished: the same of incomplete groups.
    """

    groups: int = 0
    messages: int = 0
    marks: int = 0
    left: int = 0
    whole: list[StatusRecord] = field(default_factory=list)
    unfinished: list[StatusRecord] = field(default_factory=list)


def adopt_records(
    connection: Connection,
    status_queue: str,
    adopt_from: str,
    instance: tuple[str, str] | None = None,
    *,
    check: bool = False,
) -> list[StatusRecord]:
    """Adopt the records of all sinks on a shared status queue that was moved to this queue manager; see ``operate.adopt``.

    If it fails on the way, call it again: records that are adopted already are left as they are.

    Args:
        connection, status_queue: the status queue that all attempts share, and the queue manager that has it now.
        adopt_from: the QMID of the queue manager that it was moved from.
        instance: the name of the queue manager that groups went to, and of the one that has their messages now.
        check: return the records that would be adopted, and change nothing.

    Raises:
        OwnerActive: an attempt has the status queue open.
        StatusQueueUnusable: a record is of a third queue manager, or a group's rest would go to the old one. Nothing was changed.
        StatusError, MQIError: the queue or a record on it cannot be used, or a call failed.
    """
    here = connection.q_mgr_identifier
    move = Move(adopt_from, here, connection.q_mgr_name, instance or ("", ""))
    try:
        shared = SharedStatusQueue(connection, status_queue, exclusive=True)
    except MQIError as error:
        if error.reason not in OWNER_ACTIVE:
            raise
        raise OwnerActive(error.verb, f"status queue {status_queue}", error.comp, error.reason) from None
    with closing(shared):
        changed: list[tuple[FoundRecord, StatusRecord]] = []
        for each in shared.find_all():
            record = adopted(each.record, move)
            if isinstance(record, Mismatch):
                raise foreign_record(status_queue, record)
            if record != each.record:
                changed.append((each, record))
        for start in range(0, 0 if check else len(changed), _IN_A_UNIT_OF_WORK):
            with connection.unit_of_work(shared):
                for before, record in changed[start : start + _IN_A_UNIT_OF_WORK]:
                    shared.replace(before, record)
        return [record for _, record in changed]


def _find(shared: SharedStatusQueue, sink_name: str | None, queue: str | None = None) -> dict[Sink, SinkRecords]:
    found: dict[Sink, SinkRecords] = {}
    for each in shared.find_all():
        record = each.record
        sink = Sink(claim_values(record.checkpoint)["sink"], record.queue, record.q_mgr_identifier)
        if sink_name in (None, sink.name) and queue in (None, sink.queue):
            found.setdefault(sink, SinkRecords(sink)).add(kind_of_record(record), each)
    return found


def _whole(found: SinkRecords) -> list[StatusRecord]:
    """Return the records of whole groups that the sink would put again without them: no high-water mark includes their batch."""
    completed = -1 if found.completed_batch is None else found.completed_batch
    return [
        group.status.record
        for (batch, _), group in sorted(found.by_group.items())
        if batch > completed and group.status is not None and group.status.record.state is RecordState.COMPLETED
    ]


def _refuse_hidden(shared: SharedStatusQueue, found: SinkRecords, batch: int) -> None:
    """Raise OwnerActive if a status record of the batch is hidden: its group may have been interrupted."""
    if any(_batch(mark) >= batch for mark in found.marks):
        return
    for (of, _), group in found.by_group.items():
        if of == batch and group.status is None and group.intent is not None:
            error = shared.in_use("MQGET")
            error.context = (
                f"The status record of group {group.intent.record.name} is hidden by a unit of work, so it is not known whether "
                "the group is complete"
            )
            raise error


def _refuse_unfinished(found: SinkRecords, batch: int, q_mgr_name: str) -> None:
    for (of, _), group in found.by_group.items():
        if of > batch or group.status is None or not _is_begun(group.status.record):
            continue
        record = group.status.record
        if of == batch:
            raise other_messages(record.name, record.group_id, record.msg_seq_number, "the batch has none for it now")
        _log.warning(
            "group %s of an earlier batch is incomplete, with %d messages, and will not be completed any more. "
            "`mqgroups batches purge --remove unfinished-groups` removes them",
            brief(record.name),
            record.msg_seq_number,
            extra=logs.fields(
                q_mgr_name=q_mgr_name,
                role=record.role.value,
                name=record.name,
                queue=record.queue,
                group_id=record.group_id,
                msg_seq_number=record.msg_seq_number,
                unit_of_work=record.unit_of_work,
            ),
        )


def _done_with(found: SinkRecords, batch: int) -> list[tuple[FoundRecord, ...]]:
    return [
        _pair(group)
        for (of, _), group in found.by_group.items()
        if of <= batch and group.status is not None and not _is_begun(group.status.record)
    ]


def _is_begun(record: StatusRecord) -> bool:
    """Whether some messages of the group are committed, but not all."""
    return record.state is RecordState.IN_GROUP


def _pair(group: _Group) -> tuple[FoundRecord, ...]:
    # The status record first: if it is not there, the intent is left too.
    return tuple(each for each in (group.status, group.intent) if each is not None)


def _batch(mark: FoundRecord) -> int:
    return claim_values(mark.record.checkpoint)["batch"]


def _take(connection: Connection, shared: SharedStatusQueue, together: Sequence[tuple[FoundRecord, ...]]) -> int:
    """Remove records, each tuple in one unit of work; returns for how many tuples the first record was there."""
    taken = 0
    for start in range(0, len(together), _IN_A_UNIT_OF_WORK):
        with connection.unit_of_work(shared):
            for first, *others in together[start : start + _IN_A_UNIT_OF_WORK]:
                if shared.take(first):
                    taken += 1
                    for other in others:
                        shared.take(other)
    return taken


def _is_here(connection: Connection, group: _Group) -> bool:
    """Whether messages of an incomplete group are on this queue manager."""
    assert group.status is not None
    record = group.status.record
    return _is_begun(record) and record.resolved_q_mgr_name in ("", connection.q_mgr_name)


def _take_with_messages(connection: Connection, shared: SharedStatusQueue, group: _Group) -> tuple[int, int]:
    """Remove the records of an incomplete group, and its messages; returns how many of both.

    The record goes with the first messages, so an attempt at work is fenced, and cannot complete a group whose beginning is gone.
    If an attempt has replaced the record meanwhile, the group is left to it: nothing is removed.
    """
    assert group.status is not None
    record = group.status.record
    records, number = _pair(group), 0
    with closing(connection.open_queue(record.queue, mq.MQOO_INPUT_SHARED)) as queue:
        more = True
        while more:
            with connection.unit_of_work(shared):
                if records and not shared.take(records[0]):
                    return 0, 0
                for other in records[1:]:
                    shared.take(other)
                records = ()
                for _ in range(_IN_A_UNIT_OF_WORK):
                    more = queue.get(st.md(group_id=record.group_id), _GET_PART) is not None
                    if not more:
                        break
                    number += 1
    return 1, number
