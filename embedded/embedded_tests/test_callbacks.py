"""MQCB and MQCTL, on ibmmq: pymqi has neither. Expected values are those of IBM's topics "MQCB", "MQCTL", "MQCBC", "MQCBD"."""

from __future__ import annotations

import importlib.util
import os
import queue as queues
import subprocess
import sys
import threading
from dataclasses import dataclass
from typing import Any

import pytest

from embedded_tests.fix_mqi import EMPTY, OK, PATIENCE_S, Code, Mqi, failed, wait_until
from embedded_tests.tables import table
from mqembedded import Fault
from mqembedded import constants as c

pytestmark = [
    pytest.mark.embedded,
    pytest.mark.skipif(importlib.util.find_spec("ibmmq") is None, reason="needs ibmmq"),
]

REMOVED = c.MQCBCT_MSG_REMOVED
NOT_REMOVED = c.MQCBCT_MSG_NOT_REMOVED
EVENT = c.MQCBCT_EVENT_CALL
ALL_CALLS = c.MQCBDO_REGISTER_CALL | c.MQCBDO_START_CALL | c.MQCBDO_STOP_CALL | c.MQCBDO_DEREGISTER_CALL
BUSY = failed(c.MQRC_HCONN_ASYNC_ACTIVE)
NOT_ALLOWED = failed(c.MQRC_OPERATION_NOT_ALLOWED)


@dataclass(frozen=True)
class Call:
    """One call to a callback: MQCBC's CallType, codes, State and lengths, the structures, and the thread."""

    call_type: int
    code: Code
    state: int
    hobj: int
    data: bytes | None
    length: int
    md: Any
    gmo: Any
    thread: int


class Callback:
    """A callback that keeps its calls and does ``then`` in each."""

    def __init__(self, then=None):
        self.calls: queues.SimpleQueue[Call] = queues.SimpleQueue()
        self.then = then

    def next(self) -> Call:
        """Wait for the next call."""
        return self.calls.get(timeout=PATIENCE_S)

    def types(self) -> list[int]:
        """Return the types of the calls so far."""
        return [self.calls.get().call_type for _ in range(self.calls.qsize())]


class Callbacks:
    """Registers callbacks at ibmmq's C layer, which has one function for all; here it finds the one that is meant."""

    def __init__(self, mqi):
        self.mqi = mqi
        self._callbacks: dict[tuple[int, int], Callback] = {}

    def called(self, hconn, md, gmo, data, cbc):
        package = self.mqi.package
        context = package.CBC().unpack(cbc)
        callback = self._callbacks[hconn, context.Hobj]
        call = Call(
            context.CallType,
            Code(context.CompCode, context.Reason),
            context.State,
            context.Hobj,
            data,
            context.DataLength,
            package.MD().unpack(md) if md else None,
            package.GMO().unpack(gmo) if gmo else None,
            threading.get_ident(),
        )
        if callback.then is not None:
            callback.then(call)
        callback.calls.put(call)

    def cb(self, connection, hobj, callback=None, operation=c.MQOP_REGISTER, *, md=None, gmo=None, **fields):
        """MQCB; ``fields`` are those of MQCBD."""
        if callback is not None:
            self._callbacks[connection.hconn, hobj] = callback
        cbd = self.mqi.package.CBD(**fields)
        arguments = (cbd.pack(), hobj, (md or self.mqi.md()).pack(), (gmo or self.gmo()).pack())
        return Code(*self.mqi.c.MQCB(connection.hconn, operation, *arguments))

    def gmo(self, options=0, wait_ms=c.MQWI_UNLIMITED, **fields):
        fields = {"MatchOptions": c.MQMO_NONE, "WaitInterval": wait_ms, **fields}
        return self.mqi.package.GMO(Options=options | c.MQGMO_WAIT, **fields)

    def events(self, connection, callback, **fields):
        """Register the event handler."""
        return self.cb(connection, c.MQHO_NONE, callback, CallbackType=c.MQCBT_EVENT_HANDLER, **fields)

    def ctl(self, connection, operation, options=0):
        """MQCTL."""
        return Code(*self.mqi.c.MQCTL(connection.hconn, operation, self.mqi.package.CTLO(Options=options).pack()))


@pytest.fixture(scope="module")
def mqi(_client_library):
    import ibmmq

    return Mqi(ibmmq)


@pytest.fixture
def callbacks(mqi):
    made = Callbacks(mqi)
    mqi.c.MQCBINIT(made.called)
    yield made
    mqi.c.MQCBINIT(sys.modules["mqcallback"]._internal_cb)


@pytest.fixture
def consumed(connection, queue):
    """A handle of the test's queue on the connection under test."""
    return connection.open(queue, c.MQOO_INPUT_SHARED | c.MQOO_BROWSE | c.MQOO_OUTPUT | c.MQOO_SET)


@pytest.fixture
def producer(connect, queue):
    """A handle of the same queue on a connection of its own."""
    return connect().open(queue, c.MQOO_OUTPUT | c.MQOO_INPUT_SHARED | c.MQOO_SET)


# --- messages


