"""Which messages may be got when a whole group or logical message has to be there, found without a look at the others.

IBM MQ, topic "MQGMO options" (MQGMO_ALL_MSGS_AVAILABLE, MQGMO_COMPLETE_MSG, MQGMO_ALL_SEGMENTS_AVAILABLE, MQGMO_LOGICAL_ORDER).
"""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from embedded_tests.tables import table
from mqembedded.constants import MQMF_LAST_MSG_IN_GROUP, MQMF_LAST_SEGMENT, MQMF_MSG_IN_GROUP, MQMF_SEGMENT
from mqembedded.messages.groups import View, Whole
from mqembedded.messages.queue import Match, Message, Queue
from mqembedded.objects.attributes import LOCAL, supplied_values

MIG, LAST_MIG = MQMF_MSG_IN_GROUP, MQMF_MSG_IN_GROUP | MQMF_LAST_MSG_IN_GROUP
SEG, LAST_SEG = MQMF_SEGMENT, MQMF_SEGMENT | MQMF_LAST_SEGMENT
STARTS = View(True, Whole.MESSAGE)
positions = itertools.count(1)


def queue():
    return Queue("Q", supplied_values(LOCAL))


def message(on, group, seq=1, offset=0, flags=MIG):
    """A message of one byte; group 0 is none."""
    fields, position = (bytes(23) + bytes([group]), seq, offset, flags), next(positions)
    md = bytes(48) + position.to_bytes(24, "big") + bytes(292)
    return Message(on, position, 0, md, b"x", group_fields=fields, persistent=False)


# Group, number, offset, flags: in groups or in none, whole or in segments, and what contradicts itself.
shapes = st.one_of(
    st.just((0, 1, 0, 0)),
    st.tuples(st.sampled_from([1, 2]), st.sampled_from([1, 2, 3]), st.just(0), st.sampled_from([MIG, MIG, LAST_MIG])),
    st.tuples(
        st.sampled_from([1, 2]),
        st.sampled_from([1, 2]),
        st.sampled_from([0, 1]),
        st.sampled_from([SEG, LAST_SEG, MIG | SEG, MIG | LAST_SEG, LAST_MIG | SEG, LAST_MIG | LAST_SEG]),
    ),
)


@given(st.lists(shapes, min_size=1, max_size=10), st.data())
def test_any_walk_of_puts_and_gets_knows_what_may_be_got(shapes, data):
    on = queue()
    messages = [message(on, *shape) for shape in shapes]
    for _ in range(3 * len(messages)):
        one = data.draw(st.sampled_from(messages))
        if one.key in on.available:
            on.withdraw(one)
        else:
            on.make_available((one,))
        there = list(on.available.values())
        starts = [each for each in there if each.starts_in_logical_order]
        assert list(on.candidates(Match(), view=STARTS)) == starts
        assert list(on.candidates(Match(msg_seq_number=1, offset=0))) == starts
        for group_id in {each.group_id for each in messages if any(each.group_id)}:
            found = on.candidates(Match(group_id=group_id), view=STARTS)
            assert list(found) == [each for each in starts if each.group_id == group_id]
        for whole in (Whole.GROUP, Whole.LOGICAL_MESSAGE):
            may_be_got = [each for each in there if _is_there(whole, each, there)]
            assert list(on.candidates(Match(), view=View(False, whole))) == may_be_got
            heads = [each for each in may_be_got if each.starts_in_logical_order]
            assert list(on.candidates(Match(), view=View(True, whole))) == heads
            some = data.draw(st.sampled_from(messages))
            found = on.candidates(Match(msg_id=some.msg_id), view=View(False, whole))
            assert list(found) == [each for each in may_be_got if each.msg_id == some.msg_id]


def _is_there(whole, one, there):
    """What the topic says, step by step: the group from 1 to its last message, the segments from offset 0 to the last."""
    same_group = [each for each in there if each.group_id == one.group_id]
    if not any(one.group_id):
        return True
    if whole is Whole.LOGICAL_MESSAGE:
        return not one.msg_flags & LAST_SEG or _has_segments(one.msg_seq_number, same_group)
    if not one.msg_flags & LAST_MIG:
        return _has_message(one.msg_seq_number, same_group)
    last = max((each.msg_seq_number for each in same_group if each.msg_flags & MQMF_LAST_MSG_IN_GROUP), default=0)
    return bool(last) and all(_has_message(seq, same_group) for seq in range(1, last + 1))


def _has_message(seq, messages):
    whole = any(each.msg_seq_number == seq and not each.msg_flags & LAST_SEG for each in messages)
    return whole or _has_segments(seq, messages)


def _has_segments(seq, messages):
    """Each is one byte long; of several with the same offset the first counts."""
    first = {
        each.offset: each for each in reversed(messages) if each.msg_seq_number == seq and each.msg_flags & LAST_SEG
    }
    together = list(itertools.takewhile(lambda offset: offset in first, itertools.count()))
    return any(first[offset].msg_flags & MQMF_LAST_SEGMENT for offset in together)


class Looks:
    """A selector that accepts every message and counts them."""

    def __init__(self):
        self.taken = 0

    def accepts(self, _message):
        self.taken += 1
        return True

    is_specific, msg_seq_number, offset = False, None, None


INCOMPLETE = {"groups": MIG, "segments in groups": MIG | SEG, "segments": SEG}


@table("starts", [True, False], ids=["in logical order", "in physical order"])
@table("first", INCOMPLETE.values())
def test_groups_that_are_not_whole_are_not_looked_at(first, starts):
    on = queue()
    on.make_available([message(on, group, flags=first) for group in range(1, 200)])
    whole = [message(on, 250, flags=MIG), message(on, 250, seq=2, flags=LAST_MIG), message(on, 0, flags=0)]
    on.make_available(whole)
    view, looks = View(starts, Whole.GROUP), Looks()
    assert list(on.candidates(looks, view=view)) == ([whole[0], whole[2]] if starts else whole)
    on.withdraw(whole[1])
    assert list(on.candidates(looks, view=view)) == [whole[2]]
    on.make_available(whole[1:2])
    assert next(on.candidates(looks, view=view)) is whole[0]
    assert looks.taken <= 5


@table("starts", [True, False], ids=["in logical order", "in physical order"])
def test_logical_messages_that_are_not_whole_are_not_looked_at(starts):
    on = queue()
    on.make_available([message(on, group, flags=SEG) for group in range(1, 200)])
    whole = [message(on, 250, offset=1, flags=LAST_SEG), message(on, 250, flags=SEG), message(on, 0, flags=0)]
    on.make_available(whole)
    view, looks = View(starts, Whole.LOGICAL_MESSAGE), Looks()
    assert list(on.candidates(looks, view=view)) == (whole[1:] if starts else whole)
    on.withdraw(whole[0])
    assert list(on.candidates(looks, view=view)) == [whole[2]]
    assert looks.taken <= 4


def test_thousands_of_messages_with_the_same_number_are_put_and_got_one_by_one():
    """Nothing forbids them: programs that leave MsgSeqNumber at 1 exist."""
    on = queue()
    same = [message(on, 1, flags=LAST_MIG) for _ in range(5000)]
    on.make_available(same)
    for one in same:
        assert on.groups.get(one.group_id).find(1, 0) is one
        on.withdraw(one)
    assert not on.available
