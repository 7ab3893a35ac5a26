"""The identity of a group: its key, and whether a group has the key or the GroupId of the one completed before.

A GroupId need not be unique. The queue manager makes unique ones, but a program may choose its own (IBM MQ, "GroupId"): JMS
pads or cuts a text to 24 bytes, other programs use one constant, and all messages in no group have zeros. So the key is the
GroupId with the MsgId of the group's first message, which is not the same for two groups unless a message is there twice, or a
program chooses MsgIds too.
"""

from __future__ import annotations

from enum import Enum

from mqgroups.core.model import GROUP_ID_LENGTH, GROUP_ID_NONE
from mqgroups.core.status import RecordState, StatusRecord

# How the GroupIds begin that queue managers make.
MADE_BY_QUEUE_MANAGERS = (b"AMQ ", b"CSQ ")
# The digits of a GroupId that differ between the groups of one queue manager.
_LAST_DIGITS = 12


class Likeness(Enum):
    """What a group that begins has in common with the one that its consumer completed before."""

    NONE = "another group"
    GROUP_ID = "another group with the same GroupId"
    KEY = "the same group, or one that looks like it"


def group_key(group_id: bytes, first_msg_id: bytes) -> bytes:
    """Return the key of a group, 48 bytes: its GroupId, then the MsgId of its first message. Without a group: zeros, MsgId."""
    return group_id + first_msg_id


def short_id(key: bytes) -> str:
    """Return what people know a group by, 48 hexadecimal digits: its GroupId; the MsgId of a message in no group."""
    group_id, first_msg_id = key[:GROUP_ID_LENGTH], key[GROUP_ID_LENGTH:]
    return (first_msg_id if group_id == GROUP_ID_NONE else group_id).hex()


def text_of_id(group_id: bytes) -> str:
    """Return the text of which a program has made a GroupId, as JMS does of JMSXGroupID: UTF-8, padded with zeros; else empty."""
    try:
        text = "" if group_id.startswith(MADE_BY_QUEUE_MANAGERS) else group_id.rstrip(b"\0").decode()
    except UnicodeDecodeError:
        return ""
    return text if text.isprintable() and text == text.strip() else ""


def shown_id(group_id: bytes) -> str:
    """Return how rows and sentences name a group: by the text of its GroupId, else by the last digits."""
    return text_of_id(group_id) or group_id.hex()[-_LAST_DIGITS:]


def goes_by(group_id: bytes, some: str) -> bool:
    """Whether somebody may mean this GroupId: by the first or last hexadecimal digits, or by the beginning of its text."""
    digits = group_id.hex()
    return digits.startswith(some.lower()) or digits.endswith(some.lower()) or text_of_id(group_id).startswith(some)


def may_be_same(key: bytes, other: bytes) -> bool:
    """Whether two keys may be those of one group: they are equal, or one was rebuilt, so that its MsgId is not known."""
    (group_id, first_msg_id), (other_id, other_msg_id) = (
        (k[:GROUP_ID_LENGTH], k[GROUP_ID_LENGTH:]) for k in (key, other)
    )
    return group_id == other_id and (first_msg_id == other_msg_id or GROUP_ID_NONE in (first_msg_id, other_msg_id))


def likeness(completed: StatusRecord | None, group_id: bytes, first_msg_id: bytes) -> Likeness:
    """Compare a group that begins with a consumer's record.

    A group that comes again because it was not committed is not a repeated one: the record of the last commit is not
    ``COMPLETED``, or is that of the group before.
    """
    if completed is None or completed.state is not RecordState.COMPLETED or completed.group_id != group_id:
        return Likeness.NONE
    if completed.first_msg_id == first_msg_id:
        return Likeness.KEY
    return Likeness.NONE if group_id == GROUP_ID_NONE else Likeness.GROUP_ID