def test_messages_that_are_there_and_messages_that_come_are_delivered(callbacks, connection, consumed, producer):
    consumer = Callback()
    producer.put(b"before", MsgId=b"m" * 24)
    assert callbacks.cb(connection, consumed.hobj, consumer) == OK
    assert callbacks.ctl(connection, c.MQOP_START) == OK
    first = consumer.next()
    assert (first.call_type, first.code, first.data, first.length) == (REMOVED, OK, b"before", 6)
    assert (first.md.MsgId, first.hobj, first.gmo.Version, first.gmo.ReturnedLength) == (b"m" * 24, consumed.hobj, 4, 6)
    producer.put(b"after")
    producer.put(b"")
    assert consumer.next().data == b"after"
    last = consumer.next()
    assert (last.call_type, last.data, last.length) == (REMOVED, None, 0)
    assert last.thread == first.thread != threading.get_ident()
    assert callbacks.ctl(connection, c.MQOP_STOP) == OK
    producer.put(b"unseen")
    assert consumed.get().data == b"unseen"


def test_several_queues_take_turns(callbacks, connection, make_queue):
    handles = [connection.open(make_queue(), c.MQOO_INPUT_SHARED | c.MQOO_OUTPUT) for _ in range(3)]
    consumer = Callback()
    for handle in handles:
        for number in range(3):
            handle.put(b"%d" % number)
        callbacks.cb(connection, handle.hobj, consumer)
    callbacks.ctl(connection, c.MQOP_START)
    calls = [consumer.next() for _ in range(9)]
    assert [call.data for call in calls] == [b"0"] * 3 + [b"1"] * 3 + [b"2"] * 3
    assert {call.hobj for call in calls[:3]} == {handle.hobj for handle in handles}


def test_the_consumer_s_criteria_select(callbacks, connection, consumed):
    consumer = Callback()
    for number in range(3):
        consumed.put(b"%d" % number, MsgId=b"%d" % number * 24)
    gmo = callbacks.gmo(MatchOptions=c.MQMO_MATCH_MSG_ID)
    callbacks.cb(connection, consumed.hobj, consumer, md=callbacks.mqi.md(MsgId=b"1" * 24), gmo=gmo)
    callbacks.ctl(connection, c.MQOP_START)
    assert consumer.next().data == b"1"
    callbacks.ctl(connection, c.MQOP_STOP)
    assert [answer.data for answer in consumed.all()] == [b"0", b"2"]
    assert consumer.types() == []


def test_a_group_is_delivered_in_logical_order(callbacks, connection, consumed):
    consumer = Callback()
    group = {"GroupId": b"g" * 24}
    last = c.MQMF_MSG_IN_GROUP | c.MQMF_LAST_MSG_IN_GROUP
    consumed.put(b"two", MsgSeqNumber=2, MsgFlags=last, **group)
    consumed.put(b"one", MsgSeqNumber=1, MsgFlags=c.MQMF_MSG_IN_GROUP, **group)
    callbacks.cb(connection, consumed.hobj, consumer, gmo=callbacks.gmo(c.MQGMO_LOGICAL_ORDER))
    callbacks.ctl(connection, c.MQOP_START)
    assert [consumer.next().data for _ in range(2)] == [b"one", b"two"]


@pytest.mark.parametrize(
    ("options", "code", "call_type", "left"),
    [
        (c.MQGMO_ACCEPT_TRUNCATED_MSG, Code(1, c.MQRC_TRUNCATED_MSG_ACCEPTED), REMOVED, 0),
        (0, Code(1, c.MQRC_TRUNCATED_MSG_FAILED), NOT_REMOVED, 1),
    ],
)
def test_a_message_longer_than_max_msg_length_is_cut(
    callbacks, connection, consumed, queue, options, code, call_type, left
):
    consumer = Callback(lambda _: callbacks.ctl(connection, c.MQOP_STOP))
    consumed.put(b"0123456789")
    callbacks.cb(connection, consumed.hobj, consumer, gmo=callbacks.gmo(options), MaxMsgLength=4)
    callbacks.ctl(connection, c.MQOP_START)
    call = consumer.next()
    assert (call.call_type, call.code, call.data, call.length) == (call_type, code, b"0123", 10)
    wait_until(lambda: connection.commit() == OK)
    assert connection.depth(queue) == left


def test_browsing_from_the_first_message_on_delivers_each_once(callbacks, connection, consumed, producer, queue):
    consumer = Callback()
    for number in range(3):
        producer.put(b"%d" % number)
    gmo = callbacks.gmo(c.MQGMO_BROWSE_FIRST | c.MQGMO_BROWSE_NEXT)
    assert callbacks.cb(connection, consumed.hobj, consumer, gmo=gmo) == OK
    callbacks.ctl(connection, c.MQOP_START)
    calls = [consumer.next() for _ in range(3)]
    producer.put(b"3")
    calls.append(consumer.next())
    assert [(call.call_type, call.data) for call in calls] == [(NOT_REMOVED, b"%d" % number) for number in range(4)]
    callbacks.ctl(connection, c.MQOP_STOP)
    assert connection.depth(queue) == 4


# --- units of work, and calls in a callback


def test_a_callback_puts_and_commits_in_the_unit_of_work_of_its_message(
    callbacks, connection, connect, consumed, make_queue
):
    target = make_queue()
    out = connection.open(target, c.MQOO_OUTPUT)
    codes: list[Code] = []

    def forward(call):
        codes.append(out.put(call.data, c.MQPMO_SYNCPOINT).code)
        codes.append(connection.commit())

    consumer = Callback(forward)
    callbacks.cb(connection, consumed.hobj, consumer, gmo=callbacks.gmo(c.MQGMO_SYNCPOINT))
    consumed.put(b"moved")
    callbacks.ctl(connection, c.MQOP_START)
    consumer.next()
    assert codes == [OK, OK]
    assert [answer.data for answer in connect().browse(target)] == [b"moved"]


