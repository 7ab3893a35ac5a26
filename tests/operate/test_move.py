"""What is left of a group is moved to another queue, as it is."""

from __future__ import annotations

import pytest

from embedded_tests.fix_mqi import EMPTY, OK
from mqembedded import Fault, constants
from mqgroups import errors, operate
from mqgroups.connection.holder import connection_of
from mqgroups.mqi import constants as mq
from mqgroups.operate.groups import counted
from tests.operate.lost_records import LAST, MIG, SEG, THIS, A, B, placed, put, rest

move_group = operate.move_group


def test_a_group_is_moved_as_it_is_and_the_others_stay(owner, make_queue):
    owner.put_raw_group(THIS)
    group_id = owner.on_queue()[0].group_id
    put(owner, A, 1, 2)
    was, away = owner.on_queue(), make_queue()
    moved = move_group(owner.qmgr, owner.queue, group_id, to=away, commit_every=3)
    assert (moved.done, moved.to, moved.group.messages) == (True, away, 7)
    assert placed(owner.on_queue(away)) == placed(was[:7])
    assert placed(owner.on_queue()) == placed(was[7:])


def test_a_tail_of_segments_is_moved_as_it_is(owner, make_queue):
    for number, offset, flags in ((4, 8, MIG | SEG | mq.MQMF_LAST_SEGMENT), (5, 0, LAST | SEG), (5, 3, LAST | SEG)):
        owner.put_raw(b"abc", GroupId=A, MsgSeqNumber=number, Offset=offset, MsgFlags=flags, Priority=5)
    was, away = owner.on_queue(), make_queue()
    move_group(owner.qmgr, owner.queue, A, to=away)
    assert placed(owner.on_queue(away)) == placed(was)
    assert owner.on_queue() == []


def test_properties_go_along(owner, make_queue):
    with owner.producer(commit_every=1) as producer, producer.group() as group:
        group.put(b"one")
        group.put(b"two")
        group.abandon(7, "because")

    def with_properties(queue):
        handle = owner.eye.open(queue, mq.MQOO_BROWSE)
        found = [message.data for message in handle.all(mq.MQGMO_BROWSE_NEXT | mq.MQGMO_PROPERTIES_FORCE_MQRFH2)]
        handle.close()
        return found

    was, away = with_properties(owner.queue), make_queue()
    assert b"because" in was[-1]
    move_group(owner.qmgr, owner.queue, owner.on_queue()[0].group_id, to=away)
    assert with_properties(away) == was
    with owner.consumer(queue=away) as consumer, pytest.raises(errors.GroupAbandoned) as caught:
        list(next(iter(consumer)))
    assert caught.value.result == 7


def test_a_group_goes_to_the_backout_queue_by_default(make_owner):
    owner = make_owner(model="TEST.BACKOUT.MODEL")
    put(owner, A, 3, 4)
    assert move_group(owner.qmgr, owner.queue, A, check=True).to == "TEST.BACKOUT"
    assert len(owner.on_queue()) == 2
    assert move_group(owner.qmgr, owner.queue, A).done
    handle = owner.eye.open("TEST.BACKOUT", mq.MQOO_INPUT_SHARED)
    assert [handle.get(GroupId=A, match=mq.MQMO_MATCH_GROUP_ID).data for _ in range(2)] == [b"3", b"4"]
    assert handle.get(GroupId=A, match=mq.MQMO_MATCH_GROUP_ID).code == EMPTY
    handle.close()


def test_a_group_is_not_moved_to_where_it_is_nor_nowhere(owner):
    put(owner, A, 1)
    with pytest.raises(errors.ConfigurationError, match="itself"):
        move_group(owner.qmgr, owner.queue, A, to=owner.queue)
    with pytest.raises(errors.ConfigurationError, match="no BOQNAME"):
        move_group(owner.qmgr, owner.queue, A)
    with pytest.raises(errors.RepairRefused):
        move_group(owner.qmgr, owner.queue, B, to="TEST.BACKOUT")
    assert len(owner.on_queue()) == 1


def test_a_group_somebody_may_be_getting_is_not_moved_unless_that_is_accepted(owner, make_queue):
    put(owner, A, 1)
    away = make_queue()
    handle = owner.eye.open(owner.queue, mq.MQOO_INPUT_SHARED)
    with pytest.raises(errors.RepairRefused) as caught:
        move_group(owner.qmgr, owner.queue, A, to=away)
    assert caught.value.because == "in-use"
    assert move_group(owner.qmgr, owner.queue, A, to=away, accept=["in-use"]).done
    handle.close()
    assert len(owner.on_queue(away)) == 1


