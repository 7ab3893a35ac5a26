"""Restores the position of an owner whose status record is lost, from the messages on its queue.

A producer puts in order, so the last message of its group on the queue shows its position. A consumer gets in order. So if the
group has lost its first message, the first remaining message shows the consumer's position. This is true only if no message is
missing in between, the group has no other owner, and no other program uses the queue. If one of these conditions is not certain,
the request is refused. An operator can override some of these checks (``DOUBTS``).

    role    the interrupted group          its owner continues              certain if
    put     lacks its last message         after the last message there     its first message is there, no handle is open for
                                                                            output, and no unit of work hides a message
    get     lacks its first message        at the first message there       no handle is open for input, and no unit of work
                                                                            hides a message

A pipe commits both of its records together, and the consumer's record shows how much of the outgoing group is committed. So if
this record exists, it shows the producer's position, even if all messages were got. The messages must not contradict it.

The MQI does not show whether units of work hide messages, because a message that was got and not committed is neither browsed nor
counted. It also does not show whether the owner's own unit of work is already backed out, and opening the status queue does not
prove this. The command server's UncommittedMsgs shows both (``BrowsedInstance.hidden``). Without this number, there is a doubt.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import get_args

from mqgroups.core.group import GroupPosition
from mqgroups.core.model import Role
from mqgroups.core.modes import Accept
from mqgroups.core.status import Outgoing
from mqgroups.operate.rules.findings import Told
from mqgroups.operate.rules.inspection import BrowsedInstance, GroupInspection, MessagePlace


class Obstacle(Told):
    """Why a salvage or a move was refused, and the remedy. ``unasked``: how a user with more rights could find out more."""

    # fmt: off
    RECORD_THERE = ("record-there", ("The record is not lost, and the next start uses it. `mqgroups doctor --queue` says "
          "whether it fits the messages; if it does not, clear the status queue before you rebuild it"))
    NOTHING_INTERRUPTED = ("nothing-interrupted", ("All messages of the group may be consumed, or none may be put yet; or they "
          "are at another instance of a cluster queue. If you know that the group is complete, override this check: then only "
          "unreadable messages are moved away, and the next start begins a new group"))
    GROUP_MISSING = ("group-missing", "`mqgroups groups` shows the groups on the queue")
    SEVERAL_GROUPS = ("several-groups", ("`mqgroups groups --group` shows who put each group and when. Give the GroupId of the "
          "right one"))
    GROUP_COMPLETE = ("group-complete", ("The whole group was put, so its producer has nothing to resume. Its next start "
          "begins a new group: give it the input that follows this one"))
    NOT_BEGUN = ("not-begun", "No message of the group was consumed, so a consumer begins it without a record")
    DISARRAY = ("disarray", "Another program has put messages with the same GroupId. Move the group to another queue")
    GAP = ("gap", ("The missing messages have expired, were removed by another program, or have not arrived yet. Wait for "
          "them, or move the group to another queue"))
    OTHER_Q_MGR = ("other-q-mgr", ("The record belongs on the queue manager where the group was put. Move the group to that "
          "queue manager (`mqgroups salvage move`), wait until all of it is there, and salvage it there"))
    BEING_CONSUMED = ("being-consumed", ("A consumer may have the group's last messages in a unit of work. Stop it and try "
          "again"))
    BEGUN = ("begun", ("The first messages are gone. If another program removed them, the last ones may be gone too, and would "
          "be put twice. If you know that a consumer got them in order, override this check"))
    PIPE = ("pipe", ("A pipe commits both of its records together, so the consumer's record is from another commit, "
          "for example in a backup. Clear its status queue, and rebuild both records from the messages"))
    IN_USE = ("in-use", ("Messages in uncommitted units of work are hidden. Stop the programs that use the queue, and try "
          "again; or, if no program that uses the queue works with this group, override this check"),
          ("A user who may put to SYSTEM.ADMIN.COMMAND.QUEUE and display the queue can see how many messages are "
          "hidden. DISPLAY QSTATUS shows UNCOM(NO) if there are none"))
    OTHER_OWNERS = ("other-owners", ("If another producer or consumer has this group, it would be put or got twice, or divided. "
          "Look at that status queue; if you know that no other owner has this group, override this check"),
          ("A user who may put to SYSTEM.ADMIN.COMMAND.QUEUE, and display and browse all status queues, can see this. Or name "
          "the status queues (--other-status-queue)"))
    DEAD_LETTERS = ("dead-letters", ("A move keeps the header, and a consumer would get it as data. The dead-letter handler "
          "(runmqdlq, ACTION(RETRY)) removes it and puts the messages back. To move them with it, override this check"))
    # fmt: on

    remedy: str
    unasked: str | None


# Obstacles that an operator may override.
DOUBTS = frozenset(each for each in Obstacle if each.value in get_args(Accept))


@dataclass(eq=False)
class CannotSalvage(ValueError):
    """The messages on the queue do not show an owner's position. ``unasked``: whether a user with more rights can see more."""

    because: Obstacle
    found: str
    expected: str
    unasked: bool = False


