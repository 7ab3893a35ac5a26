"""Heartbeats: what both ends of a client's connection agree on, and after how much silence an end gives up the other one.

Source: IBM MQ, "HeartbeatInterval", "SharingConversations", "Default behavior of client-connection and server-connection
channels", "Heartbeat interval", "Receive timeout" with APAR IT26614.

Not here: sending them (``serve/line.py``, ``libmqm/wire.c``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

_SHORT_S = 60


@dataclass(frozen=True, slots=True)
class Heartbeats:
    """The heartbeats of a channel, of a client, or of both as agreed.

    Attributes:
        interval_s: HBINT; 0 means that there are none.
        conversations: SHARECNV. With 0 the queue manager sends heartbeats, and only while an MQGET waits; otherwise both ends
            send them, whatever the application does.
    """

    interval_s: int = 0
    conversations: int = 0

    @property
    def always(self) -> bool:
        """Whether both ends send heartbeats at any time."""
        return self.interval_s > 0 and self.conversations > 0

    @property
    def silence_s(self) -> float:
        """Seconds without any data until the other end counts as dead; infinite without heartbeats."""
        if not self.interval_s:
            return math.inf
        return 2.0 * self.interval_s if self.interval_s < _SHORT_S else self.interval_s + 60.0


NO_HEARTBEATS = Heartbeats()


def agreed(client: Heartbeats, channel: Heartbeats) -> Heartbeats:
    """Return what a client and its server-connection channel agree on.

    That is the larger interval, or 0 if one is 0, and the smaller number of conversations.
    """
    intervals = (client.interval_s, channel.interval_s)
    return Heartbeats(max(intervals) if all(intervals) else 0, min(client.conversations, channel.conversations))
