"""Getting groups across units of work: what comes, what it costs, and how long a consumer waits."""

# ruff: noqa: PT012, SIM117 - a group fails where its block ends, so the block is inside the raises

from __future__ import annotations

import datetime
import gc
import itertools
import os

import pytest

import mqgroups
from embedded_tests.tables import table
from mqgroups import Every, errors
from mqgroups.connection.holder import connection_of
from mqgroups.mqi import constants as mq
from tests.get.groups import THAT, THIS, process
from tests.put.whole_groups import put_rest

# --- what comes


@pytest.mark.parametrize("messages", [1, 2, 7])
def test_a_group_comes_whole_in_sequence_and_is_gone(owner, messages):
    owner.put_group(THIS[:messages])
    with owner.consumer() as consumer:
        for group in consumer:
            assert (group.resume_from, group.checkpoint) == (0, None)
            got = list(group)
    assert [message.data for message in got] == THIS[:messages]
    assert [message.msg_seq_number for message in got] == list(range(1, messages + 1))
    assert [message.is_last for message in got] == [False] * (messages - 1) + [True]
    assert {message.group_id for message in got} == {group.group_id}
    assert all(message.in_group for message in got)
    assert owner.data() == owner.records("get") == []


def test_messages_in_no_group_come_as_groups_of_one(owner):
    owner.put_raw(b"first")
    owner.put_raw_group(THIS)
    owner.put_raw(b"second")
    with owner.consumer() as consumer:
        seen = []
        for group in consumer:
            messages = list(group)
            seen.append([message.data for message in messages])
            if len(messages) == 1:
                (message,) = messages
                assert group.group_id == message.group_id == mq.MQGI_NONE
                assert message.is_last
                assert not message.in_group
                assert repr(message).startswith("<Message not in a group ")
    assert seen == [[b"first"], THIS, [b"second"]]
    assert owner.data() == owner.records("get") == []


def test_groups_that_are_interleaved_on_the_queue_come_one_after_the_other(owner, make_owner):
    other = make_owner(queue=owner.queue)
    with (
        owner.producer(owner.connect(), commit_every=1) as mine,
        other.producer(other.connect(), commit_every=1) as theirs,
    ):
        with mine.group() as group, theirs.group() as that:
            for first, second in itertools.zip_longest(THIS, THAT):
                group.put(first)
                if second:
                    that.put(second)
    assert owner.data()[:4] == [THIS[0], THAT[0], THIS[1], THAT[1]]
    assert owner.get_groups(commit_every=2) == [THIS, THAT]


def test_two_consumers_share_a_queue_by_whole_groups(owner, make_owner):
    other = make_owner(queue=owner.queue)
    for number in range(4):
        owner.put_raw_group([b"%d.%d" % (number, message) for message in range(3)])
    with owner.consumer(owner.connect()) as mine, other.consumer(other.connect()) as theirs:
        first, second = next(iter(mine)), next(iter(theirs))
        messages = [iter(first), iter(second)]
        assert [next(each).data for each in (*messages, *messages)] == [b"0.0", b"1.0", b"0.1", b"1.1"]
        assert [[message.data for message in each] for each in messages] == [[b"0.2"], [b"1.2"]]
        assert [process(group) for group in theirs] == [
            [b"2.0", b"2.1", b"2.2"],
            [b"3.0", b"3.1", b"3.2"],
        ]


def test_a_message_tells_what_its_descriptor_says(owner):
    before = datetime.datetime.now(datetime.UTC) - datetime.timedelta(seconds=1)
    with owner.producer(priority=4) as producer, producer.group() as group:
        group.put("größer", correl_id=b"C" * 24)
        group.put(b"\x00\xff", format="MYFMT")
    owner.put_raw("größer".encode("cp500"), Format=b"MQSTR   ", CodedCharSetId=500, ReplyToQ=b"ANSWERS")
    with owner.consumer() as consumer:
        (text, data), (ebcdic,) = [list(group) for group in consumer]
    after = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=1)
    assert (text.text, text.format, text.ccsid, text.correl_id) == ("größer", "MQSTR", 1208, b"C" * 24)
    assert (data.data, data.format, data.correl_id) == (b"\x00\xff", "MYFMT", bytes(24))
    assert (ebcdic.text, ebcdic.ccsid, ebcdic.reply_to_q) == ("größer", 500, "ANSWERS")
    assert (text.priority, text.persistence, text.backout_count) == (4, mq.MQPER_PERSISTENT, 0)
    assert (text.offset, text.msg_flags & mq.MQMF_MSG_IN_GROUP) == (0, mq.MQMF_MSG_IN_GROUP)
    assert len(text.msg_id) == 24
    assert text.msg_id != data.msg_id
    assert text.put_time_utc is not None
    assert before <= text.put_time_utc <= after
    assert os.path.basename(text.put_appl_name)  # noqa: PTH119 - cut to 28 characters it is no path


