"""When a unit of work has to end: after so many messages, bytes or seconds, whichever comes first.

Never beyond what the queue manager allows: each put and each get in a unit of work counts against its MAXUMSGS, and the
status record needs two of them (get the old one, put the new one), more where the old one is in segments.
"""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Every:
    """How often to take a syncpoint: a unit of work ends when any of these is reached.

    Attributes:
        messages: logical messages, at least 1.
        bytes: application data in bytes, at least 1; the message that reaches it is the unit of work's last.
        seconds: age of the unit of work in seconds, more than 0. It is looked at when a message is put or asked for
            (and, by a consumer, while it waits): a producer that puts nothing holds its unit of work open.

    Raises:
        ValueError: a limit is not positive, or none is given.
    """

    messages: int | None = None
    bytes: int | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        for name in ("messages", "bytes", "seconds"):
            limit = getattr(self, name)
            if limit is not None and (isinstance(limit, bool) or not limit > 0):
                raise ValueError(f"every {name} must be more than 0, got {limit!r}")
        if self.messages is None and self.bytes is None and self.seconds is None:
            raise ValueError("every needs messages, bytes or seconds")


def capped(every: Every, max_uncommitted_msgs: int, status_messages: int) -> Every:
    """Return ``every`` with a number of messages that fits MAXUMSGS together with ``status_messages`` of the status queue.

    Raises:
        ValueError: MAXUMSGS leaves no room for even one message.
    """
    room = max_uncommitted_msgs - status_messages
    if room < 1:
        raise ValueError(
            f"the queue manager's MAXUMSGS is {max_uncommitted_msgs}; a message and its status record need "
            f"{1 + status_messages}"
        )
    return replace(every, messages=room if every.messages is None else min(every.messages, room))


def syncpoint_due(every: Every, messages: int, data_bytes: int, age_s: float) -> bool:
    """Say whether a unit of work of so many messages and bytes and this age has to end now. An empty one never has."""
    if messages == 0:
        return False
    if every.messages is not None and messages >= every.messages:
        return True
    if every.bytes is not None and data_bytes >= every.bytes:
        return True
    return every.seconds is not None and age_s >= every.seconds
