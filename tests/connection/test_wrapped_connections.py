"""A connection of the application's own: what others do with it ends no unit of work of a group unnoticed.

A connection has one unit of work (IBM MQ, topic q023070): MQCMIT and MQBACK are of all that was put and got on it in syncpoint,
whoever did it.
"""

# ruff: noqa: PT012 - a group fails where its block ends, so the block is inside the raises

from __future__ import annotations

import contextlib

import pytest

import mqgroups
from mqgroups import errors
from mqgroups.embedded import Fault
from mqgroups.mqi import constants as mq
from tests.put.whole_groups import THIS, Crash, is_whole_group

PIPE = {"commit_every": 3, "owner_wait_s": 0, "wait_s": 0, "group_wait_s": 0, "full_wait_s": 0}


@pytest.fixture
def q_mgr(mq, binding):
    """The application's own object."""
    q_mgr = mq.connect(binding)
    yield q_mgr
    with contextlib.suppress(binding.MQMIError, binding.PYIFError):
        q_mgr.disconnect()


@pytest.fixture
def qmgr(q_mgr):
    """What is made of it."""
    with mqgroups.wrap(q_mgr) as qmgr:
        yield qmgr


@pytest.fixture
def foreign(mqi, q_mgr):
    """A function that calls a verb of the binding's C functions on the connection: what nothing can refuse."""

    def call(verb):
        assert getattr(mqi.c, verb)(q_mgr.get_handle()) == (mq.MQCC_OK, mq.MQRC_NONE)

    return call


def put_rest(producer, at=None, end=None):
    """Put what is left of the group; ``end`` is called when so many were given. Returns where it went on."""
    with producer.group() as group:
        for number in range(group.resume_from, len(THIS)):
            group.put(THIS[number])
            if number + 1 == at:
                end()
    return group.resume_from


def copy(pipe, at=None, end=None):
    """Put what comes; ``end`` is called when message ``at`` was given."""
    for incoming, outgoing in pipe:
        for message in incoming:
            outgoing.put(message.data)
            if message.msg_seq_number == at:
                end()


# Units of work have three messages, and one is held back.
ats = pytest.mark.parametrize("at", [1, 3, 5, 7])


# --- the object's own methods


@pytest.mark.parametrize("method", ["commit", "backout", "begin", "disconnect"])
def test_the_object_ends_no_unit_of_work_of_a_group(owner, q_mgr, qmgr, method):
    def refused():
        with pytest.raises(errors.GroupUsage, match=rf"{method}\(\) was called while .* Nothing was done"):
            getattr(q_mgr, method)()

    with owner.producer(qmgr, commit_every=3) as producer:
        assert put_rest(producer, 3, refused) == 0
    assert is_whole_group(owner.on_queue(), THIS)
    with owner.consumer(qmgr, commit_every=3) as consumer:
        for group in consumer:
            for _ in group:
                refused()
    assert owner.data() == []


def test_between_groups_the_object_works_as_ever(owner, q_mgr, qmgr, binding):
    with owner.producer(qmgr, commit_every=3) as producer:
        for end, left in (("backout", 0), ("commit", 1)):
            queue = binding.Queue(q_mgr, owner.queue)
            queue.put(b"alone", binding.MD(), binding.PMO(Options=mq.MQPMO_SYNCPOINT))
            getattr(q_mgr, end)()
            queue.close()
            assert owner.data() == [b"alone"] * left
        assert put_rest(producer) == 0
    assert owner.data() == [b"alone", *THIS]
    q_mgr.disconnect()
    assert not q_mgr.is_connected


def test_an_object_that_is_let_go_is_what_it_was(q_mgr, binding):
    with mqgroups.wrap(q_mgr):
        assert type(q_mgr) is not binding.QueueManager
        assert isinstance(q_mgr, binding.QueueManager)
    assert type(q_mgr) is binding.QueueManager


# --- what calls the C functions


@ats
def test_a_foreign_backout_is_told_to_a_producer_and_its_group_goes_on(owner, qmgr, foreign, at):
    # One message is held back; after each third the unit of work has just ended.
    committed, in_it = (at - 1) // 3 * 3, (at - 1) % 3
    with owner.producer(qmgr, commit_every=3) as producer:
        if in_it:
            with pytest.raises(errors.ForeignSyncpoint, match="other code ended the unit of work on this connection"):
                put_rest(producer, at, lambda: foreign("MQBACK"))
            assert owner.data() == THIS[:committed]
            assert put_rest(producer) == committed
        else:
            put_rest(producer, at, lambda: foreign("MQBACK"))
    assert is_whole_group(owner.on_queue(), THIS)


@ats
def test_a_foreign_commit_does_no_harm_where_the_producer_goes_on(owner, qmgr, foreign, at):
    """Its own next commit puts the record that the foreign one has left without."""
    with owner.producer(qmgr, commit_every=3) as producer:
        assert put_rest(producer, at, lambda: foreign("MQCMIT")) == 0
    assert is_whole_group(owner.on_queue(), THIS)
    assert owner.on_queue(owner.status_queue("put")) == []


@pytest.mark.parametrize("at", [2, 6])
def test_after_a_foreign_commit_and_a_backout_a_producer_puts_nothing_twice(owner, qmgr, foreign, at):
    def end():
        foreign("MQCMIT")
        raise Crash

    producer = owner.producer(qmgr, commit_every=3)
    with pytest.raises(Crash):
        put_rest(producer, at, end)
    with pytest.raises(errors.StatusRecordMissing, match="the application has committed a unit of work"):
        put_rest(producer)
    assert owner.data() == THIS[: at - 1]


