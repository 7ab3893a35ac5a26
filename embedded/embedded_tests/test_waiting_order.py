"""Several MQGETs wait at one queue: which of them a message ends (IBM MQ, topic "MQGMO options", MQGMO_WAIT).

Documented is that one call that does not browse is activated, and that calls for certain messages come before those that take
any. That the longest waiting comes first within each is this queue manager's own choice; IBM MQ leaves it open.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from embedded_tests import structures as st
from embedded_tests.fix_mqi import OK, PATIENCE_S, child, shared_input, wait_until
from embedded_tests.tables import table
from mqembedded import constants as c
from mqembedded.answer import ConnectionGone
from mqembedded.calls import getting, opening, putting
from mqembedded.messages.waiting import Turn, WaitingCall, WaitingCalls
from mqembedded.serve.start_up import started

ROOT = Path(__file__).parents[1]


@pytest.fixture
def source(connect, queue):
    """A function that opens the queue to get and browse, over a connection of its own."""
    return lambda: shared_input(connect(), queue)


def data_of(waiting):
    return [future.result(PATIENCE_S).data for future in waiting]


@pytest.mark.embedded
def test_the_longest_waiting_comes_first(connection, queue, source, waiting_get):
    waiting = [waiting_get(source()) for _ in range(4)]
    for number in range(4):
        assert connection.put1(queue, b"%d" % number).code == OK
    assert data_of(waiting) == [b"0", b"1", b"2", b"3"]


@pytest.mark.embedded
def test_what_one_commit_shows_goes_out_in_order(connection, queue, source, waiting_get):
    waiting = [waiting_get(source()) for _ in range(3)]
    for number in range(3):
        assert connection.put1(queue, b"%d" % number, c.MQPMO_SYNCPOINT).code == OK
    assert connection.commit() == OK
    assert data_of(waiting) == [b"0", b"1", b"2"]


@pytest.mark.embedded
def test_who_came_late_does_not_overtake(connection, queue, source, waiting_get):
    """A call that ended its wait and waits again is the last one."""
    first, second = source(), source()
    waiting = [waiting_get(first), waiting_get(second)]
    assert connection.put1(queue, b"0").code == OK
    assert waiting[0].result(PATIENCE_S).data == b"0"
    again = waiting_get(first)
    assert connection.put1(queue, b"1").code == OK
    assert waiting[1].result(PATIENCE_S).data == b"1"
    assert connection.put1(queue, b"2").code == OK
    assert again.result(PATIENCE_S).data == b"2"


@pytest.mark.parametrize(
    ("match", "fields"),
    [
        (c.MQMO_MATCH_CORREL_ID, {"CorrelId": b"c" * 24}),
        (c.MQMO_MATCH_MSG_ID, {"MsgId": b"m" * 24}),
        (c.MQMO_MATCH_GROUP_ID, {"GroupId": b"g" * 24}),
        (c.MQMO_MATCH_MSG_SEQ_NUMBER, {"MsgSeqNumber": 3}),
    ],
)
def test_a_call_for_certain_messages_comes_before_one_for_any(connection, queue, source, waiting_get, match, fields):
    anything = waiting_get(source())
    certain = waiting_get(source(), match=match, **fields)
    assert connection.put1(queue, b"certain", MsgFlags=c.MQMF_MSG_IN_GROUP, **fields).code == OK
    assert certain.result(PATIENCE_S).data == b"certain"
    assert connection.put1(queue, b"any").code == OK
    assert anything.result(PATIENCE_S).data == b"any"


@pytest.mark.embedded
def test_a_call_that_continues_its_group_is_for_certain_messages(connection, queue, source, waiting_get):
    out = connection.open(queue, c.MQOO_OUTPUT)
    assert out.put(b"1", c.MQPMO_LOGICAL_ORDER, MsgFlags=c.MQMF_MSG_IN_GROUP).code == OK
    reader = source()
    assert reader.get(c.MQGMO_LOGICAL_ORDER).data == b"1"
    anything = waiting_get(source())
    continued = waiting_get(reader, c.MQGMO_LOGICAL_ORDER)
    assert out.put(b"2", c.MQPMO_LOGICAL_ORDER, MsgFlags=c.MQMF_LAST_MSG_IN_GROUP).code == OK
    assert continued.result(PATIENCE_S).data == b"2"
    assert connection.put1(queue, b"any").code == OK
    assert anything.result(PATIENCE_S).data == b"any"


def test_each_call_for_a_certain_message_gets_that_one(connection, queue, source, waiting_get):
    correl_ids = [b"%d" % number * 24 for number in range(4)]
    waiting = [waiting_get(source(), match=c.MQMO_MATCH_CORREL_ID, CorrelId=correl_id) for correl_id in correl_ids]
    for correl_id in reversed(correl_ids):
        assert connection.put1(queue, correl_id, CorrelId=correl_id).code == OK
    assert data_of(waiting) == correl_ids


def test_a_message_for_nobody_leaves_all_of_them_waiting(connection, queue, source, waiting_get, count_waiting):
    waiting = [waiting_get(source(), match=c.MQMO_MATCH_CORREL_ID, CorrelId=b"%d" % n * 24) for n in range(2)]
    assert connection.put1(queue, b"nobody's", CorrelId=b"n" * 24).code == OK
    assert count_waiting(queue) == 2
    for number in range(2):
        assert connection.put1(queue, b"%d" % number, CorrelId=b"%d" % number * 24).code == OK
    assert data_of(waiting) == [b"0", b"1"]


@pytest.mark.embedded
def test_who_browses_shares_with_the_one_who_gets(connection, queue, source, waiting_get):
    waiting = [
        waiting_get(source()),
        waiting_get(source(), c.MQGMO_BROWSE_FIRST),
        waiting_get(source(), c.MQGMO_BROWSE_NEXT),
    ]
    assert connection.put1(queue, b"m").code == OK
    assert data_of(waiting) == [b"m", b"m", b"m"]
    assert connection.depth(queue) == 0


def test_who_browses_with_a_lock_shares_with_nobody(connection, queue, source, waiting_get):
    locking = [waiting_get(source(), c.MQGMO_BROWSE_FIRST | c.MQGMO_LOCK) for _ in range(2)]
    assert connection.put1(queue, b"0").code == OK
    assert connection.put1(queue, b"1").code == OK
    assert sorted(data_of(locking)) == [b"0", b"1"]


def test_a_wait_that_ran_out_takes_nothing(connection, queue, source, waiting_get):
    brief = waiting_get(source(), wait_ms=300)
    patient = waiting_get(source())
    assert brief.result(PATIENCE_S).data == b""
    assert connection.put1(queue, b"m").code == OK
    assert patient.result(PATIENCE_S).data == b"m"


@pytest.mark.embedded
def test_who_died_waiting_takes_nothing(mq, mqi, connection, queue, source, waiting_get, count_waiting):
    """Killed as the longest waiting, in and outside syncpoint; what comes then goes to the next."""
    dead = [subprocess.Popen(child(WAITS, mqi, mq, queue, options), cwd=ROOT) for options in (0, c.MQGMO_SYNCPOINT)]
    wait_until(lambda: count_waiting(queue) == 2)
    alive = waiting_get(source())
    for process in dead:
        process.kill()
        process.wait()
    assert connection.put1(queue, b"m").code == OK
    assert alive.result(PATIENCE_S).data == b"m"


WAITS = """
shared_input(connection, queue).get(int(more[0]), wait_ms=c.MQWI_UNLIMITED)
"""

TAKES = """
source = shared_input(connection, queue)
while (data := source.get(wait_ms=c.MQWI_UNLIMITED).data) != b"end":
    print(data.decode())