def test_a_backed_out_message_comes_again(callbacks, connection, consumed):
    consumer = Callback(lambda call: connection.back_out() if not call.md.BackoutCount else connection.commit())
    consumed.put(b"again")
    callbacks.cb(connection, consumed.hobj, consumer, gmo=callbacks.gmo(c.MQGMO_SYNCPOINT))
    callbacks.ctl(connection, c.MQOP_START)
    assert [consumer.next().md.BackoutCount for _ in range(2)] == [0, 1]


def test_a_unit_of_work_spans_callbacks_and_is_committed_by_mqdisc(callbacks, connect, producer, queue):
    connection = connect()
    handle = connection.open(queue, c.MQOO_INPUT_SHARED)
    consumer = Callback()
    callbacks.cb(connection, handle.hobj, consumer, gmo=callbacks.gmo(c.MQGMO_SYNCPOINT))
    callbacks.ctl(connection, c.MQOP_START)
    for number in range(2):
        producer.put(b"%d" % number)
        consumer.next()
    # Started as it is
    assert connection.disconnect() == OK
    assert producer.get().code == EMPTY


def test_other_threads_are_refused_while_the_connection_is_started(callbacks, connection, consumed, queue):
    consumer = Callback()
    callbacks.cb(connection, consumed.hobj, consumer)
    callbacks.ctl(connection, c.MQOP_START)
    refused = [
        consumed.put(b"").code,
        consumed.get().code,
        connection.commit(),
        connection.open(queue, c.MQOO_OUTPUT).code,
        consumed.close(),
        callbacks.cb(connection, consumed.hobj, operation=c.MQOP_SUSPEND),
        callbacks.ctl(connection, c.MQOP_START),
        callbacks.ctl(connection, c.MQOP_RESUME),
    ]
    assert refused == [BUSY] * 8
    assert callbacks.ctl(connection, c.MQOP_SUSPEND) == OK
    assert connection.commit() == OK
    assert callbacks.ctl(connection, c.MQOP_RESUME) == OK
    assert connection.commit() == BUSY
    assert callbacks.ctl(connection, c.MQOP_STOP) == OK
    assert connection.commit() == OK


class Lingering:
    """A callback that makes MQCTL calls in its first call and stays there until told; then it may make more."""

    def __init__(self, callbacks, connection, *operations, then=()):
        self.entered, self.go_on = threading.Event(), threading.Event()
        self.codes: list[Code] = []
        self.callback = Callback(self._linger)
        self._control = lambda operation: self.codes.append(callbacks.ctl(connection, operation))
        self._operations, self._then = operations, then

    def _linger(self, _call):
        if self.entered.is_set():
            return
        for operation in self._operations:
            self._control(operation)
        self.entered.set()
        self.go_on.wait(PATIENCE_S)
        for operation in self._then:
            self._control(operation)


@pytest.mark.parametrize("operation", [c.MQOP_SUSPEND, c.MQOP_STOP])
def test_calls_wait_until_the_callback_that_suspends_or_stops_has_returned(
    callbacks, connection, consumed, background, operation
):
    """ "This operation releases the connection handle"; in a callback it "does not take effect until the routine exits"."""
    lingering = Lingering(callbacks, connection, operation)
    callbacks.cb(connection, consumed.hobj, lingering.callback)
    consumed.put(b"")
    callbacks.ctl(connection, c.MQOP_START)
    assert lingering.entered.wait(PATIENCE_S)
    waiting = background(connection.commit)
    assert not waiting.done()
    lingering.go_on.set()
    assert waiting.result(PATIENCE_S) == OK
    assert lingering.codes == [OK]


def test_who_resumes_before_the_callback_that_suspended_has_returned_gets_the_rest(
    callbacks, connection, consumed, background
):
    lingering = Lingering(callbacks, connection, c.MQOP_SUSPEND)
    callbacks.cb(connection, consumed.hobj, lingering.callback)
    for data in (b"one", b"two", b"three"):
        consumed.put(data)
    callbacks.ctl(connection, c.MQOP_START)
    assert lingering.entered.wait(PATIENCE_S)
    resuming = background(callbacks.ctl, connection, c.MQOP_RESUME)
    assert not resuming.done()
    lingering.go_on.set()
    assert resuming.result(PATIENCE_S) == OK
    assert [lingering.callback.next().data for _ in range(3)] == [b"one", b"two", b"three"]
    assert connection.commit() == BUSY


def test_who_waits_is_refused_when_the_callback_takes_its_suspend_back(callbacks, connection, consumed, background):
    lingering = Lingering(callbacks, connection, c.MQOP_SUSPEND, then=[c.MQOP_RESUME])
    callbacks.cb(connection, consumed.hobj, lingering.callback)
    consumed.put(b"")
    callbacks.ctl(connection, c.MQOP_START)
    assert lingering.entered.wait(PATIENCE_S)
    waiting = background(connection.commit)
    lingering.go_on.set()
    assert waiting.result(PATIENCE_S) == BUSY
    wait_until(lambda: lingering.codes == [OK, OK])


