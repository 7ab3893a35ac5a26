"""Completes a batch: puts its high-water mark on a shared status queue, and removes the records of its groups.

``core.claim`` describes the records. Each function can be called again, and by several programs at the same time. Records
that are gone are skipped.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from contextlib import closing
from dataclasses import dataclass

from mqgroups.batch.errors import other_messages, second_write
from mqgroups.batch.shared_queue import FoundRecord, SharedStatusQueue
from mqgroups.connection.connection import Connection
from mqgroups.connection.retry import OWNER_ACTIVE, Patience
from mqgroups.core.claim import CompletedBatch, RecordKind, Sink, claim_values, high_water_mark, kind_of_record
from mqgroups.core.claim import completed_batch as of_mark
from mqgroups.core.restart import Mismatch, Move, adopted
from mqgroups.core.status import RecordState, StatusRecord
from mqgroups.core.to_copy import to_copy
from mqgroups.errors import MQIError, OwnerActive, QueueMissing
from mqgroups.printable import brief
from mqgroups.status.records import foreign_record
from mqgroups.telemetry import logs
from mqgroups.telemetry.place import Place

_log = logging.getLogger("mqgroups.batch")

_IN_A_UNIT_OF_WORK = 100


@dataclass(slots=True)
class _Group:
    """The records of one group on the queue."""

    intent: FoundRecord | None = None
    status: FoundRecord | None = None


class _SinkRecords:
    """All records of one sink: its high-water marks, and the records of its groups by batch and key."""

    def __init__(self) -> None:
        self.marks: list[FoundRecord] = []
        self.by_group: dict[tuple[int, str], _Group] = {}

    @property
    def records(self) -> list[FoundRecord]:
        return [*self.marks, *(each for group in self.by_group.values() for each in _pair(group))]

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
    run: str | None = None,
    within: str | None = None,
    mark_expires_s: int | None = None,
    owner_wait_s: float = 60.0,
    record_users: Collection[str] = (),
) -> None:
    """Put the high-water mark of a batch. This also ends all earlier batches. Then remove the records of all their groups.

    Call this when all parts of the batch are put, and again if it fails without an answer. If the connection is lost while a unit
    of work removes records, these records may come back. They do no harm, and the end of the next batch removes them.

    Earlier batches count as written, so their incomplete groups stay incomplete. The record of such a group is removed, which
    stops a late attempt. A warning names the group, whose messages stay on the queue.

    Args:
        connection, status_queue: the queue manager, and the status queue there that all attempts share.
        sink_name, queue, batch: identify the batch.
        token: the caller's identity, for the high-water mark.
        query, run, within: who wrote the batch; the high-water mark keeps these values (``CompletedBatch``).
        mark_expires_s: how many seconds to keep the high-water mark; by default for ever. If the mark is gone, a repeated batch
            is put twice.
        owner_wait_s: how many seconds to wait for a group of this batch that is in another program's unit of work.
        record_users: users whose records are believed besides this program's own.

    Raises:
        BatchRefused: a group of this batch is incomplete, because the batch once had messages for the group and now has none. Or
            the same run of a query (``within``) has completed another batch with this name and number.
        OwnerActive: after ``owner_wait_s`` a group is still in another program's unit of work. Nothing was changed.
        StatusError, MQIError: the status queue or a record on it cannot be used, or a call failed; call again.
    """
    sink = Sink(sink_name, queue, connection.q_mgr_identifier)
    this = CompletedBatch(batch, query, run, within)

    def complete() -> None:
        with closing(SharedStatusQueue(connection, status_queue, record_users=record_users)) as shared:
            found = _find(shared, sink)
            shared.refuse_strangers(found.records)
            _refuse_hidden(shared, found, batch)
            _refuse_unfinished(found, batch)
            marks = [(of_mark(mark.record.checkpoint), mark) for mark in found.marks]
            if any(this.is_second(seen) for seen, _ in marks):
                raise second_write(sink_name, queue, batch)
            # A repetition in a later run puts a new mark, so that a second batch of this name is refused in that run, too.
            earlier = [mark for seen, mark in marks if seen.number < batch or this.repeats(seen)]
            if len(earlier) == len(marks):
                with connection.unit_of_work(shared):
                    mark = high_water_mark(sink, this, token)
                    shared.put(mark, sink.high_water_mark_id, expiry_s=mark_expires_s)
            # The new mark is committed first, because an attempt that finds no records of its group must find the mark.
            _take(connection, shared, [(mark,) for mark in earlier])
            _take(connection, shared, _done_with(found, batch))

    connection.retrying(Patience(owner_wait_s), OWNER_ACTIVE)(connection.reopening, complete)


def completed_batch(
    connection: Connection, status_queue: str, sink_name: str, queue: str, record_users: Collection[str] = ()
) -> CompletedBatch | None:
    """Return the last completed batch of a sink; ``None`` if there is no such batch, or no status queue.

    Raises StatusError or MQIError if the status queue or a record on it cannot be used, or if a call failed.
    """
    sink = Sink(sink_name, queue, connection.q_mgr_identifier)

    def look() -> CompletedBatch | None:
        with closing(SharedStatusQueue(connection, status_queue, record_users=record_users)) as shared:
            return shared.completed_batch(sink)

    try:
        return connection.reopening(look)
    except QueueMissing:
        return None


def adopt_records(
    connection: Connection,
    status_queue: str,
    adopt_from: str,
    instance: tuple[str, str] | None = None,
    *,
    check: bool = False,
) -> list[StatusRecord]:
    """Adopt the records of all sinks on a shared status queue that was moved to this queue manager; see ``operate.adopt``.

    If this function fails, call it again. It leaves adopted records as they are.

    Args:
        connection, status_queue: the queue manager that has the status queue now, and that queue.
        adopt_from: the QMID of the queue manager that had the status queue before.
        instance: the name of the queue manager that groups went to, and the name of the one that has their messages now.
        check: whether only to return the records that would be adopted, and change nothing.

    Raises:
        OwnerActive: an attempt has the status queue open.
        StatusQueueUnusable: a record names a third queue manager, or a group's rest would go to ``adopt_from``. Nothing changed.
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


