"""A group on a queue: the messages with the same GroupId. The group can be complete or have gaps.

``logical_order.py`` decides which message of a group a call can put or get next.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic

from sortedcontainers import SortedDict

from mqembedded import constants as mq
from mqembedded.messages.index import Index
from mqembedded.messages.logical_order import IS_SEGMENT
from mqembedded.messages.segments import ANY_REPORT, NO_REPORT, P, Segments, key_of

_OF_ANY_TYPE = (NO_REPORT, ANY_REPORT)


class Group(Generic[P]):
    """A group: the available messages with the same GroupId. ``is_complete`` returns whether the whole group is there."""

    __slots__ = ("_complete", "_last", "_last_seqs", "_segmented", "_sum_of_seqs", "_whole", "members")

    def __init__(self) -> None:
        self.members: SortedDict[int, P] = SortedDict()
        # Two indexes by MsgSeqNumber. The first has the messages that are not segments (their offset is 0), the second the
        # segments.
        self._whole: Index[int, P] = Index()
        self._segmented: dict[int, Segments[P]] = {}
        # The number of complete logical messages, and the sum of their sequence numbers.
        self._complete = 0
        self._sum_of_seqs = 0
        # How many messages are flagged as last in the group, by number. Then the highest of these numbers, or 0.
        self._last_seqs: dict[int, int] = {}
        self._last = 0

    def add(self, message: P) -> None:
        seq = message.msg_seq_number
        self.members[message.key] = message
        was = self.has_logical_message(seq)
        if not message.msg_flags & IS_SEGMENT:
            self._whole.add(seq, message)
        else:
            if seq not in self._segmented:
                self._segmented[seq] = Segments()
            self._segmented[seq].add(message)
        self._count(seq, was)
        if message.msg_flags & mq.MQMF_LAST_MSG_IN_GROUP:
            self._last_seqs[seq] = self._last_seqs.get(seq, 0) + 1
            self._last = max(self._last, seq)

    def remove(self, message: P) -> None:
        seq = message.msg_seq_number
        del self.members[message.key]
        was = self.has_logical_message(seq)
        if not message.msg_flags & IS_SEGMENT:
            self._whole.remove(seq, message)
        else:
            segments = self._segmented[seq]
            segments.remove(message)
            if not segments.in_order:
                del self._segmented[seq]
        self._count(seq, was)
        if message.msg_flags & mq.MQMF_LAST_MSG_IN_GROUP:
            self._last_seqs[seq] -= 1
            if not self._last_seqs[seq]:
                del self._last_seqs[seq]
                if seq == self._last:
                    self._last = max(self._last_seqs, default=0)

    def _count(self, seq: int, was: bool) -> None:
        change = self.has_logical_message(seq) - was
        self._complete += change
        self._sum_of_seqs += change * seq

    def find(self, msg_seq_number: int, offset: int) -> P | None:
        """Return the message with this sequence number and offset, or None. Of duplicates, the first in delivery order counts."""
        found = [] if offset else [self._whole.first(msg_seq_number)]
        segments = self._segmented.get(msg_seq_number)
        if segments is not None:
            found += segments.first_at(offset)
        return min((one for one in found if one is not None), key=key_of, default=None)

    def with_offset(self, msg_seq_number: int, offset: int) -> SortedDict[int, P] | Sequence[P]:
        """Return the physical messages with this sequence number and offset, in delivery order."""
        segments = self._segmented.get(msg_seq_number)
        if segments is None:
            return () if offset else self._whole.bucket(msg_seq_number)
        return sorted([*(() if offset else self._whole.all(msg_seq_number)), *segments.at(offset)], key=key_of)

    def with_number(self, msg_seq_number: int) -> SortedDict[int, P] | Sequence[P]:
        """Return the physical messages with this sequence number, in delivery order."""
        segments = self._segmented.get(msg_seq_number)
        if segments is None:
            return self._whole.bucket(msg_seq_number)
        if msg_seq_number not in self._whole:
            return segments.in_order
        return sorted([*self._whole.all(msg_seq_number), *segments.in_order.values()], key=key_of)

    def wholeness(self, msg_seq_number: int) -> tuple[bool, bool, frozenset[int]]:
        """Return whether the group and the logical message with this number are complete.

        Returns:
            Whether the group is complete; whether the logical message is; the Feedback values for which it has all segments.
        """
        segments = self._segmented.get(msg_seq_number)
        complete = frozenset[int]() if segments is None else segments.complete
        return self.is_complete(), msg_seq_number in self._whole or not complete.isdisjoint(_OF_ANY_TYPE), complete

    def has_logical_message(self, msg_seq_number: int) -> bool:
        """Return whether a logical message is complete. A segmented message needs all segments, or reports on all segments."""
        return msg_seq_number in self._whole or any(
            self.has_all_segments(msg_seq_number, feedback) for feedback in _OF_ANY_TYPE
        )

    def has_all_segments(self, msg_seq_number: int, feedback: int) -> bool:
        """Return whether all segments of a logical message are there. ``Segments.joined`` explains ``feedback``."""
        segments = self._segmented.get(msg_seq_number)
        return segments is not None and segments.are_complete(feedback)

    def segments(self, msg_seq_number: int, feedback: int) -> list[P]:
        """Return a logical message's segments by offset, or [] if one is missing. ``Segments.joined`` explains ``feedback``."""
        segments = self._segmented.get(msg_seq_number)
        return [] if segments is None else segments.joined(feedback)

    def is_complete(self) -> bool:
        """Return whether all logical messages are complete, from number 1 to the message that is flagged as last."""
        last = self._last
        if not last or self._complete < last:
            return False
        # If n different positive numbers have the least possible sum, they are 1 to n. So this usually does not need to count
        # them.
        if self._complete == last and self._sum_of_seqs == last * (last + 1) // 2:
            return True
        return all(self.has_logical_message(seq) for seq in range(1, last + 1))
