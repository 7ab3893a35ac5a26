"""The identity of a group: its key is told at the first message, survives an interruption, and shows that a group comes again."""

from __future__ import annotations

import contextlib
import logging

import pytest

from mqembedded import Fault
from mqgroups import errors, operate
from mqgroups.get.getter import Getter
from mqgroups.mqi import constants as mq
from tests.put.whole_groups import THIS

MIG, LAST = mq.MQMF_MSG_IN_GROUP, mq.MQMF_MSG_IN_GROUP | mq.MQMF_LAST_MSG_IN_GROUP
# A JMSXGroupID: text, padded to 24 bytes.
BATCH = b"BATCH1".ljust(24, b"\0")
OURS, OTHERS = b"first message".ljust(24), b"another first".ljust(24)


def put_group(owner, msg_id=OURS, *, group_id=BATCH, messages=3):
    """Put a group with identifiers of the putter's own; only its first message has a given MsgId."""
    for number in range(1, messages + 1):
        ids = {"MsgId": msg_id} if number == 1 else {}
        flags = LAST if number == messages else MIG
        owner.put_raw(b"%d" % number, GroupId=group_id, MsgSeqNumber=number, MsgFlags=flags, **ids)


def repeats(consumer):
    """Get all groups; returns for each whether it repeats the one before."""
    found = []
    for group in consumer:
        found.append(group.repeats)
        assert list(group)
    return found


def killed_after(owner, groups):
    """Get so many groups, and lose the connection before the program can end in order."""
    qmgr = owner.connect()
    iterator = iter(owner.consumer(qmgr))
    for _ in range(groups):
        list(next(iterator))
    qmgr.close()


def test_a_group_that_is_resumed_has_the_key_that_it_began_with(owner):
    put_group(owner, messages=7)
    qmgr = owner.connect()
    group = next(iter(owner.consumer(qmgr)))
    assert group.key == BATCH + OURS
    for message in group:
        group.set_checkpoint(message.msg_seq_number)
        if message.msg_seq_number == 5:
            break
    qmgr.close()
    assert owner.record("get")["first_msg_id"] == OURS.hex()
    with owner.consumer() as consumer:
        group = next(iter(consumer))
        assert (group.resume_from, group.key, group.repeats) == (4, BATCH + OURS, False)


def test_a_group_that_is_interrupted_inside_its_first_message_has_the_key_of_its_first_segment(owner):
    segments = [(b"a", OURS, mq.MQMF_SEGMENT), (b"b", OTHERS, mq.MQMF_SEGMENT), (b"c", THIS[0].ljust(24), 0x06)]
    for offset, (data, msg_id, flags) in enumerate(segments):
        fields = {"GroupId": BATCH, "MsgSeqNumber": 1, "MsgId": msg_id, "Offset": offset}
        owner.put_raw(data, MsgFlags=LAST | flags, **fields)
    qmgr = owner.connect()
    group = next(iter(owner.consumer(qmgr, stream=True, commit_every=1)))
    chunks = next(iter(group)).chunks()
    assert [next(chunks), next(chunks)] == [b"a", b"b"]
    qmgr.close()
    with owner.consumer(stream=True) as consumer:
        group = next(iter(consumer))
        assert group.key == BATCH + OURS
        assert [data for message in group for data in message.chunks()] == [b"b", b"c"]


@pytest.mark.embedded
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_commit_that_is_redone_keeps_the_key(owner, faults, when):
    put_group(owner, messages=7)
    qmgr = owner.connect(reconnect_wait_s=10)
    with owner.consumer(qmgr) as consumer:
        # The first one claims the name.
        faults.arm(Fault("drop", when, verb="MQCMIT", nth=1))
        group = next(iter(consumer))
        messages = iter(group)
        assert [next(messages).data for _ in range(3)] == [b"1", b"2", b"3"]
        assert owner.record("get")["first_msg_id"] == OURS.hex()
        assert len(list(messages)) == 4


def test_messages_in_no_group_have_keys_of_their_own(owner):
    for data in THIS[:3]:
        owner.put_raw(data)
    expected = [bytes(24) + bytes(found.md.MsgId) for found in owner.on_queue()]
    with owner.consumer() as consumer:
        keys = [group.key for group in consumer if list(group)]
    assert keys == expected
    assert len(set(keys)) == 3