def test_dead_letters_keep_their_headers_and_so_are_not_moved_unless_that_is_accepted(owner, make_queue):
    header = b"DLH " + b" " * 168
    for number, offset, flags in ((1, 0, LAST | SEG), (1, 3, LAST | SEG | mq.MQMF_LAST_SEGMENT)):
        owner.put_raw(
            header + b"abc",
            GroupId=A,
            MsgSeqNumber=number,
            Offset=offset,
            MsgFlags=flags,
            Format=mq.MQFMT_DEAD_LETTER_HEADER,
        )
    (group,) = owner.inspections()
    assert (group.dead_letters, group.is_doubled, group.has_end, group.data_bytes) == (2, False, True, 6)
    was, away = owner.on_queue(), make_queue()
    with pytest.raises(errors.RepairRefused, match=r"2 messages with a dead-letter header .*runmqdlq") as caught:
        move_group(owner.qmgr, owner.queue, A, to=away)
    assert (caught.value.because, placed(owner.on_queue())) == ("dead-letters", placed(was))
    assert move_group(owner.qmgr, owner.queue, A, to=away, accept=["dead-letters"]).done
    assert placed(owner.on_queue(away)) == placed(was)


@pytest.mark.usefixtures("no_api_exit")
def test_a_move_that_fails_in_the_middle_says_that_the_same_move_goes_on(owner, make_queue, monkeypatch):
    owner.put_raw_group(THIS)
    was, away = owner.on_queue(), make_queue("TEST.SMALL.MODEL")  # MAXDEPTH(3)
    # As for a user who may not inquire it.
    monkeypatch.setattr("mqgroups.operate.move.inquired", lambda *_: ({}, None))
    with pytest.raises(errors.QueueUnavailable, match=f"moved to {away} stays there. The same move moves the rest"):
        move_group(owner.qmgr, owner.queue, was[0].group_id, to=away, commit_every=2)
    assert placed(owner.on_queue(away)) + placed(owner.on_queue()) == placed(was)


def test_a_group_whose_producer_is_interrupted_is_not_torn_in_two(owner, make_queue):
    owner.interrupt_put([b"1", b"2", b"3", b"4", b"5"])
    was, away = owner.on_queue(), make_queue()
    with pytest.raises(errors.RepairRefused) as caught:
        move_group(owner.qmgr, owner.queue, was[0].group_id, to=away)
    assert (caught.value.because, caught.value.status_queue) == ("owned", owner.status_queue("put"))
    assert (placed(owner.on_queue()), owner.on_queue(away)) == (placed(was), [])
    owner.empty(owner.status_queue("put"))
    assert move_group(owner.qmgr, owner.queue, was[0].group_id, to=away).done


@pytest.mark.parametrize("spoilt", ["damaged", "of another queue manager"])
def test_a_group_is_not_moved_while_a_record_that_may_name_it_cannot_be_read(owner, make_queue, spoilt):
    """The producer puts the rest when its record is readable again: then the group would be on two queues."""
    status, away = owner.status_queue("put"), make_queue()
    if spoilt == "of another queue manager":
        put(owner, b"AMQ ELSEWHERE   " + b"12345678", 1, 2)
    else:
        owner.interrupt_put([b"1", b"2", b"3", b"4", b"5"])
        record = owner.take_record("put")
        handle = owner.eye.open(status, mq.MQOO_OUTPUT)
        assert handle.put(record[:-1]).code == OK
        handle.close()
    was = owner.on_queue()
    for check in (True, False):
        with pytest.raises(errors.RepairRefused) as caught:
            move_group(owner.qmgr, owner.queue, was[0].group_id, to=away, check=check)
        assert caught.value.because == "other-owners"
    assert (placed(owner.on_queue()), owner.on_queue(away)) == (placed(was), [])
    assert move_group(owner.qmgr, owner.queue, was[0].group_id, to=away, accept=["other-owners"]).done
    assert placed(owner.on_queue(away)) == placed(was)


def test_nothing_follows_a_group_that_has_its_last_message_so_no_record_is_needed(owner, make_queue):
    owner.put_raw_group(THIS)
    owner.start("put").close()
    handle = owner.eye.open(owner.status_queue("put"), mq.MQOO_OUTPUT)
    assert handle.put(b"no record").code == OK
    handle.close()
    assert move_group(owner.qmgr, owner.queue, owner.on_queue()[0].group_id, to=make_queue()).done