@pytest.mark.parametrize("at", [2, 6])
def test_after_a_foreign_commit_and_the_end_of_the_program_no_producer_begins_anew(owner, qmgr, foreign, at):
    def end():
        foreign("MQCMIT")
        raise Crash

    with pytest.raises(Crash), owner.producer(qmgr, commit_every=3) as producer:
        put_rest(producer, at, end)
    assert owner.data() == THIS[: at - 1]
    # What is committed without its record is for somebody to look at.
    assert (owner.records("put"), owner.anchors("put")) == ([], 1)
    with pytest.raises(errors.StatusRecordHidden, match="other code committed on a shared connection"):
        owner.producer()


@ats
def test_a_foreign_backout_is_told_to_a_consumer_and_its_group_goes_on(owner, qmgr, foreign, at):
    owner.put_raw_group(THIS)
    committed = (at - 1) // 3 * 3
    with owner.consumer(qmgr, commit_every=3) as consumer:
        with pytest.raises(errors.ForeignSyncpoint):
            for message in next(iter(consumer)):
                if message.msg_seq_number == at:
                    foreign("MQBACK")
        assert owner.data() == THIS[committed:]
        group = next(iter(consumer))
        assert (group.resume_from, [message.data for message in group]) == (committed, THIS[committed:])
    assert owner.data() == owner.records("get") == []


@ats
def test_a_foreign_commit_does_no_harm_where_the_consumer_goes_on(owner, qmgr, foreign, at):
    owner.put_raw_group(THIS)
    got = []
    with owner.consumer(qmgr, commit_every=3) as consumer:
        for group in consumer:
            for message in group:
                got.append(message.data)
                if message.msg_seq_number == at:
                    foreign("MQCMIT")
    assert got == THIS
    assert owner.data() == owner.on_queue(owner.status_queue("get")) == []


@ats
def test_after_a_foreign_commit_and_the_end_of_the_program_no_consumer_begins_anew(owner, qmgr, foreign, at):
    owner.put_raw_group(THIS)
    with pytest.raises(Crash), owner.consumer(qmgr, commit_every=3) as consumer:
        for message in next(iter(consumer)):
            if message.msg_seq_number == at:
                foreign("MQCMIT")
                raise Crash
    assert owner.data() == THIS[at:]
    with pytest.raises(errors.StatusRecordHidden, match="has an anchor, but its status record"):
        owner.consumer()


@ats
def test_a_foreign_backout_is_told_to_a_pipe_and_its_groups_go_on(owner, make_queue, qmgr, foreign, at):
    owner.put_raw_group(THIS)
    target = make_queue()
    committed = (at - 1) // 3 * 3
    with qmgr.group_pipe(owner.queue, target, name=owner.name, **PIPE) as pipe:
        with pytest.raises(errors.ForeignSyncpoint):
            copy(pipe, at, lambda: foreign("MQBACK"))
        assert owner.data() == THIS[committed:]
        assert [message.data for message in owner.on_queue(target)] == THIS[:committed]
        copy(pipe)
    assert is_whole_group(owner.on_queue(target), THIS)
    assert owner.data() == owner.records("get") == owner.records("put") == []


@ats
def test_a_foreign_commit_does_no_harm_where_the_pipe_goes_on(owner, make_queue, qmgr, foreign, at):
    owner.put_raw_group(THIS)
    target = make_queue()
    with qmgr.group_pipe(owner.queue, target, name=owner.name, **PIPE) as pipe:
        copy(pipe, at, lambda: foreign("MQCMIT"))
    assert is_whole_group(owner.on_queue(target), THIS)
    assert owner.data() == owner.records("get") == owner.records("put") == []


@ats
def test_after_a_foreign_commit_and_the_end_of_the_program_no_pipe_begins_anew(owner, make_queue, qmgr, foreign, at):
    owner.put_raw_group(THIS)
    target = make_queue()

    def end():
        foreign("MQCMIT")
        raise Crash

    with pytest.raises(Crash), qmgr.group_pipe(owner.queue, target, name=owner.name, **PIPE) as pipe:
        copy(pipe, at, end)
    # What was made from the messages that are gone was never put.
    assert owner.data() == THIS[at:]
    assert [message.data for message in owner.on_queue(target)] == THIS[: (at - 1) // 3 * 3]
    with pytest.raises(errors.StatusRecordHidden, match="has an anchor, but its status record"):
        owner.qmgr.group_pipe(owner.queue, target, name=owner.name, **PIPE)


def test_on_a_connection_of_the_application_a_record_is_never_a_chain_of_segments(owner, qmgr, foreign):
    """Segments are not got in each unit of work, so nobody would see that it was ended."""
    with owner.producer(qmgr, commit_every=3, status_layout="segmented") as producer:
        with pytest.raises(errors.ForeignSyncpoint):
            put_rest(producer, 6, lambda: foreign("MQBACK"))
        assert len(owner.records("put")) == 1
        assert put_rest(producer) == 3
    assert is_whole_group(owner.on_queue(), THIS)


@pytest.mark.embedded
@pytest.mark.parametrize("nth", [1, 3, 8])
def test_a_commit_whose_check_is_refused_is_found_out_on_the_same_connection(owner, qmgr, faults, nth):
    # The third MQGET of each unit of work looks whether its record is there.
    with owner.producer(qmgr) as producer:
        faults.arm(Fault("answer", verb="MQGET", nth=nth, reason=mq.MQRC_STORAGE_NOT_AVAILABLE))
        with pytest.raises(errors.MQIError, match="2071"):
            put_rest(producer)
        put_rest(producer)
    assert is_whole_group(owner.on_queue(), THIS)
