"""What the source sees of a queue without taking anything, what it keeps for itself, and what it takes away."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as some

from embedded_tests.fix_mqi import OK
from embedded_tests.fix_properties import MessageHandle
from mqembedded import Fault
from mqembedded import constants as mqi
from mqgroups.connection.holder import connection_of
from mqgroups.spark.browse import AtNumber, BrowsedQueue, number_of_last
from mqgroups.spark.errors import AmbiguousGroup, GroupGone
from mqgroups.spark.offsets import Key, Planned


def group_key(found):
    """The key of the group that begins with this message."""
    return Key(found.group_id, (found.md.PutDate + found.md.PutTime).decode(), found.md.MsgId)


def message_key(found):
    return Key(found.md.MsgId, (found.md.PutDate + found.md.PutTime).decode())


def put_stamped(owner, *messages):
    """Put messages in no group that have one MsgId and these times."""
    handle = owner.eye.open(owner.queue, mqi.MQOO_OUTPUT | mqi.MQOO_SET_ALL_CONTEXT)
    for data, time in messages:
        stamp = {"PutDate": b"20261121", "PutTime": time, "MsgId": b"M" * 24}
        assert handle.put(data, mqi.MQPMO_SET_ALL_CONTEXT, **stamp).code == OK
    handle.close()


def put_in_order(owner, *messages):
    """Put messages with these flags, and other fields, in logical order."""
    handle = owner.eye.open(owner.queue, mqi.MQOO_OUTPUT)
    for data, flags, *fields in messages:
        assert handle.put(data, mqi.MQPMO_LOGICAL_ORDER, MsgFlags=flags, **(fields[0] if fields else {})).code == OK
    handle.close()


def put_pairs(owner, names):
    """Put a group of two messages for each of these letters: a1 and a2, b1 and b2."""
    for name in names:
        owner.put_raw_group([b"%c1" % name, b"%c2" % name])


def data_of(queue, planned):
    return [message.data for message in queue.messages(planned)]


# --- which groups there are


def test_complete_groups_and_messages_in_no_group_are_seen_in_physical_order(owner, browsed):
    owner.put_raw_group([b"a1", b"a2", b"a3"])
    owner.put_raw_group([b"incomplete"], whole=False)
    owner.put_raw(b"single")
    owner.put_raw_group([b"b1"])
    a1, single, b1 = (owner.on_queue()[index] for index in (0, 4, 5))
    assert list(browsed.heads()) == [
        Planned(group_key(a1), 0),
        Planned(message_key(single), 1),
        Planned(group_key(b1), 1),
    ]


def test_a_group_without_its_first_message_is_not_seen(owner, browsed):
    owner.put_raw_group([b"a1", b"a2"])
    assert owner.take() == [b"a1"]
    assert list(browsed.heads()) == []
    assert owner.data() == [b"a2"]


def test_a_segmented_message_in_no_group_is_one_group_of_one(owner, browsed):
    put_in_order(owner, (b"abc", mqi.MQMF_SEGMENT), (b"de", mqi.MQMF_LAST_SEGMENT))
    (head,) = browsed.heads()
    assert head == Planned(group_key(owner.on_queue()[0]), 1)
    assert data_of(browsed, browsed.counted(head)) == [b"abcde"]


def test_more_are_seen_behind_the_last_one_when_they_come(owner, browsed):
    owner.put_raw(b"first")
    assert len(list(browsed.heads())) == 1
    assert list(browsed.more_heads(0)) == []
    owner.put_raw(b"second")
    owner.put_raw(b"third")
    assert [data_of(browsed, head) for head in browsed.more_heads(0)] == [[b"second"], [b"third"]]


def test_a_group_that_is_put_again_after_it_was_removed_is_seen_again_in_the_same_pass(owner, browsed, reserve):
    handle = owner.eye.open(owner.queue, mqi.MQOO_OUTPUT)

    def put():
        return handle.put(b"data", GroupId=b"G" * 24, MsgSeqNumber=1, MsgFlags=mqi.MQMF_LAST_MSG_IN_GROUP).code

    assert put() == OK
    (head,) = browsed.heads()
    with reserve() as queue:
        queue.remove_all([head.key])
    assert put() == OK
    browsed.forget([head.key])
    (again,) = browsed.more_heads(0)
    assert again.key.identifier == head.key.identifier
    handle.close()


def test_it_is_waited_for_the_next_group(owner, browsed, background):
    list(browsed.heads())
    waiting = background(lambda: list(browsed.more_heads(30_000)))
    owner.put_raw(b"single")
    assert [head.messages for head in waiting.result(30)] == [1]


def test_messages_in_no_group_that_are_alike_are_seen_read_and_removed_each(owner, browsed, reserve):
    """As App Connect puts them without "New Message ID"."""
    put_stamped(owner, (b"1", b"13482001"), (b"other", b"13482002"), (b"2", b"13482001"), (b"3", b"13482001"))
    heads = list(browsed.heads())
    assert [head.key.copies for head in heads] == [1, 1, 2, 3]
    planned = heads[2]
    assert data_of(browsed, planned) == [b"1", b"2"]
    assert data_of(browsed, heads[3]) == [b"1", b"2", b"3"]
    with reserve() as queue:
        assert queue.remove_all([planned.key]) == frozenset()
        assert owner.data() == [b"other", b"3"]
        with pytest.raises(GroupGone, match="was planned with 2 messages, but only 1 messages of it could be read"):
            data_of(browsed, planned)
        assert queue.remove_all([planned.key]) == {planned.key}


def test_one_group_is_found_by_its_group_id(owner, browsed):
    owner.put_raw_group([b"a1", b"a2"])
    owner.put_raw_group([b"b1"], whole=False)
    a1, _, b1 = owner.on_queue()
    assert browsed.heads_of(a1.group_id) == [Planned(group_key(a1), 0)]
    assert browsed.heads_of(b1.group_id) == []


# --- how large they are


def test_a_group_is_counted_whatever_is_guessed_and_not_without_its_last_message():
    for count, guess in itertools.product([2, 3, 5, 8, 9, 1000], [1, 2, 5, 9, 1000, 5000]):
        there = [AtNumber.GONE, *[AtNumber.TAKEN] * (count - 1), AtNumber.LAST]

        def place(seq, there=there):
            return there[seq] if seq < len(there) else AtNumber.GONE

        assert number_of_last(place, guess) == count
        there.pop()
        assert number_of_last(place, guess) == 0


def test_a_right_guess_takes_one_question():
    asked = []

    def place(number):
        asked.append(number)
        return AtNumber.LAST

    assert number_of_last(place, 1000) == 1000
    assert asked == [1000]


def test_the_messages_of_a_group_are_counted(owner, browsed):
    owner.put_raw_group([b"x" * length for length in (10, 20, 30)])
    owner.put_raw(b"single")
    group, single = browsed.heads()
    assert browsed.counted(group) == Planned(group.key, 3)
    assert browsed.counted(group, 7) == Planned(group.key, 3)
    assert browsed.counted(single) == single == Planned(single.key, 1)


def test_a_group_that_another_application_has_for_a_moment_is_not_taken_for_a_shorter_one(owner, browsed):
    owner.put_raw_group([b"a1", b"a2", b"a3"])
    (head,) = browsed.heads()
    owner.take(3, options=mqi.MQGMO_SYNCPOINT)
    planned = browsed.counted(head)
    assert owner.eye.back_out() == OK
    assert planned.messages == 0
    assert data_of(browsed, planned) == [b"a1", b"a2", b"a3"]


@pytest.mark.embedded
def test_looking_for_groups_takes_a_call_for_each_and_another_for_its_size(owner, browsed, count_calls):
    for _ in range(5):
        owner.put_raw_group([b"data"] * 20)
    count_calls()
    heads = list(browsed.heads())
    assert count_calls() == {"MQOPEN": 1, "MQGET": 6}
    for head in heads:
        assert browsed.counted(head, 20).messages == 20
    assert count_calls() == {"MQGET": 5}


# --- their messages


def test_messages_come_in_sequence_whatever_their_place_on_the_queue(owner, browsed):
    handle = owner.eye.open(owner.queue, mqi.MQOO_OUTPUT)
    flags = {1: mqi.MQMF_MSG_IN_GROUP, 2: mqi.MQMF_MSG_IN_GROUP, 3: mqi.MQMF_LAST_MSG_IN_GROUP}
    for seq in (3, 1, 2):
        put = handle.put(b"%d" % seq, GroupId=b"G" * 24, MsgSeqNumber=seq, MsgFlags=flags[seq])
        assert put.code == OK
    handle.close()
    (head,) = browsed.heads()
    planned = browsed.counted(head)
    assert data_of(browsed, planned) == data_of(browsed, head) == [b"1", b"2", b"3"]
    assert len(owner.on_queue()) == 3


def put_to(owner, group_id, *messages, msg_id=None):
    """Put messages with this GroupId, and these numbers; the last one if its data ends with a full stop."""
    handle = owner.eye.open(owner.queue, mqi.MQOO_OUTPUT)
    for seq, data in messages:
        flags = mqi.MQMF_LAST_MSG_IN_GROUP if data.endswith(b".") else mqi.MQMF_MSG_IN_GROUP
        fields = {"MsgId": msg_id} if msg_id else {}
        assert handle.put(data, GroupId=group_id, MsgSeqNumber=seq, MsgFlags=flags, **fields).code == OK
    handle.close()


ONE = [(1, b"a1"), (2, b"a2"), (3, b"a3.")]
OTHER = [(1, b"b1"), (2, b"b2.")]
LONGER = [(1, b"c1"), (2, b"c2"), (3, b"c3"), (4, b"c4.")]
# What lies on the queue with one GroupId: the groups in it, and what is left of no group.
SHARED = [
    ([*ONE, *OTHER, *LONGER], [ONE, OTHER, LONGER], []),
    ([*OTHER, *ONE], [OTHER, ONE], []),
    ([*ONE, *ONE], [ONE, ONE], []),
    # Put at the same time: nobody knows what belongs together, but each message is read.
    ([ONE[0], OTHER[0], ONE[1], OTHER[1], ONE[2]], [[OTHER[0], *ONE[1:]], [ONE[0], OTHER[1]]], []),
    # The beginning of a group that did not come, or the copy of a first message, and then another group.
    ([ONE[0], *OTHER], [OTHER], [ONE[0]]),
    ([(1, b"a1"), (1, b"c1.")], [[(1, b"c1.")]], [(1, b"a1")]),
    # A message comes twice.
    ([ONE[0], (1, b"a1"), ONE[1], ONE[2]], [ONE], [(1, b"a1")]),
    ([ONE[0], ONE[1], (2, b"a2"), ONE[2]], [ONE], [(2, b"a2")]),
    ([*ONE, (2, b"a2")], [ONE], [(2, b"a2")]),
    ([*ONE, (3, b"a3.")], [ONE], [(3, b"a3.")]),
    # Not in sequence, with a copy.
    ([ONE[2], ONE[0], ONE[1], (2, b"a2")], [ONE], [(2, b"a2")]),
    # Left from before: it is never taken for a message of the next group.
    ([(2, b"old"), *ONE], [ONE], [(2, b"old")]),
]


@pytest.mark.parametrize(("every", "msg_id"), [(1, None), (100, b"M" * 24)])
def test_groups_of_one_group_id_are_read_and_removed_one_after_the_other(
    owner, browsed, reserve, caplog, every, msg_id
):
    for on_queue, groups, left in SHARED:
        put_to(owner, b"G" * 24, *on_queue, msg_id=msg_id)
        with reserve(every=every) as queue:
            for group in groups:
                head = browsed.heads_of(b"G" * 24)[0]
                read = data_of(browsed, head)
                assert read == data_of(browsed, browsed.counted(head)) == [data for _, data in group]
                assert queue.remove_all([head.key]) == frozenset()
        assert [(found.msg_seq_number, found.data) for found in owner.on_queue()] == left
        assert ("was removed, but message" in caplog.text) == bool(left)
        caplog.clear()
        owner.empty()


@example([(1, False), (3, False), (1, True)], 1, 0)
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    some.lists(some.tuples(some.integers(1, 3), some.booleans()), max_size=9), some.integers(1, 3), some.integers(0, 2)
)
def test_of_whatever_has_one_group_id_what_is_removed_was_read(owner, browsed, reserve, numbers, every, which):
    owner.empty()
    data = [(seq, b"%d%s" % (at, b"." if is_last else b"")) for at, (seq, is_last) in enumerate(numbers)]
    put_to(owner, b"G" * 24, *data)
    read: list[bytes] = []
    with reserve(every=every) as queue:
        while True:
            readable = [head for head in browsed.heads_of(b"G" * 24) if browsed.beginning(head)]
            if not readable:
                break
            head = readable[which % len(readable)]
            read += data_of(browsed, head)
            queue.remove_all([head.key])
            assert sorted(read + owner.data()) == sorted(each for _, each in data)


def test_a_later_group_of_the_same_group_id_is_read_and_removed_before_the_first_one(owner, browsed, reserve):
    put_to(owner, b"G" * 24, *ONE, *OTHER)
    first, second = browsed.heads_of(b"G" * 24)
    assert data_of(browsed, second) == [b"b1", b"b2."]
    with reserve() as queue:
        assert queue.remove_all([second.key]) == frozenset()
        assert data_of(browsed, first) == owner.data() == [b"a1", b"a2", b"a3."]
        # It is not there, so nothing is removed.
        assert queue.remove_all([second.key]) == {second.key}
        assert owner.data() == [b"a1", b"a2", b"a3."]


def test_a_later_group_that_is_not_in_sequence_is_refused_and_nothing_is_taken(owner, browsed):
    put_to(owner, b"G" * 24, *ONE, *reversed(OTHER))
    first, second = browsed.heads_of(b"G" * 24)
    assert data_of(browsed, first) == [b"a1", b"a2", b"a3."]
    with pytest.raises(AmbiguousGroup) as refused:
        data_of(browsed, second)
    assert refused.value.msg_seq_number == 2
    assert "mqgroups salvage move" in str(refused.value)
    assert len(owner.on_queue()) == 5


def test_of_a_group_whose_beginning_is_gone_the_rest_goes_and_not_the_next_group(owner, browsed, reserve):
    put_to(owner, b"G" * 24, *ONE)
    (head,) = browsed.heads_of(b"G" * 24)
    assert owner.take() == [b"a1"]
    put_to(owner, b"G" * 24, *OTHER)
    with reserve() as queue:
        for _ in range(2):
            assert queue.remove_all([head.key]) == {head.key}
            assert owner.data() == [b"b1", b"b2."]


@pytest.mark.parametrize("missing", [1, 3])
def test_a_group_whose_messages_were_not_counted_is_read_to_its_last_one_or_not_at_all(owner, browsed, missing):
    owner.put_raw_group([b"a1", b"a2", b"a3"])
    (head,) = browsed.heads()
    assert head.messages == 0
    assert data_of(browsed, head) == [b"a1", b"a2", b"a3"]
    handle = owner.eye.open(owner.queue, mqi.MQOO_INPUT_SHARED)
    gone = owner.on_queue()[missing - 1]
    assert handle.get(match=mqi.MQMO_MATCH_MSG_ID, MsgId=gone.md.MsgId).code == OK
    handle.close()
    with pytest.raises(GroupGone, match="planned as a complete group") as refused:
        data_of(browsed, head)
    assert (refused.value.found, refused.value.expected) == (missing - 1, 0)


@pytest.mark.embedded
def test_reading_a_group_takes_a_call_for_each_message(owner, browsed, count_calls):
    owner.put_raw_group([b"data"] * 20)
    (planned,) = map(browsed.counted, browsed.heads())
    count_calls()
    assert len(data_of(browsed, planned)) == 20
    assert count_calls() == {"MQGET": 20}


def test_a_message_in_no_group_is_found_among_others_with_its_msg_id(owner, browsed):
    put_stamped(owner, (b"old", b"13482001"), (b"new", b"13482002"))
    old, new = browsed.heads()
    assert data_of(browsed, browsed.counted(new)) == [b"new"]
    assert data_of(browsed, browsed.counted(old)) == [b"old"]


def test_segments_come_as_one_message(owner, browsed):
    owner.put_group([b"short", b"x" * 1000], segment_bytes=100)
    (planned,) = map(browsed.counted, browsed.heads())
    assert planned.messages == 2
    assert data_of(browsed, planned) == [b"short", b"x" * 1000]


def test_segments_that_the_queue_manager_does_not_join_come_as_one_message_too(owner, browsed):
    # IBM MQ, "MQRC_INCONSISTENT_CCSIDS": "only the first few segments that have identical character-set identifiers are returned"
    grouped, last = mqi.MQMF_MSG_IN_GROUP, mqi.MQMF_LAST_MSG_IN_GROUP
    put_in_order(
        owner,
        (b"first", grouped),
        (b"one ", grouped | mqi.MQMF_SEGMENT),
        (b"two ", grouped | mqi.MQMF_SEGMENT, {"CodedCharSetId": 819}),
        (b"three", grouped | mqi.MQMF_LAST_SEGMENT),
        (b"four ", last | mqi.MQMF_SEGMENT),
        (b"five", last | mqi.MQMF_LAST_SEGMENT, {"Encoding": mqi.MQENC_NORMAL}),
    )
    (planned,) = map(browsed.counted, browsed.heads())
    assert planned.messages == 3
    assert data_of(browsed, planned) == [b"first", b"one two three", b"four five"]


def test_a_group_that_is_gone_or_not_whole_is_named(owner, browsed):
    owner.put_raw_group([b"a1", b"a2", b"a3"])
    (planned,) = map(browsed.counted, browsed.heads())
    handle = owner.eye.open(owner.queue, mqi.MQOO_INPUT_SHARED)
    second = owner.on_queue()[1]
    assert handle.get(match=mqi.MQMO_MATCH_MSG_ID, MsgId=second.md.MsgId).data == b"a2"
    messages = browsed.messages(planned)
    assert next(messages).data == b"a1"
    with pytest.raises(GroupGone) as gone:
        next(messages)
    assert (gone.value.key, gone.value.found, gone.value.expected) == (f"group {second.md.GroupId.hex()}", 1, 3)
    handle.close()


def test_a_message_in_no_group_that_is_gone_is_named(owner, browsed):
    owner.put_raw(b"single")
    (head,) = browsed.heads()
    assert owner.take() == [b"single"]
    with pytest.raises(GroupGone, match="was planned with 1 messages, but only 0 messages of it could be read"):
        list(browsed.messages(browsed.counted(head)))


def test_properties_come_only_when_asked_for(owner, browsed):
    handle = owner.eye.open(owner.queue, mqi.MQOO_OUTPUT)
    properties = MessageHandle(owner.eye)
    assert properties.set("colour", "green") == OK
    pmo = owner.eye.mqi.package.PMO(Version=3, OriginalMsgHandle=properties.hmsg)
    assert handle.put(b"data", pmo=pmo).code == OK
    handle.close()
    (planned,) = map(browsed.counted, browsed.heads())
    assert data_of(browsed, planned) == [b"data"]
    with BrowsedQueue(connection_of(owner.qmgr), owner.queue, headers=True) as with_headers:
        (data,) = data_of(with_headers, planned)
    assert data.startswith(b"RFH ")
    assert b"<colour>green</colour>" in data
    assert data.endswith(b"data")


def test_data_that_the_queue_manager_cannot_convert_for_whatever_reason_comes_as_it_is(owner):
    owner.put_raw(b"data", MsgFlags=mqi.MQMF_LAST_MSG_IN_GROUP)
    qmgr = owner.connect()
    get = connection_of(qmgr).binding.MQGET
    reasons = [2110, 2111, 2112, 2113, 2114, 2115, 2119, 2120, 2150, 2190]

    def warned(*call):
        answer = get(*call)
        return *answer[:4], *((mqi.MQCC_WARNING, reasons[0]) if answer[0] == b"data" else answer[4:])

    owner.doctor(qmgr, MQGET=warned)
    with BrowsedQueue(connection_of(qmgr), owner.queue, convert=True) as converting:
        (head,) = converting.heads()
        while reasons:
            assert data_of(converting, head) == [b"data"]
            del reasons[0]


def test_data_is_converted_when_asked_for_and_comes_as_it_is_where_that_cannot_be(owner, browsed):
    owner.put_raw("grün".encode("latin-1"), Format=b"MQSTR   ", CodedCharSetId=819)
    owner.put_raw(b"\x01\x02", Format=b"UNKNOWN ", CodedCharSetId=819)
    text, other = (browsed.counted(head) for head in browsed.heads())
    assert data_of(browsed, text) == ["grün".encode("latin-1")]
    with BrowsedQueue(connection_of(owner.qmgr), owner.queue, convert=True) as converting:
        assert data_of(converting, text) == ["grün".encode()]
        assert data_of(converting, other) == [b"\x01\x02"]


# --- lost connections


@pytest.mark.embedded
@pytest.mark.parametrize("when", ["before", "after"])
def test_reading_goes_on_when_the_connection_is_lost_at_any_call(owner, faults, count_calls, when):
    owner.put_raw_group([b"a1", b"a2", b"a3"])
    owner.put_raw(b"single")

    def read():
        q_mgr = owner.connect(reconnect_wait_s=30)
        with BrowsedQueue(connection_of(q_mgr), owner.queue) as queue:
            return [data for head in list(queue.heads()) for data in data_of(queue, queue.counted(head))]

    count_calls()
    expected = read()
    calls = count_calls()["MQGET"]
    assert expected == [b"a1", b"a2", b"a3", b"single"]
    for number in range(1, calls + 1):
        faults.arm(Fault("drop", when, number, "MQGET"))
        assert read() == expected
        assert faults.faults_fired() == 1
        faults.clear_faults()


@pytest.mark.embedded
def test_a_connection_that_is_found_dead_when_the_queue_is_opened_is_made_again(owner, faults):
    owner.put_raw(b"single")
    q_mgr = owner.connect(reconnect_wait_s=30)
    faults.arm(Fault("drop", verb="MQOPEN"))
    with BrowsedQueue(connection_of(q_mgr), owner.queue) as queue:
        assert [head.messages for head in queue.heads()] == [1]
