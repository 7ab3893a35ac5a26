"""Where a consumer goes on with an interrupted group."""

# ruff: noqa: PT012 - a group fails where its block ends, so the block is inside the raises

from __future__ import annotations

import contextlib
import itertools
import struct

import pytest

from mqembedded import Fault
from mqgroups import errors
from mqgroups.mqi import constants as mq
from tests.get.groups import THAT, THIS, Crash, process


@pytest.mark.parametrize("got_before", [1, 3, 4, 7])
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


@pytest.mark.embedded
@pytest.mark.parametrize(
    ("lost", "got_before"),
    [*(("its program", got) for got in range(1, 6)), ("its connection", 3), ("its connection", 4)],
)
def test_segments_that_lie_in_another_order_are_got_in_theirs(owner, faults, lost, got_before):
    group_id, is_last = b"G" * 24, mq.MQMF_LAST_MSG_IN_GROUP
    for number, data in enumerate((b"one", b"two"), 1):
        owner.put_raw(data, GroupId=group_id, MsgSeqNumber=number, MsgFlags=mq.MQMF_MSG_IN_GROUP)
    for offset, flag in ((4, mq.MQMF_SEGMENT), (8, mq.MQMF_LAST_SEGMENT), (0, mq.MQMF_SEGMENT)):
        owner.put_raw(b"%d..." % offset, GroupId=group_id, MsgSeqNumber=3, Offset=offset, MsgFlags=is_last | flag)
    qmgr = owner.connect(reconnect_wait_s=30 if lost == "its connection" else 0)

    consumer = owner.consumer(qmgr, stream=True, commit_every=2)
    parts = (chunk for group in consumer for message in group for chunk in message.chunks())
    got = list(itertools.islice(parts, got_before))
    committed = (got_before - 1) // 2 * 2
    if lost == "its program":
        qmgr.close()
        qmgr, got = owner.qmgr, got[:committed]
        parts = (
            chunk for group in owner.consumer(qmgr, stream=True) for message in group for chunk in message.chunks()
        )
    else:
        faults.arm(Fault("drop"))
    assert [*got, *parts] == [b"one", b"two", b"0...", b"4...", b"8..."]


@pytest.mark.usefixtures("no_api_exit")
def test_a_segment_that_has_only_properties_has_a_length(owner):
    group_id, folder = b"G" * 24, b"<usr><a>1</a></usr> "
    fixed = struct.pack("<4siiii8sii", b"RFH ", 2, 40 + len(folder), 546, 1208, b"MQSTR   ", 0, 1208)
    header = fixed + struct.pack("<i", len(folder)) + folder
    flags = mq.MQMF_LAST_MSG_IN_GROUP | mq.MQMF_SEGMENT
    owner.put_raw(header, GroupId=group_id, MsgFlags=flags, Format=b"MQHRF2  ", Encoding=546, CodedCharSetId=1208)
    # Stalls until the rest is there, and is resumed behind the segment.
    with pytest.raises(errors.GroupStalled), owner.consumer(stream=True, commit_every=1) as consumer:
        [list(message.chunks()) for group in consumer for message in group]
    owner.put_raw(b"rest", GroupId=group_id, Offset=len(header), MsgFlags=flags | mq.MQMF_LAST_SEGMENT)
    with owner.consumer(stream=True) as consumer:
        assert [chunk for group in consumer for message in group for chunk in message.chunks()] == [b"rest"]


def test_a_pipes_group_is_not_resumed_by_a_consumer_of_its_name(owner, make_queue):
    # What is left of it belongs to the outgoing group that the pipe has begun.
    owner.put_raw_group(THIS)
    target = make_queue()
    qmgr = owner.connect()
    pipe = qmgr.group_pipe(owner.queue, target, name=owner.name, commit_every=2)
    incoming, outgoing = next(iter(pipe))
    for message in itertools.islice(incoming, 3):
        outgoing.put(message.data)
    qmgr.close()
    with pytest.raises(errors.StatusQueueUnusable, match="has role 'get, of a pipe', expected 'get, of a consumer'"):
        owner.consumer()
    with owner.qmgr.group_pipe(owner.queue, target, name=owner.name, wait_s=0) as pipe:
        for incoming, outgoing in pipe:
            for message in incoming:
                outgoing.put(message.data)
    assert owner.data(target) == THIS


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
    for _ in range(4):
        with contextlib.suppress(Crash), owner.consumer(commit_every=1) as consumer:
            for message in next(iter(consumer)):
                if message.data == THIS[3]:
                    counts.append(message.backout_count)
                    if message.backout_count < 3:
                        raise Crash
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
