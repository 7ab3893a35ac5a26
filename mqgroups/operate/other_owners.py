"""Checks that no other owner has a group, before its status record is rebuilt: two owners would put or get the group twice.

A group has at most one owner of each role. The owner's record names the group, on a status queue of its own or on a shared one.
The MQI cannot list queues, and messages on the data queue do not name their owner. There are three ways to find status queues:

    the command server lists those with the usual names (MQGROUPS.PUT.*, MQGROUPS.SHARED.*; MQGROUPS.GET.* for consumers)
    the operator names those with other names, or all of them if the command server does not answer
    the operator states that the group has no other owner (``accept="other-owners"``); then only the known queues are browsed

A record is never overruled: if it names the group, the rebuild is refused. If a unit of work hides a record, this waits for it,
because the record may name the group. If the record is lost, that is a doubt: else two owners whose records are lost would
wait for each other. Other queue managers are not asked, because a group and its records are on the same one.

Considered: marking each message with its owner. Then every consumer would have to read the mark, and a takeover could not change
it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from mqgroups.connection.connection import Connection
from mqgroups.core.claim import RecordKind, claim_values, kind_of_record
from mqgroups.core.model import MsgFlag, Role
from mqgroups.core.status import RecordState, StatusRecord
from mqgroups.core.status_chain import FoundMessage
from mqgroups.errors import CommandRefused, MQIError, NotAuthorised, OwnerActive, QueueMissing, RepairRefused
from mqgroups.mqi import constants as mq
from mqgroups.operate.command_server import queue_names, uncommitted
from mqgroups.operate.rules.salvage import Obstacle, doubt
from mqgroups.operate.status_queues import StatusQueueLook, look_at

_PATTERNS = {Role.PUT: ("MQGROUPS.PUT.*", "MQGROUPS.SHARED.*"), Role.GET: ("MQGROUPS.GET.*",)}
_UNREADABLE = frozenset({mq.MQRC_NOT_AUTHORIZED, mq.MQRC_OBJECT_IN_USE})


def check_not_owned(
    connection: Connection,
    role: Role,
    group_id: bytes,
    *,
    own: str,
    named: Collection[str],
    accepted: Collection[Obstacle],
) -> None:
    """Check that no other owner's record names a group, and that no hidden record might.

    Args:
        connection: to the queue manager that has the group.
        role: of the owner whose record is rebuilt.
        group_id: 24 bytes.
        own: that owner's status queue, which is not browsed.
        named: other status queues that the operator named; if the command server cannot be asked, all that exist.
        accepted: contains ``Obstacle.OTHER_OWNERS`` if the operator knows that no queue with an unreadable or lost record has an
            owner of the group.

    Raises:
        RepairRefused: a record names the group.
        OwnerActive: a record is hidden by a unit of work; try again.
        CannotSalvage: not all status queues can be found or read.
        QueueMissing: a status queue that the operator named does not exist.
        MQIError: a call failed.
    """
    listed = _listed(connection, role, own, named, accepted)
    for name in sorted({*listed, *named} - {own}):
        try:
            seen = look_at(connection, name)
        except QueueMissing:
            if name in named:
                raise
            continue
        except MQIError as error:
            # 2042 too: a queue manager may refuse to open a queue for browsing while its owner has it open.
            if error.reason not in _UNREADABLE:
                raise
            doubt(Obstacle.OTHER_OWNERS, accepted, f"that status queue {name} cannot be read ({error})", "its records")
            continue
        for each in seen.messages:
            if each.record.role is role and each.record.group_id == group_id:
                raise _owned(each.record, name)
        if seen.unreadable:
            found = f"that status queue {name} cannot be read ({seen.why_unreadable})"
            doubt(Obstacle.OTHER_OWNERS, accepted, found, "its records")
            continue
        if _hides(seen.messages):
            if _is_lost(connection, seen):
                doubt(Obstacle.OTHER_OWNERS, accepted, f"that the record on status queue {name} is lost", "its record")
                continue
            active = OwnerActive("MQGET", f"status queue {name}", mq.MQCC_FAILED, mq.MQRC_OBJECT_IN_USE)
            active.context = f"A unit of work hides its record, which may name group {group_id.hex()}"
            raise active


def _owned(record: StatusRecord, status_queue: str) -> RepairRefused:
    owner = record.name
    found = f"a record of {owner} ({record.state.value}) for group {record.group_id.hex()}"
    return RepairRefused(
        f"status queue {status_queue}: found {found}, expected no other owner. A second owner would put or get the group's "
        f"messages twice. Start {owner} to resume the group; or, if it will not come back, give the group to another name: "
        f"`mqgroups recover --takeover {owner}`. Nothing was changed",
        status_queue=status_queue,
        because="owned",
        owner=owner,
        found=found,
        expected="no other owner",
    )


def _is_lost(connection: Connection, seen: StatusQueueLook) -> bool:
    """Return whether a record that seems to be hidden is lost: nobody works there, and no unit of work hides a message."""
    try:
        queue = connection.open_queue(seen.name, mq.MQOO_INQUIRE)
        try:
            if int(queue.inquire(mq.MQIA_OPEN_INPUT_COUNT)):
                return False
        finally:
            queue.close()
        # After that the record may have come back.
        return not uncommitted(connection, seen.name) and look_at(connection, seen.name).messages == seen.messages
    except (CommandRefused, NotAuthorised):
        return False


def _listed(
    connection: Connection, role: Role, own: str, named: Collection[str], accepted: Collection[Obstacle]
) -> Collection[str]:
    try:
        names = {name for pattern in _PATTERNS[role] for name in queue_names(connection, pattern)}
    except CommandRefused as error:
        if not named:
            found = f"that the command server does not list the status queues ({error})"
            doubt(Obstacle.OTHER_OWNERS, accepted, found, "the list, or the names from the operator")
        return ()
    if own not in names and any(own.startswith(pattern.removesuffix("*")) for pattern in _PATTERNS[role]):
        # The command server leaves out queues that the user may not display. This one exists, because it is open.
        found = f"a list of status queues without {own}, so it lacks the queues that this user may not display"
        doubt(Obstacle.OTHER_OWNERS, accepted, found, "a complete list")
    return names


def _hides(seen: Iterable[FoundMessage]) -> bool:
    """Return whether a status queue has hidden records: an anchor, or on a shared queue an intent, lacks its record."""
    anchors, chains = 0, set()
    intents, statuses = set(), set()
    for each in seen:
        kind = kind_of_record(each.record)
        if kind is RecordKind.INTENT:
            intents.add(_group(each.record))
        elif kind is RecordKind.STATUS:
            statuses.add(_group(each.record))
        elif kind is None and each.record.state is RecordState.ANCHOR:
            anchors += 1
        elif kind is None:
            # The segments of a chain have the same GroupId.
            chains.add(each.group_id if each.msg_flags & MsgFlag.SEGMENT else each.msg_id)
    return len(chains) < anchors or bool(intents - statuses)


def _group(record: StatusRecord) -> tuple[str, int, str]:
    found = claim_values(record.checkpoint)
    return found["sink"], found["batch"], found["key"]
