"""The common parts of the producer and the consumer program, in addition to those of ``mqgroups.demo``."""

from __future__ import annotations

import mqgroups
from mqgroups.demo.program import ProgramProgress

QUEUE = "CLUSTER.ORDERS"
EVERY = 10
# A program may be started while its queue manager is down.
CONNECT_WAIT_S = 60.0


class GroupProgress(ProgramProgress):
    """Says as well what is found at the start, and what became of commits without an answer.

    resumed 414d5120... 40      an interrupted group is resumed after its message 40
    doubt committed             a lost answer was yes; or: backed out
    """

    def found(self, group: mqgroups.Resumed) -> None:
        """Say that a group was interrupted."""
        self.say(f"resumed {group.group_id.hex()} {group.msg_seq_number}")

    def settled(self, doubt: mqgroups.InDoubt) -> None:
        """Say what became of a commit."""
        self.say(f"doubt {doubt.outcome}")
