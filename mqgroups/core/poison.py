"""Finds the message that makes its consumer fail, by backout counts and by processing a suspect alone.

When a unit of work is backed out, the backout count of every message in it rises, also of those that are not to blame (IBM MQ,
"Messages that are backed out"). So a count that has reached the queue's threshold proves nothing by itself. Such a message is a
suspect: it is processed in a unit of work of its own. Before that its count is written into the status record. If the count is
higher the next time, it rose for this message alone; but one rise may also be a kill, or a call that failed when the application
was through with the message. So it takes two.

    backout count                            means
    below the threshold                      process as usual
    at or above it, not in the record yet    suspect: back out, commit the messages before it, write the record, get it alone
    as in the record, or higher by one       process it alone
    higher by two or more                    poison
    higher, and a call failed                suspect still, with the new count: it rose without the application
    higher, but this consumer has not given  process it alone: other consumers of the queue have suspected it too, and each of
    it to the application twice since        them has backed it out before it wrote its record

A message in no group has no GroupId, and its number is always 1, so it is known by its MsgId.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from mqgroups.core.model import GROUP_ID_NONE

# How often a message has to fail alone.
PROOF = 2


@dataclass(frozen=True, slots=True)
class Suspect:
    """A message that is processed alone: its group and its MsgId (24 bytes), its number, and its backout count before that."""

    group_id: bytes
    msg_seq_number: int
    backout_count: int
    msg_id: bytes

    def is_message(self, group_id: bytes, msg_seq_number: int, msg_id: bytes) -> bool:
        """Whether this is the message. In a group, MsgIds are not compared: each segment of a message has its own."""
        is_same = (group_id, msg_seq_number) == (self.group_id, self.msg_seq_number)
        return is_same and (group_id != GROUP_ID_NONE or msg_id == self.msg_id)


class Treatment(Enum):
    """What to do with a message."""

    PROCESS = "process"
    PROCESS_ALONE = "process alone"
    ISOLATE = "get it again, alone"
    POISON = "poison"


def treatment(
    group_id: bytes,
    msg_seq_number: int,
    msg_id: bytes,
    backout_count: int,
    *,
    threshold: int,
    suspect: Suspect | None,
    tries: int = PROOF,
    call_failed: bool = False,
) -> Treatment:
    """Return what to do with a message that was got.

    Args:
        group_id, msg_seq_number, msg_id, backout_count: of the message.
        threshold: 1 or more.
        suspect: of the status record.
        tries: how often the application can have failed at the suspect since that record; ``PROOF`` if only the count can tell.
        call_failed: whether a failed call, and not the application, has backed the suspect out since that record.
    """
    if backout_count < threshold:
        return Treatment.PROCESS
    if suspect is None or not suspect.is_message(group_id, msg_seq_number, msg_id):
        return Treatment.ISOLATE
    rises = backout_count - suspect.backout_count
    if rises > 0 and call_failed:
        return Treatment.ISOLATE
    return Treatment.POISON if min(rises, tries) >= PROOF else Treatment.PROCESS_ALONE
