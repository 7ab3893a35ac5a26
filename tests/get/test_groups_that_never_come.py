"""Groups on the queue that a consumer cannot get: it goes on with the others, and looks for nothing."""

# ruff: noqa: PT012 - a group fails where its block ends, so the block is inside the raises

from __future__ import annotations

import logging

import pytest

from mqgroups import errors
from mqgroups.get import cursor, getter
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


def test_the_log_says_once_which_message_of_a_group_is_waited_for(owner, monkeypatch, caplog):
    monkeypatch.setattr(cursor, "_LONGEST_WAIT_MS", 10)
    monkeypatch.setattr(getter, "_TELL_AFTER_S", 0.02)
    owner.put_raw_group(THIS[:3], whole=False)
    with (
        caplog.at_level(logging.INFO, "mqgroups.get"),
        owner.consumer(group_wait_s=0.2) as consumer,
        pytest.raises(errors.GroupStalled),
    ):
        process(next(iter(consumer)))
    group_id = owner.record("get")["group_id"]
    said = [each.getMessage() for each in caplog.records if "waits for message" in each.getMessage()]
    assert [each.partition(",")[0] for each in said] == [f"{owner.name} waits for message 4 of group {group_id}"]


@pytest.mark.parametrize("late_s", [0.0012, 0.0021])
def test_a_wait_that_ends_while_the_application_is_called_is_not_one_for_ever(owner, clock, monkeypatch, late_s):
    """-1 is MQWI_UNLIMITED, and less than that is 2090."""
    monkeypatch.setattr(cursor, "_LONGEST_WAIT_MS", 10)
    owner.put_raw_group(THIS[:3], whole=False)

    def sleep(_s):
        clock.now_s += 5 + late_s

    with owner.consumer(owner.connect(sleep=sleep), group_wait_s=5) as consumer, pytest.raises(errors.GroupStalled):
        process(next(iter(consumer)))
