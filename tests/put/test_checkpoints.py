"""Checkpoints of a producer: where they come back, and what becomes of the record that keeps them."""

# ruff: noqa: PT012 - a group fails where its block ends, so the block is inside the raises

from __future__ import annotations

import pytest

from mqgroups import errors
from tests.put.whole_groups import THIS, Crash, is_whole_group, put_rest


@pytest.mark.parametrize("checkpoint", [b"", b"\x00\xff", 0, {"file": "ä.csv", "more": [1, None, 2.5]}], ids=repr)
def test_a_checkpoint_comes_back_as_it_was_given(owner, checkpoint):
    owner.interrupt_put(THIS[:4], checkpoints=[None, checkpoint])
    with owner.producer() as producer:
        assert producer.checkpoint == checkpoint
        assert type(producer.checkpoint) is type(checkpoint)
        group = producer.group()
        assert (group.resume_from, group.checkpoint) == (2, checkpoint)


@pytest.mark.parametrize(("checkpoints", "last"), [([10, 20, 30, 40, 50, 60], 40), ([10, None, None, None], 10)])
def test_the_checkpoint_is_the_last_one_that_is_committed(owner, checkpoints, last):
    owner.interrupt_put(THIS[:6], checkpoints=checkpoints)
    with owner.producer() as producer:
        assert (producer.checkpoint, producer.group().resume_from) == (last, 4)


def test_an_exception_goes_back_to_the_committed_checkpoint(owner):
    with owner.producer() as producer:
        with pytest.raises(Crash), producer.group() as group:
            for number in range(4):
                group.set_checkpoint(number)
                group.put(THIS[number])
            assert producer.checkpoint == 1
            raise Crash
        with producer.group() as group:
            assert (producer.checkpoint, group.checkpoint) == (1, 1)
            for data in THIS[2:5]:
                group.put(data)
            # b"2" and b"3" were put again, without one.
            assert producer.checkpoint == 1


def test_a_checkpoint_that_cannot_be_kept_is_refused_and_the_group_is_resumable(owner):
    with owner.producer() as producer:
        with pytest.raises(errors.GroupUsage, match="must be bytes or a JSON value"), producer.group() as group:
            for data in THIS[:3]:
                group.put(data)
            group.set_checkpoint({"a": b"bytes"})
        assert owner.data() == THIS[:2]
        put_rest(producer, THIS[:5])
    assert is_whole_group(owner.on_queue(), THIS[:5])


def test_what_cannot_be_a_checkpoint_is_refused_and_the_group_goes_on(owner):
    refused = [
        ((1, 2), r"the checkpoint \(tuple\) cannot be kept: .* come back as a list"),
        ({1: 2}, r"the checkpoint \(dict\) cannot be kept: .* a key that is int, not str"),
        ("\ud800", r"the checkpoint \(str\) cannot be kept: .* half of a surrogate pair"),
        (float("nan"), r"the checkpoint \(float\) cannot be kept: .* not finite"),
        ({1, 2}, "must be bytes or a JSON value"),
        ([object()], "must be bytes or a JSON value"),
    ]
    with owner.producer() as producer, producer.group() as group:
        group.put(b"0")
        for checkpoint, sentence in refused:
            with pytest.raises(errors.GroupUsage, match=sentence):
                group.set_checkpoint(checkpoint)
        group.put(b"1")
    assert is_whole_group(owner.on_queue(), [b"0", b"1"])


def test_a_checkpoint_that_cannot_be_kept_or_a_refused_message_leaves_the_one_before_for_the_next_put(owner):
    with owner.producer(commit_every=1) as producer:
        with producer.group() as group:
            group.set_checkpoint("good")
            with pytest.raises(errors.GroupUsage):
                group.set_checkpoint(object())
            with pytest.raises(errors.MessageRefused):
                group.put(b"0", correl_id=b"short")
            group.put(b"0")
        assert producer.checkpoint == "good"


