"""Interrupted owners whose status records do not fit the messages of their groups, or the other record of their pipe.

A record and its group's messages are committed together, and so are the two records of a pipe. They disagree only if somebody has
cleared, deleted or restored one of their queues, or if messages have expired or are on their way back through a channel.

This decides on what was seen. Browse the queue first and the owners second, and believe only what a second look finds again: a
program that works or ends in between disagrees with the first one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from mqgroups.core.model import Role
from mqgroups.core.status import Outgoing, RecordState, StatusRecord
from mqgroups.operate.owners import SeenOwner, owners_of_groups
from mqgroups.operate.rules.findings import Finding, Severity
from mqgroups.operate.rules.inspection import GroupInspection, Place
from mqgroups.operate.rules.owner_state import OwnerCondition

_AT_WORK = (OwnerCondition.ACTIVE, OwnerCondition.HIDDEN)


def disagreements(
    queue: str, seen: Collection[SeenOwner], groups: Mapping[bytes, GroupInspection]
) -> Iterator[tuple[SeenOwner, Finding]]:
    """Yield the owners that disagree with the queue, and what to do.

    Args:
        queue: its name, as the owners have it.
        seen: all owners.
        groups: the groups on the queue that have an owner, by GroupId.
    """
    owners = owners_of_groups(seen)
    producers = {each.name: each for each in seen if each.role == "put" and not each.is_shared}
    for each in seen:
        record = each.record
        if record is not None and (finding := _of_pipe(queue, each, record, producers.get(each.name))) is not None:
            yield each, finding
        if each.condition is not OwnerCondition.INTERRUPTED or record is None or record.queue != queue:
            continue
        found = groups.get(record.group_id)
        if record.role is Role.GET:
            is_alone = len(owners.get(record.group_id, ())) == 1
            finding = _of_consumer(each, record, found, is_alone=is_alone)
        else:
            finding = _of_producer(each, record, found)
        if finding is not None:
            yield each, finding


def _of_consumer(
    owner: SeenOwner, record: StatusRecord, found: GroupInspection | None, *, is_alone: bool
) -> Finding | None:
    group = record.group_id.hex()
    if found is None:
        if not is_alone:
            return None
        return Finding(
            f"consumer {owner.name}",
            Severity.WARNING,
            f"it has begun group {group}, and no message of it is on the queue",
            "its start waits for the rest: until that is put; or, if the rest expired or was removed, for ever",
            f"{owner.command()}\n"
            "if its producer's record is lost, a start puts the whole group again: undo first what the consumer did with it\n"
            "if nobody puts the rest: start it with stalled='quarantine', which ends the group",
        )
    again = found.first.msg_seq_number
    if found.first > Place(record.msg_seq_number + 1, record.offset):
        return Finding(
            f"consumer {owner.name}",
            Severity.WARNING,
            f"it has got group {group} up to message {record.msg_seq_number}, and the next one on the queue is message {again}",
            "messages in between are missing, so its start stops with GroupStalled; or a unit of work hides them: look again",
            "wait for a channel, or bring dead letters back. If the missing messages are nowhere: start it with "
            "stalled='quarantine', which moves the rest of the group; or\n"
            f"mqgroups salvage move --group {group} --queue {record.queue} --to QUEUE",
        )
    if again > record.msg_seq_number:
        return None
    return Finding(
        f"consumer {owner.name}",
        Severity.ERROR,
        f"it has got group {group} up to message {record.msg_seq_number}, and the queue has message {again} again",
        "the messages are older than the record, as from a backup, or were put twice: they would be got again",
        f"{owner.command()}\nmqgroups salvage move --group {group} --queue {record.queue} --to QUEUE",
    )


def _of_producer(owner: SeenOwner, record: StatusRecord, found: GroupInspection | None) -> Finding | None:
    # A shared queue has records of its own kind (``batches``).
    if owner.is_shared or found is None:
        return None
    # Segments of the next message may be committed too.
    expected, last = record.msg_seq_number + (record.offset > 0), found.last_msg_seq_number
    group = record.group_id.hex()
    if last == expected:
        return None
    older = "the record is older than the messages, as from a backup: its start would put messages twice"
    newer = "the last messages are gone, as after a restore: its start would leave a gap. Are they dead letters?"
    return Finding(
        f"producer {owner.name}",
        Severity.ERROR,
        f"its record has group {group} up to message {record.msg_seq_number}, and the queue up to {last}",
        older if last > expected else newer,
        f"{owner.command()}\nbefore it is started, CLEAR QLOCAL('{owner.status_queue}'), then with its checkpoint\n"
        f"mqgroups salvage rebuild --name {owner.name} --role put --queue {record.queue} --group {group} --apply",
    )


def _of_pipe(queue: str, owner: SeenOwner, record: StatusRecord, producer: SeenOwner | None) -> Finding | None:
    """Return the finding on the records of a pipe; ``owner`` may be its consumer, and ``producer`` its producer."""
    if record.outgoing is None or owner.condition in _AT_WORK or (producer and producer.condition in _AT_WORK):
        return None
    outgoing = producer.record if producer else None
    if queue not in (record.queue, outgoing.queue if outgoing else ""):
        return None
    found = Outgoing()
    if outgoing is not None and outgoing.state is RecordState.IN_GROUP:
        found = Outgoing(outgoing.group_id, outgoing.msg_seq_number)
    if found == record.outgoing:
        return None
    return Finding(
        f"pipe {owner.name}",
        Severity.ERROR,
        "its two status records are from different commits, or one is lost",
        "its start is refused",
        f"mqgroups check {owner.name}",
    )
