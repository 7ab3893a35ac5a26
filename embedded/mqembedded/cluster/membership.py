"""The data that a queue manager needs to join a cluster. Not here: the cluster (``cluster.py``)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from mqembedded.channels.settings import ChannelSettings


@dataclass(frozen=True, slots=True)
class Membership:
    """The data that a queue manager needs to join a cluster: its name, its members, their shared directory."""

    cluster: str
    members: tuple[str, ...]
    directory: str
    channels: ChannelSettings = field(default_factory=ChannelSettings)

    @classmethod
    def of(cls, given: dict[str, Any]) -> Membership:
        """Return the value that ``dataclasses.asdict`` made this dictionary of."""
        return cls(given["cluster"], tuple(given["members"]), given["directory"], ChannelSettings(**given["channels"]))
