"""The MQGETs that wait at a queue. This module decides which of them gets a message that arrives.

A waiting call does not look for messages itself. The thread that changes the queue lets the waiting calls look one by one, under
the queue manager's lock. This thread wakes each call that finds a message. The other calls continue to sleep. So each message
goes to one call, and no call is woken in vain.

There are three turns. The first turn is for calls that browse without a lock, because they can share a message. The second turn
is for calls that want specific messages. The third turn is for calls that take any message. Within a turn, the call that has
waited longest comes first. IBM MQ documents the order of the last two turns ("attempts to give priority"), but no order within a
turn (IBM MQ, "MQGMO options"). The turn of browsing calls is not documented.

Each call has a description of the messages that it waits for (``Wanted``). Only calls that could get one of the new messages
look. Of several calls with equal descriptions, only the first looks. If it finds nothing, the others would find nothing either.

``calls/get_call.py`` looks for messages. ``answer.Waiter`` lets a connection sleep.
"""

from __future__ import annotations

import enum
import heapq
import itertools
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

Found = TypeVar("Found")
# The name and the value of a field.
Identifier: TypeAlias = "tuple[str, Hashable]"
_numbers = itertools.count()


class Turn(enum.IntEnum):
    """The turn in which a waiting call looks for messages."""

    BROWSE = 0
    SPECIFIC = 1
    GENERAL = 2


@dataclass(frozen=True, slots=True)
class Wanted:
    """A description of the messages that a call waits for. Calls with equal descriptions find the same messages.

    Attributes:
        turn: the turn in which the call looks for messages.
        identifier: a field's name, and the field's value in every message that the call can get; None if it can get any message.
        whole: whether the whole group or logical message must be available.
        what: all other criteria of the call.
    """

    turn: Turn
    identifier: Identifier | None = None
    whole: bool = False
    what: Hashable = None


class WaitingCall(Generic[Found]):
    """A call that waits for a message.

    ``look`` returns a result, or None if it finds nothing, or raises an exception. A result or an exception becomes ``outcome``,
    and ``wake`` is called. The outcome never changes. ``rank`` orders calls by turn, and within a turn the oldest call is first.
    """

    __slots__ = ("_look", "_looks", "_wake", "outcome", "rank")

    def __init__(self, turn: Turn, look: Callable[[], Found | None], wake: Callable[[], None]) -> None:
        self.rank = (turn, next(_numbers))
        self._look = look
        self._wake = wake
        self._looks = False
        self.outcome: Found | Exception | None = None

    def look_again(self) -> None:
        """Call ``look`` after a change of the queue, unless there is an outcome or ``look`` itself has just made the change."""
        if self.outcome is not None or self._looks:
            return
        self._looks = True
        try:
            self.outcome = self._look()
        except Exception as error:
            # The waiting call fails with this error. The call that changed the queue does not fail.
            self.outcome = error
        finally:
            self._looks = False
        if self.outcome is not None:
            self._wake()


# Calls with equal ``Wanted``, the call that has waited longest first.
_Alike: TypeAlias = "dict[WaitingCall[Any], None]"


class WaitingCalls:
    """The calls that wait at a queue. Callers hold the queue manager's lock."""

    def __init__(self) -> None:
        self._calls: dict[WaitingCall[Any], tuple[Wanted, ...]] = {}
        self._alike: dict[tuple[bool, Identifier | None], dict[Wanted, _Alike]] = {}
        self._wanting_whole = 0

    def __len__(self) -> int:
        return len(self._calls)

    @property
    def want_whole(self) -> bool:
        """Whether any call waits for a whole group or logical message."""
        return self._wanting_whole > 0

    def add(self, call: WaitingCall[Any], *wanted: Wanted) -> None:
        """Add a call that waits for a message of any of these descriptions."""
        self._calls[call] = wanted
        for each in wanted:
            self._alike.setdefault((each.whole, each.identifier), {}).setdefault(each, {})[call] = None
            self._wanting_whole += each.whole

    def discard(self, call: WaitingCall[Any]) -> None:
        """Remove a call that has ended."""
        for each in self._calls.pop(call, ()):
            place = (each.whole, each.identifier)
            self._wanting_whole -= each.whole
            alike = self._alike[place][each]
            del alike[call]
            if not alike:
                del self._alike[place][each]
                if not self._alike[place]:
                    del self._alike[place]

    def look_again(self) -> None:
        """Let every call look again, in the order of their turns. Use this after a change that could concern any call."""
        for call in sorted(self._calls, key=lambda call: call.rank):
            call.look_again()
            if call.outcome is not None:
                self.discard(call)

    def look_for(self, identifiers: Iterable[Identifier], of_whole: Iterable[Identifier] = ()) -> None:
        """Let the calls that could get one of the new messages look again, in the order of their turns.

        Args:
            identifiers: the identifiers of the new messages.
            of_whole: the identifiers of messages whose group or logical message is now complete.
        """
        places: set[tuple[bool, Identifier | None]] = {(False, one) for one in identifiers}
        places.update((True, one) for one in of_whole)
        # A call for any message can get each new message.
        places.update({(whole, None) for whole, _ in places})
        turns: list[tuple[tuple[Turn, int], int, WaitingCall[Any], _Alike]] = []
        for place in self._alike.keys() & places:
            for alike in self._alike[place].values():
                first = next(iter(alike))
                turns.append((first.rank, len(turns), first, alike))
        heapq.heapify(turns)
        while turns:
            _, number, call, alike = heapq.heappop(turns)
            call.look_again()
            if call.outcome is None:
                # The calls after this call want the same messages.
                continue
            self.discard(call)
            following = next(iter(alike), None)
            if following is not None:
                heapq.heappush(turns, (following.rank, number, following, alike))