def interrupted_at(
    role: Role,
    groups: Collection[GroupInspection],
    seen: BrowsedInstance,
    *,
    group_id: bytes | None,
    accepted: Collection[Obstacle] = (),
) -> tuple[GroupInspection, GroupPosition] | None:
    """Return the group in which an owner was interrupted, and how much of it is committed.

    Raises CannotSalvage if the messages do not show this with certainty.
    """
    if group_id is None:
        candidates = [each for each in groups if not (each.has_end if role is Role.PUT else each.has_head)]
        if not candidates:
            # All messages of an interrupted group may be in a unit of work, and come back when the unit of work is backed out.
            _check_unused(accepted, seen)
            found = f"{len(groups)} group{'' if len(groups) == 1 else 's'}, none interrupted"
            doubt(Obstacle.NOTHING_INTERRUPTED, accepted, found, "an interrupted group")
            return None
        if len(candidates) > 1:
            found = "groups " + ", ".join(group.group_id.hex() for group in candidates)
            raise CannotSalvage(Obstacle.SEVERAL_GROUPS, found, "one interrupted group, or a group id to choose one")
        group = candidates[0]
    else:
        group = the_group(groups, group_id)
        if role is Role.PUT and group.has_end:
            found = f"the group's last message, number {group.last}"
            raise CannotSalvage(Obstacle.GROUP_COMPLETE, found, "a group without its last message")
        if role is Role.GET and group.has_head:
            raise CannotSalvage(Obstacle.NOT_BEGUN, "the group's first message", "a group without its first message")
    _check_whole(group)
    if role is Role.GET:
        _check_unused(accepted, seen, "input")
        return group, _position(group, group.first)
    if not group.is_made_by(seen.q_mgr_name):
        found = f"a GroupId made by queue manager {group.made_by}"
        raise CannotSalvage(Obstacle.OTHER_Q_MGR, found, f"one made by {seen.q_mgr_name}")
    if not group.has_head:
        found = f"message {group.first.msg_seq_number} as the group's first on the queue"
        if seen.hidden:
            # The consumer that got the first messages may also have the last messages in its unit of work.
            found += f", and {_hidden(seen)}"
            raise CannotSalvage(Obstacle.BEING_CONSUMED, found, "no messages in units of work")
        doubt(Obstacle.BEGUN, accepted, found, "message 1")
    _check_unused(accepted, seen, "output")
    return group, _position(group, group.end, in_last_message=group.last == group.end.msg_seq_number)


