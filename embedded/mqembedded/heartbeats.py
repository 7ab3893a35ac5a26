"""Heartbeats: what both ends of a client's connection agree on, and after which silence an end takes the other one for dead.

Source: IBM MQ, "HeartbeatInterval", "SharingConversations", "Default behavior of client-connection and server-connection channels",
"Heartbeat interval", "Receive timeout" with APAR IT26614.

Not here: sending them (``serve/line.py``, ``libmqm/wire.c``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

_SHORT_S = 60


@dataclass(frozen=True, slots=True)
class Heartbeats:
    """The heartbeats of a channel, of a client, or those that both agreed on.

    Attributes:
        interval_s: HBINT; 0 means that there are none.
        conversations: SHARECNV. With 0 only an MQGET that waits has heartbeats, from the queue manager; otherwise both ends send
            them whatever the application does.
    """

    interval_s: int = 0
    conversations: int = 0

    @property
    def always(self) -> bool:
        """Whether both ends send heartbeats at any time."""
        return self.interval_s > 0 and self.conversations > 0

    @property
    def silence_s(self) -> float:
        """After how many seconds without any data the other end is taken for dead; infinite without heartbeats."""
        if not self.interval_s:
            return math.inf
        return 2.0 * self.interval_s if self.interval_s < _SHORT_S else self.interval_s + 60.0


NO_HEARTBEATS = Heartbeats()


def agreed(client: Heartbeats, channel: Heartbeats) -> Heartbeats:
    """Return what a client and its server-connection channel agree on: the larger interval, unless one is 0; the fewer
    conversations.
    """
    intervals = (client.interval_s, channel.interval_s)
    return Heartbeats(max(intervals) if all(intervals) else 0, min(client.conversations, channel.conversations))
