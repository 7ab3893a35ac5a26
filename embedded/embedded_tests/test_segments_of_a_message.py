"""Which segments of a logical message are there: as they come and go, and at which price.

IBM MQ, topics "MQGMO options" (MQGMO_COMPLETE_MSG, MQGMO_ALL_SEGMENTS_AVAILABLE), "Reports and segmented messages" (q022880).
"""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st
from sortedcontainers import SortedDict

from embedded_tests.tables import table
from mqembedded.constants import MQFB_COA, MQFB_COD, MQMF_LAST_SEGMENT, MQMF_SEGMENT
from mqembedded.messages.group import Group
from mqembedded.messages.segments import ANY_REPORT, NO_REPORT, Segments


class Steps:
    """Counts how often a message was looked at."""

    taken = 0


@dataclass(eq=False)
class Part:
    """A physical message."""

    key: int
    offset: int
    length: int
    ends: bool = False
    feedback: int = NO_REPORT
    msg_seq_number: int = 1

    @property
    def extent(self) -> int:
        Steps.taken += 1
        return self.length

    @property
    def msg_flags(self) -> int:
        return MQMF_SEGMENT | (MQMF_LAST_SEGMENT if self.ends else 0)


def joined(parts, feedback):
    """What the texts say, step by step: from offset 0 on each segment begins where the one before ends."""
    fits = [part for part in sorted(parts, key=lambda part: part.key) if _is_of(part, feedback)]
    found, offset = [], 0
    while True:
        part = next((part for part in fits if part.offset == offset), None)
        if part is None:
            return []
        found.append(part)
        if part.ends:
            return found
        if not part.length:
            return []
        offset += part.length


def _is_of(part, feedback):
    return part.feedback == feedback or (feedback == ANY_REPORT and part.feedback != NO_REPORT)


offsets = st.sampled_from([0, 1, 2, 3, 4, 6])
lengths = st.sampled_from([0, 1, 2, 3])
shapes = st.tuples(offsets, lengths, st.booleans(), st.sampled_from([NO_REPORT, NO_REPORT, MQFB_COA, MQFB_COD]))


@given(st.lists(shapes, max_size=12), st.data())
def test_any_walk_of_puts_and_gets_knows_what_is_there(shapes, data):
    parts = [Part(key, *shape) for key, shape in enumerate(data.draw(st.permutations(shapes)))]
    segments: Segments[Part] = Segments()
    there: list[Part] = []
    for _ in range(3 * len(parts)):
        part = data.draw(st.sampled_from(parts))
        if part in there:
            there.remove(part)
            segments.remove(part)
        else:
            there.append(part)
            segments.add(part)
        assert list(segments.in_order.values()) == sorted(there, key=lambda each: each.key)
        for feedback in (NO_REPORT, MQFB_COA, MQFB_COD, ANY_REPORT):
            expected = joined(there, feedback)
            assert segments.joined(feedback) == expected
            assert segments.are_complete(feedback) == bool(expected)


def in_pieces(count):
    return [Part(number, number, 1, ends=number == count - 1) for number in range(count)]


@table("put", ["ascending", "descending"])
@table("got", ["ascending", "descending"])
def test_a_segment_takes_as_many_steps_among_thousands_as_among_few(put, got):
    def steps(count):
        group: Group[Part] = Group()
        parts = in_pieces(count)
        Steps.taken = 0
        for part in parts if put == "ascending" else parts[::-1]:
            group.add(part)
            assert group.find(1, part.offset) is part
            group.is_complete()
        assert group.segments(1, NO_REPORT) == parts
        for part in parts if got == "ascending" else parts[::-1]:
            group.remove(part)
        assert not group.has_logical_message(1)
        return Steps.taken

    assert steps(4000) <= 2 * 4000
    assert steps(40) <= 2 * 40


def test_segments_with_one_offset_are_found_in_delivery_order():
    group: Group[Part] = Group()
    later, first = Part(7, 0, 3), Part(5, 0, 3)
    for part in (later, first):
        group.add(part)
    assert group.find(1, 0) is first
    assert group.with_offset(1, 0) == [first, later]
    found = group.with_number(1)
    assert isinstance(found, SortedDict)
    assert list(found.values()) == [first, later]
