"""Messages that arrive let only those waiting MQGETs look that could get one of them, and none of these is left out.

IBM MQ, topic "MQGMO options" (MQGMO_WAIT).
"""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from embedded_tests import structures
from mqembedded import constants as mq
from mqembedded.answer import Failed
from mqembedded.calls import opening, putting
from mqembedded.calls.get_call import Get
from mqembedded.messages.waiting import Turn, WaitingCall, WaitingCalls, Wanted
from mqembedded.objects.attributes import LOCAL
from mqembedded.serve.start_up import started
from mqembedded.wire.structures import GetMessageOptions, SearchDescriptor

A, B = (name * 24 for name in (b"A", b"B"))
numbers = itertools.count()


class Sleeper:
    """The waiter of an application that is always there."""

    def wait(self, timeout_s):
        raise AssertionError(f"nobody waits here, not even {timeout_s} s")

    def wake(self):
        pass


@pytest.fixture(scope="module")
def q_mgr(tmp_path_factory):
    q_mgr = started("QM", tmp_path_factory.mktemp("data"))
    yield q_mgr
    q_mgr.close()


class Place:
    """A queue with calls that wait at it."""

    def __init__(self, q_mgr):
        self.q_mgr = q_mgr
        self.name = f"Q.{next(numbers)}"
        with q_mgr.lock:
            q_mgr.catalogue.define(LOCAL, self.name, {})
        self.connections = []
        self.putter = self._connect()
        self.calls: list[tuple[Get, WaitingCall[Any]]] = []
        self.last: Get | None = None

    def _connect(self):
        connection = self.q_mgr.connect_program(Sleeper(), "test")
        self.connections.append(connection)
        return connection

    def _handle(self, again):
        """Return a connection and a handle of the queue: new ones, or those of the last call, unless that still waits."""
        if again and self.last is not None and not self.last.handle.waits:
            return self.last.connection, self.last.hobj
        connection, options = self._connect(), mq.MQOO_INPUT_SHARED | mq.MQOO_BROWSE
        return connection, opening.open_object(self.q_mgr, connection, structures.od(self.name), options)[2][0]

    def wait(self, options, match=mq.MQMO_NONE, again=False, **fields):
        """Let a call wait if there is nothing for it."""
        connection, hobj = self._handle(again)
        gmo = structures.gmo(options | mq.MQGMO_WAIT, match_options=match, wait_interval_ms=mq.MQWI_UNLIMITED)
        md = SearchDescriptor(bytes(structures.md(**fields)))
        try:
            call = self.last = Get(self.q_mgr, connection, hobj, md, GetMessageOptions.read(bytes(gmo)), 9)
            with self.q_mgr.lock:
                found = call.attempt()
                if found is None:
                    waiting = WaitingCall(call.turn(), call.attempt, lambda: None)
                    call.begin_wait(waiting)
                    self.calls.append((call, waiting))
        except Failed:
            return
        if found is not None:
            call.finish(found)

    def put(self, **fields):
        pmo = bytes(structures.pmo(mq.MQPMO_NO_SYNCPOINT))
        md, od = bytes(structures.md(persistence=mq.MQPER_NOT_PERSISTENT, **fields)), structures.od(self.name)
        putting.put1(self.q_mgr, self.putter, od, md, pmo, b"x")

    def back_out(self):
        for connection in self.connections:
            self.q_mgr.back_out(connection)

    def left_waiting(self):
        """Return the calls that would find something if they looked."""
        with self.q_mgr.lock:
            # In their order: a later call of a handle may wait.
            for call, waiting in self.calls:
                call.handle.waits = waiting.outcome is None
            return [call for call, waiting in self.calls if waiting.outcome is None and call.attempt() is not None]

    def close(self):
        for call, waiting in self.calls:
            call.end_wait(waiting)
            if isinstance(waiting.outcome, tuple):
                call.finish(waiting.outcome)
        for connection in self.connections:
            self.q_mgr.drop(connection)