def _find(shared: SharedStatusQueue, sink: Sink) -> _SinkRecords:
    found = _SinkRecords()
    for each in shared.find_all():
        record = each.record
        if Sink(claim_values(record.checkpoint)["sink"], record.queue, record.q_mgr_identifier) == sink:
            found.add(kind_of_record(record), each)
    return found


def _refuse_hidden(shared: SharedStatusQueue, found: _SinkRecords, batch: int) -> None:
    """Raise OwnerActive if a status record of the batch is hidden, because the record's group may be incomplete."""
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


def _refuse_unfinished(found: _SinkRecords, batch: int) -> None:
    for (of, _), group in found.by_group.items():
        if of == batch and group.status is not None and _is_begun(group.status.record):
            record = group.status.record
            raise other_messages(record.name, record.group_id, record.msg_seq_number, "the batch has none for it now")


def _done_with(found: _SinkRecords, batch: int) -> list[tuple[FoundRecord, ...]]:
    # If a group's status record is not visible, an attempt may be working on the group.
    return [_pair(group) for (of, _), group in found.by_group.items() if of <= batch and group.status is not None]


def _is_begun(record: StatusRecord) -> bool:
    """Return whether some messages of the group are committed, but not all."""
    return record.state is RecordState.IN_GROUP


def _pair(group: _Group) -> tuple[FoundRecord, ...]:
    # The status record is first. If it is gone, the intent stays too.
    return tuple(each for each in (group.status, group.intent) if each is not None)


def _batch(mark: FoundRecord) -> int:
    return claim_values(mark.record.checkpoint)["batch"]


def _take(connection: Connection, shared: SharedStatusQueue, together: Sequence[tuple[FoundRecord, ...]]) -> None:
    """Remove records. The records of a tuple go in the same unit of work. Skip a tuple if its first record is gone."""
    for start in range(0, len(together), _IN_A_UNIT_OF_WORK):
        with connection.unit_of_work(shared):
            for first, *others in together[start : start + _IN_A_UNIT_OF_WORK]:
                if shared.take(first):
                    if _is_begun(first.record):
                        # The warning comes only now, because an attempt may have completed the group since the browse.
                        _warn_of_incomplete(first.record, connection.place)
                    for other in others:
                        shared.take(other)


def _warn_of_incomplete(record: StatusRecord, place: Place) -> None:
    _log.warning(
        "group %s of an earlier batch is incomplete, with %d messages, and will not be completed any more. "
        "`%s` moves them away",
        brief(record.name),
        record.msg_seq_number,
        to_copy(f"mqgroups salvage move --queue {{}} --group {record.group_id.hex()}", record.queue),
        extra=logs.fields(
            place,
            role=record.role.value,
            name=record.name,
            queue=record.queue,
            group_id=record.group_id,
            msg_seq_number=record.msg_seq_number,
            unit_of_work=record.unit_of_work,
        ),
    )
