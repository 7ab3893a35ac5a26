"""Checkpoints of a consumer, and what a program does before each commit."""

# ruff: noqa: PT012 - a group fails where its block ends, so the block is inside the raises

from __future__ import annotations

from collections.abc import Iterator

import pytest

import mqgroups
from mqgroups import errors
from mqgroups.mqi import constants as mq
from tests.get.groups import THIS, Crash, process


def test_the_checkpoint_is_committed_with_what_was_processed(owner):
    owner.put_raw_group(THIS)
    qmgr = owner.connect()
    consumer = owner.consumer(qmgr)
    for group in consumer:
        for message in group:
            group.set_checkpoint({"done": message.msg_seq_number})
            if message.msg_seq_number == 6:
                break
        break
    assert consumer.checkpoint == {"done": 4}
    qmgr.close()
    with owner.consumer() as consumer:
        assert consumer.checkpoint == {"done": 4}
        group = next(iter(consumer))
        assert (group.resume_from, group.checkpoint) == (4, {"done": 4})
        assert process(group) == THIS[4:]
        # The checkpoint of the last commit stays true, in a COMPLETED record, which stays.
        assert owner.record("get")["state"] == "completed"
        assert consumer.checkpoint == {"done": 4}
    with owner.consumer() as consumer:
        assert consumer.checkpoint == {"done": 4}


@pytest.mark.parametrize("status", ["classic", "segmented"])
def test_a_checkpoint_outlives_a_close_until_it_is_forgotten(owner, status):
    owner.put_raw_group(THIS)
    with owner.consumer(status_layout=status) as consumer:
        for group in consumer:
            for message in group:
                group.set_checkpoint(message.msg_seq_number)
    with owner.consumer(status_layout=status) as consumer:
        assert consumer.checkpoint == 7
        with pytest.raises(errors.GroupUsage, match="a checkpoint"):
            consumer.delete_status_queue()
        consumer.forget()
        assert consumer.checkpoint is None
    assert owner.on_queue(owner.status_queue("get")) == []
    owner.put_raw_group(THIS)
    with owner.consumer(status_layout=status) as consumer:
        next(iter(next(iter(consumer))))
        with pytest.raises(errors.GroupUsage, match="a group is being got"):
            consumer.forget()


def test_the_checkpoint_of_an_interrupted_group_is_not_forgotten(owner):
    owner.put_raw_group(THIS)
    with pytest.raises(Crash), owner.consumer(commit_every=1) as consumer:
        for group in consumer:
            for message in group:
                group.set_checkpoint(message.msg_seq_number)
                if message.msg_seq_number == 3:
                    raise Crash
    with owner.consumer() as consumer:
        with pytest.raises(errors.GroupUsage, match="is interrupted"):
            consumer.forget()
        assert consumer.checkpoint == 2


def test_before_commit_is_called_before_each_syncpoint_and_may_set_the_checkpoint(owner):
    owner.put_raw_group(THIS[:5])
    owner.put_raw(b"alone")
    calls = []
    with owner.consumer() as consumer:

        @consumer.before_commit
        def make_durable(group):
            calls.append((group.group_id != mq.MQGI_NONE, owner.record("get")["msg_seq_number"]))
            group.set_checkpoint(len(calls))

        for group in consumer:
            process(group)
        assert consumer.checkpoint == 4
    # The record is still that of the commit before.
    assert calls == [(True, 0), (True, 2), (True, 4), (False, 5)]


def test_a_group_has_a_before_commit_of_its_own_after_its_consumers_and_a_later_one_replaces_it(owner):
    for _ in range(2):
        owner.put_raw_group(THIS[:3])
    calls = []
    with owner.consumer() as consumer:
        for number in (1, 2):
            consumer.before_commit(lambda _, number=number: calls.append(f"consumer {number}"))
        consumer.attach(before_commit=lambda _: calls.append("sink"), before_forget=lambda: None)
        groups = iter(consumer)
        group = next(groups)
        for number in (3, 4):
            group.before_commit(lambda same, number=number: calls.append(number if same is group else "another"))
        process(group)
        process(next(groups))
    assert calls == ["sink", "consumer 2", 4] * 2 + ["sink", "consumer 2"] * 2


@pytest.mark.parametrize("at", [1, 2, 3])
def test_an_exception_in_before_commit_backs_out(owner, at):
    owner.put_raw_group(THIS[:5])
    calls = []

    def fail_once(group):
        calls.append(group)
        if len(calls) == at:
            raise Crash

    with owner.consumer() as consumer:
        consumer.before_commit(fail_once)
        with pytest.raises(Crash):
            process(next(iter(consumer)))
        committed = 2 * (at - 1)
        assert owner.data() == THIS[committed:5]
        group = next(iter(consumer))
        assert (group.resume_from, process(group)) == (committed, THIS[committed:5])
    assert owner.data() == owner.records("get") == []


@pytest.mark.parametrize("use", ["group", "iter", "next", "close", "forget"])
def test_a_call_from_within_before_commit_is_refused_and_what_is_not_committed_comes_again(owner, make_owner, use):
    owner.put_raw_group(THIS)
    qmgr = owner.qmgr
    got: list[bytes] = []
    calls = []
    messages: Iterator[mqgroups.Message] = iter(())

    def get_all():
        nonlocal messages
        for group in consumer:
            del got[group.resume_from :]
            messages = iter(group)
            got.extend(message.data for message in messages)

    with owner.consumer(qmgr) as consumer, make_owner().producer(qmgr) as producer:
        uses = {
            "group": producer.group,
            "iter": lambda: next(iter(consumer)),
            "next": lambda: next(messages),
            "close": consumer.close,
            "forget": consumer.forget,
        }

        @consumer.before_commit
        def nested(_):
            calls.append(use)
            if len(calls) == 2:
                uses[use]()

        with pytest.raises(errors.GroupUsage, match="called from inside another call on the same connection"):
            get_all()
        assert owner.record("get")["msg_seq_number"] == 2
        get_all()
    assert got == THIS
    assert owner.data() == owner.records("get") == []


def test_a_checkpoint_that_cannot_be_kept_is_refused_and_the_group_goes_on(owner):
    owner.put_raw_group(THIS)
    with owner.consumer(commit_every=2) as consumer:
        group = next(iter(consumer))
        got = []
        for message in group:
            got.append(message.data)
            group.set_checkpoint(message.msg_seq_number)
            for checkpoint in ({1, 2}, (1, 2), {1: 2}, float("inf"), "\ud800", bytearray(b"1")):
                with pytest.raises(errors.GroupUsage, match="must be bytes or a JSON value"):
                    group.set_checkpoint(checkpoint)
        assert got == THIS
        assert owner.record("get")["checkpoint"] == {"json": 7}
    assert owner.data() == []
