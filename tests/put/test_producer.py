"""Putting groups across units of work: what is on the queue, what it costs, and where a group goes on."""

# ruff: noqa: PT012, SIM117 - a group fails where its block ends, so the block is inside the raises

from __future__ import annotations

import dataclasses
import gc
import io
import json
import pickle
import struct
import warnings

import pytest

from mqgroups import Every, GroupProducer, Persistence, errors
from mqgroups.connection.holder import connection_of
from mqgroups.core.status import decode, encode
from mqgroups.embedded import Fault
from mqgroups.mqi import constants as mq
from mqgroups.mqi import structures as st
from mqgroups.mqi.constants import MQIA_INHIBIT_PUT
from tests.fix_groups import is_anchor

THIS = [b"%d" % number for number in range(7)]


class Crash(Exception):
    """The application's own trouble."""


def is_whole_group(found, payloads):
    """Whether messages on a queue are one whole group with this data."""
    return (
        [message.data for message in found] == list(payloads)
        and [message.msg_seq_number for message in found] == list(range(1, len(payloads) + 1))
        and len({message.group_id for message in found}) == 1
        and found[0].group_id != mq.MQGI_NONE
        and [message.is_last for message in found] == [False] * (len(payloads) - 1) + [True]
    )


# --- what is put


@pytest.mark.parametrize("messages", [1, 2, 3, 7])
def test_a_group_is_messages_1_to_n_of_one_group_id_with_the_last_one_marked(owner, messages):
    owner.put_group(THIS[:messages])
    found = owner.on_queue()
    assert is_whole_group(found, THIS[:messages])
    assert all(message.msg_flags & mq.MQMF_MSG_IN_GROUP for message in found)
    assert {message.md.Persistence for message in found} == {mq.MQPER_PERSISTENT}
    assert owner.records("put") == []


def test_groups_one_after_the_other_have_group_ids_of_their_own(owner):
    with owner.producer() as producer:
        for _ in range(2):
            with producer.group() as group:
                assert group.resume_from == 0
                for data in THIS[:3]:
                    group.put(data)
    found = owner.on_queue()
    assert is_whole_group(found[:3], THIS[:3])
    assert is_whole_group(found[3:], THIS[:3])
    assert found[0].group_id != found[3].group_id


def test_str_goes_as_utf_8_text_and_bytes_as_they_are(owner):
    owner.put_group(["größer", b"\x00\xff", "", b""])
    found = owner.on_queue()
    assert [message.data for message in found] == ["größer".encode(), b"\x00\xff", b"", b""]
    assert [message.md.Format for message in found] == [mq.MQFMT_STRING, mq.MQFMT_NONE, mq.MQFMT_STRING, mq.MQFMT_NONE]
    assert [found[0].md.CodedCharSetId, found[2].md.CodedCharSetId] == [1208, 1208]


def test_format_and_correl_id_are_of_the_message_they_were_given_with(owner):
    with owner.producer(commit_every=10) as producer, producer.group() as group:
        group.put(b"plain")
        group.put(b"both", format="MYFMT", correl_id=b"C" * 24)
        group.put("text", format="MYFMT")
        group.put("plain text")
        group.put(b"last", correl_id=b"D" * 24)
    assert [(message.md.Format.rstrip(), message.md.CorrelId) for message in owner.on_queue()] == [
        (b"", bytes(24)),
        (b"MYFMT", b"C" * 24),
        (b"MYFMT", bytes(24)),
        (b"MQSTR", bytes(24)),
        (b"", b"D" * 24),
    ]


class Odd:
    """An object of a program's own."""


class Array:
    """What iterates over numbers, and has bytes: arrays of numpy and others."""

    def __iter__(self):
        return iter([1, 2])

    def tobytes(self):
        return b"12"


ENCODE = r"encode it first, e.g. json.dumps\(payload\)"


