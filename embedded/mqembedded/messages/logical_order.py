"""The group and segment state of a queue handle between calls, and the calls that this state allows.

For every object handle, the queue manager keeps three separate sets of group and segment information: one from the last
successful MQPUT, one from the last successful MQGET that removed a message, and one from the last successful MQGET that browsed a
message. A ``GroupState`` is one of these sets. The functions of this module implement the tables of IBM MQ, "Logical and physical
ordering" (Tables 1 and 2) and, for IBM i, "GMOPT" (MQGMO Options: Tables 16 and 17).

If several of MQRC_INCOMPLETE_MSG, MQRC_INCOMPLETE_GROUP, MQRC_INCONSISTENT_PERSISTENCE and MQRC_INCONSISTENT_UOW apply, IBM
documents only that the first has precedence over the second. The reading ``PRECEDENCE`` decides about the others.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from mqembedded import constants as mq

IN_GROUP = mq.MQMF_MSG_IN_GROUP | mq.MQMF_LAST_MSG_IN_GROUP
IS_SEGMENT = mq.MQMF_SEGMENT | mq.MQMF_LAST_SEGMENT
GROUP_ID_NEEDED = IN_GROUP | IS_SEGMENT | mq.MQMF_SEGMENTATION_ALLOWED


class GroupState(NamedTuple):
    """A handle's group and segment information for one direction, after the last successful call in this direction.

    ``current_group`` and ``current_logical_message`` are set if that call left a group or a logical message unterminated.
    ``length`` is the last segment's length in bytes, so the next segment starts at ``offset + length``. ``destination`` is the
    queue manager that the last message for a cluster queue went to.
    """

    group_id: bytes = bytes(24)
    msg_seq_number: int = 1
    offset: int = 0
    length: int = 0
    current_group: bool = False
    current_logical_message: bool = False
    last_msg_in_group: bool = False
    in_unit_of_work: bool = False
    persistent: bool = False
    logical_order: bool = False
    destination: str = ""

    @property
    def unterminated(self) -> bool:
        """Whether a group or a logical message is unterminated."""
        return self.current_group or self.current_logical_message


class Identity(NamedTuple):
    """The place of a physical message in its group: GroupId, MsgSeqNumber, Offset."""

    group_id: bytes
    msg_seq_number: int
    offset: int


NEW_GROUP_ID = b""
_IN_NO_GROUP = Identity(bytes(24), 1, 0)


def stored_flags(msg_flags: int) -> int:
    """Return MsgFlags in their stored form: a "last" flag also sets MQMF_MSG_IN_GROUP or MQMF_SEGMENT (IBM MQ, "MsgFlags")."""
    if msg_flags & mq.MQMF_LAST_MSG_IN_GROUP:
        msg_flags |= mq.MQMF_MSG_IN_GROUP
    if msg_flags & mq.MQMF_LAST_SEGMENT:
        msg_flags |= mq.MQMF_SEGMENT
    return msg_flags


def after(
    identity: Identity,
    msg_flags: int,
    length: int,
    *,
    in_unit_of_work: bool,
    persistent: bool,
    logical_order: bool,
    destination: str = "",
) -> GroupState:
    """Return the handle's state after a successful call that has put or got this message.

    A group ends with its last logical message. If that message has segments, the group ends with the message's last segment.
    """
    if not msg_flags & GROUP_ID_NEEDED:
        # The usual case: neither a group nor a logical message is unterminated.
        return GroupState(
            *identity, length, False, False, False, in_unit_of_work, persistent, logical_order, destination
        )
    segment_open = bool(msg_flags & IS_SEGMENT) and not msg_flags & mq.MQMF_LAST_SEGMENT
    last_msg = bool(msg_flags & mq.MQMF_LAST_MSG_IN_GROUP)
    return GroupState(
        group_id=identity.group_id,
        msg_seq_number=identity.msg_seq_number,
        offset=identity.offset,
        length=length,
        current_group=bool(msg_flags & IN_GROUP) and (not last_msg or segment_open),
        current_logical_message=segment_open,
        last_msg_in_group=last_msg,
        in_unit_of_work=in_unit_of_work,
        persistent=persistent,
        logical_order=logical_order,
        destination=destination,
    )


def put_refusal(
    state: GroupState, msg_flags: int, precedence: tuple[int, ...], *, persistent: bool, in_unit_of_work: bool
) -> int:
    """Return the reason code if an MQPUT cannot continue an unterminated group or logical message, else MQRC_NONE.

    An MQPUT with MQPMO_LOGICAL_ORDER fails with this reason code. ``departure`` is for other MQPUTs, which get a warning if the
    previous call had MQPMO_LOGICAL_ORDER (Table 2).
    """
    if not state.unterminated:
        return mq.MQRC_NONE
    wrong = {
        mq.MQRC_INCOMPLETE_MSG: state.current_logical_message
        and (
            not msg_flags & IS_SEGMENT
            or bool(msg_flags & mq.MQMF_LAST_MSG_IN_GROUP) != state.last_msg_in_group
            or bool(msg_flags & IN_GROUP and not state.current_group)
        ),
        mq.MQRC_INCOMPLETE_GROUP: state.current_group and not msg_flags & IN_GROUP,
        mq.MQRC_INCONSISTENT_PERSISTENCE: persistent != state.persistent,
        mq.MQRC_INCONSISTENT_UOW: in_unit_of_work != state.in_unit_of_work,
    }
    return next((reason for reason in precedence if wrong[reason]), mq.MQRC_NONE)


def put_in_logical_order(state: GroupState, msg_flags: int) -> Identity:
    """Return the identity that an MQPUT with MQPMO_LOGICAL_ORDER gives a message (Table 1, the rows with "Yes").

    The GroupId ``NEW_GROUP_ID`` means that the queue manager must make a new group identifier.
    """
    if state.current_logical_message:
        seq = state.msg_seq_number if state.current_group else 1
        return Identity(state.group_id, seq, state.offset + state.length)
    if state.current_group:
        return Identity(state.group_id, state.msg_seq_number + 1, 0)
    if msg_flags & GROUP_ID_NEEDED:
        return Identity(NEW_GROUP_ID, 1, 0)
    return _IN_NO_GROUP


def put_as_given(given: Identity, msg_flags: int) -> Identity:
    """Return the identity that MQPUT without MQPMO_LOGICAL_ORDER, or MQPUT1, gives a message (Table 1, the rows with "No")."""
    if not msg_flags & GROUP_ID_NEEDED:
        return _IN_NO_GROUP
    return Identity(
        given.group_id if any(given.group_id) else NEW_GROUP_ID,
        given.msg_seq_number if msg_flags & IN_GROUP else 1,
        given.offset if msg_flags & IS_SEGMENT else 0,
    )


def departure(
    state: GroupState,
    identity: Identity,
    msg_flags: int,
    precedence: tuple[int, ...],
    *,
    persistent: bool,
    in_unit_of_work: bool,
) -> int:
    """Return the reason code if a call does not continue an unterminated group or logical message, else MQRC_NONE.

    To continue, the message must be in the group or logical message, and have the same persistence and use of syncpoint.
    """
    if not state.unterminated:
        return mq.MQRC_NONE
    same_group = identity.group_id == state.group_id
    wrong = {
        mq.MQRC_INCOMPLETE_MSG: state.current_logical_message
        and not (same_group and identity.msg_seq_number == state.msg_seq_number and msg_flags & IS_SEGMENT),
        mq.MQRC_INCOMPLETE_GROUP: state.current_group and not (same_group and msg_flags & IN_GROUP),
        mq.MQRC_INCONSISTENT_PERSISTENCE: persistent != state.persistent,
        mq.MQRC_INCONSISTENT_UOW: in_unit_of_work != state.in_unit_of_work,
    }
    return next((reason for reason in precedence if wrong[reason]), mq.MQRC_NONE)


def next_to_get(state: GroupState) -> Identity | None:
    """Return the identity that an MQGET with MQGMO_LOGICAL_ORDER looks for, or None if no group or message is in progress.

    If the result is None, the call looks for sequence number 1 and offset 0, and uses the match options (Table 16).
    """
    if state.current_logical_message:
        seq = state.msg_seq_number if state.current_group else 1
        return Identity(state.group_id, seq, state.offset + state.length)
    if state.current_group:
        return Identity(state.group_id, state.msg_seq_number + 1, 0)
    return None


def close_warning(state: GroupState) -> int:
    """Return the reason code of the warning that MQCLOSE gives for this state, or MQRC_NONE (Tables 2 and 17)."""
    if not state.logical_order or not state.unterminated:
        return mq.MQRC_NONE
    return mq.MQRC_INCOMPLETE_MSG if state.current_logical_message else mq.MQRC_INCOMPLETE_GROUP


@lru_cache
def statuses(msg_flags: int) -> bytes:
    """Return MQGMO's GroupStatus, SegmentStatus and Segmentation as three characters, for a message with these flags."""
    group = b"L" if msg_flags & mq.MQMF_LAST_MSG_IN_GROUP else b"G" if msg_flags & mq.MQMF_MSG_IN_GROUP else b" "
    segment = b"L" if msg_flags & mq.MQMF_LAST_SEGMENT else b"S" if msg_flags & mq.MQMF_SEGMENT else b" "
    return group + segment + (b"A" if msg_flags & mq.MQMF_SEGMENTATION_ALLOWED else b" ")
