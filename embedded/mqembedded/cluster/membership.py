"""The data that a queue manager needs to join a cluster."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from mqembedded.channels.settings import ChannelSettings


@dataclass(frozen=True, slots=True)
class Membership:
    """The cluster's name, its members, the directory that they share, and the attributes of its channels."""

    cluster: str
    members: tuple[str, ...]
    directory: str
    channels: ChannelSettings = field(default_factory=ChannelSettings)

    @classmethod
    def of(cls, given: dict[str, Any]) -> Membership:
        """Return the membership for a dictionary that ``dataclasses.asdict`` has made."""
        return cls(given["cluster"], tuple(given["members"]), given["directory"], ChannelSettings(**given["channels"]))
