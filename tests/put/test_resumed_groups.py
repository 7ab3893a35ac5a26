"""Where a producer goes on with an interrupted group."""

# ruff: noqa: PT012 - a group fails where its block ends, so the block is inside the raises

from __future__ import annotations

import dataclasses

import pytest

from mqgroups import errors
from mqgroups.core.status import decode, encode
from tests.put.whole_groups import THIS, Crash, is_whole_group, put_rest


@pytest.mark.parametrize("what", [Crash, KeyboardInterrupt, GeneratorExit])
def test_an_exception_in_the_block_backs_out_and_the_same_producer_goes_on(owner, what):
    with owner.producer() as producer:
        with pytest.raises(what), producer.group() as group:
            for data in THIS[:6]:
                group.put(data)
            raise what
        assert owner.data() == THIS[:4]
        assert put_rest(producer) == 4
    assert is_whole_group(owner.on_queue(), THIS)
    assert owner.records("put") == []


@pytest.mark.parametrize("put_before", [0, 1, 3, 7])
def test_a_new_connection_goes_on_wherever_the_old_one_stopped(owner, put_before):
    owner.interrupt_put(THIS[:put_before])
    with owner.producer() as producer, producer.group() as group:
        # Of the messages put before, the last is held back, and what is not in a full unit of work is backed out.
        assert group.resume_from == max(put_before - 1, 0) // 2 * 2
        for data in THIS[group.resume_from :]:
            group.put(data)
    assert is_whole_group(owner.on_queue(), THIS)
    assert owner.records("put") == []


@pytest.mark.embedded
def test_a_restart_is_as_many_calls_to_its_first_commit_whatever_is_committed(owner, count_calls):
    owner.interrupt_put(THIS)
    made = []
    for messages in (1, 200, 1):
        qmgr = owner.connect()
        count_calls()
        group = owner.producer(qmgr, commit_every=messages).group()
        for _ in range(messages + 1):  # one is held back
            group.put(b"data")
        made.append(sum(count_calls().values()) - messages)
        qmgr.close()
    # One MQSTAT, if there are messages whose put was not answered.
    assert made == [13, 14, 13]


def test_a_group_interrupted_again_and_again_is_whole_in_the_end(owner):
    done = []
    while True:
        qmgr = owner.connect()
        group = owner.producer(qmgr).group()
        done.append(group.resume_from)
        if len(THIS) - group.resume_from <= 2:
            break
        for data in THIS[group.resume_from : group.resume_from + 3]:
            group.put(data)
        qmgr.close()
    assert done == [0, 2, 4, 6]
    with group:
        group.put(THIS[6])
    assert is_whole_group(owner.on_queue(), THIS)


def test_interrupted_before_the_resumed_group_has_committed_goes_on_at_the_same_place(owner):
    owner.interrupt_put(THIS[:4])
    for _ in range(2):
        qmgr = owner.connect()
        group = owner.producer(qmgr, commit_every=5).group()
        assert group.resume_from == 2
        for data in THIS[2:6]:
            group.put(data)
        qmgr.close()
    with owner.producer(commit_every=5) as producer:
        for _ in range(2):
            with pytest.raises(Crash), producer.group() as group:
                for data in THIS[group.resume_from :]:
                    group.put(data)
                raise Crash
        put_rest(producer)
    assert is_whole_group(owner.on_queue(), THIS)


def test_the_status_record_says_where_the_group_stands(owner):
    owner.interrupt_put(THIS[:6])
    first = owner.record("put")
    found = owner.on_queue()
    assert (first["role"], first["name"], first["queue"], first["state"]) == (
        "put",
        owner.name,
        owner.queue,
        "in group",
    )
    assert (first["group_id"], first["msg_seq_number"]) == (found[-1].group_id.hex(), found[-1].msg_seq_number)
    assert (first["unit_of_work"], first["epoch"]) == (2, 1)
    assert (first["resolved_q_name"], first["resolved_q_mgr_name"]) == (owner.queue, owner.target.q_mgr_name)
    assert first["q_mgr_identifier"] == owner.qmgr.q_mgr_identifier
    # Given: another instance that gets one unit of work further.
    owner.interrupt_put(THIS[4:7])
    second = owner.record("put")
    assert (second["unit_of_work"], second["epoch"], second["msg_seq_number"]) == (3, 2, 6)
    assert second["owner_id"] != first["owner_id"]
    assert second["group_id"] == first["group_id"]


def test_the_rest_goes_to_the_queue_manager_where_the_beginning_went(owner):
    # Given a record that says that the beginning went to a queue manager which is not known here.
    owner.interrupt_put(THIS[:4])
    record = dataclasses.replace(decode(owner.take_record("put")), resolved_q_mgr_name="QM.ELSEWHERE")
    owner.empty(owner.status_queue("put"))
    owner.put_raw(encode(record), owner.status_queue("put"))
    # When the group is resumed by the queue's name, which leads here, then nothing of the rest is committed.
    for _ in range(2):
        with pytest.raises(errors.QueueManagerChanged) as caught, owner.producer() as producer:
            put_rest(producer)
        assert (caught.value.found, caught.value.expected) == (owner.target.q_mgr_name, "QM.ELSEWHERE")
    assert owner.data() == THIS[:2]
    assert owner.record("put")["msg_seq_number"] == record.msg_seq_number