def recorded_at(
    outgoing: Outgoing,
    groups: Collection[GroupInspection],
    *,
    group_id: bytes | None,
    in_cluster: bool,
    accepted: Collection[Obstacle] = (),
) -> tuple[GroupInspection | None, GroupPosition] | None:
    """Return where the producer of a pipe was interrupted, from the record of the pipe's consumer.

    Returns:
        Two values: the group's messages that are on the queue, or ``None`` if all were got; and the position.
    """
    if outgoing == Outgoing():
        found = "the record of the pipe's consumer, which says that no outgoing group was begun"
        doubt(Obstacle.NOTHING_INTERRUPTED, accepted, found, "an interrupted group")
        return None
    expected = (
        f"group {outgoing.group_id.hex()} up to message {outgoing.msg_seq_number}, by the pipe's consumer's record"
    )
    if group_id not in (None, outgoing.group_id):
        raise CannotSalvage(Obstacle.PIPE, f"that group {group_id.hex()} is asked for", expected)
    position = GroupPosition(outgoing.group_id, outgoing.msg_seq_number, retained=False)
    group = next((each for each in groups if each.group_id == outgoing.group_id), None)
    if group is None:
        if in_cluster:
            found = f"no message of group {outgoing.group_id.hex()} at this instance of the cluster queue"
            raise CannotSalvage(Obstacle.GROUP_MISSING, found, "one, because the group may be at another instance")
        return None, position
    _check_whole(group)
    if group.has_end or group.end != MessagePlace(outgoing.msg_seq_number + 1):
        last = ", its last one" if group.has_end else ""
        found = f"message {group.last_msg_seq_number} of that group on the queue{last}"
        raise CannotSalvage(Obstacle.PIPE, found, expected)
    return group, position


def movable(
    group_id: bytes, groups: Collection[GroupInspection], seen: BrowsedInstance, accepted: Collection[Obstacle] = ()
) -> GroupInspection:
    """Return the group. Raises CannotSalvage if it is missing or has dead-letter headers, or if other programs use the queue."""
    group = the_group(groups, group_id)
    if group.dead_letters:
        count = f"{group.dead_letters} message{'s' if group.dead_letters > 1 else ''}"
        doubt(Obstacle.DEAD_LETTERS, accepted, f"{count} with a dead-letter header (MQDLH)", "messages without it")
    _check_unused(accepted, seen, "input", "output")
    return group


def the_group(groups: Collection[GroupInspection], group_id: bytes) -> GroupInspection:
    """Return the group. Raises CannotSalvage if the queue has no message of the group."""
    for group in groups:
        if group.group_id == group_id:
            return group
    raise CannotSalvage(Obstacle.GROUP_MISSING, f"no message of group {group_id.hex()}", "at least one")


def _position(group: GroupInspection, place: MessagePlace, *, in_last_message: bool = False) -> GroupPosition:
    number, offset = place
    return GroupPosition(group.group_id, number - 1, offset, in_last_message and offset > 0, retained=False)


def _check_whole(group: GroupInspection) -> None:
    if not group.is_consistent:
        found = f"{group.overlapping} messages twice, {len(group.persistences)} persistences, "
        found += f"{group.last_msg_seq_number} as the highest message number and {group.last or 'none'} as the last message's"
        raise CannotSalvage(Obstacle.DISARRAY, found, "messages that can belong to one group")
    if group.gaps:
        (number, offset), to = group.gaps[0]
        found = f"a gap from message {number}, offset {offset}, to message {to.msg_seq_number}"
        raise CannotSalvage(Obstacle.GAP, found, "no gap")


def _check_unused(accepted: Collection[Obstacle], seen: BrowsedInstance, *kinds: str) -> None:
    found = []
    for kind in kinds:
        number = seen.open_input if kind == "input" else seen.open_output
        if number != 0:
            many = "an unknown number of" if number is None else str(number)
            found.append(f"{many} handle{'' if number == 1 else 's'} open for {kind}")
    if hidden := _hidden(seen):
        found.append(hidden)
    if found:
        unasked = seen.hidden is None
        doubt(Obstacle.IN_USE, accepted, ", and ".join(found), "a queue that nobody else uses", unasked=unasked)


def _hidden(seen: BrowsedInstance) -> str:
    """Return a text about messages that browsing may not show; empty if there are no such messages."""
    if seen.hidden is None:
        return f"an unknown number of messages in units of work ({'; '.join(seen.unseen)})"
    return f"{seen.hidden} messages put or got in units of work" if seen.hidden else ""


def doubt(
    obstacle: Obstacle, accepted: Collection[Obstacle], found: str, expected: str, *, unasked: bool = False
) -> None:
    """Raise CannotSalvage if the obstacle is not in ``accepted``. ``unasked``: as in ``CannotSalvage``."""
    if obstacle not in accepted:
        raise CannotSalvage(obstacle, found, expected, unasked=unasked)
