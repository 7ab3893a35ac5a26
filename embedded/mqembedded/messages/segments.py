"""Keeps the segments of the logical messages on a queue, and finds out which logical messages are complete.

``Chain`` keeps the segments that follow each other without a gap from offset 0. So it takes n steps to put, get or
reassemble n segments, whether the offsets ascend or descend.

Reports on segments are segments, too. MQGMO_COMPLETE_MSG joins reports with the same Feedback, but MQGMO_ALL_SEGMENTS_AVAILABLE
"does not check the type of the report messages present" (IBM MQ, "MQGMO options"). So there is a chain for each Feedback value,
and a chain for reports of any type.

Groups are in ``group.py``, reports in ``reports/``.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Generic, Protocol, TypeVar

from sortedcontainers import SortedDict

from mqembedded import constants as mq
from mqembedded.messages.index import Index

# Used in place of a 32-bit Feedback: for a message that is not a report, and for reports of any type.
NO_REPORT = 1 << 32
ANY_REPORT = 1 << 33


class PhysicalMessage(Protocol):
    """A message: ``key`` is its place in delivery order; ``feedback`` is a report's Feedback, or NO_REPORT for other messages."""

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


def key_of(message: PhysicalMessage) -> int:
    """Return a message's place in delivery order."""
    return message.key


class Chain(Generic[P]):
    """Segments by offset, and the run: the segments that follow each other without a gap from offset 0.

    If several segments have the same offset, only the first in delivery order counts.
    """

    __slots__ = ("_by_offset", "_end", "_ended", "_run")

    def __init__(self) -> None:
        self._by_offset: Index[int, P] = Index()
        # The gapless segments by ascending offset. The next segment begins at ``_end``, if the last segment is not among them.
        self._run: dict[int, P] = {}
        self._end = 0
        self._ended = False

    def __bool__(self) -> bool:
        return bool(self._by_offset)

    @property
    def is_complete(self) -> bool:
        """Whether all segments are there, from offset 0 to the segment that is flagged as last."""
        return self._ended

    def segments(self) -> list[P]:
        """Return the segments of the complete message by ascending offset, or an empty list if a segment is missing."""
        return list(self._run.values()) if self._ended else []

    def at(self, offset: int) -> Collection[P]:
        """Return the segments with this offset, in delivery order."""
        return self._by_offset.all(offset)

    def first_at(self, offset: int) -> P | None:
        """Return the first segment in delivery order at this offset, or None. Only this segment counts."""
        return self._by_offset.first(offset)

    def add(self, segment: P) -> None:
        """Add a segment."""
        self._by_offset.add(segment.offset, segment)
        if self._by_offset.first(segment.offset) is segment:
            self._follow_from(segment.offset)

    def remove(self, segment: P) -> None:
        """Remove a segment."""
        was_first = self._by_offset.first(segment.offset) is segment
        self._by_offset.remove(segment.offset, segment)
        if was_first:
            self._follow_from(segment.offset)

    def _follow_from(self, offset: int) -> None:
        """Update the run of segments from this offset on, because the first segment at this offset has changed or is gone."""
        while offset in self._run:
            self._end, _ = self._run.popitem()
            self._ended = False
        if offset != self._end:
            return
        while not self._ended and (segment := self._by_offset.first(self._end)) is not None:
            if segment.msg_flags & mq.MQMF_LAST_SEGMENT:
                self._ended = True
            elif not segment.extent:
                # An empty segment that is not flagged as last cannot be followed by another segment.
                return
            self._run[self._end] = segment
            if not self._ended:
                self._end += segment.extent


class Segments(Generic[P]):
    """All segments with the same GroupId and MsgSeqNumber: the segments of the message itself, and the reports on segments."""

    __slots__ = ("_chains", "in_order")

    def __init__(self) -> None:
        self.in_order: SortedDict[int, P] = SortedDict()
        self._chains: dict[int, Chain[P]] = {}

    def add(self, segment: P) -> None:
        """Add a segment."""
        self.in_order[segment.key] = segment
        for which in _chains_of(segment):
            if which not in self._chains:
                self._chains[which] = Chain()
            self._chains[which].add(segment)

    def remove(self, segment: P) -> None:
        """Remove a segment."""
        del self.in_order[segment.key]
        for which in _chains_of(segment):
            chain = self._chains[which]
            chain.remove(segment)
            if not chain:
                del self._chains[which]

    def at(self, offset: int) -> list[P]:
        """Return the segments with this offset, in no particular order."""
        chains = [self._chains[which] for which in (NO_REPORT, ANY_REPORT) if which in self._chains]
        return [segment for chain in chains for segment in chain.at(offset)]

    def first_at(self, offset: int) -> list[P | None]:
        """Return the first segment that is not a report and the first report, both at this offset and in delivery order."""
        return [self._chains[which].first_at(offset) for which in (NO_REPORT, ANY_REPORT) if which in self._chains]

    @property
    def complete(self) -> frozenset[int]:
        """The Feedback values for which the logical message is complete; ``joined`` explains them."""
        return frozenset(which for which, chain in self._chains.items() if chain.is_complete)

    def are_complete(self, feedback: int) -> bool:
        """Return whether all segments with this Feedback are there; ``joined`` explains ``feedback``."""
        return feedback in self._chains and self._chains[feedback].is_complete

    def joined(self, feedback: int) -> list[P]:
        """Return the segments with this Feedback by ascending offset, or an empty list if they are not complete.

        The ``feedback`` NO_REPORT means the message itself. ANY_REPORT means reports, which can be of different types.
        """
        return self._chains[feedback].segments() if feedback in self._chains else []


def _chains_of(segment: PhysicalMessage) -> tuple[int, ...]:
    feedback = segment.feedback
    return (NO_REPORT,) if feedback == NO_REPORT else (feedback, ANY_REPORT)
