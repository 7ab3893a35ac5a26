"""The groups that arrive on a queue: finds those that are not planned yet, at a cost that depends on what is new.

The walker's cursor stays where it was, so a group at the end of the queue costs one MQGET, however many groups are before it. Two
kinds of groups appear behind the cursor: a group whose first message came early and whose last one came late, and messages that
were committed later than others after them. Only another pass from the start of the queue finds them, and a pass sees every
complete group on the queue. So the next pass begins when four times the duration of the last one is over: passes take at most a
fifth of the time, and a short queue is passed at each call.

A group that was found and does not fit into a micro-batch waits here for the next one. Under availableNow all groups are found
before the first micro-batch, and no more are looked for.

Not here: which groups were planned before (``manifests.py``), and limits (``offsets.py``).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

from mqgroups.spark.browse import Head
from mqgroups.spark.offsets import Key

_REST = 4
Known = Callable[[Key], bool]


class Heads(Protocol):
    """The parts of ``BrowsedQueue`` that find groups."""

    def heads(self) -> Iterator[Head]: ...
    def more_heads(self, wait_ms: int) -> Iterator[Head]: ...
    def forget(self, keys: Iterable[Key]) -> None: ...


class Arrivals:
    """The groups that were found on a queue, and are not planned."""

    def __init__(self, queue: Heads, clock_s: Callable[[], float] = time.monotonic) -> None:
        self._queue = queue
        self._clock_s = clock_s
        self._waiting: dict[Key, Head] = {}
        self._is_closed = False
        # The pass from the start of the queue: whether it is under way, its duration so far, and when the next one is due.
        self._in_pass = False
        self._took_s = 0.0
        self._due_s = float("-inf")

    @property
    def waiting(self) -> int:
        """How many groups were found and are not planned."""
        return len(self._waiting)

    @property
    def is_closed(self) -> bool:
        """Whether no more groups are looked for."""
        return self._is_closed

    def find_all_and_close(self) -> None:
        """Find all groups that are on the queue, and no more afterwards. Raises the errors of ``BrowsedQueue.heads``."""
        self._waiting = {head.key: head for head in self._queue.heads()}
        self._is_closed = True

    def found(self, known: Known) -> Iterator[Head]:
        """Yield the groups that wait, and then those on the queue, without the known ones. It does not wait for more.

        Raises the errors of ``BrowsedQueue.heads``.
        """
        for head in tuple(self._waiting.values()):
            if known(head.key):
                del self._waiting[head.key]
            else:
                yield head
        if not self._is_closed:
            yield from self._new(self._walked(), known)

    def next_ones(self, known: Known, wait_ms: int) -> Iterator[Head]:
        """Wait for the next group at the end of the queue; yield it and those that came with it. Errors as for ``found``."""
        if not self._is_closed:
            yield from self._new(self._queue.more_heads(wait_ms), known)

    def planned(self, keys: Iterable[Key]) -> None:
        """Note that these groups no longer wait."""
        for key in keys:
            self._waiting.pop(key, None)

    def removed(self, keys: Iterable[Key]) -> None:
        """Note that these groups were removed; another group may have the same key later."""
        keys = tuple(keys)
        self.planned(keys)
        self._queue.forget(keys)

    def _new(self, heads: Iterable[Head], known: Known) -> Iterator[Head]:
        for head in heads:
            if head.key not in self._waiting and not known(head.key):
                self._waiting[head.key] = head
                yield head

    def _walked(self) -> Iterator[Head]:
        if not self._in_pass and self._clock_s() >= self._due_s:
            self._in_pass, self._took_s = True, 0.0
            heads = self._queue.heads()
        else:
            heads = self._queue.more_heads(0)
        while True:
            began_s = self._clock_s()
            head = next(heads, None)
            ended_s = self._clock_s()
            self._took_s += ended_s - began_s
            if head is None:
                break
            yield head
        if self._in_pass:
            self._in_pass = False
            self._due_s = ended_s + _REST * self._took_s
