"""What becomes of a batch's records on a shared status queue: they go when the batch is completed, or an operator purges them.

See ``core.claim`` for what is there. All of this can be done again, and at the same time by several: whoever comes too late
finds less to do.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field

from mqgroups.batch.shared_queue import FoundRecord, SharedStatusQueue
from mqgroups.config import CLAIM_MODEL
from mqgroups.connection.connection import Connection
from mqgroups.connection.retry import OWNER_ACTIVE, Patience, retrying
from mqgroups.core.claim import RecordKind, Sink, claim_values, high_water_mark, kind_of_record
from mqgroups.core.status import RecordState, StatusRecord
from mqgroups.errors import InputChanged
from mqgroups.mqi import constants as mq
from mqgroups.mqi import structures as st
from mqgroups.telemetry import logs

_log = logging.getLogger("mqgroups.batch")

_IN_A_UNIT_OF_WORK = 100
_GET_PART = st.gmo(
    mq.MQGMO_SYNCPOINT | mq.MQGMO_NO_WAIT | mq.MQGMO_FAIL_IF_QUIESCING, match_options=mq.MQMO_MATCH_GROUP_ID
)


@dataclass(slots=True)
class SinkRecords:
    """The records of one sink.

    Attributes:
        sink: whose.
        completed_batch: the last batch that was completed; ``None`` if none was.
        groups: the status records of groups in batches that were not, or are being, completed; by batch and key.
        hidden: names of groups whose status record is in somebody's unit of work.
    """

    sink: Sink
    completed_batch: int | None = None
    groups: list[StatusRecord] = field(default_factory=list)
    hidden: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Group:
    """The records of one group, as they lie."""

    intent: FoundRecord | None = None
    status: FoundRecord | None = None


class _Found:
    """All that lies on a shared status queue of one sink."""

    def __init__(self, sink: Sink) -> None:
        self.sink = sink
        self.marks: list[FoundRecord] = []
        self.groups: dict[tuple[int, str], _Group] = {}

    def add(self, kind: RecordKind | None, found: FoundRecord) -> None:
        if kind is RecordKind.HIGH_WATER_MARK:
            self.marks.append(found)
            return
        claim = claim_values(found.record.checkpoint)
        group = self.groups.setdefault((claim["batch"], claim["key"]), _Group())
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
    mark_expires_s: int | None = None,
    claim_wait_s: float = 60.0,
) -> None:
    """Say that all groups of a batch, and of those before it, are whole; then take away the records that say so of each.

    To be called when all parts of the batch are put; again, if it is not known whether that was done. Records that the unit of
    work of a lost connection was taking away may come back after that. They say what the high-water mark says, so they do no harm
    until the next batch is completed, or an operator purges them.

    Args:
        connection: to the queue manager that has the status queue.
        status_queue: shared by all attempts.
        sink_name, queue, batch: which batch.
        token: who says so.
        mark_expires_s: how long to remember it, seconds, for a sink that will have no other batch; by default for ever.
        claim_wait_s: how long to wait for a group of this batch that somebody has in a unit of work, seconds.

    Raises:
        InputChanged: a group of this batch is not whole: the batch had messages for it once, and has none now.
        OwnerActive: somebody has one in a unit of work, and still had after ``claim_wait_s``. Nothing was changed.
        StatusError: the status queue, or what is on it, cannot be used.
        MQIError: a call failed; to be called again.
    """
    sink = Sink(sink_name, queue, connection.q_mgr_identifier)

    def complete() -> None:
        shared = SharedStatusQueue(connection, status_queue, "", CLAIM_MODEL)
        try:
            found = _find(shared, sink_name, queue).get(sink, _Found(sink))
            _refuse_hidden(shared, found, batch)
            _refuse_unfinished(found, batch, connection.q_mgr_name)
            if not any(_batch(mark) >= batch for mark in found.marks):
                with connection.unit_of_work(shared):
                    shared.put(high_water_mark(sink, batch, token), sink.high_water_mark_id, expiry_s=mark_expires_s)
            # Behind that: an attempt that finds no records of its group has to find the mark.
            _take(connection, shared, [(mark,) for mark in found.marks if _batch(mark) < batch])
            _take(connection, shared, _done_with(found, batch))
        finally:
            shared.close()

    retrying(Patience(claim_wait_s), OWNER_ACTIVE, connection.sleep)(connection.reopening, complete)


def find_sinks(connection: Connection, status_queue: str, sink_name: str | None = None) -> list[SinkRecords]:
    """Return what lies on a shared status queue, of all sinks or of those of one name.

    Raises:
        StatusError: the queue, or what is on it, cannot be used.
        MQIError: a call failed.
    """
    shared = SharedStatusQueue(connection, status_queue, "", CLAIM_MODEL)
    try:
        return [_records(found) for found in _find(shared, sink_name).values()]
    finally:
        shared.close()


def purge_sink(
    connection: Connection, status_queue: str, sink_name: str, *, unfinished_groups: bool = False, mark: bool = False
) -> SinkPurged:
    """Take away the records of a sink whose batches will not be done again.

    Args:
        connection: to the queue manager that has the status queue.
        status_queue: shared by all attempts.
        sink_name: whose.
        unfinished_groups: also get the messages of groups that are not whole from their queue.
        mark: also forget which batch was completed last: a batch that comes again is put again.

    Raises:
        StatusError: the queue, or what is on it, cannot be used.
        MQIError: a call failed; what was purged before is.
    """
    shared = SharedStatusQueue(connection, status_queue, "", CLAIM_MODEL)
    purged = SinkPurged()
    try:
        for found in _find(shared, sink_name).values():
            groups = [group for group in found.groups.values() if group.status is not None]
            if unfinished_groups:
                for group in groups:
                    purged.messages += _get_messages(connection, shared, group)
            purged.groups += _take(connection, shared, [_pair(group) for group in groups])
            if mark:
                purged.marks += _take(connection, shared, [(each,) for each in found.marks])
    finally:
        shared.close()
    return purged


@dataclass(slots=True)
class SinkPurged:
    """How many groups' records, messages of unfinished groups and high-water marks were taken away."""

    groups: int = 0
    messages: int = 0
    marks: int = 0


