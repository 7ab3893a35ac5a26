"""A connection of the application's own: what others do with it ends no unit of work of a group unnoticed.

A connection has one unit of work: MQCMIT and MQBACK are of all that was put and got on it in syncpoint,
whoever did it.
"""

# ruff: noqa: PT012 - a group fails where its block ends, so the block is inside the raises

from __future__ import annotations

import contextlib

import pytest

import mqgroups
from mqembedded import Fault
from mqgroups import errors
from mqgroups.connection.holder import connection_of
from mqgroups.mqi import constants as mq
from tests.put.whole_groups import THIS, Crash, is_whole_group
from tests.test_pipe import run


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


class Putting:
    """A producer that puts a group, three messages in each unit of work; one is held back."""

    role = "put"

    def __init__(self, owner, target):
        self.owner = owner
        self.target = target

    def begin(self, qmgr):
        """Return the producer."""
        return self.owner.producer(qmgr, commit_every=3)

    def work(self, producer, at=None, end=None):
        """Do what is left to do; ``end`` is called when message ``at`` was given."""
        put_rest(producer, at, end)

    def done(self):
        """Return what is committed."""
        return self.owner.data()

    def is_done(self):
        """Whether all is, and no record is left."""
        return self.done() == THIS and self.owner.on_queue(self.owner.status_queue("put")) == []


class Getting(Putting):
    """A consumer that gets the group."""

    role = "get"

    def __init__(self, owner, target):
        super().__init__(owner, target)
        owner.put_raw_group(THIS)
        self.got = []

    def begin(self, qmgr):
        return self.owner.consumer(qmgr, commit_every=3)

    def work(self, consumer, at=None, end=None):
        for group in consumer:
            del self.got[group.resume_from :]
            for message in group:
                self.got.append(message.data)
                if message.msg_seq_number == at:
                    end()

    def done(self):
        return THIS[: len(THIS) - len(self.owner.data())]

    def is_done(self):
        return self.got == THIS and self.owner.data() == self.owner.on_queue(self.owner.status_queue("get")) == []


class Copying(Getting):
    """A pipe that gets the group and puts it."""

    def begin(self, qmgr):
        return self.owner.pipe(self.target, qmgr, commit_every=3)

    def work(self, pipe, at=None, end=None):
        for incoming, outgoing in pipe:
            del self.got[incoming.resume_from :]
            for message in incoming:
                self.got.append(message.data)
                outgoing.put(message.data)
                if message.msg_seq_number == at:
                    end()

    def is_done(self):
        return super().is_done() and is_whole_group(self.owner.on_queue(self.target), THIS)


@pytest.fixture(params=[Putting, Getting, Copying])
def program(request, owner, make_queue):
    """What works on a wrapped connection."""
    return request.param(owner, make_queue())


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


def test_an_object_is_wrapped_once_at_a_time(owner, q_mgr):
    """Otherwise the second producer would commit the first one's message without its record."""
    kind = type(q_mgr)
    with mqgroups.wrap(q_mgr) as qmgr, owner.producer(qmgr) as producer, producer.group() as group:
        owner.put_all(group, THIS[:2])
        with pytest.raises(errors.GroupUsage, match=r"wrapped already"):
            mqgroups.wrap(q_mgr)
        owner.put_all(group, THIS[2:])
    with mqgroups.wrap(q_mgr):
        pass
    assert type(q_mgr) is kind
    assert owner.data() == THIS


def test_an_object_whose_connection_was_lost_is_wrapped_again(owner, q_mgr):
    """The application connects it again, and need not close what it was wrapped in."""
    kind = type(q_mgr)
    connection_of(mqgroups.wrap(q_mgr)).failed("MQPUT", owner.queue, mq.MQCC_FAILED, mq.MQRC_CONNECTION_BROKEN)
    with mqgroups.wrap(q_mgr) as qmgr, owner.producer(qmgr) as producer, producer.group() as group:
        owner.put_all(group, THIS)
    assert type(q_mgr) is kind
    assert owner.data() == THIS


def test_an_object_that_disconnects_is_no_longer_wrapped(q_mgr):
    kind = type(q_mgr)
    mqgroups.wrap(q_mgr)
    q_mgr.disconnect()
    assert type(q_mgr) is kind


# --- what calls the C functions


