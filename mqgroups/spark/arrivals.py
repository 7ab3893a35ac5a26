"""Finds the groups that arrive on a queue, at a cost that depends on the number of new groups.

Between calls the browse cursor stays where it is. So a group at the end of the queue costs one MQGET, however deep the queue is.
A group can also appear where the cursor has already passed, because its last message comes late, or because messages behind it
are committed first. Only another *pass*, which reads the first message of each group from the start of the queue, finds such a
group. After each pass there is a pause that is four times as long as the pass, so passes take at most a fifth of the time. While
no group arrives, the pause grows to four seconds.

A group that does not fit into a micro-batch waits here for the next micro-batch. Applications can use a GroupId more than once.
Then messages of one group could be mistaken for messages of another group with the same GroupId. So the second group is *held*
until the first one is removed. Then this module checks again whether the second group is complete, because it may have looked
complete only with messages of the first group. Under availableNow this module finds all groups before the first micro-batch.

``manifests.py`` knows which groups were already planned, and ``offsets.py`` knows the limits.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

from mqgroups.spark.offsets import Key, Planned

_REST = 4
# The longest pause between two passes that find nothing, in seconds.
_LONGEST_PAUSE_S = 4.0
# The maximum number of groups that are found in advance. Each takes about half a kilobyte.
_MOST_WAITING = 100_000


class Planning(Protocol):
    """The methods of ``Manifests`` that report which groups are in a micro-batch and not yet removed."""

    def knows(self, key: Key) -> bool:
        """Return whether a micro-batch contains this group."""

    def holds(self, key: Key) -> bool:
        """Return whether a micro-batch contains this group, or another group with the same GroupId."""


class Heads(Protocol):
    """The methods of ``BrowsedQueue`` that find groups."""

    def heads(self) -> Iterator[Planned]: ...
    def heads_of(self, group_id: bytes) -> list[Planned]: ...
    def more_heads(self, wait_ms: int) -> Iterator[Planned]: ...
    def forget(self, keys: Iterable[Key]) -> None: ...


class Arrivals:
    """The groups that were found on a queue and are in no micro-batch."""

    def __init__(self, queue: Heads, clock_s: Callable[[], float] = time.monotonic) -> None:
        self._queue = queue
        self._clock_s = clock_s
        self._waiting: dict[Key, Planned] = {}
        self._held: set[Key] = set()
        self._is_closed = False
        # Whether a pass from the start of the queue is under way, its duration so far, and when the next pass is due.
        self._in_pass = False
        self._took_s = 0.0
        self._due_s = float("-inf")
        # Whether a group has been found since the last pass. If not, how long to pause.
        self._is_new = False
        self._pause_s = 0.0
        # Whether the cursor is at the end of the queue.
        self._at_end = False

    @property
    def waiting(self) -> int:
        """The number of groups that have been found and are in no micro-batch."""
        return len(self._waiting)

    @property
    def stamps(self) -> set[str]:
        """PutDate and PutTime (16 digits) of the first message of each waiting group."""
        return {key.stamp for key in self._waiting}

    def waits(self, key: Key) -> bool:
        """Return whether a waiting group or message has the same ``Key.name`` as ``key``."""
        return any(each.name == key.name for each in self._waiting)

    @property
    def wait_for_removal(self) -> bool:
        """Whether more groups can come only after a removal, because some groups are held or all groups were found."""
        return self._is_closed or bool(self._held)

    def find_all_and_close(self) -> None:
        """Find the groups that are on the queue now. After this call no other groups are found. Raises MQIError."""
        for head in self._queue.heads():
            self._note(head)
        self._is_closed = self._at_end = True

    def look_on(self, planning: Planning, most: int = _MOST_WAITING) -> Iterator[None]:
        """Find one group in each step, until the end of the queue or until ``most`` groups wait. Raises MQIError."""
        if self._is_closed or len(self._waiting) >= most:
            return
        for head in self._walked():
            if not planning.knows(head.key):
                self._note(head)
            if len(self._waiting) >= most:
                return
            yield

    def look_for_one(self, planning: Planning) -> None:
        """Find a group if no group waits and the cursor is not at the end of the queue. Raises MQIError."""
        if not self._at_end:
            for _ in self.look_on(planning, 1):
                pass

    def found(self, planning: Planning) -> Iterator[Planned]:
        """Yield the waiting groups, then new groups on the queue, at most one group for each GroupId. Raises MQIError."""
        names: set[tuple[bytes, str]] = set()
        for head in tuple(self._waiting.values()):
            if planning.knows(head.key):
                self._forget(head.key)
            elif self._is_free(head, planning, names):
                yield from self._offered(head, names)
        if not self._is_closed:
            yield from self._new(self._walked(), planning, names)

    def next_ones(self, planning: Planning, wait_ms: int) -> Iterator[Planned]:
        """Wait up to ``wait_ms`` for a group at the queue's end. Yield this group and the groups behind it. Raises MQIError."""
        if not self._is_closed:
            self._at_end = False
            yield from self._new(self._queue.more_heads(wait_ms), planning, set())
            self._at_end = True

    def latest(self, planned: Planned) -> Planned:
        """Return ``planned`` if it is a group. Otherwise return the waiting messages with its key: all copies found so far."""
        return planned if planned.key.is_group else self._waiting[planned.key]

    def counted(self, planned: Planned) -> None:
        """Store the number of messages of a waiting group."""
        if planned.key.is_group and planned.key in self._waiting:
            self._waiting[planned.key] = planned

    def refuse(self, key: Key) -> None:
        """Forget a group that cannot be planned now. The next pass finds it again."""
        self._forget(key)

    def planned(self, keys: Iterable[Key]) -> None:
        """Forget these groups, because they are in a micro-batch now."""
        for key in keys:
            self._forget(key)

    def removed(self, keys: Iterable[Key]) -> None:
        """Forget these groups, because they are removed. Another group with the same key can be found later."""
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
        """Add a group to the waiting groups, and return whether the group is new."""
        before = self._waiting.get(head.key)
        if before is None or before.key.copies < head.key.copies:
            self._waiting[head.key] = head
        self._is_new = self._is_new or before is None
        return before is None

    def _is_free(self, head: Planned, planning: Planning, names: set[tuple[bytes, str]]) -> bool:
        """Return whether a waiting group can be planned now. ``names`` has the ``Key.name`` of each group yielded so far."""
        key = head.key
        if key.name in names or planning.holds(key):
            self._held.add(key)
            return False
        if key in self._held:
            self._held.discard(key)
            if all(each.key != key for each in self._queue.heads_of(key.identifier)):
                # The group was complete only with messages of the removed group. A pass finds it again when it is complete.
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
