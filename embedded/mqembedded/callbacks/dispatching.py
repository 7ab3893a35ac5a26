"""The verb CALLBACK: the next callback of a connection, with its message or event.

A thread of the C library sends CALLBACK, and then calls the program's function. This module decides which callback is next. It
gets messages as MQGET does, for one consumer after another. A consumer that has got a message is then last in line.

Sources: IBM MQ, "MQCB", "CallType", "State", "DataLength". Unverified: the effect of a consumer's wait options.
Also unverified: a message that is too long stays on the queue and is delivered again and again (MQRC_TRUNCATED_MSG_FAILED).
"""

from __future__ import annotations

import enum
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from mqembedded import constants as mq
from mqembedded.answer import Answer, Failed, Interrupted
from mqembedded.callbacks.consuming import deregister, get_for
from mqembedded.callbacks.consumption import Callback, Consumption, Context, State
from mqembedded.calls.get_call import Get
from mqembedded.connection import Connection
from mqembedded.messages.queue import Message, Queue
from mqembedded.messages.waiting import Turn, WaitingCall, Wanted
from mqembedded.queue_manager import QueueManager


class Asked(enum.IntEnum):
    """The kind of callback that CALLBACK asks for. ``consumption.h`` has the same values."""

    OWED = 0
    NEXT = 1
    DEREGISTERED = 2


# A consumer's state after a failure with this reason code (unverified). All other reason codes suspend the consumer.
_STATES = {
    mq.MQRC_NO_MSG_AVAILABLE: mq.MQCS_NONE,
    mq.MQRC_GET_INHIBITED: mq.MQCS_SUSPENDED_TEMPORARY,
    mq.MQRC_SYNCPOINT_LIMIT_REACHED: mq.MQCS_SUSPENDED_USER_ACTION,
    mq.MQRC_Q_MGR_QUIESCING: mq.MQCS_STOPPED,
}


def next_callback(q_mgr: QueueManager, connection: Connection, asked: int) -> Answer:
    """Return the next callback, or an answer without a callback.

    With ``Asked.NEXT``, the function waits until there is a message or an event, or until the verb WAKE comes.

    Raises:
        Failed: MQRC_NO_CALLBACKS_ACTIVE, which ends MQOP_START_WAIT.
    """
    consumption, waiter = Consumption.of(connection), connection.waiter
    watched: set[Queue] = set()
    waiting: WaitingCall[_Next] | None = None
    try:
        while True:
            with q_mgr.lock:
                if asked == Asked.DEREGISTERED:
                    for hobj in list(consumption.callbacks):
                        deregister(connection, hobj)
                elif asked == Asked.NEXT and consumption.waits and not any(one.active for one in consumption.consumers):
                    consumption.end()
                if waiting is not None:
                    _stop_watching(watched, waiting)
                    if isinstance(waiting.outcome, _Next):
                        return waiting.outcome.answer()
                    waiting = None
                if consumption.owed:
                    hobj, cbc = consumption.owed.popleft()
                    return _call(hobj, cbc)
                if asked != Asked.NEXT or consumption.woken:
                    consumption.woken = False
                    return _call(mq.MQHO_UNUSABLE_HOBJ)
                if consumption.state is State.STOPPED:
                    raise Failed(mq.MQRC_NO_CALLBACKS_ACTIVE)
                found = _quiescing(q_mgr, connection) or _look(q_mgr, connection)
                if found is None:
                    # The lock is still the same, so that no message arrives between looking and waiting.
                    waiting = WaitingCall(Turn.GENERAL, partial(_look, q_mgr, connection), waiter.wake)
                    watched = _watch(q_mgr, connection, waiting)
            if found is not None:
                return found.answer()
            waiter.wait(_shortest_wait_s(consumption))
    except Interrupted:
        with q_mgr.lock:
            if waiting is not None:
                _stop_watching(watched, waiting)
        if waiting is not None and isinstance(waiting.outcome, _Next):
            # The callback was found before WAKE came.
            return waiting.outcome.answer()
        return _call(mq.MQHO_UNUSABLE_HOBJ)
    except BaseException:
        # The application is probably gone, so another application must get the message.
        with q_mgr.lock:
            if waiting is not None:
                _stop_watching(watched, waiting)
                if isinstance(waiting.outcome, _Next):
                    waiting.outcome.give_back()
        raise


@dataclass(frozen=True, slots=True)
class _Next:
    """A callback that is due. Call ``answer`` without the lock to build the answer, or ``give_back`` to undo the get."""

    answer: Callable[[], Answer]
    give_back: Callable[[], None] = lambda: None


def _call(hobj: int, cbc: bytes = b"", md: object = b"", gmo: object = b"", data: object = b"") -> Answer:
    return mq.MQCC_OK, mq.MQRC_NONE, [hobj, cbc, md, gmo, data]


