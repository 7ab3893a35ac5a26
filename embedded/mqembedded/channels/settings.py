"""Attributes and states of channels, and the interface through which a channel uses its cluster."""

from __future__ import annotations

import enum
import threading
from dataclasses import dataclass
from typing import Protocol

from mqembedded.wire import pcf_constants as cf


class ChannelStatus(enum.Enum):
    """The STATUS of a channel."""

    INACTIVE = cf.MQCHS_INACTIVE
    RUNNING = cf.MQCHS_RUNNING
    RETRYING = cf.MQCHS_RETRYING
    STOPPED = cf.MQCHS_STOPPED


@dataclass(frozen=True, slots=True)
class ChannelSettings:
    """The attributes of all channels of a cluster. Attributes that MQSC also has are named as in MQSC.

    ``batchsz`` (messages) and ``batchlim`` (kilobytes) limit the size of a batch. If a queue refuses a message, ``mrrty`` is the
    number of retries, and ``mrtmr`` is the number of milliseconds between retries. ``npmspeed`` is FAST or NORMAL. ``retry_s``
    is the number of seconds after which a channel tries again to reach its partner.
    """

    batchsz: int = 50
    batchlim: int = 5000
    mrrty: int = 10
    mrtmr: int = 1000
    npmspeed: str = "FAST"
    retry_s: float = 0.2


class Partner(Protocol):
    """The address of the receiving end of a channel, and the token that its channel verb requires."""

    @property
    def host(self) -> str: ...
    @property
    def port(self) -> int: ...
    @property
    def token(self) -> str: ...


class Surroundings(Protocol):
    """The cluster as its channels see it. ``ending`` is set when the channels must end."""

    @property
    def settings(self) -> ChannelSettings: ...
    @property
    def ending(self) -> threading.Event: ...

    def partner(self, q_mgr_name: str) -> Partner | None:
        """Return the address of a queue manager, or None if the address is not known yet."""

    def choose(
        self, queue_name: str, *, arrived: bool = False, without: str = "", better_than: ChannelStatus | None = None
    ) -> str:
        """Return the queue manager that a message for a cluster queue goes to; raise Failed if there is none."""
