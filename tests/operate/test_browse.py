"""What lies on a queue, found by browsing: groups, whole or not, without a status record."""

from __future__ import annotations

from embedded_tests.fix_mqi import OK
from mqgroups import operate
from mqgroups.mqi import constants as mq
from mqgroups.operate.rules.inspection import MessagePlace, MessageRun
from tests.operate.lost_records import LAST, MIG, SEG, THIS, A, B, put


def test_groups_are_found_without_a_record_and_nothing_is_removed(owner):
    owner.put_raw_group([b"one", b"two"])
    put(owner, A, 1, 2)
    put(owner, B, 5, 6)
    put(owner, B, 8, flags=LAST)
    owner.put_raw(b"alone")
    before = [message.md.pack() for message in owner.on_queue()]
    with operate.browse_groups(owner.qmgr, owner.queue) as found:
        whole, begun, tail = groups = tuple(found.inspections())
        seen = found.instance
    assert [message.md.pack() for message in owner.on_queue()] == before
    assert (seen.queue, seen.others, seen.open_input, seen.open_output) == (owner.queue, 1, 0, 0)
    assert [group.group_id for group in (begun, tail)] == [A, B]
    assert [group.messages for group in groups] == [2, 2, 3]
    assert [group.last for group in groups] == [2, 0, 8]
    assert [(group.has_head, group.has_end) for group in groups] == [(True, True), (True, False), (False, True)]
    assert (tail.first, tail.last_msg_seq_number, tail.gaps) == (
        MessagePlace(5),
        8,
        (MessageRun(MessagePlace(7), MessagePlace(8)),),
    )
    assert (whole.persistences, tail.persistences) == (
        frozenset({mq.MQPER_NOT_PERSISTENT}),
        frozenset({mq.MQPER_PERSISTENT}),
    )


def test_who_put_a_group_and_how_often_it_was_backed_out_is_told(owner):
    owner.put_raw_group(THIS)
    handle = owner.eye.open(owner.queue, mq.MQOO_INPUT_SHARED)
    msg_id = owner.on_queue()[0].md.MsgId
    for _ in range(3):
        assert handle.get(mq.MQGMO_SYNCPOINT, match=mq.MQMO_MATCH_MSG_ID, MsgId=msg_id).code == OK
        assert owner.eye.back_out() == OK
    handle.close()
    (group,) = owner.inspections()
    md = [message.md for message in owner.on_queue()]
    assert group.backout_count == 3
    assert group.put_by == (md[0].PutApplName.decode().rstrip(),)
    assert group.first_put == (md[0].PutDate + md[0].PutTime).decode()
    assert group.last_put == (md[-1].PutDate + md[-1].PutTime).decode()


def test_a_group_in_any_order_of_arrival_is_seen_as_it_is(owner):
    put(owner, A, 3, flags=LAST)
    put(owner, A, 2, 1)
    (group,) = owner.inspections()
    assert (group.runs, group.has_end) == ((MessageRun(MessagePlace(1), MessagePlace(4)),), True)


def test_segments_are_seen_with_their_offsets_and_their_bodies_are_left(owner):
    for offset, flags in ((0, SEG), (5, SEG)):
        fields = {"MsgSeqNumber": 2, "Offset": offset, "MsgFlags": LAST | flags}
        owner.put_raw(b"12345", GroupId=A, **fields)
    put(owner, A, 1)
    (group,) = owner.inspections()
    assert (group.end, group.last, group.has_end, group.last_msg_seq_number) == (MessagePlace(2, 10), 2, False, 2)


def seen(owner):
    """Return what was seen of the queue, besides its groups."""
    with operate.browse_groups(owner.qmgr, owner.queue) as found:
        return found.instance


def test_messages_in_somebodys_unit_of_work_are_counted(owner):
    owner.put_raw_group(THIS)
    handle = owner.eye.open(owner.queue, mq.MQOO_INPUT_SHARED)
    assert handle.get(mq.MQGMO_SYNCPOINT).code == OK
    there = seen(owner)
    assert (there.hidden, there.unseen, there.open_input, there.open_output) == (1, [], 1, 0)
    # Whoever put or got it, and whether its handle is still there.
    assert handle.close() == OK
    there = seen(owner)
    owner.eye.back_out()
    assert (there.hidden, there.open_input) == (1, 0)


def test_who_may_not_ask_the_command_server_is_told_that_nobody_knows(owner, unasked):
    owner.put_raw_group(THIS)
    there = seen(owner)
    assert (there.hidden, "2085 MQRC_UNKNOWN_OBJECT_NAME" in there.unseen[0]) == (None, True)


def test_a_group_that_is_there_twice_is_doubled(owner):
    for number in (1, 2, 3):
        put(owner, A, number, number, flags=LAST if number == 3 else MIG)
    put(owner, B, 1, 2, 3)
    put(owner, B, 2)
    twice, once = owner.inspections()
    assert [(group.is_doubled, group.overlapping) for group in (twice, once)] == [(True, 3), (True, 1)]
    assert (twice.runs, twice.messages) == ((MessageRun(MessagePlace(1), MessagePlace(4)),), 6)


def test_an_inspection_is_a_value(owner):
    put(owner, A, 1)
    (group,) = owner.inspections()
    assert isinstance(group, operate.GroupInspection)
    assert group == owner.inspections()[0]
