"""Heartbeats: the settings that both ends of a client connection agree on, and the silence after which an end counts as dead.

Source: IBM MQ, "HeartbeatInterval", "SharingConversations", "Default behavior of client-connection and server-connection
channels", "Heartbeat interval", "Receive timeout" with APAR IT26614.

``serve/line.py`` and ``libmqm/wire.c`` send the heartbeats.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

_SHORT_S = 60


@dataclass(frozen=True, slots=True)
class Heartbeats:
    """The heartbeat settings of a channel or a client, or the settings that both have agreed on.

    Attributes:
        interval_s: HBINT, in seconds; 0 means that there are no heartbeats.
        conversations: SHARECNV. With 0, only the queue manager sends heartbeats, and only while an MQGET waits. Otherwise both
            ends send heartbeats at any time.
    """

    interval_s: int = 0
    conversations: int = 0

    @property
    def always(self) -> bool:
        """Whether both ends send heartbeats at any time."""
        return self.interval_s > 0 and self.conversations > 0

    @property
    def silence_s(self) -> float:
        """The seconds without data after which the other end counts as dead; infinite if there are no heartbeats."""
        if not self.interval_s:
            return math.inf
        return 2.0 * self.interval_s if self.interval_s < _SHORT_S else self.interval_s + 60.0


NO_HEARTBEATS = Heartbeats()


def agreed(client: Heartbeats, channel: Heartbeats) -> Heartbeats:
    """Return the heartbeat settings that a client and its server-connection channel agree on.

    The agreed interval is the larger interval, or 0 if either is 0. The agreed number of conversations is the smaller number.
    """
    intervals = (client.interval_s, channel.interval_s)
    return Heartbeats(max(intervals) if all(intervals) else 0, min(client.conversations, channel.conversations))
