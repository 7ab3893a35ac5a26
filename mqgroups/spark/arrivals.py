"""The groups that arrive on a queue: finds those that are not planned yet, at a cost that depends on what is new.

The walker's cursor stays where it was, so a group at the end of the queue costs one MQGET, however many groups are before it. Two
kinds of groups appear behind the cursor: a group whose first message came early and whose last one came late, and messages that
were committed later than others after them. Only another pass from the start of the queue finds them, and a pass sees every
complete group on the queue. So the next pass begins when four times the duration of the last one is over: passes take at most a
fifth of the time. While nothing arrives, the pause grows to four seconds.

A group that was found and does not fit into a micro-batch waits here for the next one. A group is *held* as long as another one
with its GroupId is not removed: applications may use a GroupId more than once, and messages of the one could be taken for those
of the other. When the other one is removed, this one is looked at again: it may have been complete only together with the other's
messages. Under availableNow all groups are found
before the first micro-batch, and no more are looked for.

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
# More are not looked for ahead, because each takes about half a kilobyte.
_MOST_WAITING = 100_000


class Planning(Protocol):
    """The parts of ``Manifests`` that say what is in a micro-batch and not removed."""

    def knows(self, key: Key) -> bool:
        """Whether it is this group."""

    def holds(self, key: Key) -> bool:
        """Whether it is this group, or another one with its GroupId."""


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
        # The pass from the start of the queue: whether it is under way, its duration so far, and when the next one is due.
        self._in_pass = False
        self._took_s = 0.0
        self._due_s = float("-inf")
        # Whether a group was found since the last one, and how long to pause because none was.
        self._is_new = False
        self._pause_s = 0.0
        # Whether the cursor is at the end of the queue, so that all groups were found except those behind it.
        self._at_end = False

    @property
    def waiting(self) -> int:
        """How many groups were found and are not planned."""
        return len(self._waiting)

    @property
    def stamps(self) -> set[str]:
        """When the first messages of these groups were put: PutDate and PutTime, 16 digits of each."""
        return {key.stamp for key in self._waiting}

    def waits(self, key: Key) -> bool:
        """Whether a group with this GroupId, or this message, is among them."""
        return any(each.name == key.name for each in self._waiting)

    @property
    def wait_for_removal(self) -> bool:
        """Whether no more groups come before earlier ones are removed: some are held, or all were found."""
        return self._is_closed or bool(self._held)

    def find_all_and_close(self) -> None:
        """Find all groups that are on the queue, and no more afterwards. Raises MQIError."""
        for head in self._queue.heads():
            self._note(head)
        self._is_closed = self._at_end = True

    def look_on(self, planning: Planning, most: int = _MOST_WAITING) -> Iterator[None]:
        """Find groups that are not planned, a step for each one on the queue, until its end, or until so many wait.

        Raises MQIError.
        """
        if self._is_closed or len(self._waiting) >= most:
            return
        for head in self._walked():
            if not planning.knows(head.key):
                self._note(head)
            if len(self._waiting) >= most:
                return
            yield

    def look_for_one(self, planning: Planning) -> None:
        """Find a group if none waits, and the last micro-batch was full before the end of the queue. Raises MQIError."""
        if not self._at_end:
            for _ in self.look_on(planning, 1):
                pass

    def found(self, planning: Planning) -> Iterator[Planned]:
        """Yield the groups that wait, and then those on the queue; one of a GroupId. It does not wait for more.

        Raises MQIError.
        """
        names: set[tuple[bytes, str]] = set()
        for head in tuple(self._waiting.values()):
            if planning.knows(head.key):
                self._forget(head.key)
            elif self._is_free(head, planning, names):
                yield from self._offered(head, names)
        if not self._is_closed:
            yield from self._new(self._walked(), planning, names)

    def next_ones(self, planning: Planning, wait_ms: int) -> Iterator[Planned]:
        """Wait for the next group at the end of the queue; yield it and those that came with it. Raises MQIError."""
        if not self._is_closed:
            self._at_end = False
            yield from self._new(self._queue.more_heads(wait_ms), planning, set())
            self._at_end = True

    def latest(self, planned: Planned) -> Planned:
        """Return what was planned, with all messages outside groups that have turned out to be like it."""
        return planned if planned.key.is_group else self._waiting[planned.key]

    def counted(self, planned: Planned) -> None:
        """Note how many messages a group has that was yielded."""
        if planned.key.is_group and planned.key in self._waiting:
            self._waiting[planned.key] = planned

    def refuse(self, key: Key) -> None:
        """Note that a group that was yielded cannot be planned now. The next pass finds it again."""
        self._forget(key)

    def planned(self, keys: Iterable[Key]) -> None:
        """Note that these groups no longer wait."""
        for key in keys:
            self._forget(key)

    def removed(self, keys: Iterable[Key]) -> None:
        """Note that these groups were removed; another group may have the same key later."""
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
        """Let a group wait; returns whether it did not wait already."""
        before = self._waiting.get(head.key)
        if before is None or before.key.copies < head.key.copies:
            self._waiting[head.key] = head
        self._is_new = self._is_new or before is None
        return before is None

    def _is_free(self, head: Planned, planning: Planning, names: set[tuple[bytes, str]]) -> bool:
        """Whether a waiting group can be planned; ``names``: of those that were yielded before."""
        key = head.key
        if key.name in names or planning.holds(key):
            self._held.add(key)
            return False
        if key in self._held:
            self._held.discard(key)
            if all(each.key != key for each in self._queue.heads_of(key.identifier)):
                # Messages that it shared with the removed group are gone. A pass finds it when it is complete.
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
