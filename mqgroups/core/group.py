"""Where a group stands, and how the next message of it is put or got.

Theory of operation. The queue manager keeps, for each queue handle and for putting and getting apart, the group and
sequence number of the last message (IBM MQ, MQPUT and MQGET, "group and segment information"). While the handle
*retains* the position, logical order is all there is to say: the queue manager supplies GroupId and MsgSeqNumber. A
fresh handle retains nothing: the first call after a restart goes without logical order and names group and sequence
number itself, and by that puts the handle back in step; from the second call on, logical order again.

    position              put                                          get
    at the start          logical order: a new group id, seq 1         logical order: the next group's first message
    retained              logical order: seq + 1, or the next offset   logical order: seq + 1, or the next offset
    not retained (group,  no logical order; GroupId, seq + 1,          no logical order, nor ALL_MSGS_AVAILABLE;
      seq, offset from      Offset                                       match GroupId, seq + 1 and, inside a message,
      a record)                                                          Offset

A message that is put in segments is one message: its number counts when its last segment is put or got. Up to then the
position stands at an offset behind the message before it.

Two traps are held shut here. The restart call uses the recorded number *plus one*: the recorded message is on (or off)
the queue already, and IBM's pseudo-code, read literally, would put it twice. And the restart get must not ask for
ALL_MSGS_AVAILABLE: the head of the group is gone, so the whole group never will be available, and the get would wait
for ever.

A position changes only by ``after_messages`` and ``after_segment``. The putter and the getter call them when the verb
succeeded. MQBACK restores what the handle retained to where the unit of work began. They go back to the position that they
had there, and the two agree.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

from mqgroups.core.model import GROUP_ID_NONE, MAX_MSG_SEQ_NUMBER, MatchOption, MsgFlag


@dataclass(frozen=True, slots=True)
class GroupPosition:
    """How far a group has come on one queue handle.

    Attributes:
        group_id: 24 bytes, ``GROUP_ID_NONE`` before the first message.
        msg_seq_number: of the last message that was put or got to its end, 0 before the first.
        offset: how many bytes of the message after that one were put or got, as segments.
        in_last_message: whether that message, begun, is the group's last: all its segments have to say the same.
        retained: whether the queue handle has this position too.
    """

    group_id: bytes = GROUP_ID_NONE
    msg_seq_number: int = 0
    offset: int = 0
    in_last_message: bool = False
    retained: bool = True

    @property
    def at_start(self) -> bool:
        """Whether nothing of the group was put or got yet."""
        return self.msg_seq_number == 0 and self.offset == 0


AT_START = GroupPosition()


def on_fresh_handle(position: GroupPosition) -> GroupPosition:
    """Return the same position on a queue handle that has just been opened: inside a group, it does not retain it."""
    return position if position.at_start else replace(position, retained=False)


class MessagePart(Enum):
    """What a physical message is of its logical message."""

    WHOLE = MsgFlag.NONE
    SEGMENT = MsgFlag.SEGMENT
    LAST_SEGMENT = MsgFlag.SEGMENT | MsgFlag.LAST_SEGMENT


@dataclass(frozen=True, slots=True)
class PutPlan:
    """How to put one physical message. The identity goes into the MQMD; logical order ignores it."""

    logical_order: bool
    msg_flags: MsgFlag
    group_id: bytes
    msg_seq_number: int
    offset: int = 0


@dataclass(frozen=True, slots=True)
class GetPlan:
    """How to get one message. The identity goes into the MQMD, for ``match_options`` to use."""

    logical_order: bool
    all_msgs_available: bool
    match_options: MatchOption
    group_id: bytes
    msg_seq_number: int
    offset: int = 0


def next_put(position: GroupPosition, *, last: bool, part: MessagePart = MessagePart.WHOLE) -> PutPlan:
    """Say how to put the physical message that follows ``position``.

    The plan for a retained position depends on nothing but ``last`` and ``part``: a driver may use it again for every
    message until the position is set back.

    Raises:
        ValueError: the group has as many messages as a group can have (999,999,999); or a message was begun in segments,
            and this is not its next one.
    """
    if position.msg_seq_number >= MAX_MSG_SEQ_NUMBER:
        raise ValueError(f"a group ends at message {MAX_MSG_SEQ_NUMBER}")
    if position.offset and (part is MessagePart.WHOLE or last != position.in_last_message):
        raise ValueError(f"message {position.msg_seq_number + 1} was begun: {position.offset} bytes of it, in segments")
    flags = MsgFlag.MSG_IN_GROUP | part.value
    if last:
        flags |= MsgFlag.LAST_MSG_IN_GROUP
    if position.retained:
        return PutPlan(True, flags, GROUP_ID_NONE, 1, 0)
    return PutPlan(False, flags, position.group_id, position.msg_seq_number + 1, position.offset)


def next_get(position: GroupPosition, *, complete_groups_only: bool) -> GetPlan:
    """Say how to get the message that follows ``position``.

    ``complete_groups_only`` asks for the first message only when all messages of its group are there; inside a group it
    has no effect any more.
    """
    if position.retained:
        return GetPlan(True, complete_groups_only, MatchOption.NONE, GROUP_ID_NONE, 1, 0)
    match = MatchOption.MATCH_GROUP_ID | MatchOption.MATCH_MSG_SEQ_NUMBER
    if position.offset:
        match |= MatchOption.MATCH_OFFSET
    return GetPlan(False, False, match, position.group_id, position.msg_seq_number + 1, position.offset)


def follows(position: GroupPosition, group_id: bytes, msg_seq_number: int, offset: int = 0) -> bool:
    """Say whether a message with this identity is the one that follows ``position``. The first one may be of any group."""
    if msg_seq_number != position.msg_seq_number + 1 or offset != position.offset:
        return False
    return position.at_start or group_id == position.group_id


def after_messages(position: GroupPosition, group_id: bytes, messages: int = 1) -> GroupPosition:
    """Return the position after ``messages`` that were put or got to their ends; each followed the one before it.

    Args:
        position: before them.
        group_id: 24 bytes, as the MQMD came back with it.
        messages: how many.
    """
    return GroupPosition(group_id, position.msg_seq_number + messages)


def after_segment(position: GroupPosition, group_id: bytes, length: int, *, last: bool = False) -> GroupPosition:
    """Return the position after a segment of ``length`` bytes that is not its message's last one.

    ``last``: its segments say that the message is the group's last.
    """
    return GroupPosition(group_id, position.msg_seq_number, position.offset + length, last)