def test_a_handle_that_does_not_block_is_told_that_the_callback_has_not_returned(callbacks, connect, queue):
    connection = connect(options=c.MQCNO_HANDLE_SHARE_NO_BLOCK)
    handle = connection.open(queue, c.MQOO_INPUT_SHARED | c.MQOO_OUTPUT)
    lingering = Lingering(callbacks, connection, c.MQOP_SUSPEND)
    callbacks.cb(connection, handle.hobj, lingering.callback)
    handle.put(b"")
    callbacks.ctl(connection, c.MQOP_START)
    assert lingering.entered.wait(PATIENCE_S)
    assert connection.commit() == failed(c.MQRC_CALL_IN_PROGRESS)
    lingering.go_on.set()
    wait_until(lambda: connection.commit() == OK)


def test_a_started_connection_is_disconnected_when_its_last_callback_was_deregistered(callbacks, connect, queue):
    """ "MQDISC - Performs MQCTL with Operation MQOP_STOP before disconnection the HConn"."""
    connection = connect(options=c.MQCNO_HANDLE_SHARE_BLOCK)
    handle = connection.open(queue, c.MQOO_INPUT_SHARED)
    callbacks.cb(connection, handle.hobj, Callback())
    assert callbacks.ctl(connection, c.MQOP_START) == OK
    assert callbacks.ctl(connection, c.MQOP_SUSPEND) == OK
    assert callbacks.cb(connection, handle.hobj, operation=c.MQOP_DEREGISTER) == OK
    assert callbacks.ctl(connection, c.MQOP_RESUME) == OK
    assert connection.commit() == BUSY
    assert connection.disconnect() == OK


def test_a_connection_is_not_disconnected_by_its_own_callback(callbacks, connection, consumed):
    codes: list[Code] = []
    consumer = Callback(lambda _: codes.append(connection.disconnect()))
    consumed.put(b"")
    callbacks.cb(connection, consumed.hobj, consumer)
    callbacks.ctl(connection, c.MQOP_START)
    consumer.next()
    assert codes == [failed(c.MQRC_CALL_IN_PROGRESS)]


# --- no message


def test_a_wait_that_runs_out_is_an_event_again_and_again(callbacks, connection, consumed):
    consumer = Callback()
    callbacks.cb(connection, consumed.hobj, consumer, gmo=callbacks.gmo(wait_ms=20))
    callbacks.ctl(connection, c.MQOP_START)
    for _ in range(2):
        call = consumer.next()
        assert (call.call_type, call.code, call.state, call.data) == (EVENT, EMPTY, c.MQCS_NONE, None)


def test_a_wait_of_no_time_is_told_once_after_the_start_and_after_messages(callbacks, connection, consumed, producer):
    consumer = Callback()
    callbacks.cb(connection, consumed.hobj, consumer, gmo=callbacks.gmo(wait_ms=0))
    callbacks.ctl(connection, c.MQOP_START)
    assert consumer.next().code == EMPTY
    for data in (b"one", b"two"):
        producer.put(data)
        assert consumer.next().data == data
        assert consumer.next().code == EMPTY


def test_without_wait_an_empty_queue_is_no_event(callbacks, connection, consumed, producer):
    consumer = Callback()
    gmo = callbacks.mqi.package.GMO(Options=c.MQGMO_NO_SYNCPOINT, WaitInterval=0, MatchOptions=c.MQMO_NONE)
    callbacks.cb(connection, consumed.hobj, consumer, gmo=gmo)
    callbacks.ctl(connection, c.MQOP_START)
    producer.put(b"one")
    assert consumer.next().data == b"one"
    producer.put(b"two")
    assert consumer.next().data == b"two"


def test_inhibition_is_told_and_its_end_as_well(callbacks, connection, consumed, producer):
    consumer = Callback()
    callbacks.cb(connection, consumed.hobj, consumer)
    callbacks.ctl(connection, c.MQOP_START)
    producer.set(c.MQIA_INHIBIT_GET, c.MQQA_GET_INHIBITED)
    call = consumer.next()
    assert (call.call_type, call.code) == (EVENT, failed(c.MQRC_GET_INHIBITED))
    assert call.state == c.MQCS_SUSPENDED_TEMPORARY
    producer.put(b"later")
    producer.set(c.MQIA_INHIBIT_GET, c.MQQA_GET_ALLOWED)
    call = consumer.next()
    assert (call.call_type, call.code) == (EVENT, Code(c.MQCC_WARNING, c.MQRC_GET_ENABLED))
    assert consumer.next().data == b"later"


# --- starting, stopping, suspending


def test_control_calls_come_in_order_and_before_the_verb_returns(callbacks, connection, consumed):
    consumer = Callback()
    callbacks.cb(connection, consumed.hobj, consumer, Options=ALL_CALLS)
    assert consumer.types() == [c.MQCBCT_REGISTER_CALL]
    callbacks.ctl(connection, c.MQOP_START)
    assert consumer.types() == [c.MQCBCT_START_CALL]
    callbacks.ctl(connection, c.MQOP_SUSPEND)
    callbacks.ctl(connection, c.MQOP_RESUME)
    assert consumer.types() == []
    callbacks.ctl(connection, c.MQOP_STOP)
    assert consumer.types() == [c.MQCBCT_STOP_CALL]
    callbacks.ctl(connection, c.MQOP_STOP)
    assert consumer.types() == []
    assert callbacks.cb(connection, consumed.hobj, operation=c.MQOP_DEREGISTER) == OK
    assert consumer.types() == [c.MQCBCT_DEREGISTER_CALL]


