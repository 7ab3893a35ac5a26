"""Getting groups across units of work: what counts as processed, what is got again, and where a group goes on."""

# ruff: noqa: PT012, SIM117 - a group fails where its block ends, so the block is inside the raises

from __future__ import annotations

import datetime
import itertools
import os
import struct
from collections.abc import Iterator

import pytest

import mqgroups
from mqgroups import Every, errors
from mqgroups.connection.holder import connection_of
from mqgroups.embedded import Fault
from mqgroups.get import unreachable as unreachable_groups
from mqgroups.mqi import constants as mq
from mqgroups.mqi import structures as st

THIS = [b"%d" % number for number in range(7)]
THAT = [b"that %d" % number for number in range(3)]


class Crash(Exception):
    """The application's own trouble."""


def process(group):
    """Process what is left of a group; return the data."""
    return [message.data for message in group]


# --- what comes


@pytest.mark.parametrize("messages", [1, 2, 3, 7])
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


def test_a_message_longer_than_max_message_length_stays_on_the_queue(owner):
    owner.put_raw_group([b"0", b"1", b"x" * 101, b"3"])
    with owner.consumer(max_message_length=100) as consumer:
        for _ in range(2):
            with pytest.raises(errors.MessageTooLong, match="has 101 bytes, max_message_length is 100") as caught:
                process(next(iter(consumer)))
            assert "Message 2 is the last of the group that is known to be committed" in str(caught.value)
    assert owner.data() == [b"x" * 101, b"3"]
    assert owner.get_groups(max_message_length=101) == [[b"x" * 101, b"3"]]


# --- when, and at what price


