"""The key that identifies a group, and the comparison of a group with the group that was completed before it.

A GroupId need not be unique. The queue manager makes unique ones, but a program can choose its own (IBM MQ, "GroupId"). JMS pads
or cuts a text to 24 bytes, other programs use one constant, and all messages in no group have zeros. So the key is the GroupId
and the MsgId of the group's first message. Two groups have the same key only if a message exists twice, or if programs choose
MsgIds themselves.
"""

from __future__ import annotations

from enum import Enum

from mqgroups.core.model import GROUP_ID_LENGTH, GROUP_ID_NONE
from mqgroups.core.status import RecordState, StatusRecord

# The beginnings of the GroupIds that queue managers make.
MADE_BY_QUEUE_MANAGERS = (b"AMQ ", b"CSQ ")
# The digits of a GroupId that differ between the groups of one queue manager.
_LAST_DIGITS = 12


class Likeness(Enum):
    """What a new group has in common with the previous group that its consumer completed."""

    NONE = "another group"
    GROUP_ID = "another group with the same GroupId"
    KEY = "the same group, or one that looks like it"


def group_key(group_id: bytes, first_msg_id: bytes) -> bytes:
    """Return the key of a group, 48 bytes: GroupId (zeros for a message in no group), then MsgId of the first message."""
    return group_id + first_msg_id


def short_id(key: bytes) -> str:
    """Return a group's GroupId, or the MsgId of a message in no group, as 48 hexadecimal digits for people to read."""
    group_id, first_msg_id = key[:GROUP_ID_LENGTH], key[GROUP_ID_LENGTH:]
    return (first_msg_id if group_id == GROUP_ID_NONE else group_id).hex()


def text_of_id(group_id: bytes) -> str:
    """Return the text (UTF-8, zero-padded, as by JMS) from which a GroupId was made; empty if it was not made from a text."""
    try:
        text = "" if group_id.startswith(MADE_BY_QUEUE_MANAGERS) else group_id.rstrip(b"\0").decode()
    except UnicodeDecodeError:
        return ""
    return text if text.isprintable() and text == text.strip() else ""


def shown_id(group_id: bytes) -> str:
    """Return a short form of a GroupId for people to read: ``text_of_id``, or the last digits if that text is empty."""
    return text_of_id(group_id) or group_id.hex()[-_LAST_DIGITS:]


def goes_by(group_id: bytes, some: str) -> bool:
    """Return whether this GroupId begins or ends with the hexadecimal digits ``some``, or its text begins with ``some``."""
    digits = group_id.hex()
    return digits.startswith(some.lower()) or digits.endswith(some.lower()) or text_of_id(group_id).startswith(some)


def may_be_same(key: bytes, other: bytes) -> bool:
    """Return whether two keys can belong to one group: they are equal, or one lacks the MsgId and the GroupIds are equal."""
    (group_id, first_msg_id), (other_id, other_msg_id) = (
        (k[:GROUP_ID_LENGTH], k[GROUP_ID_LENGTH:]) for k in (key, other)
    )
    return group_id == other_id and (first_msg_id == other_msg_id or GROUP_ID_NONE in (first_msg_id, other_msg_id))


def likeness(completed: StatusRecord | None, group_id: bytes, first_msg_id: bytes) -> Likeness:
    """Return what a new group has in common with the group in a consumer's record.

    A group that is got again after a backout does not count as repeated, because the record is then not ``COMPLETED``, or
    belongs to an earlier group.
    """
    if completed is None or completed.state is not RecordState.COMPLETED or completed.group_id != group_id:
        return Likeness.NONE
    if completed.first_msg_id == first_msg_id:
        return Likeness.KEY
    return Likeness.NONE if group_id == GROUP_ID_NONE else Likeness.GROUP_ID
