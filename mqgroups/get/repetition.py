"""Tells when a consumer's group has the key, or only the GroupId, of the group that it completed before."""

from __future__ import annotations

import logging

from mqgroups.core.group_key import Likeness, likeness
from mqgroups.mqi.message import Message
from mqgroups.status.owner import Owner

_log = logging.getLogger("mqgroups.get")
_REPEATS = (
    "group %s on queue %s repeats the group completed before it: its first message has the same MsgId, %s. Either messages are "
    "there twice (after RESOLVE CHANNEL, a restored queue, or dead letters that were put back twice), or their putter uses "
    "identifiers again (for example an ACE flow that copies the MsgId of its input). It is processed, unless the program stops "
    "at group.repeats"
)
_REUSED = "queue %s: GroupId %s was used again, for another group. Tell groups apart by group.key, not by GroupId"


class Repetition:
    """What a consumer's last group has in common with the one before.

    Attributes:
        repeats: whether it has the same key.
    """

    def __init__(self, queue: str) -> None:
        self._queue = queue
        self._told_group_ids = False
        self.repeats = False

    def compare(self, owner: Owner, first: Message) -> None:
        """Compare a group that begins with the one that was completed before it, and tell what they have in common."""
        group_id = first.group_id.hex()
        found = likeness(owner.own.record, first.group_id, first.msg_id)
        self.repeats = found is Likeness.KEY
        if self.repeats:
            owner.log(_log, logging.WARNING, _REPEATS, group_id, self._queue, first.msg_id.hex())
        elif found is not Likeness.NONE and not self._told_group_ids:
            self._told_group_ids = True
            owner.log(_log, logging.WARNING, _REUSED, self._queue, group_id)
