"""Which groups MQGMO_ALL_MSGS_AVAILABLE may start with, found without a look at those that are not whole.

IBM MQ, topic "MQGMO options" (MQGMO_ALL_MSGS_AVAILABLE, MQGMO_LOGICAL_ORDER).
"""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqgroups.embedded.messages.queue import Match, Message, Queue
from mqgroups.embedded.objects.attributes import LOCAL, default_values
from mqgroups.mqi.constants import MQMF_LAST_MSG_IN_GROUP, MQMF_LAST_SEGMENT, MQMF_MSG_IN_GROUP, MQMF_SEGMENT

MIG, LAST_MIG = MQMF_MSG_IN_GROUP, MQMF_MSG_IN_GROUP | MQMF_LAST_MSG_IN_GROUP
SEG, LAST_SEG = MQMF_SEGMENT, MQMF_SEGMENT | MQMF_LAST_SEGMENT
positions = itertools.count(1)


def queue():
    return Queue("Q", default_values(LOCAL))


def message(on, group, seq=1, offset=0, flags=MIG):
    """A message of one byte; group 0 is none."""
    fields = (bytes(23) + bytes([group]), seq, offset, flags)
    return Message(on, next(positions), 0, bytes(364), b"x", group_fields=fields, persistent=False)


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
def test_any_walk_of_puts_and_gets_knows_what_may_be_started(shapes, data):
    on = queue()
    messages = [message(on, *shape) for shape in shapes]
    for _ in range(3 * len(messages)):
        one = data.draw(st.sampled_from(messages))
        if one.key in on.available:
            on.withdraw(one)
        else:
            on.make_available((one,))
        starts = [each for each in on.available.values() if each.starts_in_logical_order]
        assert list(on.heads(Match())) == starts
        assert list(on.candidates(Match(msg_seq_number=1, offset=0))) == starts
        for group_id in {each.group_id for each in messages if any(each.group_id)}:
            assert list(on.heads(Match(group_id=group_id))) == [each for each in starts if each.group_id == group_id]
        whole = list(on.heads(Match(), of_whole_groups=True))
        assert list(filter(on.group_is_available, whole)) == list(filter(on.group_is_available, starts))


@pytest.mark.parametrize("first", [MIG, MIG | SEG, SEG])
def test_groups_that_are_not_whole_are_not_looked_at(first):
    on = queue()
    on.make_available([message(on, group, flags=first) for group in range(1, 200)])
    whole = [message(on, 250, flags=MIG), message(on, 250, seq=2, flags=LAST_MIG), message(on, 0, flags=0)]
    on.make_available(whole)
    assert list(on.heads(Match(), of_whole_groups=True)) == [whole[0], whole[2]]
    on.withdraw(whole[1])
    assert list(on.heads(Match(), of_whole_groups=True)) == [whole[2]]
