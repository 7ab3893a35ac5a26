"""Finds the groups that arrive on a queue, at a cost that depends on how many are new.

The walker's cursor stays where it was, so a group at the end of the queue costs one MQGET, however deep the queue is. Groups can
also appear before the cursor: the last message of a group comes late, or messages are committed later than others behind them.
Only another pass from the start of the queue finds these, and it reads every first message. So the next pass begins when four
times the duration of the last one is over: passes take at most a fifth of the time. While no group arrives, the pause grows to
four seconds.

A group that does not fit into a micro-batch waits here for the next one. Applications may use a GroupId more than once, and
messages of one group could be taken for those of another one with its GroupId. So a group is *held* until the other one is
removed. Then it is looked at again: it may have been complete only with the other one's messages. Under availableNow all groups
are found before the first micro-batch.

Not here: which groups were planned before (``manifests.py``), and limits (``offsets.py``).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

from mqgroups.spark.offsets import Key, Planned

_REST = 4
# The longest pause between two passes that find nothing, in seconds.
_LONGEST_PAUSE_S = 4.0
# How many groups are found ahead at most: each takes about half a kilobyte.
_MOST_WAITING = 100_000


class Planning(Protocol):
    """The parts of ``Manifests`` that say what is in a micro-batch and not removed."""

    def knows(self, key: Key) -> bool:
        """Whether a micro-batch contains this group."""

    def holds(self, key: Key) -> bool:
        """Whether a micro-batch contains this group, or another one with its GroupId."""


class Heads(Protocol):
    """The parts of ``BrowsedQueue`` that find groups."""

    def heads(self) -> Iterator[Planned]: ...
    def heads_of(self, group_id: bytes) -> list[Planned]: ...
    def more_heads(self, wait_ms: int) -> Iterator[Planned]: ...
    def forget(self, keys: Iterable[Key]) -> None: ...


class Arrivals:
    """The groups that were found on a queue, and are not planned."""

    def __init__(self, queue: Heads, clock_s: Callable[[], float] = time.monotonic) -> None:
        self._queue = queue
        self._clock_s = clock_s
        self._waiting: dict[Key, Planned] = {}
        self._held: set[Key] = set()
        self._is_closed = False
        # The pass from the start of the queue: whether one is under way, its duration so far, and when the next one is due.
        self._in_pass = False
        self._took_s = 0.0
        self._due_s = float("-inf")
        # Whether a group has been found since the last pass; how long to pause if not.
        self._is_new = False
        self._pause_s = 0.0
        # Whether the cursor is at the end of the queue.
        self._at_end = False

    @property
    def waiting(self) -> int:
        """How many groups have been found and are in no micro-batch."""
        return len(self._waiting)

    @property
    def stamps(self) -> set[str]:
        """When their first messages were put: PutDate and PutTime, 16 digits."""
        return {key.stamp for key in self._waiting}

    def waits(self, key: Key) -> bool:
        """Whether this message, or a group with this GroupId, is among them."""
        return any(each.name == key.name for each in self._waiting)

    @property
    def wait_for_removal(self) -> bool:
        """Whether the next groups come only when earlier ones are removed: some are held, or all were found."""
        return self._is_closed or bool(self._held)

    def find_all_and_close(self) -> None:
        """Find the groups that are on the queue now, and do not look for others later. Raises MQIError."""
        for head in self._queue.heads():
            self._note(head)
        self._is_closed = self._at_end = True

    def look_on(self, planning: Planning, most: int = _MOST_WAITING) -> Iterator[None]:
        """Find groups, a step for each, until the end of the queue, or until ``most`` wait. Raises MQIError."""
        if self._is_closed or len(self._waiting) >= most:
            return
        for head in self._walked():
            if not planning.knows(head.key):
                self._note(head)
            if len(self._waiting) >= most:
                return
            yield

    def look_for_one(self, planning: Planning) -> None:
        """Find a group if none waits, and the cursor is not at the end of the queue. Raises MQIError."""
        if not self._at_end:
            for _ in self.look_on(planning, 1):
                pass

    def found(self, planning: Planning) -> Iterator[Planned]:
        """Yield the groups that wait, then those on the queue, one of each GroupId. Raises MQIError."""
        names: set[tuple[bytes, str]] = set()
        for head in tuple(self._waiting.values()):
            if planning.knows(head.key):
                self._forget(head.key)
            elif self._is_free(head, planning, names):
                yield from self._offered(head, names)
        if not self._is_closed:
            yield from self._new(self._walked(), planning, names)

    def next_ones(self, planning: Planning, wait_ms: int) -> Iterator[Planned]:
        """Wait for a group at the end of the queue; yield it and those behind it. Raises MQIError."""
        if not self._is_closed:
            self._at_end = False
            yield from self._new(self._queue.more_heads(wait_ms), planning, set())
            self._at_end = True

    def latest(self, planned: Planned) -> Planned:
        """Return what is planned; a message outside groups with all copies that have been found since."""
        return planned if planned.key.is_group else self._waiting[planned.key]

    def counted(self, planned: Planned) -> None:
        """Note how many messages a group has."""
        if planned.key.is_group and planned.key in self._waiting:
            self._waiting[planned.key] = planned

    def refuse(self, key: Key) -> None:
        """Note that a group cannot be planned now. The next pass finds it again."""
        self._forget(key)

    def planned(self, keys: Iterable[Key]) -> None:
        """Note that these groups are in a micro-batch."""
        for key in keys:
            self._forget(key)

    def removed(self, keys: Iterable[Key]) -> None:
        """Note that these groups are removed. Another group may have the same key later."""
        keys = tuple(keys)
        self.planned(keys)
        self._queue.forget(keys)

    def _new(self, heads: Iterable[Planned], planning: Planning, names: set[tuple[bytes, str]]) -> Iterator[Planned]:
        for head in heads:
            if not planning.knows(head.key) and self._note(head) and self._is_free(head, planning, names):
                yield from self._offered(head, names)

    def _offered(self, head: Planned, names: set[tuple[bytes, str]]) -> Iterator[Planned]:
        yield head
        if head.key in self._waiting:
            names.add(head.key.name)

    def _note(self, head: Planned) -> bool:
        """Let a group wait; returns whether it is new."""
        before = self._waiting.get(head.key)
        if before is None or before.key.copies < head.key.copies:
            self._waiting[head.key] = head
        self._is_new = self._is_new or before is None
        return before is None

    def _is_free(self, head: Planned, planning: Planning, names: set[tuple[bytes, str]]) -> bool:
        """Whether a waiting group can be planned; ``names``: those of the groups that were yielded before."""
        key = head.key
        if key.name in names or planning.holds(key):
            self._held.add(key)
            return False
        if key in self._held:
            self._held.discard(key)
            if all(each.key != key for each in self._queue.heads_of(key.identifier)):
                # It was complete only with messages of the removed group. A pass finds it when it is complete.
                self._forget(key)
                return False
        return True

    def _forget(self, key: Key) -> None:
        self._waiting.pop(key, None)
        self._held.discard(key)

    def _walked(self) -> Iterator[Planned]:
        if not self._in_pass and self._clock_s() >= self._due_s:
            self._in_pass, self._took_s = True, 0.0
            heads = self._queue.heads()
        else:
            heads = self._queue.more_heads(0)
        self._at_end = False
        while True:
            began_s = self._clock_s()
            head = next(heads, None)
            ended_s = self._clock_s()
            self._took_s += ended_s - began_s
            if head is None:
                break
            yield head
        self._at_end = True
        if self._in_pass:
            self._pause_s = 0.0 if self._is_new else min(2 * self._pause_s + 0.5, _LONGEST_PAUSE_S)
            self._in_pass = self._is_new = False
            self._due_s = ended_s + max(_REST * self._took_s, self._pause_s)