def _find(shared: SharedStatusQueue, sink_name: str | None, queue: str | None = None) -> dict[Sink, _Found]:
    found: dict[Sink, _Found] = {}
    for each in shared.find_all():
        record = each.record
        sink = Sink(claim_values(record.checkpoint)["sink"], record.queue, record.q_mgr_identifier)
        if sink_name in (None, sink.name) and queue in (None, sink.queue):
            found.setdefault(sink, _Found(sink)).add(kind_of_record(record), each)
    return found


def _records(found: _Found) -> SinkRecords:
    groups = [group.status.record for _, group in sorted(found.groups.items()) if group.status]
    hidden = [group.intent.record.name for group in found.groups.values() if group.intent and not group.status]
    completed = max(map(_batch, found.marks), default=None)
    return SinkRecords(found.sink, completed, groups, hidden)


def _refuse_hidden(shared: SharedStatusQueue, found: _Found, batch: int) -> None:
    """Refuse to conclude from a status record that cannot be seen: its group may have been interrupted."""
    if any(_batch(mark) >= batch for mark in found.marks):
        return
    for (of, _), group in found.groups.items():
        if of == batch and group.status is None and group.intent is not None:
            error = shared.in_use("MQGET")
            error.context = (
                f"Group {group.intent.record.name} is in somebody's unit of work, so nobody knows whether it is whole"
            )
            raise error


def _refuse_unfinished(found: _Found, batch: int, q_mgr_name: str) -> None:
    for (of, _), group in found.groups.items():
        if of > batch or group.status is None or not _is_begun(group.status.record):
            continue
        record = group.status.record
        if of == batch:
            raise InputChanged(record.name, record.group_id, record.msg_seq_number, "the batch has none for it now")
        _log.warning(
            "group %s, of an earlier batch, has %d messages and is not whole, and that batch will not be done again: "
            "mqgroups batches purge --unfinished-groups",
            record.name,
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


def _done_with(found: _Found, batch: int) -> list[tuple[FoundRecord, ...]]:
    return [
        _pair(group)
        for (of, _), group in found.groups.items()
        if of <= batch and group.status is not None and not _is_begun(group.status.record)
    ]


def _is_begun(record: StatusRecord) -> bool:
    """Whether messages of the group are committed, but not all."""
    return record.state is RecordState.IN_GROUP


def _pair(group: _Group) -> tuple[FoundRecord, ...]:
    # The status record first: who does not get it leaves the intent, too.
    return tuple(each for each in (group.status, group.intent) if each is not None)


def _batch(mark: FoundRecord) -> int:
    return claim_values(mark.record.checkpoint)["batch"]


def _take(connection: Connection, shared: SharedStatusQueue, together: Sequence[tuple[FoundRecord, ...]]) -> int:
    """Take records away, those that belong together in one unit of work; returns of how many the first was there."""
    taken = 0
    for start in range(0, len(together), _IN_A_UNIT_OF_WORK):
        with connection.unit_of_work(shared):
            for first, *others in together[start : start + _IN_A_UNIT_OF_WORK]:
                if shared.take(first):
                    taken += 1
                    for other in others:
                        shared.take(other)
    return taken


def _get_messages(connection: Connection, shared: SharedStatusQueue, group: _Group) -> int:
    """Get the messages of a group that is not whole, if it is on a queue of this queue manager."""
    assert group.status is not None
    record = group.status.record
    if not _is_begun(record) or record.resolved_q_mgr_name not in ("", connection.q_mgr_name):
        return 0
    queue = connection.open_queue(record.queue, mq.MQOO_INPUT_SHARED)
    number = 0
    try:
        more = True
        while more:
            with connection.unit_of_work(shared):
                for _ in range(_IN_A_UNIT_OF_WORK):
                    more = queue.get(st.md(group_id=record.group_id), _GET_PART) is not None
                    if not more:
                        break
                    number += 1
    finally:
        queue.close()
    return number
