"""What a queue manager has to be told to be in a cluster; not what it does there (``cluster.py``)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from mqgroups.embedded.channels.settings import ChannelSettings


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
