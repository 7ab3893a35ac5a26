"""Groups on the queue that a consumer cannot get: it says so, and goes on with the others."""

# ruff: noqa: PT012 - a group fails where its block ends, so the block is inside the raises

from __future__ import annotations

import time

import pytest

import mqgroups
from mqgroups.embedded import Fault
from mqgroups.get import unreachable as unreachable_groups
from mqgroups.mqi import constants as mq
from tests.get.groups import THAT, THIS, Crash, process
from tests.put.whole_groups import put_rest

A, B, C = b"A" * 24, b"B" * 24, b"C" * 24


def put_parts(owner, group_id, *numbers):
    """Put messages of a group, with these numbers."""
    for number in numbers:
        owner.put_raw(
            b"%d" % number, GroupId=group_id, MsgSeqNumber=number, MsgFlags=mq.MQMF_MSG_IN_GROUP, Persistence=1
        )


def warnings(caplog):
    """Return the lines about groups that are not got."""
    return [record.getMessage() for record in caplog.records if "cannot be got" in record.getMessage()]


@pytest.fixture
def always_look(monkeypatch):
    """A consumer looks each time its wait has ended."""
    monkeypatch.setattr(unreachable_groups, "_PAUSE_S", 0.0)


def test_a_group_without_its_first_message_is_a_warning_once(owner, caplog, always_look):
    put_parts(owner, A, 2, 3)
    with owner.consumer() as consumer:
        assert [list(consumer) for _ in range(3)] == [[], [], []]
        (line,) = warnings(caplog)
        assert (
            f"group {A.hex()} cannot be got, because its beginning is missing; 2 of its messages are on the queue"
            in line
        )
        assert f"`mqgroups groups --queue {owner.queue}`" in line
        put_parts(owner, B, 7)
        assert list(consumer) == []
        assert [B.hex() in line for line in warnings(caplog)] == [False, True]


# Numbers of messages, none of them the last, put an hour ago; how long the consumer waits inside a group, seconds;
# and what it says.
NOT_WHOLE: dict[str, tuple[tuple[int, ...], float, list[str]]] = {
    "a gap": ((1, 2, 4), 7200, ["message 3 is missing"]),
    "affinity, numbers all 1": ((1, 1), 7200, ["messages of it are there twice"]),
    "doubled": ((1, 2, 2), 7200, ["messages of it are there twice"]),
    "no end": ((1, 2), 600, ["its last message is missing"]),
    "no end yet": ((1, 2), 7200, []),
    "no end for whoever waits for ever": ((1, 2), float("inf"), []),
}


@pytest.mark.parametrize("name", NOT_WHOLE)
def test_where_only_whole_groups_are_got_a_group_that_never_will_be_is_a_warning(owner, caplog, monkeypatch, name):
    numbers, wait_s, said = NOT_WHOLE[name]
    put_parts(owner, A, *numbers)
    now_s = time.time
    monkeypatch.setattr(time, "time", lambda: now_s() + 3600)
    with owner.consumer(complete_groups_only=True, group_wait_s=wait_s) as consumer:
        assert list(consumer) == []
    lines = warnings(caplog)
    assert [
        f"group {A.hex()} cannot be got, because {reason};" in line for line, reason in zip(lines, said, strict=True)
    ] == [True for _ in said]
    assert all("JMSXGroupID" in line for line in lines)


def test_a_group_without_an_end_whose_end_may_be_behind_what_is_browsed_is_no_warning(owner, caplog, monkeypatch):
    monkeypatch.setattr(unreachable_groups, "_MOST_MESSAGES", 2)
    monkeypatch.setattr(unreachable_groups, "_put_time", lambda _: "9")
    put_parts(owner, A, 1, 2, 3)
    with owner.consumer(complete_groups_only=True) as consumer:
        assert list(consumer) == []
    assert warnings(caplog) == []


def test_a_consumer_that_waits_for_ever_looks_too(owner, caplog):
    put_parts(owner, A, 2)
    qmgr = owner.connect(sleep=lambda _: consumer.stop() if warnings(caplog) else None)
    consumer: mqgroups.GroupConsumer = owner.consumer(qmgr, wait_s=None)
    with consumer:
        assert list(consumer) == []
    assert len(warnings(caplog)) == 1


def test_what_another_consumer_has_begun_is_a_warning_when_it_stays_as_it_is(owner, make_owner, caplog, always_look):
    owner.put_raw_group(THIS)
    other = make_owner(queue=owner.queue)
    with other.consumer() as its, owner.consumer() as consumer:
        messages = iter(next(iter(its)))
        for committed in (2, 4):
            while len(owner.data()) > len(THIS) - committed:
                next(messages)
            assert list(consumer) == []
        assert warnings(caplog) == []
        assert list(consumer) == []
        assert len(warnings(caplog)) == 1


@pytest.mark.embedded
def test_looking_for_groups_that_never_come_is_one_browse_and_then_none(owner, count_calls):
    with owner.consumer() as consumer:
        assert list(consumer) == []
        count_calls()
        assert [list(consumer) for _ in range(5)] == [[]] * 5
        assert count_calls() == {"MQGET": 5}


@pytest.mark.embedded
def test_who_may_not_browse_or_loses_the_connection_goes_on_without_looking(owner, faults, caplog):
    put_parts(owner, A, 2)
    consumer = owner.consumer()
    faults.arm(Fault("answer", verb="MQOPEN", reason=mq.MQRC_NOT_AUTHORIZED))
    assert list(consumer) == []
    consumer.close()
    assert (faults.faults_fired(), warnings(caplog)) == (1, [])
    # Of an iteration the first MQGET asks for a group, and the second one browses.
    for verb, nth in (("MQOPEN", 1), ("MQGET", 2)):
        consumer = owner.consumer(owner.connect(reconnect_wait_s=30))
        faults.clear_faults()
        faults.arm(Fault("drop", verb=verb, nth=nth))
        assert list(consumer) == list(consumer) == []
        assert faults.faults_fired() == 1
        consumer.close()


@pytest.mark.embedded
def test_a_look_that_fails_is_repeated(owner, faults, caplog, always_look):
    put_parts(owner, A, 2)
    with owner.consumer() as consumer:
        faults.arm(Fault("answer", verb="MQOPEN", reason=mq.MQRC_STORAGE_NOT_AVAILABLE))
        assert list(consumer) == list(consumer) == []
    assert len(warnings(caplog)) == 1


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
