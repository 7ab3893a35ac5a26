"""What can be done for an owner whose status record is lost, judged by what lies on its queue.

A producer puts in order, so the last message of its group that is there says where it stands. A consumer gets in order, so
the first message that is left says where it stands, if the group has lost its beginning. Both hold only of a group of which
nothing is missing in between, that has no other owner, and of a queue on which nobody else is at work; what cannot be known is
refused. An operator may override some of these checks (``DOUBTS``).

    role    the group that was interrupted     where its owner goes on       beyond doubt
    put     has not its last message           behind the last that is there if its beginning is there, nobody has it open for
                                                                             output, and no unit of work hides a message
    get     has not its first message          at the first that is there    if nobody has it open for input, and no unit of
                                                                             work hides a message

Whether units of work hide messages the MQI does not tell: got and not committed, they are neither browsed nor counted. Nor does
it tell whether the owner's own unit of work is backed out already; that its status queue can be opened does not prove it. The
command server's UncommittedMsgs does (``QueueInspection.uncommitted``); without it, it is a doubt.
"""

from __future__ import annotations

from collections.abc import Collection
from enum import Enum
from typing import get_args

from mqgroups.core.group import GroupPosition
from mqgroups.core.inspection import GroupInspection, Place, QueueInspection
from mqgroups.core.model import Role
from mqgroups.core.modes import Accept

# A queue manager makes identifiers of a product's name (4 bytes), 12 characters of its own name, and a clock (IBM MQ, MQMD,
# MsgId; for GroupId: read, not tried).
_PRODUCTS = (b"AMQ ", b"CSQ ")
_Q_MGR_NAME = slice(4, 16)


class Obstacle(Enum):
    """Why a record is not rebuilt, or a group not moved."""

    RECORD_THERE = "record-there"
    NOTHING_INTERRUPTED = "nothing-interrupted"
    GROUP_MISSING = "group-missing"
    SEVERAL_GROUPS = "several-groups"
    GROUP_COMPLETE = "group-complete"
    NOT_BEGUN = "not-begun"
    DISARRAY = "disarray"
    GAP = "gap"
    OTHER_Q_MGR = "other-q-mgr"
    BEING_CONSUMED = "being-consumed"
    BEGUN = "begun"
    IN_USE = "in-use"
    OTHER_OWNERS = "other-owners"


# What may be so all the same, and does no harm then.
DOUBTS = frozenset(map(Obstacle, get_args(Accept)))


class CannotSalvage(ValueError):
    """What was found does not say where an owner stands."""

    def __init__(self, because: Obstacle, found: str, expected: str) -> None:
        super().__init__(f"found {found}, expected {expected}")
        self.because = because
        self.found = found
        self.expected = expected


def interrupted(role: Role, groups: Collection[GroupInspection]) -> list[GroupInspection]:
    """Return the groups that an owner of this role may have been interrupted in."""
    if role is Role.PUT:
        return [group for group in groups if not group.has_end]
    return [group for group in groups if not group.has_head]