@pytest.mark.parametrize(
    ("puts", "found", "told"),
    [
        ([(BATCH, OURS), (BATCH, OURS)], [False, True], ["repeats the group completed before it"]),
        ([(bytes(24), OURS), (bytes(24), OURS)], [False, True], ["repeats the group completed before it"]),
        # Once for a consumer, because such a partner does it with each group.
        ([(BATCH, OURS), (BATCH, OTHERS), (BATCH, OURS)], [False] * 3, ["was used again, for another group"]),
        ([(bytes(24), OURS), (bytes(24), OTHERS)], [False, False], []),
        # The MsgId alone does not make it the same group.
        ([(BATCH, OURS), (BATCH[::-1], OURS)], [False, False], []),
    ],
)
def test_a_group_with_the_identifiers_of_the_one_before_is_told(owner, caplog, puts, found, told):
    for group_id, msg_id in puts:
        if any(group_id):
            put_group(owner, msg_id, group_id=group_id)
        else:
            owner.put_raw(b"1", MsgId=msg_id)
    with caplog.at_level(logging.WARNING, "mqgroups"), owner.consumer() as consumer:
        assert repeats(consumer) == found
    assert len(caplog.messages) == len(told)
    assert all(part in message for part, message in zip(told, caplog.messages, strict=True))


def test_a_first_message_that_is_there_twice_is_told_when_it_comes_for_the_second_time(owner, caplog):
    put_group(owner)
    owner.put_raw(b"1", GroupId=BATCH, MsgSeqNumber=1, MsgFlags=MIG, MsgId=OURS)
    with owner.consumer() as consumer, pytest.raises(errors.GroupStalled):
        repeats(consumer)
    assert "repeats the group completed before it" in caplog.text


def test_a_group_whose_commit_was_not_made_comes_again_and_is_no_repeated_one(owner, caplog):
    put_group(owner, OTHERS)
    put_group(owner)
    qmgr = owner.connect()
    groups = iter(owner.consumer(qmgr))
    list(next(groups))
    assert next(iter(next(groups))).data == b"1"
    qmgr.close()
    caplog.clear()
    with owner.consumer() as consumer:
        group = next(iter(consumer))
        assert (group.repeats, next(iter(group)).data) == (False, b"1")
        assert repeats(consumer) == [False]
    assert "repeats" not in caplog.text


def test_after_a_kill_a_repeated_group_is_told_also_if_the_next_start_is_killed_before_it_gets_one(owner):
    put_group(owner)
    put_group(owner)
    killed_after(owner, 1)
    killed_after(owner, 0)
    with owner.consumer() as consumer:
        assert repeats(consumer) == [True]


@pytest.mark.parametrize("stalled", ["halt", "quarantine"])
@pytest.mark.parametrize("others", [[b"next"], []])
def test_a_group_that_another_consumer_gets_while_its_first_message_is_suspected_hands_out_nothing_of_the_next_one(
    make_owner, monkeypatch, others, stalled
):
    owner = make_owner(model="TEST.BACKOUT.MODEL")
    owner.put_raw(b"suspect", MsgId=OURS)
    for _ in range(2):
        handle = owner.eye.open(owner.queue, mq.MQOO_INPUT_SHARED)
        assert handle.get(mq.MQGMO_SYNCPOINT).data == b"suspect"
        owner.eye.back_out()
        handle.close()
    isolate = Getter.isolate

    def meanwhile(getter, suspect):
        isolate(getter, suspect)
        owner.empty()
        for each in others:
            owner.put_raw(each, MsgId=OTHERS)

    monkeypatch.setattr(Getter, "isolate", meanwhile)
    with owner.consumer(stalled=stalled) as consumer:
        assert [(group.key[24:], [message.data for message in group]) for group in consumer] == [
            (OURS, []),
            *((OTHERS, [each]) for each in others),
        ]


def test_who_raises_before_a_repeated_group_gets_it_again_at_each_start_until_it_is_moved(owner, make_queue):
    put_group(owner)
    put_group(owner)
    for _ in range(2):
        with contextlib.suppress(ZeroDivisionError), owner.consumer() as consumer:
            for group in consumer:
                1 // (not group.repeats)
                assert list(group)
        assert owner.data() == [b"1", b"2", b"3"]
    operate.move_group(owner.qmgr, owner.queue, BATCH, to=make_queue())
    assert (owner.data(), owner.get_groups()) == ([], [])