@pytest.mark.embedded
@pytest.mark.parametrize(
    ("messages", "every", "units"),
    [(1, 5, 1), (2, 5, 1), (5, 5, 1), (6, 5, 2), (10, 5, 2), (11, 5, 3), (3, 1, 3), (1, 1, 1), (7, 2, 4)],
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


def test_a_unit_of_work_ends_by_its_age(owner, clock):
    owner.put_raw_group(THIS)
    committed = []
    with owner.consumer(commit_every=Every(seconds=5)) as consumer:
        consumer.before_commit(lambda _: committed.append(clock.now_s))
        start = clock.now_s
        for _ in next(iter(consumer)):
            clock.now_s += 2
    assert [at - start for at in committed] == [6, 12, 14]


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


@pytest.mark.parametrize(("there", "processed"), [(1, 1), (2, 2), (3, 3), (5, 5)])
def test_a_group_that_stalls_keeps_what_was_processed_and_goes_on(owner, there, processed):
    owner.interrupt_put(THIS[: there + 1], commit_every=1)
    assert owner.data() == THIS[:there]
    with owner.consumer() as consumer:
        for _ in range(2):
            with pytest.raises(errors.GroupStalled) as caught:
                process(next(iter(consumer)))
        assert (caught.value.msg_seq_number, caught.value.queue, caught.value.waited_s) == (there + 1, owner.queue, 0)
        assert caught.value.group_id.hex() == owner.record("get")["group_id"]
        assert owner.record("get")["msg_seq_number"] == processed
    assert owner.data() == []
    # When its producer goes on, then another consumer gets the rest.
    with owner.producer() as producer, producer.group() as group:
        for data in THIS[group.resume_from :]:
            group.put(data)
    assert owner.get_groups() == [THIS[there:]]
    assert owner.records("get") == []


def test_a_stalled_group_has_given_all_that_was_there(owner):
    owner.put_raw_group(THIS[:3], whole=False)
    got = []
    with owner.consumer() as consumer:
        with pytest.raises(errors.GroupStalled, match=r"message 4 of group .* did not arrive on queue .* in 0 s"):
            for message in next(iter(consumer)):
                got.append(message.data)
    assert got == THIS[:3]


# --- groups that never come


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


def test_a_group_with_a_gap_is_a_warning_where_only_whole_groups_are_got(owner, caplog):
    put_parts(owner, A, 1, 2, 4)
    put_parts(owner, B, 1, 2)
    with owner.consumer(complete_groups_only=True) as consumer:
        assert list(consumer) == []
    (line,) = warnings(caplog)
    assert (A.hex() in line, "message 3 is missing" in line) == (True, True)


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
    consumer = owner.consumer(owner.connect(reconnect_wait_s=30))
    faults.clear_faults()
    faults.arm(Fault("drop", verb="MQOPEN"))
    assert list(consumer) == list(consumer) == []
    assert faults.faults_fired() == 1
    consumer.close()


def test_complete_groups_only_begins_a_group_when_all_of_it_is_there(owner):
    owner.interrupt_put(THIS[:5])
    with owner.consumer(complete_groups_only=True) as consumer:
        assert list(consumer) == []
        with owner.producer() as producer, producer.group() as group:
            for data in THIS[group.resume_from :]:
                group.put(data)
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


# --- going on


@pytest.mark.parametrize("got_before", range(1, 8))
def test_a_new_connection_goes_on_wherever_the_old_one_stopped(owner, got_before):
    owner.put_raw_group(THIS)
    owner.put_raw_group(THAT)
    qmgr = owner.connect()
    messages = iter(next(iter(owner.consumer(qmgr))))
    for _ in range(got_before):
        next(messages)
    qmgr.close()
    with owner.consumer() as consumer:
        got = [(group.resume_from, process(group)) for group in consumer]
    committed = (got_before - 1) // 2 * 2
    assert got == [(committed, THIS[committed:]), (0, THAT)]
    assert owner.data() == owner.records("get") == []


def test_a_group_that_is_not_looked_at_is_an_error_and_not_an_endless_loop(owner):
    owner.put_group(THIS)
    with owner.consumer() as consumer:
        with pytest.raises(errors.GroupUsage, match="cannot be skipped"):
            list(consumer)
        # Nothing is lost: it comes again
        assert [process(group) for group in consumer] == [THIS]


def test_leaving_the_loop_early_backs_out_to_the_last_commit(owner):
    owner.put_raw_group(THIS)
    with owner.consumer() as consumer:
        seen = []
        for group in consumer:
            for message in group:
                seen.append((group.resume_from, message.data))
                if message.msg_seq_number == 4 and group.resume_from == 0:
                    break
    assert seen == [(0, data) for data in THIS[:4]] + [(2, data) for data in THIS[2:]]


def test_closing_inside_a_group_leaves_it_resumable(owner):
    owner.put_raw_group(THIS)
    with owner.consumer() as consumer:
        for group in consumer:
            for message in group:
                if message.msg_seq_number == 4:
                    break
            break
    assert owner.data() == THIS[2:]
    assert owner.record("get")["msg_seq_number"] == 2
    assert owner.get_groups() == [THIS[2:]]


def test_an_exception_in_the_loop_backs_out_and_the_same_consumer_goes_on(owner):
    owner.put_raw_group(THIS)
    with owner.consumer() as consumer:
        with pytest.raises(Crash):
            for message in next(iter(consumer)):
                if message.msg_seq_number == 6:
                    raise Crash
        group = next(iter(consumer))
        assert (group.resume_from, process(group)) == (4, THIS[4:])
    assert owner.data() == owner.records("get") == []


def test_a_poison_message_shows_how_often_it_was_backed_out(owner):
    owner.put_raw_group(THIS)
    counts = []
    with owner.consumer(commit_every=1) as consumer:
        for _ in range(4):
            try:
                for message in next(iter(consumer)):
                    if message.data == THIS[3]:
                        counts.append(message.backout_count)
                        if message.backout_count < 3:
                            raise Crash
            except Crash:
                pass
    assert counts == [0, 1, 2, 3]
    assert owner.data() == []


def test_a_group_that_was_left_gives_no_more_and_a_group_is_iterated_over_once(owner):
    owner.put_raw_group(THIS)
    with owner.consumer() as consumer:
        left = next(iter(consumer))
        messages = iter(left)
        next(messages)
        again = next(iter(consumer))
        with pytest.raises(errors.GroupUsage, match="gone on to another group"):
            next(messages)
        for group in (left, again):
            if group is again:
                assert process(group) == THIS
            with pytest.raises(errors.GroupUsage, match="iterated over already"):
                list(group)
        with pytest.raises(errors.GroupUsage, match="is not getting this group any more"):
            left.set_checkpoint(1)
    assert owner.data() == []


def test_a_closed_consumer_gives_no_groups(owner):
    owner.put_raw_group(THIS)
    consumer = owner.consumer()
    messages = iter(next(iter(consumer)))
    next(messages)
    consumer.close()
    consumer.close()
    with pytest.raises(errors.GroupUsage, match="is closed"):
        next(iter(consumer))
    with pytest.raises(errors.GroupUsage, match="or is closed"):
        next(messages)
    assert owner.data() == THIS


# --- checkpoints and before_commit


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
        consumer.forget_checkpoint()
        assert consumer.checkpoint is None
    assert owner.on_queue(owner.status_queue("get")) == []
    owner.put_raw_group(THIS)
    with owner.consumer(status_layout=status) as consumer:
        next(iter(next(iter(consumer))))
        with pytest.raises(errors.GroupUsage, match="a group is being got"):
            consumer.forget_checkpoint()


def test_an_exception_in_the_consumers_block_leaves_the_completed_record(owner):
    owner.put_raw_group(THIS)
    with pytest.raises(Crash), owner.consumer() as consumer:
        for group in consumer:
            for message in group:
                group.set_checkpoint(message.msg_seq_number)
        raise Crash
    with owner.consumer() as consumer:
        assert consumer.checkpoint == 7
        assert list(consumer) == []
    assert owner.record("get")["state"] == "completed"


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


def test_a_group_has_a_before_commit_of_its_own_after_its_consumers(owner):
    for _ in range(2):
        owner.put_raw_group(THIS[:3])
    calls = []
    with owner.consumer() as consumer:
        consumer.before_commit(lambda _: calls.append("consumer"))
        groups = iter(consumer)
        group = next(groups)
        group.before_commit(lambda same: calls.append("group" if same is group else "another"))
        process(group)
        process(next(groups))
    assert calls == ["consumer", "group"] * 2 + ["consumer"] * 2


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


@pytest.mark.parametrize("use", ["group", "iter", "next", "close", "forget_checkpoint"])
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
            "forget_checkpoint": consumer.forget_checkpoint,
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


@pytest.mark.parametrize("checkpoint", [{1, 2}, (1, 2), {1: 2}, float("inf"), "\ud800", bytearray(b"1")], ids=ascii)
def test_a_checkpoint_that_cannot_be_kept_is_refused_and_the_group_goes_on(owner, checkpoint):
    owner.put_raw_group(THIS)
    with owner.consumer(commit_every=2) as consumer:
        (group,) = [next(iter(consumer))]
        got = []
        for message in group:
            got.append(message.data)
            group.set_checkpoint(message.msg_seq_number)
            with pytest.raises(errors.GroupUsage, match="must be bytes or a JSON value"):
                group.set_checkpoint(checkpoint)
        assert got == THIS
        assert owner.record("get")["checkpoint"] == {"json": 7}
    assert owner.data() == []


# --- what goes wrong


def test_a_queue_that_is_missing_is_named_and_the_status_queue_let_go(owner):
    for _ in range(2):
        with pytest.raises(errors.QueueMissing, match=r"queue NO\.SUCH\.QUEUE failed: reason 2085"):
            owner.consumer(queue="NO.SUCH.QUEUE")


def test_a_slip_in_the_queues_name_leaves_no_record_and_does_not_keep_the_name(owner):
    with pytest.raises(errors.QueueMissing):
        owner.consumer(queue="NO.SUCH.QUEUE")
    assert owner.on_queue(owner.status_queue("get")) == []
    owner.put_raw_group(THIS)
    assert owner.get_groups() == [THIS]


@pytest.mark.embedded
def test_a_queue_that_may_not_be_used_is_named(owner, faults):
    owner.consumer().close()
    faults.arm(Fault("answer", verb="MQOPEN", nth=2, reason=mq.MQRC_NOT_AUTHORIZED))
    with pytest.raises(errors.NotAuthorised, match=f"MQOPEN for queue {owner.queue} failed: reason 2035"):
        owner.consumer()
    assert owner.get_groups() == []


def test_gets_inhibited_in_the_middle_leave_the_group_resumable(owner):
    owner.put_raw_group(THIS)
    with owner.consumer() as consumer:
        with pytest.raises(errors.QueueInhibited, match=r"reason 2016 MQRC_GET_INHIBITED.*GET\(ENABLED\).*Message 4"):
            for message in next(iter(consumer)):
                if message.msg_seq_number == 5:
                    owner.set_attribute(mq.MQIA_INHIBIT_GET, 1)
        with pytest.raises(errors.QueueInhibited):
            process(next(iter(consumer)))
        owner.set_attribute(mq.MQIA_INHIBIT_GET, 0)
        group = next(iter(consumer))
        assert (group.resume_from, process(group)) == (4, THIS[4:])
    assert owner.data() == owner.records("get") == []


def test_gets_inhibited_at_the_start_take_nothing(owner):
    owner.put_raw_group(THIS)
    owner.set_attribute(mq.MQIA_INHIBIT_GET, 1)
    with owner.consumer() as consumer:
        with pytest.raises(errors.QueueInhibited, match="No message of the group is known to be committed"):
            next(iter(consumer))
        owner.set_attribute(mq.MQIA_INHIBIT_GET, 0)
        assert [process(group) for group in consumer] == [THIS]


@pytest.mark.embedded
@pytest.mark.parametrize("verb", ["MQGET", "MQPUT"])
def test_a_refused_status_record_backs_the_unit_of_work_out(owner, faults, verb):
    owner.put_raw_group(THIS)
    with owner.consumer() as consumer:
        with pytest.raises(errors.MQIError) as caught:
            for message in next(iter(consumer)):
                if message.msg_seq_number == 4:
                    faults.arm(Fault("answer", verb=verb, reason=mq.MQRC_RESOURCE_PROBLEM))
        assert caught.value.object_name == f"queue {owner.status_queue('get')}"
        assert owner.data() == THIS[2:]
        group = next(iter(consumer))
        assert (group.resume_from, process(group)) == (2, THIS[2:])


def test_a_segment_is_not_taken_for_a_message(owner):
    owner.put_raw(b"half", MsgFlags=mq.MQMF_SEGMENT)
    assert owner.get_groups() == []
    assert owner.data() == [b"half"]


def test_a_message_that_is_not_the_next_one_is_put_back(owner):
    """No queue manager does that; a group that two consumers share by mistake would look so."""
    owner.put_raw_group(THIS)
    qmgr = owner.connect()
    honest = connection_of(qmgr).binding.MQGET

    def skips_message_4(hconn, hobj, md, gmo, length):
        data, md, gmo, *rest = honest(hconn, hobj, md, gmo, length)
        if data == THIS[3]:
            at = st.MD_MSG_SEQ_NUMBER
            md = md[:at] + struct.pack("i", 5) + md[at + 4 :]
        return data, md, gmo, *rest

    owner.doctor(qmgr, MQGET=skips_message_4)
    consumer = owner.consumer(qmgr)
    with pytest.raises(
        errors.GroupIncomplete, match=r"got message 5 of group .*, expected message 4 of group"
    ) as caught:
        process(next(iter(consumer)))
    assert (caught.value.found, caught.value.expected) == (5, 4)
    qmgr.close()
    assert owner.data() == THIS[2:]
    assert owner.record("get")["msg_seq_number"] == 2


def test_a_message_of_another_group_is_put_back(owner):
    owner.put_raw_group(THIS)
    qmgr = owner.connect()
    honest = connection_of(qmgr).binding.MQGET

    def of_another_group(hconn, hobj, md, gmo, length):
        data, md, gmo, *rest = honest(hconn, hobj, md, gmo, length)
        if data == THIS[4]:
            md = md[: st.MD_GROUP_ID.start] + b"?" * 24 + md[st.MD_GROUP_ID.stop :]
        return data, md, gmo, *rest

    owner.doctor(qmgr, MQGET=of_another_group)
    consumer = owner.consumer(qmgr, commit_every=100)
    with pytest.raises(
        errors.GroupIncomplete, match=f"got message 5 of group {'3f' * 24}, expected message 5 of group"
    ):
        process(next(iter(consumer)))
    qmgr.close()
    assert owner.data() == THIS


def test_whole_messages_and_messages_in_segments_take_turns_in_a_stream(owner):
    payloads = [b"1", b"2", b"three", b"4", b"5", b"sixsix", b"7"]
    with owner.producer(segment_bytes=2) as producer, producer.group() as group:
        for data in payloads:
            group.put(data)
    with owner.consumer(stream=True, commit_every=100) as consumer:
        assert [[b"".join(message.chunks()) for message in group] for group in consumer] == [payloads]


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


def test_settings_that_cannot_be_are_refused_before_any_call(owner):
    qmgr = owner.qmgr
    owner.doctor(qmgr, MQOPEN=None)
    for wrong, says in (
        ({"max_message_length": 0}, "at least 1 byte"),
        ({"wait_s": -1}, "wait_s must be 0 or more"),
        ({"group_wait_s": float("nan")}, "group_wait_s must be 0 or more"),
        ({"owner_wait_s": -0.1}, "owner_wait_s must be 0 or more"),
        ({"commit_every": 0}, "commit_every: messages must be more than 0"),
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