flags = st.sampled_from([0, mq.MQMF_MSG_IN_GROUP, mq.MQMF_LAST_MSG_IN_GROUP])
segments = st.sampled_from([0, 0, mq.MQMF_SEGMENT, mq.MQMF_LAST_SEGMENT])
fields = st.fixed_dictionaries(
    {
        "msg_id": st.sampled_from([A, B]),
        "correl_id": st.sampled_from([A, B, bytes(24)]),
        "group_id": st.sampled_from([A, B]),
        "msg_seq_number": st.sampled_from([1, 2]),
        "offset": st.sampled_from([0, 1]),
    }
)
messages = st.builds(lambda fields, flags, segments: {**fields, "msg_flags": flags | segments}, fields, flags, segments)
waits = st.tuples(
    st.sampled_from([mq.MQGMO_NO_SYNCPOINT, mq.MQGMO_SYNCPOINT, mq.MQGMO_BROWSE_FIRST, mq.MQGMO_BROWSE_NEXT]),
    st.sampled_from([0, mq.MQGMO_LOGICAL_ORDER]),
    st.sampled_from([0, 0, mq.MQGMO_ALL_MSGS_AVAILABLE, mq.MQGMO_ALL_SEGMENTS_AVAILABLE, mq.MQGMO_COMPLETE_MSG]),
    st.sampled_from(
        [
            mq.MQMO_NONE,
            mq.MQMO_MATCH_MSG_ID,
            mq.MQMO_MATCH_CORREL_ID,
            mq.MQMO_MATCH_GROUP_ID,
            mq.MQMO_MATCH_MSG_SEQ_NUMBER,
            mq.MQMO_MATCH_GROUP_ID | mq.MQMO_MATCH_MSG_SEQ_NUMBER,
            mq.MQMO_MATCH_CORREL_ID | mq.MQMO_MATCH_MSG_ID,
        ]
    ),
    st.booleans(),
    fields,
)
# Calls wait, messages come, and what was got in a unit of work comes back.
steps = st.one_of(waits, messages, messages, st.just("back out"))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@example(
    [(mq.MQGMO_NO_SYNCPOINT, 0, mq.MQGMO_COMPLETE_MSG, mq.MQMO_MATCH_MSG_ID, False, {"msg_id": A})]
    + [
        {"msg_id": name, "group_id": A, "offset": offset, "msg_flags": flag}
        for name, offset, flag in ((A, 0, mq.MQMF_SEGMENT), (B, 1, mq.MQMF_LAST_SEGMENT))
    ]
)
@example(
    [
        (mq.MQGMO_BROWSE_FIRST, 0, 0, mq.MQMO_NONE, False, {}),
        {"msg_id": B, "group_id": A, "msg_flags": mq.MQMF_MSG_IN_GROUP},
        (mq.MQGMO_NO_SYNCPOINT, mq.MQGMO_LOGICAL_ORDER, 0, mq.MQMO_MATCH_MSG_ID, True, {"msg_id": A}),
        (mq.MQGMO_SYNCPOINT, 0, 0, mq.MQMO_NONE, True, {}),
    ]
)
@given(st.lists(steps, min_size=2, max_size=12))
def test_nobody_is_left_waiting_for_what_is_there(q_mgr, steps):
    place = Place(q_mgr)
    try:
        for step in steps:
            if isinstance(step, dict):
                place.put(**step)
            elif isinstance(step, tuple):
                options, order, whole, match, again, given_fields = step
                place.wait(options | order | whole, match, again, **given_fields)
            else:
                place.back_out()
            assert not place.left_waiting()
    finally:
        place.close()


@pytest.fixture
def looks(monkeypatch):
    """How often an MQGET has looked."""
    counted = []
    attempt = Get.attempt

    def counting(call):
        counted.append(call)
        return attempt(call)

    monkeypatch.setattr(Get, "attempt", counting)
    return counted