def test_closing_the_handle_deregisters(callbacks, connection, consumed):
    consumer = Callback()
    callbacks.cb(connection, consumed.hobj, consumer, Options=ALL_CALLS)
    assert consumed.close() == OK
    # ibmmq puts the handle back where MQCBC says MQHO_UNUSABLE_HOBJ.
    assert consumer.types() == [c.MQCBCT_REGISTER_CALL, c.MQCBCT_DEREGISTER_CALL]
    assert callbacks.cb(connection, consumed.hobj, operation=c.MQOP_DEREGISTER) == failed(c.MQRC_HOBJ_ERROR)


def test_disconnecting_stops_and_deregisters(callbacks, connect, queue):
    connection = connect()
    consumer = Callback()
    handle = connection.open(queue, c.MQOO_INPUT_SHARED)
    callbacks.cb(connection, handle.hobj, consumer, Options=ALL_CALLS)
    callbacks.ctl(connection, c.MQOP_START)
    assert connection.disconnect() == OK
    types = [c.MQCBCT_REGISTER_CALL, c.MQCBCT_START_CALL, c.MQCBCT_STOP_CALL, c.MQCBCT_DEREGISTER_CALL]
    assert consumer.types() == types


def test_a_callback_stops_its_connection(callbacks, connection, consumed, queue):
    consumer = Callback(lambda call: call.call_type == REMOVED and callbacks.ctl(connection, c.MQOP_STOP))
    consumed.put(b"one")
    consumed.put(b"two")
    callbacks.cb(connection, consumed.hobj, consumer, Options=c.MQCBDO_STOP_CALL)
    callbacks.ctl(connection, c.MQOP_START)
    assert [consumer.next().call_type for _ in range(2)] == [REMOVED, c.MQCBCT_STOP_CALL]
    wait_until(lambda: connection.commit() == OK)
    assert connection.depth(queue) == 1


def test_a_callback_takes_its_stop_back(callbacks, connection, consumed):
    codes: list[Code] = []

    def stop_and_start(call):
        if call.data == b"one":
            codes.extend(callbacks.ctl(connection, operation) for operation in (c.MQOP_STOP, c.MQOP_START))

    consumer = Callback(stop_and_start)
    consumed.put(b"one")
    consumed.put(b"two")
    callbacks.cb(connection, consumed.hobj, consumer, Options=c.MQCBDO_STOP_CALL)
    callbacks.ctl(connection, c.MQOP_START)
    assert [consumer.next().data for _ in range(2)] == [b"one", b"two"]
    assert codes == [OK, OK]


def test_a_stop_in_the_start_call_fails_the_start(callbacks, connection, consumed):
    consumer = Callback(lambda call: call.call_type == c.MQCBCT_START_CALL and callbacks.ctl(connection, c.MQOP_STOP))
    callbacks.cb(connection, consumed.hobj, consumer, Options=c.MQCBDO_START_CALL)
    assert callbacks.ctl(connection, c.MQOP_START) == failed(c.MQRC_CONNECTION_STOPPED)
    assert connection.commit() == OK


def test_stopping_waits_for_the_callback_that_is_running(callbacks, connection, consumed, background):
    go_on = threading.Event()
    entered = threading.Event()
    left = []

    def linger(_):
        entered.set()
        go_on.wait(PATIENCE_S)
        left.append(True)

    callbacks.cb(connection, consumed.hobj, Callback(linger))
    consumed.put(b"")
    callbacks.ctl(connection, c.MQOP_START)
    assert entered.wait(PATIENCE_S)
    stopping = background(lambda: (callbacks.ctl(connection, c.MQOP_STOP), list(left)))
    assert not stopping.done()
    go_on.set()
    assert stopping.result(PATIENCE_S) == (OK, [True])


@table("operation", [c.MQOP_SUSPEND, c.MQOP_RESUME])
def test_what_is_stopped_is_neither_suspended_nor_resumed(callbacks, connection, consumed, operation):
    callbacks.cb(connection, consumed.hobj, Callback())
    assert callbacks.ctl(connection, operation) == NOT_ALLOWED


@table("operation", [c.MQOP_START, c.MQOP_START_WAIT])
def test_what_is_suspended_is_resumed_and_not_started(callbacks, connection, consumed, operation):
    callbacks.cb(connection, consumed.hobj, Callback())
    callbacks.ctl(connection, c.MQOP_START)
    callbacks.ctl(connection, c.MQOP_SUSPEND)
    assert callbacks.ctl(connection, operation) == NOT_ALLOWED


def test_one_thread_serves_from_start_to_stop(callbacks, connection, consumed, producer):
    consumer = Callback()
    callbacks.cb(connection, consumed.hobj, consumer, Options=c.MQCBDO_START_CALL | c.MQCBDO_STOP_CALL)
    callbacks.ctl(connection, c.MQOP_START, c.MQCTLO_THREAD_AFFINITY)
    callbacks.ctl(connection, c.MQOP_SUSPEND)
    producer.put(b"")
    callbacks.ctl(connection, c.MQOP_RESUME)
    calls = [consumer.next(), consumer.next()]
    callbacks.ctl(connection, c.MQOP_STOP)
    calls.append(consumer.next())
    assert [call.call_type for call in calls] == [c.MQCBCT_START_CALL, REMOVED, c.MQCBCT_STOP_CALL]
    assert len({call.thread for call in calls}) == 1