@pytest.mark.parametrize("at", [1, 3, 5])
def test_a_foreign_backout_is_told_and_the_group_goes_on(program, qmgr, foreign, at):
    def end():
        foreign("MQBACK")

    with program.begin(qmgr) as it:
        if (program.role, at) == ("put", 1):
            # Nothing was put yet.
            program.work(it, at, end)
        else:
            with pytest.raises(errors.ForeignSyncpoint, match="other code ended the unit of work on this connection"):
                program.work(it, at, end)
            assert program.done() == THIS[: (at - 1) // 3 * 3]
            program.work(it)
    assert program.is_done()


@pytest.mark.parametrize("at", [1, 3, 5])
def test_a_foreign_commit_does_no_harm_where_the_program_goes_on(program, qmgr, foreign, at):
    """Its own next commit puts the record that the foreign one has left without."""
    with program.begin(qmgr) as it:
        program.work(it, at, lambda: foreign("MQCMIT"))
    assert program.is_done()


@pytest.mark.parametrize("at", [2, 6])
def test_after_a_foreign_commit_and_the_end_of_the_program_nobody_begins_anew(program, owner, qmgr, foreign, at):
    def end():
        foreign("MQCMIT")
        raise Crash

    with pytest.raises(Crash), program.begin(qmgr) as it:
        program.work(it, at, end)
    assert program.done() == THIS[: at - (program.role == "put")]
    # What was made of messages that are gone was never put.
    assert owner.data(program.target) == (THIS[: (at - 1) // 3 * 3] if isinstance(program, Copying) else [])
    # What is committed without its record is for somebody to look at.
    assert (owner.records(program.role), owner.anchors(program.role)) == ([], 1)
    with pytest.raises(
        errors.StatusQueueUnusable, match=r"has an anchor, but its status record.*other code committed on a shared"
    ):
        program.begin(owner.qmgr)


@pytest.mark.parametrize("at", [2, 6])
def test_after_a_foreign_commit_and_a_backout_a_producer_puts_nothing_twice(owner, qmgr, foreign, at):
    def end():
        foreign("MQCMIT")
        raise Crash

    producer = owner.producer(qmgr, commit_every=3)
    with pytest.raises(Crash):
        put_rest(producer, at, end)
    with pytest.raises(errors.StatusQueueUnusable, match="the application has committed a unit of work"):
        put_rest(producer)
    assert owner.data() == THIS[: at - 1]


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
        with pytest.raises(errors.MQIError, match="2071") as caught:
            put_rest(producer)
        # At the others, MQCMIT was not called yet.
        assert ("MQCMIT was answered before that" in str(caught.value)) is (nth == 3)
        assert ("known to be committed" in str(caught.value)) is (nth != 3)
        put_rest(producer)
    assert is_whole_group(owner.on_queue(), THIS)


@pytest.mark.parametrize("role", ["put", "get"])
def test_a_backout_by_the_bindings_own_functions_is_noticed_before_the_commit(owner, q_mgr, role):
    """The record that was got behind the first message is back on its queue."""
    if role == "get":
        owner.put_raw_group(THIS)

    with mqgroups.wrap(q_mgr) as qmgr:
        connection = connection_of(qmgr)

        def back_out():
            assert connection.binding.MQBACK(connection.hconn) == (mq.MQCC_OK, mq.MQRC_NONE)

        with pytest.raises(errors.ForeignSyncpoint, match=r"status record .* is back"):
            if role == "put":
                # Three of four are put, and the unit of work ends with the last.
                with owner.producer(qmgr, commit_every=10) as producer, producer.group() as group:
                    owner.put_all(group, THIS[:4])
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
    owner.put_raw_group(THIS)
    with mqgroups.wrap(q_mgr) as qmgr:
        pipe = owner.pipe(target, qmgr)
        with pytest.raises(Crash), pipe:
            for message in next(iter(pipe))[0]:
                if message.data == THIS[3]:
                    raise Crash
        assert owner.data() == THIS[2:]
        for role in ("get", "put"):
            assert (len(owner.records(role)), owner.anchors(role)) == (1, 1), role
        with owner.pipe(target, qmgr) as pipe:
            run(pipe, lambda data: [data])
    assert [found.data for found in owner.on_queue(target)] == THIS[2:]
    for role in ("get", "put"):
        assert owner.on_queue(owner.status_queue(role)) == []