@pytest.fixture
def place(q_mgr):
    place = Place(q_mgr)
    yield place
    place.close()


WAITING = 200


@pytest.mark.parametrize(
    ("match", "field", "whole"),
    [
        (mq.MQMO_MATCH_MSG_ID, "msg_id", 0),
        (mq.MQMO_MATCH_CORREL_ID, "correl_id", mq.MQGMO_COMPLETE_MSG),
        (mq.MQMO_MATCH_GROUP_ID, "group_id", 0),
        (mq.MQMO_MATCH_GROUP_ID, "group_id", mq.MQGMO_ALL_MSGS_AVAILABLE),
    ],
)
def test_a_message_lets_one_call_look_of_those_that_wait_for_others(place, looks, match, field, whole):
    identifiers = [bytes([number]) * 24 for number in range(1, WAITING + 1)]
    for identifier in identifiers:
        place.wait(whole, match, **{field: identifier})
    looks.clear()
    flags = mq.MQMF_LAST_MSG_IN_GROUP if field == "group_id" else 0
    place.put(**{field: identifiers[77]}, msg_flags=flags)
    assert looks == [place.calls[77][0]]


def test_a_message_lets_one_call_look_of_those_that_take_any(place, looks):
    for _ in range(WAITING):
        place.wait(0)
    looks.clear()
    place.put()
    place.put()
    # The next one each time, and the one behind it, for which there is nothing more.
    assert looks == [place.calls[number][0] for number in (0, 1, 1, 2)]


def test_a_message_lets_one_call_look_of_those_that_wait_for_whole_groups(place, looks):
    for _ in range(WAITING):
        place.wait(mq.MQGMO_ALL_MSGS_AVAILABLE)
    looks.clear()
    for seq in range(1, 50):
        place.put(group_id=A, msg_seq_number=seq, msg_flags=mq.MQMF_MSG_IN_GROUP)
    assert looks == [place.calls[0][0]] * 49
    looks.clear()
    place.put(group_id=A, msg_seq_number=50, msg_flags=mq.MQMF_LAST_MSG_IN_GROUP)
    assert looks == [place.calls[0][0], place.calls[1][0]]


# --- the calls by themselves


class Looking:
    """A call that finds its own name, and notes that it has looked."""

    def __init__(self, name, turn=Turn.GENERAL, order=None):
        self.name, self.order = name, [] if order is None else order
        self.call = WaitingCall(turn, self._look, lambda: None)

    def _look(self):
        self.order.append(self.name)
        return self.name


def test_calls_for_certain_messages_look_before_calls_for_any_whoever_came_first():
    calls = WaitingCalls()
    order: list[str] = []
    for name, turn, identifier in (
        ("any", Turn.GENERAL, None),
        ("certain", Turn.SPECIFIC, ("msg_id", A)),
        ("browses", Turn.BROWSE, None),
    ):
        calls.add(Looking(name, turn, order).call, Wanted(turn, identifier))
    calls.look_for([("msg_id", A)])
    assert order == ["browses", "certain", "any"]
    assert len(calls) == 0


def test_a_call_that_waits_for_several_things_gets_one():
    calls = WaitingCalls()
    looking = Looking("it")
    calls.add(looking.call, Wanted(Turn.GENERAL, ("msg_id", A)), Wanted(Turn.GENERAL, ("msg_id", B)))
    calls.look_for([("msg_id", A), ("msg_id", B)])
    assert (looking.call.outcome, looking.order, len(calls)) == ("it", ["it"], 0)


def test_a_call_that_has_ended_does_not_look():
    calls = WaitingCalls()
    looking = Looking("it")
    calls.add(looking.call, Wanted(Turn.GENERAL, whole=True))
    assert calls.want_whole
    calls.discard(looking.call)
    calls.discard(looking.call)
    calls.look_for([], [("msg_id", A)])
    calls.look_again()
    assert not looking.order
    assert not calls.want_whole
