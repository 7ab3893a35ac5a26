"""Decides when a unit of work must end: after a number of messages, bytes or seconds, whichever comes first.

The queue manager's MAXUMSGS is a limit too. Each put and each get in a unit of work counts against it. Replacing the status
record needs two of them: one to get the old record, and one to put the new one. It needs more if the old record is in segments.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

# The default age limit of a unit of work. While an old one is open, the queue manager cannot reuse its log. With circular logging
# an old one is backed out (AMQ7469, and 2003 follows; IBM MQ, "MQRC_BACKED_OUT"), on z/OS it is shunted.
LONGEST_S = 60.0


@dataclass(frozen=True, slots=True)
class Every:
    """How often to take a syncpoint. A unit of work ends when it reaches any of these limits."""

    messages: int | None = None
    """The number of logical messages, at least 1."""
    bytes: int | None = None
    """The length of the application's data in bytes, at least 1. The message that reaches this length is still in the unit of
    work.
    """
    seconds: float | None = None
    """The age of the unit of work in seconds, more than 0. Each put and each get checks it, and so does a consumer that waits. If
    a producer puts nothing, its unit of work stays open.
    """

    def __post_init__(self) -> None:
        for name in ("messages", "bytes", "seconds"):
            limit = getattr(self, name)
            kinds = int | float if name == "seconds" else int
            if limit is not None and (isinstance(limit, bool) or not isinstance(limit, kinds) or not limit > 0):
                least = "more than 0" if name == "seconds" else "a whole number, at least 1"
                raise ValueError(f"commit_every: {name} must be {least}, got {limit!r}")
        if self.messages is None and self.bytes is None and self.seconds is None:
            raise ValueError("commit_every: Every() has no limit; give messages, bytes or seconds")


def capped(every: Every, max_uncommitted_msgs: int, status_messages: int) -> Every:
    """Return ``every`` with a limit of messages that leaves room in MAXUMSGS for the status record's messages.

    Raises ValueError if there is no room for even one message.
    """
    room = max_uncommitted_msgs - status_messages
    if room < 1:
        raise ValueError(
            f"the queue manager's MAXUMSGS is {max_uncommitted_msgs}, but a message and its status record need at least "
            f"{1 + status_messages}: raise MAXUMSGS"
        )
    return replace(every, messages=room if every.messages is None else min(every.messages, room))


def syncpoint_due(every: Every, messages: int, data_bytes: int, age_s: float) -> bool:
    """Return whether a unit of work with these messages, bytes and age must end now. An empty unit of work need not end."""
    if messages == 0:
        return False
    if every.messages is not None and messages >= every.messages:
        return True
    if every.bytes is not None and data_bytes >= every.bytes:
        return True
    return every.seconds is not None and age_s >= every.seconds