def test_start_wait_delivers_on_its_own_thread_until_stopped(callbacks, connection, consumed):
    consumer = Callback(lambda call: call.data == b"two" and callbacks.ctl(connection, c.MQOP_STOP))
    consumed.put(b"one")
    consumed.put(b"two")
    callbacks.cb(connection, consumed.hobj, consumer)
    assert callbacks.ctl(connection, c.MQOP_START_WAIT) == OK
    assert [consumer.next().thread for _ in range(2)] == [threading.get_ident()] * 2
    assert connection.commit() == OK


def test_start_wait_is_stopped_by_another_thread(callbacks, connection, consumed, background):
    callbacks.cb(connection, consumed.hobj, Callback())
    waiting = background(callbacks.ctl, connection, c.MQOP_START_WAIT)
    wait_until(lambda: connection.commit() == BUSY)
    assert callbacks.ctl(connection, c.MQOP_STOP) == OK
    assert waiting.result(PATIENCE_S) == OK


def test_start_wait_returns_when_suspended_and_resuming_blocks(callbacks, connection, consumed, background):
    callbacks.cb(connection, consumed.hobj, Callback())
    waiting = background(callbacks.ctl, connection, c.MQOP_START_WAIT)
    wait_until(lambda: connection.commit() == BUSY)
    assert callbacks.ctl(connection, c.MQOP_SUSPEND) == OK
    assert waiting.result(PATIENCE_S) == Code(c.MQCC_WARNING, c.MQRC_CONNECTION_SUSPENDED)
    waiting = background(callbacks.ctl, connection, c.MQOP_RESUME)
    wait_until(lambda: connection.commit() == BUSY)
    assert callbacks.ctl(connection, c.MQOP_STOP) == OK
    assert waiting.result(PATIENCE_S) == OK


def test_start_wait_ends_when_no_consumer_is_left(callbacks, connection, consumed):
    def deregister(call):
        if call.call_type == REMOVED:
            callbacks.cb(connection, consumed.hobj, operation=c.MQOP_DEREGISTER)

    consumer = Callback(deregister)
    consumed.put(b"")
    callbacks.cb(connection, consumed.hobj, consumer, Options=c.MQCBDO_STOP_CALL | c.MQCBDO_DEREGISTER_CALL)
    nobody = failed(c.MQRC_NO_CALLBACKS_ACTIVE)
    assert callbacks.ctl(connection, c.MQOP_START_WAIT) == nobody
    assert consumer.types() == [REMOVED, c.MQCBCT_STOP_CALL, c.MQCBCT_DEREGISTER_CALL]
    assert callbacks.ctl(connection, c.MQOP_START_WAIT) == nobody


def test_start_wait_is_not_for_callbacks(callbacks, connection, connect, consumed):
    codes: list[Code] = []
    other = connect()
    consumer = Callback(lambda _: codes.extend(callbacks.ctl(one, c.MQOP_START_WAIT) for one in (connection, other)))
    consumed.put(b"")
    callbacks.cb(connection, consumed.hobj, consumer)
    callbacks.ctl(connection, c.MQOP_START)
    consumer.next()
    assert codes == [failed(c.MQRC_ENVIRONMENT_ERROR)] * 2


# --- registering


def test_a_consumer_that_is_suspended_gets_nothing_until_it_is_resumed(callbacks, connection, consumed, producer):
    consumer = Callback()
    assert callbacks.cb(connection, consumed.hobj, consumer, c.MQOP_REGISTER | c.MQOP_SUSPEND) == OK
    callbacks.ctl(connection, c.MQOP_START)
    producer.put(b"left alone")
    assert producer.get(wait_ms=1).data == b"left alone"
    callbacks.ctl(connection, c.MQOP_SUSPEND)
    assert callbacks.cb(connection, consumed.hobj, operation=c.MQOP_RESUME) == OK
    callbacks.ctl(connection, c.MQOP_RESUME)
    producer.put(b"taken")
    assert consumer.next().data == b"taken"


def test_a_second_registration_replaces_without_any_call(callbacks, connection, consumed):
    first, second = Callback(), Callback()
    callbacks.cb(connection, consumed.hobj, first, Options=ALL_CALLS)
    assert callbacks.cb(connection, consumed.hobj, second, Options=ALL_CALLS) == OK
    assert first.types() == [c.MQCBCT_REGISTER_CALL]
    assert second.types() == []


def test_an_error_in_a_second_registration_takes_the_first_away(callbacks, connection, consumed):
    callbacks.cb(connection, consumed.hobj, Callback())
    assert callbacks.cb(connection, consumed.hobj, MaxMsgLength=-2) == failed(c.MQRC_MAX_MSG_LENGTH_ERROR)
    assert callbacks.cb(connection, consumed.hobj, operation=c.MQOP_SUSPEND) == failed(c.MQRC_CALLBACK_NOT_REGISTERED)


def test_a_consumer_registered_in_a_callback_is_started_when_that_returns(callbacks, connection, consumed, make_queue):
    other = connection.open(make_queue(), c.MQOO_INPUT_SHARED | c.MQOO_OUTPUT)
    other.put(b"other")
    second = Callback()
    first = Callback(lambda _: callbacks.cb(connection, other.hobj, second, Options=ALL_CALLS))
    consumed.put(b"")
    callbacks.cb(connection, consumed.hobj, first)
    callbacks.ctl(connection, c.MQOP_START)
    types = [second.next().call_type for _ in range(3)]
    assert types == [c.MQCBCT_REGISTER_CALL, c.MQCBCT_START_CALL, REMOVED]


