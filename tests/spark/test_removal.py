"""The reserved queue and its removers: beside each other, one dying while others go on, and when their driver has lost it."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from embedded_tests.fix_mqi import OK, wait_until
from mqembedded import Fault
from mqembedded import constants as mqi
from mqgroups.connection.connection import Connection
from mqgroups.connection.holder import connection_of
from mqgroups.errors import ConfigurationError, MQIError
from mqgroups.spark.errors import QueueReserved
from mqgroups.spark.removal import Removers
from mqgroups.spark.reservation import ReservedQueue
from tests.spark.conftest import Reserved
from tests.spark.test_browse import data_of, put_in_order, put_pairs, put_stamped, put_to

# --- keeping the queue


def test_a_reserved_queue_is_refused_to_a_second_query_and_browsed_by_tasks(owner, browsed, reserve):
    owner.put_raw(b"single")
    with reserve():
        with pytest.raises(QueueReserved) as refused:
            reserve()
        assert (refused.value.queue, refused.value.waited_s) == (owner.queue, 0)
        (head,) = browsed.heads()
        assert data_of(browsed, browsed.counted(head)) == [b"single"]
    reserve().close()


def test_a_process_that_is_ending_is_waited_for(owner, reserve):
    first = reserve()
    naps = []

    def sleep(_):
        naps.append(1)
        if len(naps) == 3:
            first.close()

    with reserve(wait_s=30, sleep=sleep):
        assert len(naps) == 3


def test_of_two_that_reserve_a_queue_at_the_same_moment_each_sees_the_other(owner, reserve, connect, monkeypatch):
    open_queue = Connection.open_queue
    others: list[Any] = []

    def opened(connection, name, options, **more):
        if options & mqi.MQOO_INPUT_SHARED and not others:
            others.append(connect().open(owner.queue, mqi.MQOO_INPUT_SHARED))
        return open_queue(connection, name, options, **more)

    monkeypatch.setattr(Connection, "open_queue", opened)
    with pytest.raises(QueueReserved):
        reserve()
    assert others[0].close() == OK
    reserve().close()


def test_a_queue_that_only_one_can_open_is_refused(owner, make_queue):
    name = make_queue("MQGROUPS.STATUS.MODEL")
    connection = connection_of(owner.qmgr)
    with pytest.raises(ConfigurationError, match=f"queue {name} is NOSHARE"):
        ReservedQueue(connection, name, 0, Removers(lambda: connection, name, 1, 1))


@pytest.mark.embedded
@pytest.mark.parametrize(
    ("verb", "number"), [*(("MQOPEN", number) for number in range(1, 4)), ("MQINQ", 1), ("MQINQ", 2), ("MQCLOSE", 1)]
)
def test_a_reservation_that_fails_in_the_middle_is_not_met_by_the_next_try(owner, faults, verb, number):
    connection = connection_of(owner.connect(reconnect_wait_s=30))
    faults.arm(Fault("answer", nth=number, verb=verb, comp=mqi.MQCC_FAILED, reason=mqi.MQRC_RESOURCE_PROBLEM))
    with ReservedQueue(connection, owner.queue, 0, Removers(lambda: connection, owner.queue, 1, 1)) as queue:
        assert faults.faults_fired() == 1
        faults.clear_faults()
        assert queue._handle.inquire(mqi.MQIA_OPEN_INPUT_COUNT) == 1


# --- removing


def test_groups_and_messages_are_removed_and_others_stay(owner, browsed, reserve):
    owner.put_raw_group([b"a1", b"a2", b"a3"])
    owner.put_raw_group([b"b1", b"b2"])
    owner.put_raw(b"single")
    owner.put_raw(b"another")
    keys = [head.key for head in browsed.heads()]
    with reserve() as queue:
        queue.remove_all([keys[0], keys[2]])
        assert owner.data() == [b"b1", b"b2", b"another"]
        queue.remove_all([keys[0], keys[2]])
    assert owner.data() == [b"b1", b"b2", b"another"]


def test_what_is_left_of_a_group_is_removed(owner, browsed, reserve):
    owner.put_raw_group([b"a1", b"a2", b"a3"])
    (head,) = browsed.heads()
    assert owner.take() == [b"a1"]
    with reserve() as queue:
        queue.remove_all([head.key])
    assert owner.data() == []


def test_a_later_message_with_the_same_msg_id_is_not_removed(owner, browsed, reserve):
    put_stamped(owner, (b"old", b"13482001"), (b"new", b"13482002"))
    old, _ = browsed.heads()
    with reserve() as queue:
        queue.remove_all([old.key])
        queue.remove_all([old.key])
    assert owner.data() == [b"new"]


@pytest.mark.embedded
def test_removal_commits_after_so_many_messages(owner, browsed, reserve, count_calls):
    owner.put_raw_group([b"data"] * 5)
    owner.put_raw_group([b"data"] * 5)
    keys = [head.key for head in browsed.heads()]
    with reserve(every=4) as queue:
        queue.remove_all([])
        count_calls()
        queue.remove_all(keys)
        # Ten messages, and for each group two calls that find that it is alone, and one that finds no more.
        assert count_calls() == {"MQGET": 16, "MQCMIT": 3}
    assert owner.data() == []


def hide(connection, name, messages):
    """Get messages in a unit of work and close the handle: as a connection leaves them that dies, before it is backed out."""
    handle = connection.open(name, mqi.MQOO_INPUT_SHARED)
    for _ in range(messages):
        assert handle.get(mqi.MQGMO_SYNCPOINT).code == OK
    assert handle.close() == OK


@pytest.mark.parametrize("hidden", [1, 2, 3])
def test_what_a_unit_of_work_hides_is_missed_and_can_be_removed_when_it_is_back(
    owner, browsed, reserve, connect, hidden
):
    owner.put_raw_group([b"a1", b"a2", b"a3"])
    owner.put_raw_group([b"b1", b"b2"])
    one, other = (head.key for head in browsed.heads())
    dying = connect()
    hide(dying, owner.queue, hidden)
    with reserve() as queue:
        assert queue.remove_all([one, other]) == {one}
        assert owner.data() == []
        assert dying.back_out() == OK
        assert owner.data() == [b"a1", b"a2", b"a3"][:hidden]
        # Whether that is all of it, nobody knows, unless it is.
        assert queue.remove_all([one, other]) == ({other} if hidden == 3 else {one, other})
    assert owner.data() == []


SEGMENTED = (
    (b"0123456789abcdef", mqi.MQMF_MSG_IN_GROUP | mqi.MQMF_SEGMENT),
    (b"0123", mqi.MQMF_MSG_IN_GROUP | mqi.MQMF_LAST_SEGMENT),
    (b"last", mqi.MQMF_LAST_MSG_IN_GROUP),
)


def test_a_segmented_message_is_not_missed_when_all_its_segments_were_got(owner, browsed, reserve):
    put_in_order(owner, *SEGMENTED)
    put_in_order(owner, (b"0123456789abcdef", mqi.MQMF_SEGMENT), (b"0123", mqi.MQMF_LAST_SEGMENT))
    keys = [head.key for head in browsed.heads()]
    assert len(keys) == 2
    with reserve() as queue:
        assert queue.remove_all(keys) == frozenset()
    assert owner.data() == []


def test_one_missing_segment_is_missed(owner, browsed, reserve, connect):
    put_in_order(owner, *SEGMENTED)
    (head,) = browsed.heads()
    hide(connect(), owner.queue, 1)
    with reserve() as queue:
        assert queue.remove_all([head.key]) == {head.key}


@pytest.mark.parametrize("got", [1, 2])
def test_segments_of_a_first_message_are_removed_if_its_beginning_is_gone(owner, browsed, reserve, got):
    put_in_order(owner, *SEGMENTED)
    (head,) = browsed.heads()
    owner.take(got)
    with reserve() as queue:
        queue.remove_all([head.key])
    assert owner.data() == []


# --- several removers


@pytest.fixture
def keys(owner, browsed):
    """The keys of three groups on the queue."""
    put_pairs(owner, b"abc")
    return [head.key for head in browsed.heads()]


def test_removers_work_beside_each_other_on_whole_groups(owner, reserve, gate, keys):
    with reserve(most=2) as queue:
        queue.remove([[key] for key in keys])
        assert {gate.reached(), gate.reached()} == set(keys[:2])
        assert queue.is_removing
        assert owner.data() == [b"a2", b"b2", b"c1", b"c2"]
        gate.open()
        assert queue.removed() == frozenset()
        assert not queue.is_removing
    assert owner.data() == []


@pytest.mark.embedded
def test_an_error_of_a_remover_is_raised_when_it_is_waited_for_and_others_go_on(owner, reserve, faults, keys):
    with reserve(most=3) as queue:
        faults.arm(Fault("answer", verb="MQGET", comp=mqi.MQCC_FAILED, reason=mqi.MQRC_GET_INHIBITED))
        queue.remove([[key] for key in keys])
        with pytest.raises(MQIError) as failed:
            queue.removed()
        assert failed.value.reason == mqi.MQRC_GET_INHIBITED
        assert len(owner.data()) == 2
        assert len(queue.remove_all(keys)) == 2
    assert owner.data() == []


# --- a driver that has lost the queue


def lose(queue):
    """Disconnect the driver's own connection, without its knowledge."""
    queue._connection._handle.release()