@pytest.mark.parametrize(
    ("target", "why"),
    [
        ("itself", "itself"),
        ("MQGROUPS.PUT.", "status records"),
        ("SYSTEM.DEFAULT.LOCAL.QUEUE", "for the queue manager"),
        ("TEST.SMALL.MODEL", "room for 3 messages"),
    ],
)
def test_a_queue_that_a_group_cannot_be_moved_to_is_refused_before_anything_is_done(owner, make_queue, target, why):
    owner.put_raw_group(THIS)
    owner.start("put").close()
    was = owner.on_queue()
    to = {"itself": owner.queue, "MQGROUPS.PUT.": owner.status_queue("put")}.get(target, target)
    if target == "TEST.SMALL.MODEL":
        to = make_queue(target)
    for check in (True, False):
        with pytest.raises(errors.ConfigurationError, match=why):
            move_group(owner.qmgr, owner.queue, was[0].group_id, to=to, check=check)
        with pytest.raises(errors.QueueMissing):
            move_group(owner.qmgr, owner.queue, was[0].group_id, to="NOT.THERE", check=check)
    assert placed(owner.on_queue()) == placed(was)


@pytest.mark.parametrize("role", ["put", "get"])
def test_a_group_whose_owner_hides_its_record_is_not_moved_whatever_is_accepted(owner, make_queue, role):
    """Its commit is under way: what it puts or gives back would be left behind."""
    if role == "put":
        owner.interrupt_put(THIS[:6])
    else:
        owner.interrupt_get(of=THIS)
    was, away = owner.on_queue(), make_queue()
    owner.take_record(role, mq.MQGMO_SYNCPOINT)
    with pytest.raises(errors.OwnerActive, match=owner.status_queue(role)):
        move_group(owner.qmgr, owner.queue, was[0].group_id, to=away, accept=["in-use"], check=True)
    assert owner.eye.back_out() == OK
    assert (placed(owner.on_queue()), owner.on_queue(away)) == (placed(was), [])


def test_a_consumer_whose_group_is_moved_is_named_and_works_when_its_record_is_cleared(owner, make_queue):
    owner.interrupt_get(of=THIS)
    owner.put_raw_group([b"next"])
    group_id = owner.on_queue()[0].group_id
    moved = move_group(owner.qmgr, owner.queue, group_id, to=make_queue())
    assert [(each.name, each.status_queue) for each in moved.consumers] == [(owner.name, owner.status_queue("get"))]
    owner.empty(owner.status_queue("get"))
    assert rest(owner) == [(1, b"next")]


def test_who_dies_between_the_look_and_the_move_is_waited_for(owner, make_queue, connect, monkeypatch):
    """Its handle is gone and the queue can be had exclusively, but the messages that it has got are not back."""
    owner.put_raw_group(THIS)
    was, away = owner.on_queue(), make_queue()
    dying, naps = connect(), []

    def looked(connection, queue):
        seen = counted(connection, queue)
        handle = dying.open(queue, mq.MQOO_INPUT_SHARED)
        assert handle.get(mq.MQGMO_SYNCPOINT).data == THIS[0]
        assert handle.close() == OK
        return seen

    def sleep(_):
        assert len(owner.on_queue()) == len(THIS) - 1
        naps.append(dying.back_out())

    monkeypatch.setattr("mqgroups.operate.move.counted", looked)
    qmgr = owner.connect(reconnect_wait_s=30)
    connection_of(qmgr).sleep = sleep
    assert move_group(qmgr, owner.queue, was[0].group_id, to=away).done
    assert naps == [OK]
    # Where a message lies that was backed out is not written anywhere.
    assert (owner.on_queue(), sorted(placed(owner.on_queue(away)))) == ([], sorted(placed(was)))


def test_a_group_that_is_moved_has_a_new_put_time(owner, make_queue):
    handle = owner.eye.open(owner.queue, mq.MQOO_OUTPUT | constants.MQOO_SET_ALL_CONTEXT)
    then = {"PutDate": b"20240501", "PutTime": b"12000000"}
    assert (
        handle.put(b"1", constants.MQPMO_SET_ALL_CONTEXT, GroupId=A, MsgSeqNumber=1, MsgFlags=LAST, **then).code == OK
    )
    handle.close()
    (was,), away = owner.on_queue(), make_queue()

    move_group(owner.qmgr, owner.queue, A, to=away)
    (found,) = owner.on_queue(away)
    assert (found.md.MsgId, found.md.PutDate > b"2025") == (was.md.MsgId, True)


@pytest.mark.embedded
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_move_goes_on_by_itself_when_a_commit_loses_the_connection(owner, faults, make_queue, when):
    owner.put_raw_group(THIS)
    was, away = owner.on_queue(), make_queue()
    faults.arm(Fault("drop", when, verb="MQCMIT", nth=2))
    qmgr = owner.connect(reconnect_wait_s=30)
    assert move_group(qmgr, owner.queue, was[0].group_id, to=away, commit_every=2).done
    assert faults.faults_fired() == 1
    assert (owner.on_queue(), sorted(placed(owner.on_queue(away)))) == ([], sorted(placed(was)))