@table(
    ("fields", "reason"),
    [
        ({"CallbackType": 3}, c.MQRC_CALLBACK_TYPE_ERROR),
        ({"Options": 2}, c.MQRC_CBD_OPTIONS_ERROR),
        ({"CallbackName": b"both"}, c.MQRC_CALLBACK_ROUTINE_ERROR),
        ({"MaxMsgLength": -2}, c.MQRC_MAX_MSG_LENGTH_ERROR),
        ({"Version": 2}, c.MQRC_CBD_ERROR),
    ],
)
def test_a_wrong_descriptor_is_refused(callbacks, connection, consumed, fields, reason):
    assert callbacks.cb(connection, consumed.hobj, Callback(), **fields) == failed(reason)


@table(
    ("options", "reason"),
    [
        (c.MQGMO_SET_SIGNAL, c.MQRC_OPTIONS_ERROR),
        (c.MQGMO_UNLOCK, c.MQRC_OPTIONS_ERROR),
        (c.MQGMO_BROWSE_FIRST | c.MQGMO_SYNCPOINT, c.MQRC_OPTIONS_ERROR),
        (
            c.MQGMO_BROWSE_FIRST | c.MQGMO_BROWSE_NEXT | c.MQGMO_MARK_BROWSE_HANDLE,
            c.MQRC_OPTIONS_ERROR,
        ),
    ],
)
def test_options_that_consumers_cannot_have_are_refused(callbacks, connection, consumed, options, reason):
    gmo = callbacks.gmo()
    gmo.Options = options
    assert callbacks.cb(connection, consumed.hobj, Callback(), gmo=gmo) == failed(reason)


def test_a_consumer_needs_a_handle_that_is_open_for_input(callbacks, connection, queue):
    out = connection.open(queue, c.MQOO_OUTPUT)
    assert callbacks.cb(connection, out.hobj, Callback()) == failed(c.MQRC_NOT_OPEN_FOR_INPUT)
    assert callbacks.cb(connection, 4711, Callback()) == failed(c.MQRC_HOBJ_ERROR)
    gmo = callbacks.gmo(c.MQGMO_BROWSE_NEXT)
    assert callbacks.cb(connection, out.hobj, Callback(), gmo=gmo) == failed(c.MQRC_NOT_OPEN_FOR_BROWSE)


@table("operation", [0, 1, c.MQOP_REGISTER | c.MQOP_DEREGISTER, c.MQOP_SUSPEND | c.MQOP_RESUME])
def test_an_operation_of_mqcb_that_there_is_not(callbacks, connection, consumed, operation):
    callbacks.cb(connection, consumed.hobj, Callback())
    assert callbacks.cb(connection, consumed.hobj, operation=operation) == failed(c.MQRC_OPERATION_ERROR)


@table("operation", [0, 3, c.MQOP_REGISTER])
def test_an_operation_of_mqctl_that_there_is_not(callbacks, connection, consumed, operation):
    callbacks.cb(connection, consumed.hobj, Callback())
    assert callbacks.ctl(connection, operation) == failed(c.MQRC_OPERATION_ERROR)


def test_starting_needs_a_consumer_and_options_that_there_are(callbacks, connection, consumed):
    assert callbacks.ctl(connection, c.MQOP_START) == failed(c.MQRC_OPERATION_ERROR)
    callbacks.cb(connection, consumed.hobj, Callback())
    assert callbacks.ctl(connection, c.MQOP_START, 2) == failed(c.MQRC_OPTIONS_ERROR)


def test_properties_come_in_a_message_handle_of_the_callback_s_own(callbacks, mqi, connection, consumed, producer):
    package = mqi.package
    given, comp, _ = mqi.c.MQCRTMH(connection.hconn, package.CMHO().pack())
    assert comp == c.MQCC_OK
    gmo = callbacks.gmo(c.MQGMO_PROPERTIES_IN_HANDLE, Version=4, MsgHandle=given)
    consumer = Callback()
    assert callbacks.cb(connection, consumed.hobj, consumer, gmo=gmo) == OK
    mqi.c.MQDLTMH(connection.hconn, given, package.DMHO().pack())
    callbacks.ctl(connection, c.MQOP_START)
    producer.put(b"with properties")
    call = consumer.next()
    assert call.data == b"with properties"
    assert call.gmo.MsgHandle not in (0, given)


# --- events


def test_a_lost_connection_is_told_to_everybody(callbacks, connect, own_queue_manager):
    queue_manager = own_queue_manager("QMC")
    connection = connect(to=queue_manager)
    handle = connection.open("TEST.BASE", c.MQOO_INPUT_SHARED)
    consumer, handler = Callback(), Callback()
    callbacks.cb(connection, handle.hobj, consumer, Options=c.MQCBDO_STOP_CALL)
    callbacks.events(connection, handler)
    callbacks.ctl(connection, c.MQOP_START)
    queue_manager.kill()
    broken = failed(c.MQRC_CONNECTION_BROKEN)
    event = handler.next()
    assert (event.call_type, event.code, event.state) == (EVENT, broken, c.MQCS_STOPPED)
    calls = [consumer.next(), consumer.next()]
    assert [(call.call_type, call.code) for call in calls] == [(EVENT, broken), (c.MQCBCT_STOP_CALL, broken)]
    # It is the callbacks' own until the last of them has returned.
    wait_until(lambda: connection.commit() == broken)


