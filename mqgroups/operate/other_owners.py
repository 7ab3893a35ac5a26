"""Checks that no other owner has a group, before its status record is rebuilt: two owners would put or get the group twice.

A group has at most one owner of each role. The owner's record names the group, on a status queue of its own or on a shared one.
The MQI cannot list queues, and messages on the data queue do not name their owner. There are three ways to find status queues:

    the command server lists those with the usual names (MQGROUPS.PUT.*, MQGROUPS.SHARED.*; MQGROUPS.GET.* for consumers)
    the operator names those with other names, or all of them if the command server does not answer
    the operator states that the group has no other owner (``accept="other-owners"``); then only the known queues are browsed

A record is never overruled: if it names the group, the rebuild is refused. If a unit of work hides a record, this waits for it,
because the record may name the group; also if this user may not see whether it is lost instead. If the record is lost, that is a
doubt: else two owners whose records are lost would wait for each other. Other queue managers are not asked, because a group and
its records are on the same one.

Considered: marking each message with its owner. Then every consumer would have to read the mark.
"""

from __future__ import annotations

from collections.abc import Collection

from mqgroups.connection.connection import Connection
from mqgroups.core.model import Role
from mqgroups.core.status import StatusRecord
from mqgroups.errors import RepairRefused
from mqgroups.operate.owners import USUAL, seen_owners
from mqgroups.operate.refusal import record_hidden, refusal
from mqgroups.operate.rules.owner_state import AT_WORK, OwnerState
from mqgroups.operate.rules.salvage import Obstacle, doubt


def check_not_owned(
    connection: Connection,
    role: Role,
    group_id: bytes,
    *,
    own: str,
    queue: str,
    named: Collection[str],
    accepted: Collection[Obstacle],
) -> None:
    """Check that no other owner's record names a group, and that no hidden record might.

    Args:
        role, own, queue: of the owner whose record is rebuilt; ``own``: its status queue.
        named: other status queues that the operator named; if the command server cannot be asked, all that exist.
        accepted: contains ``Obstacle.OTHER_OWNERS`` if the operator knows that no queue with an unreadable or lost record has an
            owner of the group.

    Raises:
        RepairRefused: a record names the group.
        OwnerActive: a record is hidden by a unit of work; try again.
        CannotSalvage: not all status queues can be found or read.
        MQIError: a call failed.
    """
    seen = seen_owners(connection, status_queues=named)

    def unknown(found: str, expected: str, *, unasked: bool = True) -> None:
        doubt(Obstacle.OTHER_OWNERS, accepted, f"that {found}", expected, unasked=unasked)

    if not seen.is_listed and not named:
        unknown(seen.unseen[0], "the list, or the names from the operator")
    if seen.is_listed and own.startswith(USUAL) and all(each.status_queue != own for each in seen.owners):
        # The command server leaves out queues that the user may not display. This one exists, because it is open.
        unknown(f"the list of status queues lacks {own}, so it lacks those that this user may not display", "all")
    for each in seen.owners:
        name, record = each.status_queue, each.record
        if name == own or each.role not in (None, role.value):
            continue
        if record is not None:
            if record.group_id == group_id:
                raise _owned(record, name)
        elif each.state in AT_WORK:
            raise record_hidden(name, group_id, each.problem)
        elif each.may_have_a_group(role.value, queue):
            unread = f"status queue {name} cannot be read ({each.problem or each.state.value})"
            found = f"the record on status queue {name} is lost" if each.state is OwnerState.LOST else unread
            unknown(found, "its record", unasked=each.state is OwnerState.UNSEEN)


def _owned(record: StatusRecord, status_queue: str) -> RepairRefused:
    owner = record.name
    found = f"a record of {owner} ({record.state.value}) for group {record.group_id.hex()}"
    remedy = f"A second owner would put or get the group's messages twice. Start {owner}, on any machine: it resumes the group"
    return refusal("owned", f"status queue {status_queue}", found, "no other owner", remedy, status_queue, owner=owner)