@pytest.mark.embedded
def test_a_message_longer_than_the_buffer_costs_one_more_get_and_the_next_one_none(owner, count_calls):
    owner.put_raw_group([b"x" * 300_000, b"y" * 299_999, b"z"])
    with owner.consumer(commit_every=10) as consumer:
        count_calls()
        group = next(iter(consumer))
        assert process(group) == [b"x" * 300_000, b"y" * 299_999, b"z"]
        assert count_calls() == {"MQGET": 5, "MQPUT": 1, "MQCMIT": 1}


@pytest.mark.usefixtures("no_api_exit")
def test_a_message_longer_than_max_message_length_stays_on_the_queue(owner):
    owner.put_raw_group([b"0", b"1", b"x" * 101, b"3"])
    with owner.consumer(max_message_length=100) as consumer:
        for _ in range(2):
            with pytest.raises(
                errors.MessageTooLong,
                match=r"Raise max_message_length.* stream=True.*\. The message has 101 bytes, max_message_length is 100",
            ) as caught:
                process(next(iter(consumer)))
            assert "Message 2 is the last of the group that is known to be committed" in str(caught.value)
    assert owner.data() == [b"x" * 101, b"3"]
    assert owner.get_groups(max_message_length=101) == [[b"x" * 101, b"3"]]


def test_whole_messages_and_messages_in_segments_take_turns_in_a_stream(owner):
    payloads = [b"1", b"2", b"three", b"4", b"5", b"sixsix", b"7"]
    with owner.producer(segment_bytes=2) as producer, producer.group() as group:
        for data in payloads:
            group.put(data)
    with owner.consumer(stream=True, commit_every=100) as consumer:
        assert [[b"".join(message.chunks()) for message in group] for group in consumer] == [payloads]


# --- when, and at what price


@pytest.mark.embedded
@pytest.mark.parametrize(
    ("messages", "every", "units"),
    [(1, 5, 1), (5, 5, 1), (6, 5, 2), (3, 1, 3)],
)
def test_n_messages_in_u_units_of_work_are_n_plus_3u_calls(owner, count_calls, messages, every, units):
    owner.put_raw_group([b"%d" % number for number in range(messages)])
    with owner.consumer(commit_every=every) as consumer:
        count_calls()
        assert len(process(next(iter(consumer)))) == messages
        assert count_calls() == {"MQGET": messages + units, "MQPUT": units, "MQCMIT": units}


def test_a_message_is_processed_when_the_next_one_is_asked_for(owner):
    owner.put_raw_group(THIS)
    with owner.consumer(commit_every=1) as consumer:
        for group in consumer:
            left = []
            for _ in group:
                left.append(owner.record("get")["msg_seq_number"])
    assert left == [0, 1, 2, 3, 4, 5, 6]


def test_a_unit_of_work_ends_at_the_message_that_reaches_its_bytes(owner):
    lengths = (4, 5, 1, 10, 11, 3, 3, 3, 3)
    owner.put_raw_group([b"x" * length for length in lengths])
    committed = []
    with owner.consumer(commit_every=Every(bytes=10)) as consumer:
        consumer.before_commit(lambda _: committed.append(consumer._getter.work.messages))
        assert len(process(next(iter(consumer)))) == len(lengths)
    assert committed == [3, 1, 1, 4]


@table(("every", "each_s"), [(Every(seconds=5), 2), (1000, 24)])
def test_a_unit_of_work_ends_by_its_age(owner, clock, every, each_s):
    """A number of messages has an age limit of a minute too."""
    owner.put_raw_group(THIS)
    committed = []
    with owner.consumer(commit_every=every) as consumer:
        consumer.before_commit(lambda _: committed.append(clock.now_s))
        start = clock.now_s
        for _ in next(iter(consumer)):
            clock.now_s += each_s
    assert [(at - start) / each_s for at in committed] == [3, 6, 7]