def interrupted_at(
    role: Role,
    seen: QueueInspection,
    *,
    q_mgr_name: str,
    group_id: bytes | None,
    accepted: Collection[Obstacle] = (),
) -> tuple[GroupInspection, GroupPosition] | None:
    """Say in which group an owner was interrupted, and what is committed of it.

    Args:
        role: the owner's.
        seen: what lies on its queue.
        q_mgr_name: the queue manager it is connected to.
        group_id: which group, where there are several.
        accepted: of ``DOUBTS``. With ``NOTHING_INTERRUPTED`` the answer may be ``None``.

    Raises:
        CannotSalvage: it cannot be known.
    """
    if group_id is None:
        candidates = interrupted(role, seen.groups)
        if not candidates:
            doubt(Obstacle.NOTHING_INTERRUPTED, accepted, f"{len(seen.groups)} groups, none interrupted", "one that is")
            return None
        if len(candidates) > 1:
            found = "groups " + ", ".join(group.group_id.hex() for group in candidates)
            raise CannotSalvage(Obstacle.SEVERAL_GROUPS, found, "one, or to be told which")
        group = candidates[0]
    else:
        group = the_group(seen, group_id)
        if role is Role.PUT and group.has_end:
            raise CannotSalvage(
                Obstacle.GROUP_COMPLETE, f"its last message, number {group.last}", "a group without one"
            )
        if role is Role.GET and group.has_head:
            raise CannotSalvage(Obstacle.NOT_BEGUN, "its first message", "a group that has lost it")
    _check_whole(group)
    if role is Role.GET:
        _check_unused(accepted, seen.hidden, open_input=seen.open_input)
        return group, _position(group, group.first)
    _check_made_here(group, q_mgr_name)
    if not group.has_head:
        if seen.uncommitted:
            # The last ones may be in the unit of work of who has the first ones.
            found = f"message {group.first.msg_seq_number} as its first, and {seen.hidden}"
            raise CannotSalvage(Obstacle.BEING_CONSUMED, found, "nothing in units of work")
        doubt(Obstacle.BEGUN, accepted, f"message {group.first.msg_seq_number} as its first", "message 1")
    _check_unused(accepted, seen.hidden, open_output=seen.open_output)
    return group, _position(group, group.end, in_last_message=group.last == group.end.msg_seq_number)


def movable(seen: QueueInspection, group_id: bytes, accepted: Collection[Obstacle] = ()) -> GroupInspection:
    """Return the group, if it can be moved with nobody else at work in it.

    Raises:
        CannotSalvage: it is not there, or somebody may be.
    """
    group = the_group(seen, group_id)
    _check_unused(accepted, seen.hidden, open_input=seen.open_input, open_output=seen.open_output)
    return group


def the_group(seen: QueueInspection, group_id: bytes) -> GroupInspection:
    """Return the group; raises CannotSalvage if nothing is there of it."""
    for group in seen.groups:
        if group.group_id == group_id:
            return group
    raise CannotSalvage(Obstacle.GROUP_MISSING, f"no message of group {group_id.hex()}", "at least one")


def _position(group: GroupInspection, place: Place, *, in_last_message: bool = False) -> GroupPosition:
    number, offset = place
    return GroupPosition(group.group_id, number - 1, offset, in_last_message and offset > 0, retained=False)


def _check_whole(group: GroupInspection) -> None:
    if not group.is_consistent:
        found = f"{group.overlapping} messages twice, {len(group.persistences)} persistences, and message "
        found += f"{group.last_msg_seq_number} where the last says it is {group.last or 'none'}"
        raise CannotSalvage(Obstacle.DISARRAY, found, "messages that can be of one group")
    if group.gaps:
        (number, offset), to = group.gaps[0]
        raise CannotSalvage(
            Obstacle.GAP, f"nothing of message {number} from offset {offset} to message {to.msg_seq_number}", "no gap"
        )


def _check_made_here(group: GroupInspection, q_mgr_name: str) -> None:
    made_by = group.group_id[_Q_MGR_NAME]
    if group.group_id.startswith(_PRODUCTS) and made_by != q_mgr_name.encode("ascii", "replace")[:12].ljust(12):
        found = f"a GroupId made by queue manager {made_by.decode('ascii', 'replace').rstrip()}"
        raise CannotSalvage(Obstacle.OTHER_Q_MGR, found, f"one made by {q_mgr_name}")


def _check_unused(accepted: Collection[Obstacle], hidden: str, **handles: int) -> None:
    found = [f"{number} handles open for {kind.removeprefix('open_')}" for kind, number in handles.items() if number]
    if hidden:
        found.append(hidden)
    if found:
        doubt(Obstacle.IN_USE, accepted, ", and ".join(found), "a queue nobody else works with")


def doubt(obstacle: Obstacle, accepted: Collection[Obstacle], found: str, expected: str) -> None:
    """Raise CannotSalvage, unless it is accepted."""
    if obstacle not in accepted:
        raise CannotSalvage(obstacle, found, expected)
