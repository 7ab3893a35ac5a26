"""The position in a group, and how to put or get the next message.

Theory of operation. For each queue handle, the queue manager keeps two positions: group and sequence number of the last message
that was put, and of the last message that was got (IBM MQ, MQPUT and MQGET, "group and segment information"). While the handle
*retains* the position, a call only asks for logical order, and the queue manager supplies GroupId and MsgSeqNumber. A fresh
handle retains nothing. The first call after a restart therefore names group and sequence number itself, without logical order.
That call sets the handle's position. From the second call on, logical order is used again.

    position              put                                          get
    at the start          logical order: a new group id, seq 1         logical order: the next group's first message
    retained              logical order: seq + 1, or the next offset   logical order: seq + 1, or the next offset
    not retained (group,  no logical order; GroupId, seq + 1,          no logical order, nor ALL_MSGS_AVAILABLE;
      seq, offset from      Offset                                       match GroupId, seq + 1 and, if segments are
      a record)                                                          got one by one, Offset

A message that is put in segments is one message. Until its last segment is put or got, the position has the number of the
previous message, and an offset.

Two mistakes are avoided here. The first call after a restart uses the recorded number *plus one*. The recorded message has
already been put (or got), and IBM's pseudo-code, read literally, would put it twice. If this call is a get, it does not ask for
ALL_MSGS_AVAILABLE. The group's first messages are gone, so the get would wait for ever for the whole group.

A position changes only by ``after_messages`` and ``after_segment``, which the putter and the getter call after the MQI call has
succeeded. MQBACK resets the handle's position to the start of the unit of work. The putter and the getter reset their own
position in the same way, so it agrees with the handle's.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

from mqgroups.core.model import GROUP_ID_NONE, MAX_MSG_SEQ_NUMBER, MatchOption, MsgFlag


@dataclass(frozen=True, slots=True)
class GroupPosition:
    """The position in a group on one queue handle.

    Attributes:
        group_id: 24 bytes, ``GROUP_ID_NONE`` before the first message.
        msg_seq_number: the number of the last message that was put or got completely, 0 before the first.
        offset: how many bytes of the next message were put or got as segments.
        in_last_message: if ``offset`` is not 0, whether the next message is the group's last, as its first segments say.
        retained: whether the queue handle has this position too.
    """

    group_id: bytes = GROUP_ID_NONE
    msg_seq_number: int = 0
    offset: int = 0
    in_last_message: bool = False
    retained: bool = True

    @property
    def at_start(self) -> bool:
        """Whether nothing of the group has been put or got yet."""
        return self.msg_seq_number == 0 and self.offset == 0


AT_START = GroupPosition()


def on_fresh_handle(position: GroupPosition) -> GroupPosition:
    """Return the same position for a newly opened queue handle, which does not retain a position inside a group."""
    return position if position.at_start else replace(position, retained=False)


class MessagePart(Enum):
    """Whether a physical message is a whole logical message, a segment before the last segment, or the last segment."""

    WHOLE = MsgFlag.NONE
    SEGMENT = MsgFlag.SEGMENT
    LAST_SEGMENT = MsgFlag.SEGMENT | MsgFlag.LAST_SEGMENT


@dataclass(frozen=True, slots=True)
class PutPlan:
    """How to put one physical message. The group id, number and offset go into the MQMD; in logical order, MQPUT ignores them."""

    logical_order: bool
    msg_flags: MsgFlag
    group_id: bytes
    msg_seq_number: int
    offset: int = 0


@dataclass(frozen=True, slots=True)
class GetPlan:
    """How to get one message. The group id, number and offset go into the MQMD; ``match_options`` says which of them match."""

    logical_order: bool
    all_msgs_available: bool
    match_options: MatchOption
    group_id: bytes
    msg_seq_number: int
    offset: int = 0


def next_put(position: GroupPosition, *, last: bool, part: MessagePart = MessagePart.WHOLE) -> PutPlan:
    """Return how to put the physical message that follows ``position``.

    The plan for a retained position depends only on ``last`` and ``part``. The caller can reuse it for every message until the
    position is reset.

    Raises:
        ValueError: the group has the maximum number of messages (999,999,999); or a message has been put in part, and the plan is
            not for its next segment.
    """
    if position.msg_seq_number >= MAX_MSG_SEQ_NUMBER:
        raise ValueError(f"the group is full: it can have {MAX_MSG_SEQ_NUMBER} messages")
    if position.offset and (part is MessagePart.WHOLE or last != position.in_last_message):
        raise ValueError(
            f"{position.offset} bytes of message {position.msg_seq_number + 1} were put in segments; its next segment must follow"
        )
    flags = MsgFlag.MSG_IN_GROUP | part.value
    if last:
        flags |= MsgFlag.LAST_MSG_IN_GROUP
    if position.retained:
        return PutPlan(True, flags, GROUP_ID_NONE, 1, 0)
    return PutPlan(False, flags, position.group_id, position.msg_seq_number + 1, position.offset)


def may_go_unanswered(position: GroupPosition) -> bool:
    """Return whether the message after ``position``, if it does not end the unit of work, may be put asynchronously.

    The first message of a group, and the first message on a fresh handle, must be put synchronously. Only a synchronous put
    returns the group's GroupId and its instance of a cluster queue. After that put, the queue handle keeps both.
    """
    return position.retained and not position.at_start


def next_get(position: GroupPosition, *, complete_groups_only: bool = False, segments: bool = False) -> GetPlan:
    """Return how to get the message that follows ``position``.

    Args:
        complete_groups_only: whether to get a group's first message only when the whole group is there. Ignored inside a group.
        segments: whether to get segments one by one. Without logical order the queue manager returns the first matching segment
            in physical order. So the offset must match, even at a message's beginning. A whole message cannot be matched by
            offset (MQMO_MATCH_OFFSET is not valid with MQGMO_COMPLETE_MSG; IBM MQ, "MatchOptions").
    """
    if position.retained:
        return GetPlan(True, complete_groups_only, MatchOption.NONE, GROUP_ID_NONE, 1, 0)
    match = MatchOption.MATCH_GROUP_ID | MatchOption.MATCH_MSG_SEQ_NUMBER
    if segments:
        match |= MatchOption.MATCH_OFFSET
    return GetPlan(False, False, match, position.group_id, position.msg_seq_number + 1, position.offset)


def follows(position: GroupPosition, group_id: bytes, msg_seq_number: int, offset: int = 0) -> bool:
    """Return whether a message with this identity follows ``position``.

    If ``position`` is at the start, the first message of any group follows it.
    """
    if msg_seq_number != position.msg_seq_number + 1 or offset != position.offset:
        return False
    return position.at_start or group_id == position.group_id


def after_messages(position: GroupPosition, group_id: bytes, messages: int = 1) -> GroupPosition:
    """Return the position after one or more complete messages that were put or got in sequence.

    ``group_id``: 24 bytes, from the MQMD that the call returned. ``messages``: the number of messages.
    """
    return GroupPosition(group_id, position.msg_seq_number + messages)


def after_segment(position: GroupPosition, group_id: bytes, length: int, *, last: bool = False) -> GroupPosition:
    """Return the position after a segment of ``length`` bytes, which must not be the last segment of its message.

    ``last``: whether the message is the group's last. All segments of a message must have the same value.
    """
    return GroupPosition(group_id, position.msg_seq_number, position.offset + length, last)
