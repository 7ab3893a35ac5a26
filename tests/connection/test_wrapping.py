"""A connection of the application's own: what it may not do while a group is in the unit of work, and what is noticed."""

# ruff: noqa: PT012 - a group fails where its block ends, so the block is inside the raises

from __future__ import annotations

import pytest

import mqgroups
from mqgroups import errors
from mqgroups.connection.holder import connection_of
from mqgroups.mqi import constants as mqi

THIS = [b"%d" % number for number in range(7)]


class Died(Exception):
    """In place of the end of a program."""


@pytest.fixture
def q_mgr(mq, binding):
    """A QueueManager object of the binding's, connected."""
    q_mgr = mq.connect(binding)
    yield q_mgr
    q_mgr.disconnect()


def test_an_object_is_wrapped_once_at_a_time(owner, q_mgr):
    """Otherwise the second producer would commit the first one's message without its record."""
    kind = type(q_mgr)
    with mqgroups.wrap(q_mgr) as qmgr, owner.producer(qmgr) as producer, producer.group() as group:
        for data in THIS[:2]:
            group.put(data)
        with pytest.raises(errors.GroupUsage, match=r"wrapped already"):
            mqgroups.wrap(q_mgr)
        for data in THIS[2:]:
            group.put(data)
    with mqgroups.wrap(q_mgr):
        pass
    assert type(q_mgr) is kind
    assert owner.data() == THIS


def test_an_object_whose_connection_was_lost_is_wrapped_again(owner, q_mgr):
    """The application connects it again, and need not close what it was wrapped in."""
    kind = type(q_mgr)
    connection_of(mqgroups.wrap(q_mgr)).failed("MQPUT", owner.queue, mqi.MQCC_FAILED, mqi.MQRC_CONNECTION_BROKEN)
    with mqgroups.wrap(q_mgr) as qmgr, owner.producer(qmgr) as producer, producer.group() as group:
        for data in THIS:
            group.put(data)
    assert type(q_mgr) is kind
    assert owner.data() == THIS


def test_an_object_that_disconnects_is_no_longer_wrapped(mq, binding):
    q_mgr = mq.connect(binding)
    kind = type(q_mgr)
    mqgroups.wrap(q_mgr)
    q_mgr.disconnect()
    assert type(q_mgr) is kind


@pytest.mark.parametrize("role", ["put", "get"])
def test_a_backout_by_the_bindings_own_functions_is_noticed_before_the_commit(owner, q_mgr, role):
    """The record that was got behind the first message is back on its queue."""
    if role == "get":
        owner.put_raw_group(THIS)

    with mqgroups.wrap(q_mgr) as qmgr:
        connection = connection_of(qmgr)

        def back_out():
            assert connection.binding.MQBACK(connection.hconn) == (mqi.MQCC_OK, mqi.MQRC_NONE)

        with pytest.raises(errors.ForeignSyncpoint, match=r"status record .* is back"):
            if role == "put":
                # Three of four are put, and the unit of work ends with the last.
                with owner.producer(qmgr, commit_every=10) as producer, producer.group() as group:
                    for data in THIS[:4]:
                        group.put(data)
                    producer._putter.queue._mqput = _after(back_out, producer._putter.queue._mqput)
            else:
                with owner.consumer(qmgr, commit_every=3) as consumer:
                    for number, _ in enumerate(next(iter(consumer)), 1):
                        if number == 3:
                            back_out()
    if role == "put":
        owner.put_group(THIS)
        assert owner.data() == THIS
    else:
        assert owner.get_groups() == [THIS]


def _after(act, put):
    """Put, and then ``act``."""

    def called(*arguments):
        answer = put(*arguments)
        act()
        return answer

    return called


def test_a_pipe_that_puts_nothing_in_a_unit_of_work_keeps_both_its_records(owner, q_mgr, make_queue):
    """Both are got before the first message of each unit of work, also where one of them does not change in it."""
    target = make_queue()
    settings = {"name": owner.name, "commit_every": 2, "wait_s": 0, "owner_wait_s": 0}
    owner.put_raw_group(THIS)
    with mqgroups.wrap(q_mgr) as qmgr:
        pipe = qmgr.group_pipe(owner.queue, target, **settings)
        with pytest.raises(Died), pipe:
            for message in next(iter(pipe))[0]:
                if message.data == THIS[3]:
                    raise Died
        assert owner.data() == THIS[2:]
        for role in ("get", "put"):
            assert (len(owner.records(role)), owner.anchors(role)) == (1, 1), role
        with qmgr.group_pipe(owner.queue, target, **settings) as pipe:
            for incoming, outgoing in pipe:
                for message in incoming:
                    outgoing.put(message.data)
    assert [found.data for found in owner.on_queue(target)] == THIS[2:]
    for role in ("get", "put"):
        assert owner.on_queue(owner.status_queue(role)) == []