def _watch(q_mgr: QueueManager, connection: Connection, waiting: WaitingCall[_Next]) -> set[Queue]:
    """Let a call wait at the queues of all active consumers, and return these queues.

    A temporarily suspended consumer does not wait for messages, but for the change that ends the suspension.
    """
    wanted: dict[Queue, list[Wanted]] = {}
    for one in Consumption.of(connection).consumers:
        if one.active:
            call = get_for(q_mgr, connection, one)
            of_queue = wanted.setdefault(call.queue, [])
            if one.state == mq.MQCS_NONE:
                of_queue.append(call.wanted(Turn.GENERAL))
    for queue, of_queue in wanted.items():
        queue.waiting.add(waiting, *of_queue)
    return set(wanted)


def _stop_watching(queues: set[Queue], waiting: WaitingCall[_Next]) -> None:
    for queue in queues:
        queue.waiting.discard(waiting)


def _shortest_wait_s(consumption: Consumption) -> float | None:
    due = [one.due_s for one in consumption.consumers if one.active and one.due_s is not None]
    return max(0.0, min(due) - time.monotonic()) if due else None


def _event(consumption: Consumption, callback: Callback, reason: int, comp: int = mq.MQCC_FAILED) -> _Next:
    cbc = consumption.packed(callback, Context(mq.MQCBCT_EVENT_CALL, comp, reason, callback.state))
    return _Next(lambda: _call(callback.hobj, cbc))


def _quiescing(q_mgr: QueueManager, connection: Connection) -> _Next | None:
    """Return the quiescing event for the event handler, but only once. A suspended event handler never gets this event."""
    consumption, reason = Consumption.of(connection), q_mgr.why_quiescing(connection)
    if not reason or consumption.told_quiescing:
        return None
    consumption.told_quiescing = True
    handler = consumption.callbacks.get(mq.MQHO_NONE)
    if handler is None or handler.state != mq.MQCS_NONE:
        return None
    return _event(consumption, handler, reason)


def _look(q_mgr: QueueManager, connection: Connection) -> _Next | None:
    """Look once for a message or an event for any consumer; return the callback, or None. The caller holds the lock."""
    consumption = Consumption.of(connection)
    for one in consumption.consumers:
        if not one.active:
            continue
        try:
            call = get_for(q_mgr, connection, one)
            if one.state == mq.MQCS_SUSPENDED_TEMPORARY:
                if call.inhibited:
                    continue
                one.begins()
                return _event(consumption, one, mq.MQRC_GET_ENABLED, mq.MQCC_WARNING)
            found = call.attempt()
        except Failed as failed:
            return _failed(consumption, one, failed)
        if found is not None:
            one.due_s, one.tells_empty, one.browsed = None, True, True
            consumption.callbacks[one.hobj] = consumption.callbacks.pop(one.hobj)
            return _Next(partial(_deliver, q_mgr, consumption, one, call, found), partial(call.give_back, *found))
        if call.gmo.options & mq.MQGMO_WAIT and _is_due(one, call.gmo.wait_interval_ms):
            return _event(consumption, one, mq.MQRC_NO_MSG_AVAILABLE)
    return None


def _failed(consumption: Consumption, callback: Callback, failed: Failed) -> _Next:
    callback.state = _STATES.get(failed.reason, mq.MQCS_SUSPENDED)
    return _event(consumption, callback, failed.reason)


def _is_due(callback: Callback, interval_ms: int) -> bool:
    """Return whether a waiting consumer must now get a call that reports that there is no message.

    A consumer gets this call after each wait interval. With an interval of 0, it gets the call once after the start and once
    after each message. With an unlimited interval, it never gets the call.
    """
    if interval_ms == mq.MQWI_UNLIMITED:
        return False
    if interval_ms == 0:
        due, callback.tells_empty = callback.tells_empty, False
        return due
    now = time.monotonic()
    if callback.due_s is None:
        callback.due_s = now + interval_ms / 1000
    if now < callback.due_s:
        return False
    callback.due_s = None
    return True


def _deliver(
    q_mgr: QueueManager, consumption: Consumption, callback: Callback, call: Get, found: tuple[list[Message], Answer]
) -> Answer:
    """If the message was got outside syncpoint, write its removal to the disk. Return the answer with callback and message."""
    try:
        comp, reason, (md, gmo, length, data) = call.finish(found)
    except Failed as failed:
        with q_mgr.lock:
            event = _failed(consumption, callback, failed)
        return event.answer()
    assert isinstance(length, int)
    assert isinstance(data, bytes)
    stays = call.browses or reason == mq.MQRC_TRUNCATED_MSG_FAILED
    call_type = mq.MQCBCT_MSG_NOT_REMOVED if stays else mq.MQCBCT_MSG_REMOVED
    context = Context(call_type, comp, reason, data_length=length, buffer_length=len(data))
    return _call(callback.hobj, consumption.packed(callback, context), md, gmo, data)
