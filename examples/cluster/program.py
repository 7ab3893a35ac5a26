"""The common parts of the producer and the consumer program, in addition to those of ``mqgroups.demo``."""

from __future__ import annotations

import mqgroups
from mqgroups.demo.program import DemoProgress

QUEUE = "CLUSTER.ORDERS"
EVERY = 10
# A program may be started while its queue manager is down.
CONNECT_WAIT_S = 60.0


class GroupProgress(DemoProgress):
    """Also says what a program finds at its start, and the verdict about commits without an answer.

    resumed 414d5120... 40      an interrupted group is resumed after its message 40
    doubt committed             the commit whose answer was lost; or: backed out
    """

    def found(self, group: mqgroups.Resumed) -> None:
        """Say that an interrupted group is resumed."""
        self.say(f"resumed {group.group_id.hex()} {group.msg_seq_number}")

    def settled(self, doubt: mqgroups.InDoubt) -> None:
        """Say the verdict about a commit."""
        self.say(f"doubt {doubt.outcome}")
