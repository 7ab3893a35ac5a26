"""GetGroup: a message group as an application gets it; ``consumer.py`` gets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from mqgroups.core.status import Checkpoint
from mqgroups.errors import GroupUsage
from mqgroups.mqi.message import Message

if TYPE_CHECKING:
    from mqgroups.consumer import GroupConsumer


class GetGroup:
    """A message group being got. Iterate over it once.

    Attributes:
        group_id: 24 bytes; ``MQGI_NONE`` for a message that is in no group, which comes as a group of one.
        resume_from: how many of its messages were consumed in committed units of work before this iteration began.
        checkpoint: the application's checkpoint of the last commit in this group; ``None`` in a new one.
    """

    def __init__(
        self, consumer: GroupConsumer, group_id: bytes, resume_from: int, checkpoint: Checkpoint, first: Message | None
    ) -> None:
        self._consumer = consumer
        self._first = first
        self._started = False
        self.group_id = group_id
        self.resume_from = resume_from
        self.checkpoint = checkpoint

    def set_checkpoint(self, checkpoint: Checkpoint) -> None:
        """Have ``checkpoint`` (bytes or a JSON value) committed with the next syncpoint.

        Call it while processing the message it speaks of, or in a ``before_commit`` function.

        Raises:
            GroupUsage: this group is not the one being got any more.
        """
        if self._consumer._group is not self:
            raise GroupUsage("the checkpoint of a group can be set only while it is being got")
        self._consumer._work.checkpoint = checkpoint

    def __iter__(self) -> Iterator[Message]:
        """Return the messages that are left of the group, in sequence.

        Raises:
            GroupStalled: the next message did not come in ``group_wait_s``. What was processed is committed.
            GroupIncomplete: the message got is not the next one.
            GroupUsage: the group was iterated before, or another one is being got.
            MQGroupsError: what else goes wrong. The unit of work is backed out; iterate over the consumer again.
        """
        if self._started or self._consumer._group is not self:
            raise GroupUsage("a group is iterated over once, while it is the consumer's current one")
        self._started = True
        first, self._first = self._first, None
        return self._consumer._messages(self, first)

    def __repr__(self) -> str:
        return f"<GetGroup group={self.group_id.hex()} resume_from={self.resume_from} of {self._consumer!r}>"
