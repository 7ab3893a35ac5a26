"""Logs a warning if a group has the same key, or only the same GroupId, as the group that the consumer completed before."""

from __future__ import annotations

import logging

from mqgroups.core.group_key import Likeness, likeness
from mqgroups.mqi.message import Message
from mqgroups.status.owner import Owner

_log = logging.getLogger("mqgroups.get")
_REPEATS = (
    "group %s on queue %s repeats the group completed before it: its first message has the same MsgId, %s. Either messages are "
    "there twice (after RESOLVE CHANNEL, a restored queue, or dead letters that were put back twice), or their putter uses "
    "identifiers again (for example an ACE flow that copies the MsgId of its input). The group is processed, unless the program "
    "stops at group.repeats"
)
_REUSED = "queue %s: GroupId %s was used again, for another group. Tell groups apart by group.key, not by GroupId"


def compared(owner: Owner, queue: str, first: Message, *, tells_reuse: bool) -> Likeness:
    """Return what a new group has in common with the group that was completed before it. Log a repetition.

    ``tells_reuse``: whether a group that has only the same GroupId is also logged.
    """
    group_id = first.group_id.hex()
    found = likeness(owner.own.record, first.group_id, first.msg_id)
    if found is Likeness.KEY:
        owner.log(_log, logging.WARNING, _REPEATS, group_id, queue, first.msg_id.hex())
    elif found is not Likeness.NONE and tells_reuse:
        owner.log(_log, logging.WARNING, _REUSED, queue, group_id)
    return found
