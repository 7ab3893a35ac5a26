"""An error that a function of the application raises, or that redoing ended with, is never taken for a lost connection.

The functions of these tests raise what a queue manager raises: they may well use another connection of this library.
"""

# ruff: noqa: PT012 - a group fails where its block ends, so the block is inside the raises

from __future__ import annotations

import pytest

from mqembedded import Fault
from mqgroups import Every, errors
from mqgroups.connection.holder import connection_of
from mqgroups.errors import mqi_error
from mqgroups.mqi import constants as mq
from tests.put.whole_groups import THIS, put_rest
from tests.test_pipe import run


def lost(verb="MQPUT"):
    """The error of a call on some lost connection."""
    return mqi_error(verb, "queue ELSEWHERE", mq.MQCC_FAILED, mq.MQRC_CONNECTION_BROKEN)


class Once:
    """A function of the application that raises the error of another connection at one of its calls."""

    def __init__(self, at):
        self.at, self.calls = at, 0

    def __call__(self, *_):
        self.calls += 1
        if self.calls == self.at:
            raise lost()


@pytest.fixture
def waiting(clock, monkeypatch):
    """Let time pass in the waits for messages, in small steps."""
    monkeypatch.setattr("mqgroups.get.cursor._LONGEST_WAIT_MS", 1)

    def begin():
        clock.tick_s = 1

    return begin


@pytest.mark.parametrize(("at", "redone"), [(1, False), (2, True), (3, True)])
@pytest.mark.embedded
def test_a_producer_whose_on_progress_fails_does_not_put_again_what_is_committed(owner, faults, at, redone):
    told = Once(at)
    with owner.producer(owner.connect(reconnect_wait_s=30), on_progress=told) as producer:
        faults.clear_faults()
        if redone:
            faults.arm(Fault("drop", verb="MQCMIT", nth=2))
        with pytest.raises(errors.ConnectionBroken, match="ELSEWHERE"):
            put_rest(producer)
        assert put_rest(producer) > 0
    assert owner.data() == THIS


@pytest.mark.embedded
def test_a_group_whose_last_commit_is_told_in_vain_is_complete(owner):
    with owner.producer(owner.connect(reconnect_wait_s=30), on_progress=Once(4)) as producer:
        with pytest.raises(errors.ConnectionBroken, match="ELSEWHERE"):
            put_rest(producer)
        assert owner.data() == THIS
        assert put_rest(producer) == 0
    assert owner.data() == THIS * 2


@pytest.mark.parametrize("at", [1, 2])
def test_a_pipe_whose_on_progress_fails_does_not_put_again_what_is_committed(owner, make_queue, at):
    owner.put_raw_group(THIS)
    target, told = make_queue(), Once(at)
    with owner.pipe(target, owner.connect(reconnect_wait_s=30), on_progress=told) as pipe:
        with pytest.raises(errors.ConnectionBroken, match="ELSEWHERE"):
            run(pipe, lambda data: [data])
        run(pipe, lambda data: [data])
    assert owner.data(target) == THIS


@pytest.mark.parametrize(
    "function", ["before_commit", "on_progress", "on_abandon", "decode", "before_commit of a group"]
)
@pytest.mark.parametrize("kind", [StopIteration, errors.Stopped], ids=lambda kind: kind.__name__)
def test_what_a_function_raises_never_ends_a_loop_as_if_there_were_no_more(owner, kind, function):
    with owner.producer(commit_every=1) as producer, producer.group() as group:
        owner.put_all(group, THIS)
        if function == "on_abandon":
            group.abandon()
    error = StopIteration() if kind is StopIteration else errors.Stopped(owner.name, owner.queue, bytes(24), 0)
    calls = []

    def fails(*_):
        calls.append(1)
        if len(calls) == 2 or function == "on_abandon":
            raise error

    class Codec:
        def decode(self, data):
            fails()
            return data

    hooks = {function: fails} if function.startswith("on_") else {"codec": Codec()} if function == "decode" else {}
    with owner.consumer(**hooks) as consumer:
        if function == "before_commit":
            consumer.before_commit(fails)
        with pytest.raises(RuntimeError if kind is StopIteration else errors.Stopped) as caught:
            for group in consumer:
                if function.endswith("of a group"):
                    group.before_commit(fails)
                list(group)
        assert error in (caught.value, caught.value.__cause__)


@pytest.mark.parametrize("function", ["before_commit", "on_progress"])
def test_an_error_of_the_applications_function_in_a_wait_comes_out_of_the_call(owner, clock, waiting, function):
    owner.put_raw_group(THIS[:3], whole=False)
    fails = Once(1)
    hooks = {"on_progress": fails} if function == "on_progress" else {}
    settings = {"commit_every": Every(seconds=20), "group_wait_s": 200, **hooks}
    with owner.consumer(owner.connect(reconnect_wait_s=30), **settings) as consumer:
        if function == "before_commit":
            consumer.before_commit(fails)
        with pytest.raises(errors.ConnectionBroken, match="ELSEWHERE"):
            for message in next(iter(consumer)):
                if message.msg_seq_number == 3:
                    waiting()
        clock.tick_s = 0
        # The commit stands if it came before the error; else everything comes again.
        assert next(iter(consumer)).resume_from == (3 if function == "on_progress" else 0)


def test_a_pipe_that_waits_in_vain_for_the_outcome_of_its_commit_says_so_once(
    owner, make_queue, clock, waiting, monkeypatch
):
    owner.put_raw_group(THIS[:3], whole=False)
    group_id = owner.on_queue()[0].group_id
    qmgr, target = owner.connect(reconnect_wait_s=20, sleep=clock.sleep), make_queue()
    connection = connection_of(qmgr)
    commit, connect = connection.binding.MQCMIT, connection._connect
    assert connect is not None
    back_at: list[float] = []

    def without_reply(hconn):
        answer = commit(hconn)
        if not clock.tick_s or back_at:
            return answer
        back_at.append(clock.now_s + 30)
        return mq.MQCC_FAILED, mq.MQRC_CONNECTION_BROKEN

    def reachable_again():
        if back_at and clock.now_s < back_at[0]:
            raise mqi_error("MQCONNX", owner.target.q_mgr_name, mq.MQCC_FAILED, mq.MQRC_Q_MGR_NOT_AVAILABLE)
        return connect()

    owner.doctor(qmgr, MQCMIT=without_reply)
    monkeypatch.setattr(connection, "_connect", reachable_again)
    with owner.pipe(target, qmgr, commit_every=Every(seconds=20), group_wait_s=200) as pipe:
        with pytest.raises(errors.CommitOutcomeUnknown):
            for incoming, outgoing in pipe:
                for message in incoming:
                    outgoing.put(message.data)
                    if message.msg_seq_number == 3:
                        waiting()
        # It has not waited for longer than it was told to.
        assert clock.now_s < back_at[0]
        clock.now_s, clock.tick_s = back_at[0], 0
        owner.put_raw(THIS[3], GroupId=group_id, MsgSeqNumber=4, MsgFlags=mq.MQMF_LAST_MSG_IN_GROUP)
        run(pipe, lambda data: [data])
    assert owner.data(target) == THIS[:4]