"""


@pytest.mark.embedded
def test_processes_that_wait_share_all_messages_out(mq, mqi, connection, queue, count_waiting):
    """Each message once, and nobody is left waiting: nothing else ends their calls."""
    command = child(TAKES, mqi, mq, queue)
    takers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) for _ in range(4)]
    wait_until(lambda: count_waiting(queue) == 4)
    out = connection.open(queue, c.MQOO_OUTPUT)
    for number in range(800):
        assert out.put(b"%d" % number, c.MQPMO_SYNCPOINT if number % 3 else 0).code == OK
        if number % 7 == 0:
            assert connection.commit() == OK
    assert connection.commit() == OK
    for _ in takers:
        assert out.put(b"end").code == OK
    taken = [taker.communicate(timeout=PATIENCE_S)[0].split() for taker in takers]
    assert sorted(int(number) for numbers in taken for number in numbers) == list(range(800))
    assert connection.depth(queue) == 0


@pytest.mark.embedded
def test_requests_and_replies_never_miss_one_another(connect, make_queue, background):
    """Six that ask and two that answer, each waiting without end for every single message."""
    requests, replies = make_queue(), make_queue()
    rounds = 60

    def asks(name):
        connection = connect()
        out, source = connection.open(requests, c.MQOO_OUTPUT), connection.open(replies, c.MQOO_INPUT_SHARED)
        for number in range(rounds):
            correl_id = b"%d.%d" % (name, number)
            assert out.put(correl_id, CorrelId=correl_id.ljust(24)).code == OK
            answer = source.get(match=c.MQMO_MATCH_CORREL_ID, wait_ms=c.MQWI_UNLIMITED, CorrelId=correl_id.ljust(24))
            assert answer.data == b"re " + correl_id

    def answers():
        connection = connect()
        source, out = connection.open(requests, c.MQOO_INPUT_SHARED), connection.open(replies, c.MQOO_OUTPUT)
        answered = 0
        while (request := source.get(c.MQGMO_SYNCPOINT, wait_ms=c.MQWI_UNLIMITED)).data != b"end":
            out.put(b"re " + request.data, c.MQPMO_SYNCPOINT, CorrelId=request.md.CorrelId)
            assert connection.commit() == OK
            answered += 1
        return answered

    answering = [background(answers) for _ in range(2)]
    asking = [background(asks, name) for name in range(6)]
    for future in asking:
        future.result(PATIENCE_S)
    for _ in answering:
        assert connect().put1(requests, b"end").code == OK
    assert sum(future.result(PATIENCE_S) for future in answering) == 6 * rounds


# --- who is gone when the message comes


class GoneWhenGiven:
    """The waiter of an application that dies just when its wait has been satisfied."""

    def __init__(self):
        self.arrive: Callable[[], object] = list
        self.woken = False

    def wait(self, timeout_s):  # noqa: ARG002 - as Waiter has it
        self.arrive()
        raise ConnectionGone

    def wake(self):
        self.woken = True


@table(("options", "backout_count"), [(c.MQGMO_NO_SYNCPOINT, 0), (c.MQGMO_SYNCPOINT, 1)])
def test_what_was_given_to_who_is_gone_is_given_back(tmp_path, options, backout_count):
    q_mgr = started("QM", tmp_path)
    waiter = GoneWhenGiven()
    gone, other = q_mgr.connect_program(waiter, "gone"), q_mgr.connect_program(GoneWhenGiven(), "other")
    od = st.od("SYSTEM.DEFAULT.LOCAL.QUEUE")
    pmo = bytes(st.pmo(c.MQPMO_NO_SYNCPOINT))
    waiter.arrive = lambda: putting.put1(q_mgr, other, od, bytes(st.md()), pmo, b"m")
    source: Any = opening.open_object(q_mgr, gone, od, c.MQOO_INPUT_SHARED)[2][0]
    gmo = bytes(st.gmo(options | c.MQGMO_WAIT, wait_interval_ms=c.MQWI_UNLIMITED))
    with pytest.raises(ConnectionGone):
        getting.get(q_mgr, gone, source, bytes(st.md()), gmo, 100)
    assert waiter.woken
    q_mgr.drop(gone)
    source = opening.open_object(q_mgr, other, od, c.MQOO_INPUT_SHARED)[2][0]
    answer: Any = getting.get(q_mgr, other, source, bytes(st.md()), bytes(st.gmo(c.MQGMO_NO_SYNCPOINT)), 100)[2]
    assert (answer[3], st.long_at(answer[0], st.MD_BACKOUT_COUNT)) == (b"m", backout_count)
    assert sum(queue.depth for queue in q_mgr.catalogue.queues()) == 0
    q_mgr.drop(other)
    q_mgr.close()


# --- turns


def test_a_call_that_fails_fails_by_itself():
    """What changed the queue is not to suffer for a defect in a waiting call."""
    woken = []

    def broken():
        raise ZeroDivisionError

    calls = WaitingCalls()
    failing = WaitingCall(Turn.GENERAL, broken, lambda: woken.append("failing"))
    finding = WaitingCall(Turn.GENERAL, lambda: "found", lambda: woken.append("finding"))
    calls.add(failing)
    calls.add(finding)
    calls.look_again()
    assert isinstance(failing.outcome, ZeroDivisionError)
    assert (finding.outcome, woken) == ("found", ["failing", "finding"])


def test_a_call_has_one_outcome():
    looks = iter(["first", "second"])
    calls = WaitingCalls()
    call = WaitingCall(Turn.GENERAL, lambda: next(looks), lambda: None)
    calls.add(call)
    calls.look_again()
    calls.look_again()
    assert (call.outcome, next(looks)) == ("first", "second")


def test_calls_look_by_turn_and_then_by_how_long_they_wait():
    looked: list[int] = []
    calls = WaitingCalls()
    turns = [Turn.GENERAL, Turn.SPECIFIC, Turn.BROWSE, Turn.GENERAL, Turn.BROWSE]
    for number, turn in enumerate(turns):
        calls.add(WaitingCall(turn, partial(looked.append, number), lambda: None))
    calls.look_again()
    assert looked == [2, 4, 1, 0, 3]