def test_a_unit_of_work_ends_by_its_age_while_no_message_comes(owner, clock, monkeypatch):
    monkeypatch.setattr("mqgroups.get.cursor._LONGEST_WAIT_MS", 1)
    owner.put_raw_group(THIS[:3], whole=False)
    committed = []
    with owner.consumer(commit_every=Every(seconds=20), group_wait_s=200) as consumer:
        consumer.before_commit(lambda _: committed.append(clock.now_s))
        with pytest.raises(errors.GroupStalled):
            for message in next(iter(consumer)):
                if message.msg_seq_number == 3:
                    clock.tick_s = 1  # of every reading: now time passes in the wait
        assert len(committed) == 1
        assert clock.now_s - committed[0] > 100
        assert owner.record("get")["msg_seq_number"] == 3


# --- waiting


def test_a_consumer_that_waits_for_long_asks_less_often_and_a_stop_is_noticed_after_five_seconds(owner, clock):
    """An empty MQGET costs the queue manager; thousands of idle consumers make one each."""
    q_mgr, waits_s, in_group = owner.connect(sleep=clock.sleep), [], False
    get = connection_of(q_mgr).binding.MQGET

    def empty(hconn, hobj, md, gmo, *more):
        wait_ms = int.from_bytes(gmo[12:16], "little")
        if wait_ms:
            waits_s.append(wait_ms / 1000)
            clock.now_s += wait_ms / 1000
            if len(waits_s) == 7 and not in_group:
                consumer.stop()
        return get(hconn, hobj, md, gmo[:12] + bytes(4) + gmo[16:], *more)

    owner.doctor(q_mgr, MQGET=empty)
    consumer = owner.consumer(q_mgr, wait_s=None)
    assert list(consumer) == []
    assert waits_s == [1, 2, 3, 4, 5, 5, 5]
    consumer.close()
    waits_s, in_group = [], True
    consumer = owner.consumer(q_mgr, wait_s=None, group_wait_s=20)
    owner.put_raw_group(THIS[:2], whole=False)
    with pytest.raises(errors.GroupStalled):
        list(next(iter(consumer)))
    # Inside a group a unit of work may grow old meanwhile.
    assert set(waits_s) == {1}


def test_an_iteration_ends_when_no_group_comes_and_can_be_begun_again(owner):
    with owner.consumer() as consumer:
        assert list(consumer) == []
        owner.put_raw_group(THIS)
        assert [process(group) for group in consumer] == [THIS]
        assert list(consumer) == []


@pytest.mark.parametrize("wait_s", [None, 60])
def test_a_consumer_waits_for_the_next_group(owner, background, wait_s):
    consumer = owner.consumer(wait_s=wait_s, group_wait_s=60)
    waiting = background(lambda: process(next(iter(consumer))))
    owner.put_raw_group(THIS)
    assert waiting.result(30) == THIS
    consumer.close()


def test_a_consumer_waits_for_the_next_message_of_its_group(owner, background):
    owner.put_raw_group(THIS[:3], whole=False)
    found = owner.on_queue()
    consumer = owner.consumer(group_wait_s=60)
    waiting = background(lambda: process(next(iter(consumer))))
    flags = mq.MQMF_MSG_IN_GROUP | mq.MQMF_LAST_MSG_IN_GROUP
    owner.put_raw(b"last", GroupId=found[0].group_id, MsgSeqNumber=4, MsgFlags=flags)
    assert waiting.result(30) == [*THIS[:3], b"last"]
    consumer.close()


@pytest.mark.parametrize("there", [1, 2, 5])
def test_a_group_that_stalls_keeps_what_was_processed_and_goes_on(owner, there):
    owner.interrupt_put(THIS[: there + 1], commit_every=1)
    assert owner.data() == THIS[:there]
    with owner.consumer() as consumer:
        got = []
        for _ in range(2):
            with pytest.raises(
                errors.GroupStalled, match=r"message \d of group .* did not arrive on queue .* in 0 s"
            ) as caught:
                for message in next(iter(consumer)):
                    got.append(message.data)
        assert got == THIS[:there]
        assert (caught.value.msg_seq_number, caught.value.queue, caught.value.waited_s) == (there + 1, owner.queue, 0)
        assert caught.value.group_id.hex() == owner.record("get")["group_id"]
        assert owner.record("get")["msg_seq_number"] == there
    assert owner.data() == []
    # When its producer goes on, then another consumer gets the rest.
    with owner.producer() as producer:
        put_rest(producer)
    assert owner.get_groups() == [THIS[there:]]
    assert owner.records("get") == []


