"""Which message makes its consumer fail, found by backout counts and by processing a suspect alone.

When a unit of work is backed out, the backout count of every message in it rises, also of those that are not to blame (IBM MQ,
topic q023090). So a count that has reached the queue's threshold proves nothing by itself. Such a message is a suspect: it is
processed in a unit of work of its own. Before that its count is written into the status record. If the count is higher the next
time, whatever happened to the program, it rose for this message alone.

    backout count                            means
    below the threshold                      process as usual
    at or above it, not in the record yet    suspect: back out, commit the messages before it, write the record, get it alone
    as in the record                         process it alone
    higher than in the record                poison
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


@dataclass(frozen=True, slots=True)
class Suspect:
    """A message that is processed alone: its group (24 bytes), its number, and its backout count before that."""

    group_id: bytes
    msg_seq_number: int
    backout_count: int


class Treatment(Enum):
    """What to do with a message."""

    PROCESS = "process"
    PROCESS_ALONE = "process alone"
    ISOLATE = "get it again, alone"
    POISON = "poison"


def treatment(
    group_id: bytes, msg_seq_number: int, backout_count: int, *, threshold: int, suspect: Suspect | None
) -> Treatment:
    """Return what to do with a message that was got; ``threshold`` is 1 or more."""
    if backout_count < threshold:
        return Treatment.PROCESS
    if suspect is None or (suspect.group_id, suspect.msg_seq_number) != (group_id, msg_seq_number):
        return Treatment.ISOLATE
    return Treatment.POISON if backout_count > suspect.backout_count else Treatment.PROCESS_ALONE
