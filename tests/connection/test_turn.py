"""One caller at a time on a connection, one owner of a name; and after an interruption the record tells where things stand."""

# ruff: noqa: PT012, SIM117 - a group fails where its block ends, so the block is inside the raises

from __future__ import annotations

import subprocess
import sys
from functools import partial
from typing import Any

import pytest

from mqembedded import Fault
from mqgroups import errors
from mqgroups.connection.holder import connection_of
from mqgroups.mqi import constants as mq
from tests.put.whole_groups import THIS, put_rest


def at_call(owner, qmgr, verb, nth, act):
    """Have ``act`` called when a verb was called so many times and has done what it does, and before the library knows."""
    real, count = getattr(connection_of(qmgr).binding, verb), 0

    def called(*arguments):
        nonlocal count
        answer = real(*arguments)
        count += 1
        if count == nth:
            act()
        return answer

    owner.doctor(qmgr, **{verb: called})


def interrupt():
    """As Ctrl-C does."""
    raise KeyboardInterrupt


def test_a_message_that_was_got_when_the_call_was_interrupted_is_got_again(owner):
    owner.put_raw_group(THIS)
    qmgr = owner.connect()
    with owner.consumer(qmgr) as consumer:
        messages = iter(next(iter(consumer)))
        assert [next(messages).data for _ in range(3)] == THIS[:3]
        at_call(owner, qmgr, "MQGET", 1, interrupt)
        connection, queue = connection_of(qmgr), consumer._getter.cursor.queue
        queue._mqget = partial(connection.binding.MQGET, connection.hconn, queue.hobj)
        with pytest.raises(KeyboardInterrupt):
            next(messages)
        assert [(group.resume_from, [m.data for m in group]) for group in consumer] == [(2, THIS[2:])]
    assert owner.data() == []
    assert (owner.records("get"), owner.anchors("get")) == ([], 0)


@pytest.mark.parametrize("role", ["put", "get"])
def test_who_starts_again_on_the_same_connection_supersedes_the_one_before(owner, role):
    def use(driver):
        if role == "get":
            return [[message.data for message in group] for group in driver]
        put_rest(driver)
        return None

    if role == "get":
        owner.put_raw_group(THIS)
    qmgr = owner.connect()
    lost = owner.start(role, qmgr)
    with owner.start(role, qmgr) as driver:
        for _ in range(2):
            with pytest.raises(errors.OwnershipLost):
                use(lost)
        use(driver)
    with pytest.raises(errors.OwnershipLost):
        use(lost)
    lost.close()
    assert owner.data() == (THIS if role == "put" else [])
    assert (owner.records(role), owner.anchors(role)) == ([], 0)


def test_a_unit_of_work_that_somebody_else_has_backed_out_is_noticed_at_the_next_message(owner):
    """By the number and GroupId that MQPUT returns."""
    qmgr = owner.connect()
    connection = connection_of(qmgr)
    with owner.producer(qmgr, commit_every=10, put_response="sync") as producer:
        with pytest.raises(errors.ForeignSyncpoint, match=r"as message 1 of group .* expected message 4 of group"):
            with producer.group() as group:
                owner.put_all(group, THIS[:4])
                assert connection.binding.MQBACK(connection.hconn) == (mq.MQCC_OK, mq.MQRC_NONE)
                group.put(THIS[4])
        assert put_rest(producer) == 0
    assert owner.data() == THIS


@pytest.mark.embedded
def test_messages_that_come_back_later_than_the_status_queue_can_be_opened_are_waited_for(
    make_owner, own_queue_manager
):
    target = own_queue_manager(readings={"lost connection": "closes handles, then backs out"}, cleanup_gap_s=0.5)
    owner = make_owner(target, "ORDERS")
    owner.put_raw_group(THIS)
    with owner.consumer(owner.connect(reconnect_wait_s=30), commit_every=10) as consumer:
        found = []
        for group in consumer:
            for message in group:
                found.append(message.data)
                if len(found) == 3:
                    target.arm(Fault("drop", "before", 1, "MQGET"))
    assert found == THIS
    assert owner.data() == []


# --- a pipe is two owners of one unit of work


@pytest.mark.embedded
@pytest.mark.parametrize("nth", [1, 2])
def test_a_pipe_claims_both_its_names_or_none(owner, make_queue, faults, nth):
    qmgr, target = owner.connect(), make_queue()
    faults.arm(Fault("drop", "before", nth, "MQCMIT"))
    if nth == 1:
        with pytest.raises(errors.MQIError):
            owner.qmgr.group_pipe(owner.queue, target, name=owner.name, commit_every=2, owner_wait_s=30)
    else:
        qmgr.group_pipe(owner.queue, target, name=owner.name, commit_every=2, owner_wait_s=30)
        faults.clear_faults()
        qmgr.close()
    assert (len(owner.records("get")), len(owner.records("put"))) == ((0, 0) if nth == 1 else (1, 1))


def test_a_pipe_that_has_lost_one_of_its_names_goes_on_with_neither(owner, make_queue):
    owner.put_raw_group(THIS)
    qmgr, target = owner.connect(), make_queue()
    with qmgr.group_pipe(owner.queue, target, name=owner.name, commit_every=2, wait_s=0, owner_wait_s=0) as pipe:
        with owner.producer(qmgr, queue=target):
            for _ in range(2):
                with pytest.raises(errors.OwnershipLost):
                    next(iter(pipe))
    assert owner.data() == THIS
    assert owner.on_queue(target) == []


@pytest.mark.embedded
def test_what_one_side_of_a_pipe_has_lost_both_have(owner, make_queue, faults):
    owner.put_raw_group(THIS)
    qmgr, target = owner.connect(reconnect_wait_s=30), make_queue()
    connection: Any = connection_of(qmgr)
    reconnect = connection._connect

    def late():
        owner.producer(owner.connect(), queue=target, owner_wait_s=30).close()
        return reconnect()

    connection._connect = late
    with qmgr.group_pipe(owner.queue, target, name=owner.name, commit_every=2, wait_s=0, owner_wait_s=30) as pipe:
        faults.arm(Fault("drop", "before", 1, "MQGET"))
        for _ in range(3):
            with pytest.raises(errors.OwnershipLost):
                for orders, copies in pipe:
                    for message in orders:
                        copies.put(message.data)
    assert owner.data() == THIS
    assert owner.on_queue(target) == []


# A thread is in the turn. Another one is refused, while what it leaves behind is collected at any moment.
REFUSED_AMONG_GARBAGE = """
import gc, threading
from mqgroups.connection.interruptions import Turn
from mqgroups.errors import GroupUsage

turn, inside, leave = Turn(), threading.Event(), threading.Event()

def first():
    with turn:
        inside.set()
        leave.wait()

thread = threading.Thread(target=first)
thread.start()
inside.wait()

refused = 0
for number in range(3000):
    gc.set_threshold(1 + number % 60)
    circle = [threading.local()]
    circle[0].value = 1
    circle.append(circle)
    del circle
    try:
        with turn:
            pass
    except GroupUsage:
        refused += 1
leave.set()
thread.join()
print(refused)
"""


def test_a_thread_is_refused_whatever_is_collected_meanwhile():
    done = subprocess.run(
        [sys.executable, "-c", REFUSED_AMONG_GARBAGE], capture_output=True, text=True, timeout=120, check=True
    )
    assert done.stdout == "3000\n"