@pytest.mark.parametrize("checkpoint", [7, 0])
def test_a_checkpoint_set_after_the_last_put_is_refused_and_the_group_is_resumable(owner, checkpoint):
    with owner.producer() as producer:
        with pytest.raises(errors.GroupUsage, match="after the group's last put"), producer.group() as group:
            for number in range(4):
                group.set_checkpoint(number)
                group.put(THIS[number])
            group.set_checkpoint(checkpoint)
        assert owner.data() == THIS[:2]
        with producer.group() as group:
            assert (group.resume_from, group.checkpoint) == (2, 1)
            for data in THIS[2:4]:
                group.put(data)
    assert is_whole_group(owner.on_queue(), THIS[:4])


def test_a_checkpoint_set_after_the_end_of_a_group_is_refused(owner):
    with owner.producer() as producer, producer.group() as group:
        group.put(b"0", last=True)
        with pytest.raises(errors.GroupUsage, match="has ended"):
            group.set_checkpoint(1)


@pytest.mark.parametrize("messages", [1, 5])
def test_a_group_with_a_checkpoint_leaves_a_completed_record_which_outlives_a_close(owner, messages):
    with owner.producer() as producer:
        with producer.group() as group:
            for number in range(messages):
                group.set_checkpoint(number + 1)
                group.put(THIS[number])
        record = owner.record("put")
        assert (record["state"], record["msg_seq_number"], record["checkpoint"]) == (
            "completed",
            messages,
            {"json": messages},
        )
        assert producer.checkpoint == messages
    with owner.producer() as producer:
        assert producer.checkpoint == messages


def test_the_next_unit_of_work_replaces_a_completed_record(owner):
    with owner.producer() as producer:
        with producer.group() as group:
            group.set_checkpoint("first group")
            group.put(b"a")
        first = owner.record("put")
        with pytest.raises(Crash), producer.group() as group:
            assert (group.resume_from, group.checkpoint) == (0, None)
            for data in THIS[:3]:
                group.put(data)
            second = owner.record("put")
            raise Crash
        assert (first["state"], second["state"]) == ("completed", "in group")
        assert second["unit_of_work"] == first["unit_of_work"] + 1
        assert second["group_id"] != first["group_id"]


def test_after_a_restart_a_completed_record_tells_what_was_done(owner):
    qmgr = owner.connect()
    with owner.producer(qmgr).group() as group:
        for data in THIS[:3]:
            group.set_checkpoint({"file": data.decode()})
            group.put(data)
    qmgr.close()  # as a crash before producer.close(): the record stays
    with owner.producer() as producer:
        assert producer.checkpoint == {"file": "2"}
        group = producer.group()
        assert (group.resume_from, group.checkpoint) == (0, None)
        with group:
            group.set_checkpoint({"file": "next"})
            group.put(b"next")
    assert [found.data for found in owner.on_queue()] == [*THIS[:3], b"next"]
    assert owner.record("put")["checkpoint"] == {"json": {"file": "next"}}


def test_the_checkpoint_of_an_interrupted_group_is_not_forgotten(owner):
    with pytest.raises(ZeroDivisionError), owner.producer(commit_every=1) as producer, producer.group() as group:
        for number in range(3):
            group.set_checkpoint(number)
            group.put(b"%d" % number)
        raise ZeroDivisionError
    with owner.producer() as producer:
        with pytest.raises(errors.GroupUsage, match="is interrupted"):
            producer.forget()
        assert producer.checkpoint == 1


@pytest.mark.parametrize("status", ["classic", "segmented"])
def test_a_checkpoint_is_forgotten_on_request_and_the_record_goes_with_it(owner, status):
    with owner.producer(status_layout=status) as producer:
        producer.forget()
        with producer.group() as group:
            group.set_checkpoint("done")
            group.put(b"0")
            group.put(b"1")
            with pytest.raises(errors.GroupUsage, match="group"):
                producer.forget()
    with owner.producer(status_layout=status) as producer:
        assert producer.checkpoint == "done"
        producer.forget()
        assert producer.checkpoint is None
    assert owner.on_queue(owner.status_queue("put")) == []
    with pytest.raises(errors.GroupUsage, match="closed"):
        producer.forget()
