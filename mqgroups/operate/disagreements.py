"""Interrupted owners whose status records do not fit the messages of their groups on the queue.

A record and its group's messages are committed together, so they disagree only if somebody has cleared, deleted or restored one
of their queues, or if messages have expired.

This decides on what was seen. Browse the queue first and the owners second, and believe only what a second look finds again: a
program that works or ends in between disagrees with the first one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from mqgroups.core.findings import Finding, Severity
from mqgroups.core.inspection import GroupInspection
from mqgroups.core.model import Role
from mqgroups.core.owner_state import OwnerCondition
from mqgroups.core.status import StatusRecord
from mqgroups.operate.owners import SeenOwner, owners_of_groups


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
    for each in seen:
        record = each.record
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
            f"{owner.command(' --check')}\nif nobody puts the rest: CLEAR QLOCAL('{owner.status_queue}'), with its checkpoint",
        )
    again = found.first.msg_seq_number
    if again > record.msg_seq_number:
        return None
    return Finding(
        f"consumer {owner.name}",
        Severity.ERROR,
        f"it has got group {group} up to message {record.msg_seq_number}, and the queue has message {again} again",
        "the messages are older than the record, as from a backup, or were put twice: they would be got again",
        f"{owner.command(' --check')}\nmqgroups salvage move --group {group} --queue {record.queue}",
    )


def _of_producer(owner: SeenOwner, record: StatusRecord, found: GroupInspection | None) -> Finding | None:
    # Segments of the next message may be committed too. A shared queue has records of its own kind (``batches``).
    if owner.is_shared or found is None or found.last_msg_seq_number <= record.msg_seq_number + (record.offset > 0):
        return None
    return Finding(
        f"producer {owner.name}",
        Severity.ERROR,
        f"its record has group {record.group_id.hex()} up to message {record.msg_seq_number}, and the queue has message "
        f"{found.last_msg_seq_number}",
        "the record is older than the messages, as from a backup: its start would put messages twice",
        f"{owner.command(' --check')}\nCLEAR QLOCAL('{owner.status_queue}'), then\n"
        f"mqgroups salvage rebuild --name {owner.name} --role put --queue {record.queue}",
    )
