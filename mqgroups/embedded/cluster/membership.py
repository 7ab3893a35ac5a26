"""What a queue manager has to be told to be in a cluster; not what it does there (``cluster.py``)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class ChannelSettings:
    """Attributes of all channels of a cluster, named as in MQSC where MQSC has them.

    ``batchsz`` messages or ``batchlim`` kilobytes are a batch. ``mrrty`` times, ``mrtmr`` milliseconds apart, the receiving end
    tries again to put a message that a queue does not take. ``npmspeed`` is FAST or NORMAL. ``retry_s`` is how long a channel
    waits until it tries again to reach its partner.
    """

    batchsz: int = 50
    batchlim: int = 5000
    mrrty: int = 10
    mrtmr: int = 1000
    npmspeed: str = "FAST"
    retry_s: float = 0.2


@dataclass(frozen=True, slots=True)
class Membership:
    """What a queue manager has to be told to be in a cluster: its name, its members, where they tell each other."""

    cluster: str
    members: tuple[str, ...]
    directory: str
    channels: ChannelSettings = field(default_factory=ChannelSettings)

    @classmethod
    def of(cls, given: dict[str, Any]) -> Membership:
        """Return what ``dataclasses.asdict`` made a dictionary of."""
        return cls(given["cluster"], tuple(given["members"]), given["directory"], ChannelSettings(**given["channels"]))
