"""The messages of one GroupId on a queue: which logical messages are there, and whether the group is complete.

Not here: what may be put or got next in a group (``logical_order.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, Protocol, TypeVar

from sortedcontainers import SortedDict

from mqgroups.embedded.messages.logical_order import IS_SEGMENT
from mqgroups.mqi import constants as mq


class PhysicalMessage(Protocol):
    """What a group looks at in a message; ``key`` is its place in delivery order."""

    @property
    def key(self) -> int: ...
    @property
    def msg_seq_number(self) -> int: ...
    @property
    def offset(self) -> int: ...
    @property
    def msg_flags(self) -> int: ...
    @property
    def feedback(self) -> int: ...
    @property
    def extent(self) -> int: ...


P = TypeVar("P", bound=PhysicalMessage)


def _key(message: PhysicalMessage) -> int:
    return message.key


class Group(Generic[P]):
    """The available messages that carry one GroupId, and whether they are all there."""

    __slots__ = ("_complete", "_last_seqs", "_parts", "_sum_of_seqs", "members")

    def __init__(self) -> None:
        self.members: SortedDict[int, P] = SortedDict()
        self._parts: dict[int, list[P]] = {}
        self._complete = 0
        self._sum_of_seqs = 0
        self._last_seqs: dict[int, int] = {}

    def add(self, message: P) -> None:
        seq = message.msg_seq_number
        self.members[message.key] = message
        was = self.has_logical_message(seq)
        if seq not in self._parts:
            self._parts[seq] = []
            self._sum_of_seqs += seq
        self._parts[seq].append(message)
        self._complete += self.has_logical_message(seq) - was
        if message.msg_flags & mq.MQMF_LAST_MSG_IN_GROUP:
            self._last_seqs[seq] = self._last_seqs.get(seq, 0) + 1

    def remove(self, message: P) -> None:
        seq = message.msg_seq_number
        del self.members[message.key]
        was = self.has_logical_message(seq)
        parts = self._parts[seq]
        parts.remove(message)
        if not parts:
            del self._parts[seq]
            self._sum_of_seqs -= seq
        self._complete += self.has_logical_message(seq) - was
        if message.msg_flags & mq.MQMF_LAST_MSG_IN_GROUP:
            self._last_seqs[seq] -= 1
            if not self._last_seqs[seq]:
                del self._last_seqs[seq]

    def find(self, msg_seq_number: int, offset: int) -> P | None:
        """Return the first in delivery order with this sequence number and offset. Duplicates are legal on a queue."""
        found = [part for part in self.parts(msg_seq_number) if part.offset == offset]
        return min(found, key=_key) if found else None

    def parts(self, msg_seq_number: int) -> Sequence[P]:
        """Return the physical messages with this sequence number, in no particular order."""
        return self._parts.get(msg_seq_number, ())

    def has_logical_message(self, msg_seq_number: int) -> bool:
        """Whether all segments of a logical message are there (or it has none and is there)."""
        parts = self._parts.get(msg_seq_number)
        if not parts:
            return False
        if not parts[0].msg_flags & IS_SEGMENT:
            return True
        return any(self.logical_message(msg_seq_number, feedback) for feedback in {part.feedback for part in parts})

    def logical_message(self, msg_seq_number: int, feedback: int) -> list[P]:
        """Return the segments of a logical message by ascending offset, or nothing if one of them is not there.

        A logical message that is not segmented is the one segment of itself. Segments that are reports go together if their
        Feedback is the same (topic q022880).
        """
        by_offset: dict[int, P] = {}
        for part in sorted(self.parts(msg_seq_number), key=_key):
            if part.feedback == feedback:
                by_offset.setdefault(part.offset, part)
        found: list[P] = []
        offset = 0
        while offset in by_offset:
            last = by_offset[offset]
            found.append(last)
            if last.msg_flags & mq.MQMF_LAST_SEGMENT or not last.msg_flags & IS_SEGMENT:
                return found
            if not last.extent:
                return []
            offset += last.extent
        return []

    def is_complete(self) -> bool:
        """Whether every logical message from 1 to the one flagged as last is there, with all its segments."""
        if not self._last_seqs:
            return False
        last = max(self._last_seqs)
        if self._complete < last:
            return False
        # Of n different numbers above zero only 1 to n have so small a sum: what is usual is told without counting through.
        if len(self._parts) == last and self._sum_of_seqs == last * (last + 1) // 2:
            return True
        return all(self.has_logical_message(seq) for seq in range(1, last + 1))