def test_a_queue_manager_that_quiesces_is_told(callbacks, connect, own_queue_manager):
    queue_manager = own_queue_manager("QMC")
    connection = connect(to=queue_manager)
    handles = [connection.open("TEST.BASE", c.MQOO_INPUT_SHARED) for _ in range(2)]
    fails, goes_on, handler = Callback(), Callback(), Callback()
    callbacks.cb(connection, handles[0].hobj, fails, gmo=callbacks.gmo(c.MQGMO_FAIL_IF_QUIESCING))
    callbacks.cb(connection, handles[1].hobj, goes_on)
    callbacks.events(connection, handler)
    callbacks.ctl(connection, c.MQOP_START)
    queue_manager.control.quiesce()
    quiescing = failed(c.MQRC_Q_MGR_QUIESCING)
    for callback in (handler, fails):
        call = callback.next()
        assert (call.call_type, call.code) == (EVENT, quiescing)
    connection.put1("TEST.BASE", b"")
    callbacks.ctl(connection, c.MQOP_SUSPEND)
    assert connection.put1("TEST.BASE", b"still").code == OK
    assert callbacks.ctl(connection, c.MQOP_RESUME, c.MQCTLO_FAIL_IF_QUIESCING) == quiescing
    refused = callbacks.cb(connection, handles[0].hobj, Callback(), Options=c.MQCBDO_FAIL_IF_QUIESCING)
    assert refused == quiescing
    callbacks.ctl(connection, c.MQOP_RESUME)
    assert goes_on.next().data == b"still"


def test_the_event_handler_alone_consumes_nothing(callbacks, connection):
    handler = Callback()
    assert callbacks.events(connection, handler, Options=c.MQCBDO_REGISTER_CALL | c.MQCBDO_DEREGISTER_CALL) == OK
    assert callbacks.ctl(connection, c.MQOP_START) == failed(c.MQRC_OPERATION_ERROR)
    assert callbacks.cb(connection, c.MQHO_NONE, operation=c.MQOP_DEREGISTER) == OK
    assert handler.types() == [c.MQCBCT_REGISTER_CALL, c.MQCBCT_DEREGISTER_CALL]


def test_a_message_whose_delivery_is_lost_returns_to_the_queue(callbacks, connect, own_queue_manager):
    queue_manager = own_queue_manager("QMC")
    other = connect(to=queue_manager)
    connection = connect(to=queue_manager)
    handle = connection.open("TEST.BASE", c.MQOO_INPUT_SHARED)
    consumer = Callback()
    callbacks.cb(connection, handle.hobj, consumer, gmo=callbacks.gmo(c.MQGMO_SYNCPOINT))
    other.put1("TEST.BASE", b"kept")
    # The first CALLBACK finds that nothing is owed at the start, the second the message.
    queue_manager.arm(Fault("drop", "after", verb="CALLBACK", nth=2))
    callbacks.ctl(connection, c.MQOP_START)
    assert consumer.next().code == failed(c.MQRC_CONNECTION_BROKEN)
    wait_until(lambda: [answer.data for answer in other.browse("TEST.BASE")] == [b"kept"])


# --- processes


def test_a_forked_child_has_no_part_in_it(callbacks, connection, consumed, producer):
    consumer = Callback()
    callbacks.cb(connection, consumed.hobj, consumer)
    callbacks.ctl(connection, c.MQOP_START)
    child = os.fork()
    if not child:
        os._exit(connection.commit() != failed(c.MQRC_ENVIRONMENT_ERROR))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    producer.put(b"for the parent")
    assert consumer.next().data == b"for the parent"


# A program that ends while it is started, one way or the other.
PROGRAM = """
import sys, threading
import ibmmq
from ibmmq import CMQC

seen = threading.Event()

def called(**arguments):
    if arguments["msg"]:
        print(arguments["msg"].decode(), arguments["cbc"].CallbackArea.decode(), arguments["cbc"].ConnectionArea.decode())
        seen.set()

q_mgr = ibmmq.connect(sys.argv[2])
queue = ibmmq.Queue(q_mgr, sys.argv[1], CMQC.MQOO_INPUT_SHARED | CMQC.MQOO_OUTPUT)
queue.put(b"hello")
queue.cb(cbd=ibmmq.CBD(CallbackFunction=called, CallbackArea=b"area"))
q_mgr.ctl(CMQC.MQOP_START, ibmmq.CTLO(ConnectionArea=b"whole"))
assert seen.wait(30)
if sys.argv[3] == "disconnect":
    q_mgr.disconnect()
"""


@pytest.mark.parametrize("how", ["disconnect", "leave"])
def test_a_program_ends_while_messages_are_consumed(mq, queue, how):
    # ibmmq's OpenTelemetry hook deletes a message handle of its own, which has to be refused while the connection is started.
    environment = {**os.environ, **mq.queue_manager.environment(), "MQIPY_NOOTEL": "1"}
    command = [sys.executable, "-c", PROGRAM, queue, mq.q_mgr_name, how]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    assert (done.returncode, done.stdout, done.stderr) == (0, "hello area whole\n", "")
