"""The MQGETs that wait for messages of one queue: which of them gets what arrives.

Who waits does not look for itself. Whatever changes the queue lets each waiting call look in its turn, in the thread that made
the change and under the queue manager's lock; a call that finds something has its outcome and is woken, all others sleep on. So a
message goes to one call, and no call is woken for a message of somebody else's.

The turns: all that browse without a lock, who share what they find; then those that wait for certain messages; then those that
take any. Within each the one that waits longest comes first. IBM MQ promises the order of the last two ("attempts to give
priority") and within them none (topic "MQGMO options", q096780); browsers first is one of the orders it leaves open.

Not here: what a call looks for (``calls/getting.py``), how a connection sleeps (``answer.Waiter``).
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any, Generic, TypeVar

Found = TypeVar("Found")


class Turn(enum.IntEnum):
    """When a waiting call looks, compared with others."""

    BROWSE = 0
    SPECIFIC = 1
    GENERAL = 2


class WaitingCall(Generic[Found]):
    """One call that waits.

    ``look`` returns what was found, or None, or raises; ``wake`` is called once there is an outcome. The outcome is what was
    found or the exception, and stays.
    """

    __slots__ = ("_look", "_wake", "outcome", "turn")

    def __init__(self, turn: Turn, look: Callable[[], Found | None], wake: Callable[[], None]) -> None:
        self.turn = turn
        self._look = look
        self._wake = wake
        self.outcome: Found | Exception | None = None

    def look_again(self) -> None:
        """Look once more, unless there is an outcome already."""
        if self.outcome is not None:
            return
        try:
            self.outcome = self._look()
        except Exception as error:
            # It is the waiting call that fails with it, not the one that changed the queue.
            self.outcome = error
        if self.outcome is not None:
            self._wake()


class WaitingCalls:
    """The calls that wait at one queue. All methods are called under the queue manager's lock."""

    def __init__(self) -> None:
        self._by_turn: tuple[dict[WaitingCall[Any], None], ...] = tuple({} for _ in Turn)

    def add(self, call: WaitingCall[Any]) -> None:
        """Let a call wait, behind those of the same turn."""
        self._by_turn[call.turn][call] = None

    def discard(self, call: WaitingCall[Any]) -> None:
        """A call has ended."""
        self._by_turn[call.turn].pop(call, None)

    def look_again(self) -> None:
        """Something changed: let each call look in its turn."""
        for calls in self._by_turn:
            for call in tuple(calls):
                call.look_again()
                if call.outcome is not None:
                    self.discard(call)
