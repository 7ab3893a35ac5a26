"""The MQGETs that wait for messages of one queue, and which of them gets an arriving message.

A waiting call does not look by itself. The thread that changes the queue lets the waiting calls look one by one, under the
queue manager's lock. A call that finds a message is woken; the others sleep on. So each message goes to one call, and no call
is woken in vain.

There are three turns: first all calls that browse without a lock, which share the messages; then calls for certain messages;
then calls for any message. Within a turn the call that waits longest comes first. IBM MQ promises the order of the last two
turns ("attempts to give priority") and no order within them (IBM MQ, "MQGMO options"). The turn of browsers is not documented;
here they come first.

Each call says what it waits for (``Wanted``), and only calls that could get one of the new messages look. Of calls that want
the same, the first one looks: if it finds nothing, the others would find nothing either.

Not here: what a call looks for (``calls/get_call.py``), how a connection sleeps (``answer.Waiter``).
"""

from __future__ import annotations

import enum
import heapq
import itertools
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

Found = TypeVar("Found")
# The name of a field and its value.
Identifier: TypeAlias = "tuple[str, Hashable]"
_numbers = itertools.count()


class Turn(enum.IntEnum):
    """The turn of a waiting call among others."""

    BROWSE = 0
    SPECIFIC = 1
    GENERAL = 2


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a call waits for. Calls with equal values find the same, so it does not matter which of them looks.

    Attributes:
        turn: the turn in which the call looks.
        identifier: a field, and its value in every message that the call may get; None for a call that may get any message.
        whole: whether the whole group or logical message must be available.
        what: all other criteria of the call.
    """

    turn: Turn
    identifier: Identifier | None = None
    whole: bool = False
    what: Hashable = None


class WaitingCall(Generic[Found]):
    """One call that waits.

    ``look`` returns its find, or None, or raises. ``wake`` is called as soon as there is an outcome: the find, or the
    exception. An outcome never changes. ``rank`` orders calls by turn, and within a turn by the time that they have waited.
    """

    __slots__ = ("_look", "_looks", "_wake", "outcome", "rank")

    def __init__(self, turn: Turn, look: Callable[[], Found | None], wake: Callable[[], None]) -> None:
        self.rank = (turn, next(_numbers))
        self._look = look
        self._wake = wake
        self._looks = False
        self.outcome: Found | Exception | None = None

    def look_again(self) -> None:
        """Look once more, unless there is an outcome, or the call is just looking and has made the change itself."""
        if self.outcome is not None or self._looks:
            return
        self._looks = True
        try:
            self.outcome = self._look()
        except Exception as error:
            # The waiting call fails with this error, not the call that changed the queue.
            self.outcome = error
        finally:
            self._looks = False
        if self.outcome is not None:
            self._wake()


# Calls that want the same, the longest waiting first.
_Alike: TypeAlias = "dict[WaitingCall[Any], None]"


class WaitingCalls:
    """The calls that wait at one queue. All methods are called under the queue manager's lock."""

    def __init__(self) -> None:
        self._calls: dict[WaitingCall[Any], tuple[Wanted, ...]] = {}
        self._alike: dict[tuple[bool, Identifier | None], dict[Wanted, _Alike]] = {}
        self._wanting_whole = 0

    def __len__(self) -> int:
        return len(self._calls)

    @property
    def want_whole(self) -> bool:
        """Whether a call waits for a whole group or logical message."""
        return self._wanting_whole > 0

    def add(self, call: WaitingCall[Any], *wanted: Wanted) -> None:
        """Let a call wait for each of the given things."""
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
        """Let each call look again, one after the other in their turns. Call it after a change that may concern any of them."""
        for call in sorted(self._calls, key=lambda call: call.rank):
            call.look_again()
            if call.outcome is not None:
                self.discard(call)

    def look_for(self, identifiers: Iterable[Identifier], of_whole: Iterable[Identifier] = ()) -> None:
        """Let each call that could get one of the new messages look again, one after the other in their turns.

        Args:
            identifiers: those of the new messages.
            of_whole: those of messages whose group or logical message is now complete.
        """
        places: set[tuple[bool, Identifier | None]] = {(False, one) for one in identifiers}
        places.update((True, one) for one in of_whole)
        # A call for any message may get each of them.
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
                # The calls behind it want the same.
                continue
            self.discard(call)
            following = next(iter(alike), None)
            if following is not None:
                heapq.heappush(turns, (following.rank, number, following, alike))