@pytest.mark.parametrize(
    ("payload", "more", "sentence"),
    [
        (None, {}, r'got None; a message without data is b""'),
        (3, {}, f"got int: {ENCODE}"),
        (1.5, {}, f"got float: {ENCODE}"),
        ({"a": 1}, {}, f"got dict: {ENCODE}"),
        ({b"a"}, {"last": False}, f"got set: {ENCODE}"),
        (["a"], {"last": False}, f"a list is put as a stream of bytes, and this one has str in it: {ENCODE}"),
        ([b"a", None], {"last": False}, f"a list is put as a stream of bytes, and this one has None in it: {ENCODE}"),
        ((1, 2), {"last": False}, f"a tuple is put as a stream of bytes, and this one has int in it: {ENCODE}"),
        (range(3), {"last": False}, "a range is put as a stream of bytes, and this one has int in it"),
        ([b"a"], {}, "what is neither bytes nor str is put as a stream, and .* whether it is the group's last message"),
        (Array(), {"last": False}, r"got Array: give its bytes, e.g. payload.tobytes\(\)"),
        (Odd(), {}, "got Odd: encode it first"),
        (io.StringIO("3"), {"last": False}, "a text file; open it in binary mode"),
        ("3\ud800", {}, "half of a surrogate pair at position 1"),
        (b"3", {"format": "LONGER.THAN.8"}, "longer than 8 characters"),
        (b"3", {"format": b"BYTES"}, "a format is a str"),
        (b"3", {"format": "ÄÖ"}, "8 ASCII characters"),
        (b"3", {"correl_id": b"short"}, "correl_id has 5 bytes; it must have 24"),
        (b"3", {"correl_id": "C" * 24}, "correl_id is bytes, got str"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, dict) else None,
)
def test_what_cannot_be_a_message_is_refused_and_the_group_goes_on(owner, payload, more, sentence):
    with owner.producer() as producer, producer.group() as group:
        group.put(b"0")
        with pytest.raises(errors.ApplicationError, match=sentence):
            group.put(payload, **more)
        group.put(b"1")
    assert is_whole_group(owner.on_queue(), [b"0", b"1"])


def test_a_bytearray_and_a_memoryview_are_taken_as_they_are_when_they_are_put(owner):
    first, second = bytearray(b"first"), bytearray(b"second")
    with owner.producer() as producer, producer.group() as group:
        group.put(first)
        first[:] = b"other"
        group.put(memoryview(second)[1:])
        second[:] = b"others"
        group.put(iter([bytearray(b"a"), memoryview(b"stream")]), last=False)
        group.put(type("Text", (str,), {})("text"))
    assert [found.data for found in owner.on_queue()] == [b"first", b"econd", b"astream", b"text"]


def test_persistence_and_priority_are_the_producers(owner):
    owner.put_group(THIS[:3], persistence=Persistence.NOT_PERSISTENT, priority=7)
    assert {(found.md.Persistence, found.md.Priority) for found in owner.on_queue()} == {(mq.MQPER_NOT_PERSISTENT, 7)}


def test_a_resumed_group_keeps_its_persistence_whatever_the_settings_say_now(owner):
    owner.interrupt_put(THIS[:4], persistence=Persistence.NOT_PERSISTENT)
    with owner.producer(persistence=Persistence.PERSISTENT) as producer:
        with producer.group() as group:
            for data in THIS[group.resume_from : 5]:
                group.put(data)
        with producer.group() as group:
            group.put(b"next")
    found = owner.on_queue()
    assert is_whole_group(found[:5], THIS[:5])
    assert [message.md.Persistence for message in found] == [mq.MQPER_NOT_PERSISTENT] * 5 + [mq.MQPER_PERSISTENT]


@pytest.mark.parametrize("priority", [-1, 10])
def test_a_priority_that_mq_does_not_have_is_refused(owner, priority):
    with pytest.raises(errors.ConfigurationError, match="priority must be 0 to 9"):
        owner.producer(priority=priority)


# --- when, and at what price


@pytest.mark.embedded
@pytest.mark.parametrize(
    ("messages", "every", "units"),
    [(1, 5, 1), (2, 5, 1), (5, 5, 1), (6, 5, 2), (10, 5, 2), (11, 5, 3), (3, 1, 3), (1, 1, 1), (7, 2, 4)],
)
def test_n_messages_in_u_units_of_work_are_n_plus_3u_calls(owner, count_calls, messages, every, units):
    """IBM's N + 3U - 2 and two more: a record of the owner's own is there before the first commit and after the last."""
    with owner.producer(commit_every=every) as producer:
        count_calls()
        with producer.group() as group:
            for number in range(messages):
                group.put(b"%d" % number)
        assert count_calls() == {"MQPUT": messages + units, "MQGET": units, "MQCMIT": units}
    assert is_whole_group(owner.on_queue(), [b"%d" % number for number in range(messages)])


@pytest.mark.embedded
def test_the_second_group_costs_what_the_first_one_did(owner, count_calls):
    with owner.producer(commit_every=5) as producer:
        for _ in range(2):
            count_calls()
            with producer.group() as group:
                for number in range(12):
                    group.put(b"%d" % number)
            assert count_calls() == {"MQPUT": 15, "MQGET": 3, "MQCMIT": 3}


def test_a_message_is_held_back_until_the_next_one_or_the_end_of_the_block(owner):
    with owner.producer(commit_every=1) as producer:
        with producer.group() as group:
            group.put(b"0")
            assert owner.data() == []
            group.put(b"1")
            assert owner.data() == [b"0"]
            group.put(b"2")
            assert owner.data() == [b"0", b"1"]
        assert is_whole_group(owner.on_queue(), [b"0", b"1", b"2"])


def test_a_unit_of_work_ends_at_the_message_that_reaches_its_bytes(owner):
    visible = []
    with owner.producer(commit_every=Every(bytes=10)) as producer, producer.group() as group:
        for length in (4, 5, 1, 10, 11, 3, 3, 3, 3):
            group.put(b"x" * length)
            visible.append(len(owner.on_queue()))
    #                   4  5  1  10 11 3  3  3  3: put when the next one comes
    assert visible == [0, 0, 0, 3, 4, 5, 5, 5, 5]
    assert len(owner.on_queue()) == 9


def test_a_unit_of_work_ends_by_its_age_at_the_next_message(owner, clock):
    with owner.producer(commit_every=Every(seconds=5)) as producer, producer.group() as group:
        group.put(b"0")
        clock.now_s += 100  # nothing is put yet, so no unit of work grows old
        group.put(b"1")
        assert owner.data() == []
        clock.now_s += 4.9
        group.put(b"2")
        assert owner.data() == []
        clock.now_s += 0.1
        group.put(b"3")
        assert owner.data() == [b"0", b"1", b"2"]
        clock.now_s += 4.9
        group.put(b"4")
        assert owner.data() == [b"0", b"1", b"2"]
    assert is_whole_group(owner.on_queue(), THIS[:5])


def test_messages_bytes_and_seconds_together_end_it_by_what_comes_first(owner, clock):
    with owner.producer(commit_every=Every(messages=3, bytes=10, seconds=5)) as producer, producer.group() as group:
        for data in (b"0", b"1", b"2", b"0123456789", b"4"):
            group.put(data)
        assert len(owner.data()) == 4  # three messages; ten bytes
        clock.now_s += 5
        group.put(b"5")
        assert len(owner.data()) == 4
        clock.now_s += 5
        group.put(b"6")
        assert len(owner.data()) == 6  # b"4" and b"5", five seconds after b"4"


@pytest.mark.embedded
def test_a_unit_of_work_never_exceeds_maxumsgs(make_owner, own_queue_manager, tmp_path):
    mqsc = tmp_path / "more.mqsc"
    mqsc.write_text("ALTER QMGR MAXUMSGS(5)\nDEFINE QLOCAL(Q)")
    owner = make_owner(own_queue_manager(mqsc=[mqsc]), "Q")
    seen = []
    with owner.producer(commit_every=1000) as producer, producer.group() as group:
        for number in range(8):
            group.put(b"%d" % number)
            seen.append(len(owner.on_queue()))
    # Two of the five are the status record's.
    assert seen == [0, 0, 0, 3, 3, 3, 6, 6]
    assert owner.get_groups(commit_every=1000) == [[b"%d" % number for number in range(8)]]


@pytest.mark.embedded
def test_a_maxumsgs_without_room_for_a_message_is_refused(make_owner, own_queue_manager, tmp_path):
    mqsc = tmp_path / "more.mqsc"
    mqsc.write_text("ALTER QMGR MAXUMSGS(2)\nDEFINE QLOCAL(Q)")
    owner = make_owner(own_queue_manager(mqsc=[mqsc]), "Q")
    with pytest.raises(errors.ConfigurationError, match="MAXUMSGS is 2"):
        owner.producer()


# --- going on


def test_an_exception_in_the_block_backs_out_and_the_same_producer_goes_on(owner):
    with owner.producer() as producer:
        with pytest.raises(Crash), producer.group() as group:
            for data in THIS[:6]:
                group.put(data)
            raise Crash
        assert owner.data() == THIS[:4]
        with producer.group() as group:
            assert group.resume_from == 4
            for data in THIS[group.resume_from :]:
                group.put(data)
    assert is_whole_group(owner.on_queue(), THIS)
    assert owner.records("put") == []


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_not_only_exceptions_back_out(owner, interruption):
    with owner.producer() as producer:
        with pytest.raises(interruption), producer.group() as group:
            for data in THIS[:4]:
                group.put(data)
            raise interruption
        assert owner.data() == THIS[:2]
        assert producer.group().resume_from == 2


@pytest.mark.parametrize("put_before", range(8))
def test_a_new_connection_goes_on_wherever_the_old_one_stopped(owner, put_before):
    owner.interrupt_put(THIS[:put_before])
    with owner.producer() as producer, producer.group() as group:
        # Of the messages put before, the last is held back, and what is not in a full unit of work is backed out.
        assert group.resume_from == max(put_before - 1, 0) // 2 * 2
        for data in THIS[group.resume_from :]:
            group.put(data)
    assert is_whole_group(owner.on_queue(), THIS)
    assert owner.records("put") == []


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
        with producer.group() as group:
            for data in THIS[group.resume_from :]:
                group.put(data)
    assert is_whole_group(owner.on_queue(), THIS)


def test_closing_the_producer_inside_a_group_leaves_it_resumable(owner):
    producer = owner.producer()
    group = producer.group()
    for data in THIS[:4]:
        group.put(data)
    producer.close()
    with pytest.raises(errors.GroupUsage, match="has ended"):
        group.put(b"more")
    assert owner.data() == THIS[:2]
    with owner.producer() as producer, producer.group() as group:
        assert group.resume_from == 2
        group.put(b"2")
    assert is_whole_group(owner.on_queue(), THIS[:3])


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
    # When the group is resumed, then it is that instance of the queue that is opened, and not another one.
    for _ in range(2):
        with pytest.raises(errors.MQIError) as caught:
            owner.producer()
        assert (caught.value.verb, caught.value.reason) == ("MQOPEN", mq.MQRC_UNKNOWN_REMOTE_Q_MGR)
    assert decode(owner.records("put")[0]) == record


# --- checkpoints


@pytest.mark.parametrize(
    "checkpoint",
    [b"", b"\x00\xff bytes", "text", 0, 17, 2.5, True, [], {}, {"line": 17, "file": "ä.csv", "more": [1, None]}],
    ids=repr,
)
def test_a_checkpoint_comes_back_as_it_was_given(owner, checkpoint):
    owner.interrupt_put(THIS[:4], checkpoints=[None, checkpoint])
    with owner.producer() as producer:
        assert producer.checkpoint == checkpoint
        assert type(producer.checkpoint) is type(checkpoint)
        group = producer.group()
        assert (group.resume_from, group.checkpoint) == (2, checkpoint)


def test_the_checkpoint_is_that_of_the_last_committed_message(owner):
    owner.interrupt_put(THIS[:6], checkpoints=[10, 20, 30, 40, 50, 60])
    with owner.producer() as producer:
        assert (producer.checkpoint, producer.group().resume_from) == (40, 4)


def test_a_message_without_a_checkpoint_leaves_the_one_before(owner):
    owner.interrupt_put(THIS[:6], checkpoints=[10, None, None, None])
    with owner.producer() as producer:
        assert producer.checkpoint == 10


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


@pytest.mark.parametrize(
    "checkpoint",
    [{1, 2}, object(), float("nan"), float("inf"), {"a": b"bytes"}, [object()]],
    ids=["set", "object", "nan", "infinity", "bytes", "object in a list"],
)
def test_a_checkpoint_that_cannot_be_kept_is_refused_and_the_group_is_resumable(owner, checkpoint):
    with owner.producer() as producer:
        with pytest.raises(errors.GroupUsage, match="must be bytes or a JSON value"), producer.group() as group:
            for data in THIS[:3]:
                group.put(data)
            group.set_checkpoint(checkpoint)
            group.put(b"3")
            group.put(b"4")
        assert owner.data() == THIS[:2]
        with producer.group() as group:
            for data in THIS[group.resume_from : 5]:
                group.put(data)
    assert is_whole_group(owner.on_queue(), THIS[:5])


@pytest.mark.parametrize(
    ("checkpoint", "sentence"),
    [
        ((1, 2), r"the checkpoint \(tuple\) cannot be kept: .* come back as a list"),
        ({1: 2}, r"the checkpoint \(dict\) cannot be kept: .* a key that is int, not str"),
        ("\ud800", r"the checkpoint \(str\) cannot be kept: .* half of a surrogate pair"),
        (float("nan"), r"the checkpoint \(float\) cannot be kept: .* not finite"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_cannot_be_a_checkpoint_is_refused_and_the_group_goes_on(owner, checkpoint, sentence):
    with owner.producer() as producer, producer.group() as group:
        group.put(b"0")
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


@pytest.mark.parametrize("checkpoint", [7, 0, b""])
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


@pytest.mark.parametrize("messages", [1, 2, 5])
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


def test_an_exception_in_the_producers_block_leaves_the_completed_record(owner):
    with pytest.raises(Crash), owner.producer() as producer:
        with producer.group() as group:
            group.set_checkpoint("done")
            group.put(b"0")
        raise Crash
    assert owner.record("put")["state"] == "completed"
    with owner.producer() as producer:
        assert producer.checkpoint == "done"
    assert owner.record("put")["state"] == "completed"


def test_a_checkpoint_outlives_a_polite_stop_and_who_starts_again_does_nothing_twice(owner):
    for stop_after in (1, 3):
        with owner.producer() as producer:
            for number in range(0 if producer.checkpoint is None else producer.checkpoint + 1, stop_after + 1):
                with producer.group() as group:
                    group.set_checkpoint(number)
                    group.put(b"%d" % number)
    assert owner.data() == [b"0", b"1", b"2", b"3"]


@pytest.mark.parametrize("status", ["classic", "segmented"])
def test_a_checkpoint_is_forgotten_on_request_and_the_record_goes_with_it(owner, status):
    with owner.producer(status_layout=status) as producer:
        producer.forget_checkpoint()
        with producer.group() as group:
            group.set_checkpoint("done")
            group.put(b"0")
            group.put(b"1")
            with pytest.raises(errors.GroupUsage, match="group"):
                producer.forget_checkpoint()
    with owner.producer(status_layout=status) as producer:
        assert producer.checkpoint == "done"
        producer.forget_checkpoint()
        assert producer.checkpoint is None
    assert owner.on_queue(owner.status_queue("put")) == []
    with pytest.raises(errors.GroupUsage, match="closed"):
        producer.forget_checkpoint()


# --- groups that are none, and calls at the wrong moment


@pytest.mark.embedded
def test_an_empty_group_is_refused_with_nothing_put(owner, count_calls):
    with owner.producer() as producer:
        count_calls()
        with pytest.raises(errors.EmptyGroup, match="at least one message; nothing was put"), producer.group():
            pass
        assert count_calls() == {}
        with producer.group() as group:
            group.put(b"0")
    assert is_whole_group(owner.on_queue(), [b"0"])


def test_a_resumed_group_with_nothing_more_is_refused_and_stays_resumable(owner):
    owner.interrupt_put(THIS[:6])
    with owner.producer() as producer:
        for _ in range(2):
            with pytest.raises(errors.EmptyGroup, match="resumed after 4 messages"), producer.group() as group:
                assert group.resume_from == 4
    assert owner.record("put")["msg_seq_number"] == 4
    with owner.producer() as producer, producer.group() as group:
        assert group.resume_from == 4
        group.put(b"4")
    assert is_whole_group(owner.on_queue(), THIS[:5])


def test_a_second_group_before_the_first_one_has_ended_is_refused(owner):
    with owner.producer() as producer, producer.group() as group:
        group.put(b"0")
        with pytest.raises(errors.GroupUsage, match="the group before has not ended"):
            producer.group()
        group.put(b"1")
    assert is_whole_group(owner.on_queue(), [b"0", b"1"])


def test_a_group_that_nothing_was_asked_of_gives_way_to_the_next_one(owner):
    with owner.producer() as producer:
        before = producer.group()
        with producer.group() as group:
            group.put(b"0")
            with pytest.raises(errors.GroupUsage, match="this group has ended"):
                before.put(b"other")
            group.put(b"1")
    assert is_whole_group(owner.on_queue(), [b"0", b"1"])


def test_a_group_that_has_ended_takes_no_more(owner):
    with owner.producer() as producer:
        with producer.group() as group:
            group.put(b"0")
        with pytest.raises(errors.GroupUsage, match=r"producer\.group\(\) begins the next one"):
            group.put(b"1")
    assert is_whole_group(owner.on_queue(), [b"0"])


def test_a_closed_producer_gives_no_groups(owner):
    producer = owner.producer()
    producer.close()
    producer.close()
    with pytest.raises(errors.GroupUsage, match="closed"):
        producer.group()


def test_a_failure_that_was_swallowed_is_raised_again_at_the_end_of_the_block(make_owner):
    owner = make_owner(model="TEST.SMALL.MODEL")
    with owner.producer(commit_every=5) as producer:
        with pytest.raises(errors.GroupUsage, match="stopped with MessageTooLong"), producer.group() as group:
            group.put(b"0")
            group.put(b"longer than ten")
            with pytest.raises(errors.MessageTooLong):
                group.put(b"2")
            with pytest.raises(errors.GroupUsage, match="Leave its with block"):
                group.put(b"3")
        assert owner.data() == []
        with producer.group() as group:
            assert group.resume_from == 0
            group.put(b"0")
    assert is_whole_group(owner.on_queue(), [b"0"])


# --- what goes wrong


def test_a_queue_that_is_missing_is_named_and_the_status_queue_let_go(owner):
    for _ in range(2):
        with pytest.raises(
            errors.QueueMissing, match=r"MQOPEN for queue NO\.SUCH\.QUEUE failed: reason 2085"
        ) as caught:
            owner.producer(queue="NO.SUCH.QUEUE")
        assert "Define the queue" in str(caught.value)
        assert caught.value.comp == mq.MQCC_FAILED


def test_a_slip_in_the_queues_name_leaves_no_record_and_does_not_keep_the_name(owner):
    with pytest.raises(errors.QueueMissing):
        owner.producer(queue="NO.SUCH.QUEUE")
    assert owner.on_queue(owner.status_queue("put")) == []
    owner.put_group([b"0"])
    assert owner.data() == [b"0"]


@pytest.mark.parametrize(
    ("what", "at"), [("GroupId", 4), ("GroupId", 7), ("MsgSeqNumber", 1), ("MsgSeqNumber", 4), ("MsgSeqNumber", 7)]
)
def test_a_message_that_was_not_put_where_it_should_be_backs_out_and_the_group_goes_on(owner, what, at):
    """As when somebody else has backed out on the same connection: the handle begins the group anew."""
    qmgr = owner.connect()
    honest = connection_of(qmgr).binding.MQPUT

    def elsewhere(hconn, hobj, md, pmo, data):
        md, *rest = honest(hconn, hobj, md, pmo, data)
        if data == THIS[at - 1] and not told:
            told.append(data)
            start = st.MD_GROUP_ID.start if what == "GroupId" else st.MD_MSG_SEQ_NUMBER
            value = b"G" * 24 if what == "GroupId" else struct.pack("i", at + 1)
            md = md[:start] + value + md[start + len(value) :]
        return md, *rest

    told = []
    owner.doctor(qmgr, MQPUT=elsewhere)
    with owner.producer(qmgr) as producer:
        with pytest.raises(errors.ForeignSyncpoint, match=f"message {at} of group"), producer.group() as group:
            for data in THIS:
                group.put(data)
        with producer.group() as group:
            assert group.resume_from == (at - 1) // 2 * 2
            for data in THIS[group.resume_from :]:
                group.put(data)
    assert is_whole_group(owner.on_queue(), THIS)


@pytest.mark.embedded
def test_a_queue_that_may_not_be_used_is_named(owner, faults):
    owner.producer().close()
    faults.arm(Fault("answer", verb="MQOPEN", nth=2, reason=mq.MQRC_NOT_AUTHORIZED))
    with pytest.raises(errors.NotAuthorised, match=f"MQOPEN for queue {owner.queue} failed: reason 2035"):
        owner.producer()
    owner.put_group([b"0"])


def test_a_message_longer_than_maxmsgl_leaves_the_group_resumable(make_owner):
    owner = make_owner(model="TEST.SMALL.MODEL")
    with owner.producer() as producer:
        with pytest.raises(errors.MessageTooLong, match="Message 2 is the last of the group that is known") as caught:
            with producer.group() as group:
                for data in (b"0", b"1", b"longer than ten", b"3"):
                    group.put(data)
        assert caught.value.reason == mq.MQRC_MSG_TOO_BIG_FOR_Q
        assert "Raise MAXMSGL" in str(caught.value)
        assert owner.data() == [b"0", b"1"]
        with producer.group() as group:
            assert group.resume_from == 2
            group.put(b"shorter")
    assert is_whole_group(owner.on_queue(), [b"0", b"1", b"shorter"])


def test_the_last_message_too_long_leaves_the_group_resumable(make_owner):
    owner = make_owner(model="TEST.SMALL.MODEL")
    with owner.producer() as producer:
        with pytest.raises(errors.MessageTooLong), producer.group() as group:
            for data in (b"0", b"1", b"longer than ten"):
                group.put(data)
        with producer.group() as group:
            assert group.resume_from == 2
            group.put(b"shorter")
    assert is_whole_group(owner.on_queue(), [b"0", b"1", b"shorter"])


def test_puts_inhibited_in_the_middle_are_waited_for(owner, clock):
    with owner.producer(owner.connect(sleep=clock.sleep), full_wait_s=5) as producer, producer.group() as group:
        for data in THIS[:4]:
            group.put(data)
        owner.set_attribute(MQIA_INHIBIT_PUT, 1)
        clock.on_sleep = lambda: owner.set_attribute(MQIA_INHIBIT_PUT, 0)
        for data in THIS[4:]:
            group.put(data)
    assert len(clock.naps) == 1
    assert is_whole_group(owner.on_queue(), THIS)


def test_puts_that_stay_inhibited_leave_the_group_resumable(owner):
    with owner.producer() as producer:
        with pytest.raises(errors.QueueInhibited, match=r"reason 2051 MQRC_PUT_INHIBITED.*PUT\(ENABLED\)"):
            with producer.group() as group:
                for data in THIS[:4]:
                    group.put(data)
                owner.set_attribute(MQIA_INHIBIT_PUT, 1)
                group.put(THIS[4])
        owner.set_attribute(MQIA_INHIBIT_PUT, 0)
        # What was whole when it happened is committed.
        assert owner.data() == THIS[:3]
        with producer.group() as group:
            for data in THIS[group.resume_from :]:
                group.put(data)
    assert is_whole_group(owner.on_queue(), THIS)


def test_a_full_queue_commits_what_is_whole_and_goes_on_when_a_consumer_makes_room(make_owner, clock):
    owner = make_owner(model="TEST.SMALL.MODEL")  # MAXDEPTH(3)
    consumed = []

    def consume_while_the_producer_sleeps():
        # What the producer had put in its unit of work can be consumed only because it was committed.
        with owner.consumer(owner.connect(), commit_every=1) as consumer:
            for group in consumer:
                with pytest.raises(errors.GroupStalled):
                    for message in group:
                        consumed.append(message.data)
                return

    clock.on_sleep = consume_while_the_producer_sleeps
    with owner.producer(owner.connect(sleep=clock.sleep), commit_every=100, full_wait_s=30) as producer:
        with producer.group() as group:
            for data in THIS:
                group.put(data)
    clock.on_sleep = lambda: None
    assert len(clock.naps) == 2
    with owner.consumer() as consumer:
        for rest in consumer:
            assert rest.resume_from == len(consumed)
            consumed += [message.data for message in rest]
    assert consumed == THIS
    assert owner.records("put") == owner.records("get") == []


def test_a_queue_that_stays_full_is_an_error_in_full_wait_s_and_the_group_resumable(make_owner, clock):
    owner = make_owner(model="TEST.SMALL.MODEL")
    with owner.producer(owner.connect(sleep=clock.sleep), commit_every=100, full_wait_s=30) as producer:
        with pytest.raises(errors.QueueFull, match="reason 2053 MQRC_Q_FULL") as caught, producer.group() as group:
            for data in THIS:
                group.put(data)
        assert 30 <= sum(clock.naps) < 33
        assert len(clock.naps) > 10
        assert "raise its MAXDEPTH" in str(caught.value)
        assert "Message 3 is the last of the group that is known to be committed" in str(caught.value)
        assert owner.data() == THIS[:3]
        # When it is drained, then the same producer goes on; and so does another one.
        with owner.consumer(owner.connect(), commit_every=1) as consumer, pytest.raises(errors.GroupStalled):
            list(next(iter(consumer)))
        with producer.group() as group:
            assert group.resume_from == 3
            for data in THIS[3:6]:
                group.put(data)
    with owner.consumer() as consumer:
        (rest,) = [[message.data for message in group] for group in consumer]
    assert rest == THIS[3:6]


def test_a_queue_full_at_the_first_message_of_a_unit_of_work_waits_without_a_commit(make_owner, clock):
    owner = make_owner(model="TEST.SMALL.MODEL")
    for _ in range(3):
        owner.put_raw(b"other")
    with owner.producer(owner.connect(sleep=clock.sleep), full_wait_s=5) as producer:
        with pytest.raises(errors.QueueFull, match="No message of the group is known to be committed"):
            with producer.group() as group:
                group.put(b"0")
        assert owner.record("put")["state"] == "idle"
        assert owner.get_groups() == [[b"other"]] * 3
        with producer.group() as group:
            assert group.resume_from == 0
            group.put(b"0")
    assert is_whole_group(owner.on_queue(), [b"0"])


@pytest.mark.embedded
@pytest.mark.parametrize("reason", [mq.MQRC_Q_SPACE_NOT_AVAILABLE, mq.MQRC_STORAGE_MEDIUM_FULL])
def test_storage_that_is_full_for_a_moment_is_waited_for(owner, faults, clock, reason):
    with owner.producer(owner.connect(sleep=clock.sleep), full_wait_s=5) as producer, producer.group() as group:
        # The second message, and again when it is tried once more; the third call is the status record in between.
        for nth in (2, 4):
            faults.arm(Fault("answer", verb="MQPUT", nth=nth, reason=reason))
        for data in THIS:
            group.put(data)
    assert faults.faults_fired() == 2
    assert is_whole_group(owner.on_queue(), THIS)


@pytest.mark.embedded
def test_a_refused_status_record_backs_the_unit_of_work_out(owner, faults):
    with owner.producer() as producer:
        faults.arm(Fault("answer", verb="MQPUT", nth=3, reason=mq.MQRC_Q_FULL))
        with pytest.raises(errors.MQIError) as caught, producer.group() as group:
            for data in THIS:
                group.put(data)
        assert caught.value.object_name == f"queue {owner.status_queue('put')}"
        assert owner.data() == []
        with producer.group() as group:
            assert group.resume_from == 0
            for data in THIS:
                group.put(data)
    assert is_whole_group(owner.on_queue(), THIS)


def test_errors_from_the_middle_of_a_group_pickle_with_their_context(make_owner):
    owner = make_owner(model="TEST.SMALL.MODEL")
    with owner.producer() as producer, pytest.raises(errors.QueueFull) as caught, producer.group() as group:
        for data in THIS:
            group.put(data)
    again = pickle.loads(pickle.dumps(caught.value))
    assert (type(again), str(again), again.__dict__) == (type(caught.value), str(caught.value), caught.value.__dict__)


# --- the end of a status queue, and what one sees


def test_the_status_queue_is_deleted_on_request(owner):
    producer = owner.producer()
    with producer.group() as group:
        group.set_checkpoint("done")
        group.put(b"0")
    with pytest.raises(errors.GroupUsage, match="a checkpoint"):
        producer.delete_status_queue()
    producer.forget_checkpoint()
    producer.delete_status_queue()
    assert owner.eye.open(owner.status_queue("put"), mq.MQOO_INQUIRE).code.reason == mq.MQRC_UNKNOWN_OBJECT_NAME
    assert owner.data() == [b"0"]


def test_the_status_queue_of_an_interrupted_group_is_not_deleted(owner):
    owner.interrupt_put(THIS[:4])
    with owner.producer() as producer:
        with pytest.raises(errors.GroupUsage, match="interrupted group"):
            producer.delete_status_queue()
        with producer.group() as group:
            group.put(b"2")
            with pytest.raises(errors.GroupUsage, match="group"):
                producer.delete_status_queue()
    assert owner.records("put") == []


def left_open(begin):
    """Return what is warned of when what ``begin`` has begun is collected."""
    gc.collect()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ResourceWarning)
        begin()
        gc.collect()
    return [str(warning.message) for warning in caught if "GroupProducer" in str(warning.message)]


def test_what_nobody_closed_or_ended_is_a_warning(owner):
    def begin():
        producer.append(owner.producer(owner.connect()))
        producer[0].group().put(b"0")
        producer[0]._group = None

    producer: list[GroupProducer] = []
    (group,) = left_open(begin)
    assert group.startswith("<OutgoingGroup resume_from=0 open of <GroupProducer ")
    assert "was not ended: use `with producer.group() as group`" in group
    (closed,) = left_open(producer.clear)
    assert closed.startswith(f"<GroupProducer {owner.queue} name={owner.name} ")
    assert "was not closed: use it in a with statement, or close() it" in closed


def test_what_was_closed_and_ended_is_no_warning(owner):
    def begin():
        owner.put_group(THIS)
        producer = owner.producer()
        producer.group().put(b"0")
        producer.close()

    assert left_open(begin) == []


def test_repr_shows_queue_name_group_and_position(owner):
    with owner.producer() as producer:
        assert repr(producer) == f"<GroupProducer {owner.queue} name={owner.name} group=none seq=0 uow=1 open>"
        with producer.group() as group:
            assert repr(group) == f"<OutgoingGroup resume_from=0 open of {producer!r}>"
            for data in THIS[:4]:
                group.put(data)
            group_id = owner.on_queue()[0].group_id.hex()
            assert repr(producer) == (
                f"<GroupProducer {owner.queue} name={owner.name} group={group_id} seq=3 uow=2 open>"
            )
        assert repr(group).startswith("<OutgoingGroup resume_from=0 ended of")
    assert repr(producer) == f"<GroupProducer {owner.queue} name={owner.name} group=none seq=0 uow=1 closed>"


@pytest.mark.parametrize("role", ["put", "get"])
def test_a_given_status_queue_is_used(owner, make_queue, role):
    status_queue = make_queue()
    if role == "put":
        with owner.producer(status_queue=status_queue) as producer, producer.group() as group:
            for data in THIS[:3]:
                group.put(data)
            found = owner.on_queue(status_queue)
    else:
        owner.put_raw_group(THIS[:3])
        with owner.consumer(status_queue=status_queue) as consumer:
            for got in consumer:
                for message in got:
                    if message.msg_seq_number == 3:
                        found = owner.on_queue(status_queue)
    (record,) = (json.loads(each.data) for each in found if not is_anchor(each.data))
    assert (record["role"], record["msg_seq_number"]) == (role, 2)
    assert owner.on_queue(status_queue) == []
    assert owner.eye.open(owner.status_queue(role), mq.MQOO_INQUIRE).code.reason == mq.MQRC_UNKNOWN_OBJECT_NAME