# --- the end of a status queue, and what one sees


def test_the_status_queue_is_deleted_on_request(owner):
    owner.put_raw_group(THIS)
    consumer = owner.consumer()
    for group in consumer:
        process(group)
    consumer.delete_status_queue()
    assert owner.eye.open(owner.status_queue("get"), mq.MQOO_INQUIRE).code.reason == mq.MQRC_UNKNOWN_OBJECT_NAME


def test_the_status_queue_of_an_interrupted_group_is_not_deleted(owner):
    owner.put_raw_group(THIS)
    with owner.consumer() as consumer:
        messages = iter(next(iter(consumer)))
        for _ in range(3):
            next(messages)
        with pytest.raises(errors.GroupUsage, match="interrupted group"):
            consumer.delete_status_queue()
        assert [message.data for message in messages] == THIS[3:]


def test_repr_shows_queue_name_group_and_position(owner):
    owner.put_raw_group(THIS)
    with owner.consumer() as consumer:
        assert repr(consumer) == f"<GroupConsumer {owner.queue} name={owner.name} group=none seq=0 uow=1 open>"
        group = next(iter(consumer))
        messages = iter(group)
        for _ in range(3):
            next(messages)
        assert repr(consumer) == (
            f"<GroupConsumer {owner.queue} name={owner.name} group={group.group_id.hex()} seq=3 uow=2 open>"
        )
        assert repr(group) == f"<IncomingGroup group={group.group_id.hex()} resume_from=0 of {consumer!r}>"
    assert repr(consumer).endswith(f"group={group.group_id.hex()} seq=2 uow=2 closed>")


def test_a_consumer_that_nobody_closed_is_told_by_the_log(owner, caplog):
    owner.put_group(THIS)
    with owner.consumer() as consumer:
        assert [len(list(group)) for group in consumer] == [len(THIS)]
    del consumer
    gc.collect()
    assert [each for each in caplog.messages if owner.name in each and "was not closed" in each] == []
    consumer = owner.consumer(owner.connect())
    said = f"{consumer!r} was not closed. Use it in a with statement, or call close()"
    del consumer
    gc.collect()
    assert [each.levelname for each in caplog.records if each.getMessage() == said] == ["WARNING"]


def test_settings_that_cannot_be_are_refused_before_any_call(owner):
    qmgr = owner.qmgr
    owner.doctor(qmgr, MQOPEN=None)
    for wrong, says in (
        ({"max_message_length": 0}, "max_message_length must be a whole number, 1 to 2147483647, got 0"),
        ({"max_message_length": 2**31}, "max_message_length must be a whole number, 1 to 2147483647"),
        ({"max_message_length": 2.5}, "max_message_length must be a whole number, .* got 2.5"),
        ({"group_wait_s": 10**400}, "group_wait_s must be 0 or more"),
        ({"convert": 1208.0}, r"convert must be True, False or a CCSID \(1 to 65534\), got 1208.0"),
        ({"record_users": [5]}, "record_users: 5 is not a user"),
        ({"wait_s": -1}, "wait_s must be 0 or more"),
        ({"group_wait_s": float("nan")}, "group_wait_s must be 0 or more"),
        ({"owner_wait_s": -0.1}, "owner_wait_s must be 0 or more"),
        ({"commit_every": 0}, "commit_every: messages must be a whole number, at least 1, got 0"),
        ({"commit_every": True}, "every must be a number of messages"),
        ({"commit_every": "10"}, "every must be a number of messages"),
        ({"queue": "NO QUEUE"}, "has ' ' at position 3"),
        ({"queue": "Q" * 49}, "has 49 characters"),
        ({"status_queue": ""}, "has 0 characters"),
        ({"status_model": "modèle"}, "has 'è'"),
    ):
        with pytest.raises(errors.ConfigurationError, match=says):
            owner.consumer(qmgr, **wrong)
    assert isinstance(qmgr, mqgroups.QueueManager)