def test_a_remover_that_connects_when_another_driver_has_the_queue_removes_nothing(owner, reserve, keys):
    with reserve() as zombie:
        lose(zombie)
        with reserve() as successor:
            with pytest.raises(MQIError):
                zombie.remove_all(keys)
            assert len(owner.data()) == 6
            assert successor.remove_all(keys) == frozenset()


def test_the_next_driver_waits_for_a_remover_that_is_stopped_in_the_middle(owner, reserve, gate, keys):
    with reserve() as zombie:
        zombie.remove([keys[:1]])
        assert gate.reached() == keys[0]
        lose(zombie)
        with pytest.raises(QueueReserved):
            reserve()
        gate.open()
    with reserve() as successor:
        assert successor.remove_all(keys) == {keys[0]}
    assert owner.data() == []


@pytest.mark.embedded
def test_a_driver_that_has_lost_its_connection_waits_for_its_own_removers(owner, reserve, faults, keys):
    with reserve(most=3, wait_s=30, reconnect_wait_s=30) as queue:
        queue.remove([[key] for key in keys])
        faults.arm(Fault("drop", "before", verb="MQINQ"))
        queue.depth()
        assert faults.faults_fired() == 1
        assert not queue.is_removing
        assert queue.removed() == frozenset()
    assert owner.data() == []


