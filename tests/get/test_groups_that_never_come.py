"""Groups on the queue that a consumer cannot get: it goes on with the others, and looks for nothing."""

# ruff: noqa: PT012 - a group fails where its block ends, so the block is inside the raises

from __future__ import annotations

import pytest

from tests.get.groups import THAT, THIS, Crash, process
from tests.put.whole_groups import put_rest


@pytest.mark.embedded
def test_a_consumer_that_finds_nothing_makes_one_call(owner, count_calls):
    owner.put_raw_group(THIS)
    with owner.consumer() as consumer:
        assert [process(group) for group in consumer] == [THIS]
        count_calls()
        assert [list(consumer) for _ in range(5)] == [[]] * 5
        assert count_calls() == {"MQGET": 5}


def test_complete_groups_only_begins_a_group_when_all_of_it_is_there(owner):
    owner.interrupt_put(THIS[:5])
    with owner.consumer(complete_groups_only=True) as consumer:
        assert list(consumer) == []
        with owner.producer() as producer:
            put_rest(producer)
        assert [process(group) for group in consumer] == [THIS]


def test_complete_groups_only_does_not_keep_a_group_from_being_resumed(owner):
    """Its head is gone: all its messages never will be available again."""
    owner.put_raw_group(THIS)
    owner.put_raw_group(THAT)
    with owner.consumer(complete_groups_only=True) as consumer, pytest.raises(Crash):
        for message in next(iter(consumer)):
            if message.msg_seq_number == 4:
                raise Crash
    with owner.consumer(complete_groups_only=True) as consumer:
        assert [(group.resume_from, process(group)) for group in consumer] == [(2, THIS[2:]), (0, THAT)]


def test_a_complete_group_overtakes_one_that_is_not(owner):
    owner.put_raw_group(THIS[:4], whole=False)
    owner.put_raw_group(THAT)
    assert owner.get_groups(complete_groups_only=True) == [THAT]
    assert owner.data() == THIS[:4]
