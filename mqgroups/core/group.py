"""Where a group stands, and how the next message of it is put or got.

Theory of operation. The queue manager keeps, for each queue handle and for putting and getting apart, the group and
sequence number of the last message (IBM MQ, MQPUT and MQGET, "group and segment information"). While the handle
*retains* the position, logical order is all there is to say: the queue manager supplies GroupId and MsgSeqNumber. A
fresh handle retains nothing: the first call after a restart goes without logical order and names group and sequence
number itself, and by that puts the handle back in step; from the second call on, logical order again.

    position              put                                          get
    at the start          logical order: a new group id, seq 1         logical order: the next group's first message
    retained              logical order: seq + 1                       logical order: seq + 1
    not retained (group,  no logical order; GroupId, seq + 1           no logical order, nor ALL_MSGS_AVAILABLE;
      seq from a record)                                                 match GroupId and seq + 1

Two traps are held shut here. The restart call uses the recorded number *plus one*: the recorded message is on (or off)
the queue already, and IBM's pseudo-code, read literally, would put it twice. And the restart get must not ask for
ALL_MSGS_AVAILABLE: the head of the group is gone, so the whole group never will be available, and the get would wait
for ever.

A position changes only by ``after_put`` and ``after_get``, which a driver calls when the verb succeeded. MQBACK
restores what the handle retained to where the unit of work began; a driver goes back to the position it had there, and
the two agree.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from mqgroups.core.model import GROUP_ID_NONE, MAX_MSG_SEQ_NUMBER, MatchOption, MsgFlag


@dataclass(frozen=True, slots=True)
class GroupPosition:
    """How far a group has come on one queue handle.

    Attributes:
        group_id: 24 bytes, ``GROUP_ID_NONE`` before the first message.
        msg_seq_number: of the last message put or got, 0 before the first.
        retained: whether the queue handle has this position too.
    """

    group_id: bytes = GROUP_ID_NONE
    msg_seq_number: int = 0
    retained: bool = True

    @property
    def at_start(self) -> bool:
        """Whether no message of the group was put or got yet."""
        return self.msg_seq_number == 0


AT_START = GroupPosition()


def on_fresh_handle(position: GroupPosition) -> GroupPosition:
    """Return the same position on a queue handle that has just been opened: inside a group, it does not retain it."""
    return position if position.at_start else replace(position, retained=False)


@dataclass(frozen=True, slots=True)
class PutPlan:
    """How to put one message. ``group_id`` and ``msg_seq_number`` go into the MQMD; logical order ignores them."""

    logical_order: bool
    msg_flags: MsgFlag
    group_id: bytes
    msg_seq_number: int


@dataclass(frozen=True, slots=True)
class GetPlan:
    """How to get one message. ``group_id`` and ``msg_seq_number`` go into the MQMD, for ``match_options`` to use."""

    logical_order: bool
    all_msgs_available: bool
    match_options: MatchOption
    group_id: bytes
    msg_seq_number: int


def next_put(position: GroupPosition, *, last: bool) -> PutPlan:
    """Say how to put the message that follows ``position``.

    The plan for a retained position depends on nothing but ``last``: a driver may use it again for every message until
    the position is set back.

    Raises:
        ValueError: the group has as many messages as a group can have (999,999,999).
    """
    if position.msg_seq_number >= MAX_MSG_SEQ_NUMBER:
        raise ValueError(f"a group ends at message {MAX_MSG_SEQ_NUMBER}")
    flags = MsgFlag.MSG_IN_GROUP | MsgFlag.LAST_MSG_IN_GROUP if last else MsgFlag.MSG_IN_GROUP
    if position.retained:
        return PutPlan(True, flags, GROUP_ID_NONE, 1)
    return PutPlan(False, flags, position.group_id, position.msg_seq_number + 1)


def after_put(position: GroupPosition, group_id: bytes, messages: int = 1) -> GroupPosition:
    """Return the position after ``messages`` successful puts, whose MQMD came back with ``group_id``."""
    return GroupPosition(group_id, position.msg_seq_number + messages, retained=True)


def next_get(position: GroupPosition, *, complete_groups_only: bool) -> GetPlan:
    """Say how to get the message that follows ``position``.

    ``complete_groups_only`` asks for the first message only when all messages of its group are there; inside a group it
    has no effect any more.
    """
    if position.retained:
        return GetPlan(True, complete_groups_only, MatchOption.NONE, GROUP_ID_NONE, 1)
    match = MatchOption.MATCH_GROUP_ID | MatchOption.MATCH_MSG_SEQ_NUMBER
    return GetPlan(False, False, match, position.group_id, position.msg_seq_number + 1)


def follows(position: GroupPosition, group_id: bytes, msg_seq_number: int) -> bool:
    """Say whether a message that was got is the one that follows ``position``."""
    if msg_seq_number != position.msg_seq_number + 1:
        return False
    return position.msg_seq_number == 0 or group_id == position.group_id


def after_get(position: GroupPosition, group_id: bytes, messages: int = 1) -> GroupPosition:
    """Return the position after ``messages`` successful gets, each of which followed the one before it."""
    return GroupPosition(group_id, position.msg_seq_number + messages, retained=True)