# --- lost connections


def is_back(owner):
    return bool(owner.on_queue())


@pytest.mark.embedded
@pytest.mark.parametrize(
    ("verb", "when", "calls"), [("MQGET", "before", 4), ("MQGET", "after", 4), ("MQCMIT", "before", 2)]
)
def test_removal_waits_for_what_its_own_lost_connection_hides(make_owner, own_queue_manager, verb, when, calls):
    """Where handles are closed before the unit of work is backed out, the queue can be had exclusively in between."""
    target = own_queue_manager(readings={"lost connection": "closes handles, then backs out"}, cleanup_gap_s=0.2)
    owner = make_owner(target, "ORDERS")
    for number in range(1, calls + 1):
        owner.put_raw_group([b"data"] * 3)
        with Reserved(owner, 30, reconnect_wait_s=30) as queue:
            (group,) = queue.heads()
            target.arm(Fault("drop", when, number, verb))
            missed = queue.remove_all([group.key])
            assert target.faults_fired() == 1
            target.clear_faults()
            # What became of a commit nobody knows: that is left to the caller.
            assert missed == ({group.key} if verb == "MQCMIT" else frozenset())
        if missed:
            wait_until(partial(is_back, owner))
            owner.empty()
        assert owner.data() == []


@pytest.mark.embedded
@pytest.mark.parametrize(("verb", "number"), [("MQGET", 3), ("MQGET", 4), ("MQGET", 5), ("MQCMIT", 1)])
def test_another_group_with_the_group_id_stays_while_a_lost_connection_hides_the_beginning_of_one(
    make_owner, own_queue_manager, verb, number
):
    """The queue manager notices late that the connection is lost. Until then the rest of the group lies before the other one."""
    target = own_queue_manager(readings={"lost connection": "closes handles, then backs out"}, cleanup_gap_s=0.5)
    owner = make_owner(target, "ORDERS")
    put_to(owner, b"G" * 24, (1, b"a1"), (2, b"a2"), (3, b"a3"), (4, b"a4."))
    with Reserved(owner, 30, every=3, reconnect_wait_s=30) as queue:
        (group,) = queue.heads()
        others = [b"b1", b"b2", b"b3", b"b4."]
        put_to(owner, b"G" * 24, *enumerate(others, 1))
        target.arm(Fault("drop", "before", number, verb))
        missed = queue.remove_all([group.key])
        assert target.faults_fired() == 1
        target.clear_faults()
        if verb == "MQCMIT":
            assert missed == {group.key}
            wait_until(lambda: owner.data() == [b"a1", b"a2", b"a3", b"a4.", *others])
            assert queue.remove_all([group.key]) == frozenset()
        assert owner.data() == others


@pytest.mark.embedded
@pytest.mark.parametrize(("verb", "calls"), [("MQGET", 10), ("MQCMIT", 4)])
@pytest.mark.parametrize("when", ["before", "after"])
def test_removal_goes_on_when_the_connection_is_lost_at_any_call(owner, reserve, faults, verb, calls, when):
    for number in range(1, calls + 1):
        owner.put_raw_group([b"data"] * 3)
        owner.put_raw_group([b"data"] * 3)
        owner.put_raw(b"stays")
        with reserve(most=2, reconnect_wait_s=30, wait_s=30) as queue:
            one, other = (head.key for head in queue.heads() if not head.messages)
            queue.remove_all([])
            faults.arm(Fault("drop", when, number, verb))
            missed = queue.remove_all([one], [other])
            assert faults.faults_fired() == 1
            faults.clear_faults()
            # If it is not known whether the beginning of a group was committed, the rest stays, until nothing can reappear.
            assert not missed or verb == "MQCMIT"
            queue.remove_all(missed)
        assert owner.data() == [b"stays"] * number


@pytest.mark.embedded
def test_removal_goes_on_when_the_queue_manager_backs_a_unit_of_work_out(owner, reserve, faults):
    owner.put_raw_group([b"data"] * 3)
    with reserve(reconnect_wait_s=30) as queue:
        (group,) = queue.heads()
        faults.arm(Fault("answer", verb="MQCMIT", comp=mqi.MQCC_WARNING, reason=mqi.MQRC_BACKED_OUT))
        queue.remove_all([group.key])
        assert faults.faults_fired() == 1
    assert owner.data() == []
