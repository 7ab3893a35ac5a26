"""Tells when a consumer's group has the key, or only the GroupId, of the group that it completed before."""

from __future__ import annotations

import logging

from mqgroups.core.group_key import Likeness, likeness
from mqgroups.errors import GroupRepeated
from mqgroups.mqi.message import Message
from mqgroups.settings import Consuming
from mqgroups.status.owner import Owner

_log = logging.getLogger("mqgroups.get")


class Repetition:
    """What a consumer's last group has in common with the one before.

    Attributes:
        repeats: whether it has the same key.
    """

    def __init__(self, settings: Consuming) -> None:
        self._settings = settings
        self._told_group_ids = False
        self.repeats = False

    def compare(self, owner: Owner, first: Message) -> None:
        """Compare a group that begins with the one that was completed before it, and tell what they have in common.

        Raises GroupRepeated if the keys are the same, and ``repeats="halt"``.
        """
        queue, group_id = self._settings.queue, first.group_id
        found = likeness(owner.own.record, group_id, first.msg_id)
        self.repeats = found is Likeness.KEY
        if found is Likeness.NONE:
            return
        if self.repeats:
            repeated = GroupRepeated(queue, group_id, first.msg_id)
            if self._settings.repeats == "halt":
                raise repeated
            text = "%s. It is processed; a consumer with repeats='halt' stops there"
            owner.log(_log, logging.WARNING, text, repeated.found)
        elif not self._told_group_ids:
            self._told_group_ids = True
            owner.log(
                _log,
                logging.WARNING,
                "queue %s: GroupId %s was used again, for another group. Tell groups apart by group.key, not by GroupId",
                queue,
                group_id.hex(),
            )
