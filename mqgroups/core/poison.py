"""Finds the message that makes its consumer fail, by backout counts and by processing a suspect alone.

When a unit of work is backed out, the backout count of every message in it rises, even if the message is not to blame (IBM MQ,
"Messages that are backed out"). So a count that has reached the queue's threshold proves nothing by itself. A message with such a
count is a suspect. Its count is written into the status record, and the message is then processed in a unit of work of its own.
If the count is higher the next time, it has risen for this message alone. The cause of one rise can still be a kill, or a call
that failed after the application had processed the message. So two rises are needed.

    backout count                            means
    below the threshold                      process as usual
    at or above it, not in the record yet    a suspect: back out, commit the messages before it, write the record, get it alone
    as in the record, or higher by one       process it alone
    higher by two or more                    poison
    higher, and a call failed                still a suspect, with the new count, because the application did not raise it
    higher, but this consumer has not given  process it alone, because other consumers of the queue have suspected it too, and
    it to the application twice since        each consumer has backed it out before writing its own record

A message in no group has no GroupId, and its number is always 1. So only its MsgId identifies it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from mqgroups.core.model import GROUP_ID_NONE

# How often a message must fail alone to be proved poison.
PROOF = 2


@dataclass(frozen=True, slots=True)
class Suspect:
    """A message to process alone: its GroupId and MsgId (24 bytes each), its number, and its backout count so far."""

    group_id: bytes
    msg_seq_number: int
    backout_count: int
    msg_id: bytes

    def is_message(self, group_id: bytes, msg_seq_number: int, msg_id: bytes) -> bool:
        """Return whether a message is this suspect. In a group, MsgIds are not compared, because each segment has its own."""
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
        group_id, msg_seq_number, msg_id, backout_count: fields of the message's MQMD.
        threshold: the queue's BOTHRESH, 1 or more.
        suspect: the suspect in the status record.
        tries: how often the application can have failed at the suspect after that record was written; ``PROOF`` if unknown.
        call_failed: whether a failed call, and not the application, has backed the suspect out after that record was written.
    """
    if backout_count < threshold:
        return Treatment.PROCESS
    if suspect is None or not suspect.is_message(group_id, msg_seq_number, msg_id):
        return Treatment.ISOLATE
    rises = backout_count - suspect.backout_count
    if rises > 0 and call_failed:
        return Treatment.ISOLATE
    return Treatment.POISON if min(rises, tries) >= PROOF else Treatment.PROCESS_ALONE
