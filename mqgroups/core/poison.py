"""Which message makes its consumer fail: found by backout counts, and by letting a suspect be processed alone.

Every message of a unit of work that is backed out counts one more backout, the innocent with the guilty (IBM MQ, topic
q023090). So a count that has reached the queue's threshold proves nothing yet. Such a message is processed in a unit of work of
its own, and before that the status record says so: whatever happens to the program then, a count that is higher the next time
rose for this message alone.

    backout count                     means
    below the threshold               nothing
    at it, and not known yet          suspect: back out, commit what was processed before, note it in the record, get it alone
    as noted                          process it alone
    higher than noted                 poison
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


@dataclass(frozen=True, slots=True)
class Suspect:
    """A message that is processed alone: its group (24 bytes) and number, and its backout count then."""

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
    """Say what to do with a message that was got; ``threshold`` is 1 or more."""
    if backout_count < threshold:
        return Treatment.PROCESS
    if suspect is None or (suspect.group_id, suspect.msg_seq_number) != (group_id, msg_seq_number):
        return Treatment.ISOLATE
    return Treatment.POISON if backout_count > suspect.backout_count else Treatment.PROCESS_ALONE
