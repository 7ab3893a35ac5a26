"""MQGET. If a call with MQGMO_WAIT finds no message, it looks again each time the queue changes.

``get_call.py`` finds the message. ``messages/waiting.py`` decides which waiting call looks first.
"""

from __future__ import annotations

import math
import time

from mqembedded import constants as mq
from mqembedded.answer import Answer, Failed
from mqembedded.calls.get_call import Found, Get
from mqembedded.calls.get_options import (
    UNDER_CURSOR,
    check_get_options,
)
from mqembedded.connection import Connection
from mqembedded.messages.waiting import WaitingCall
from mqembedded.queue_manager import QueueManager
from mqembedded.wire.structures import (
    GetMessageOptions,
    SearchDescriptor,
    StructureError,
)


def get(
    q_mgr: QueueManager, connection: Connection, hobj: int, md_raw: bytes, gmo_raw: bytes, buffer_length: int
) -> Answer:
    """Carry out MQGET (IBM MQ, "MQGET")."""
    try:
        gmo = GetMessageOptions.read(gmo_raw)
    except StructureError as error:
        raise Failed(mq.MQRC_GMO_ERROR) from error
    if gmo.options & mq.MQGMO_UNLOCK:
        return _unlock(q_mgr, connection, hobj, gmo)
    try:
        md = SearchDescriptor(md_raw)
    except StructureError as error:
        raise Failed(mq.MQRC_MD_ERROR) from error
    call = Get(q_mgr, connection, hobj, md, gmo, buffer_length)
    waits = gmo.options & mq.MQGMO_WAIT and not gmo.options & UNDER_CURSOR
    with q_mgr.lock:
        found = call.attempt()
        if found is None:
            if not waits:
                raise Failed(mq.MQRC_NO_MSG_AVAILABLE)
            # The lock is still the same, so that no message arrives between looking and waiting.
            waiting = WaitingCall(call.turn(), call.attempt, connection.waiter.wake)
            call.begin_wait(waiting)
    return call.finish(_wait(call, waiting) if found is None else found)


def _wait(call: Get, waiting: WaitingCall[Found]) -> Found:
    """Wait for a message within the wait interval, and return what the call finds. Raises Failed or ConnectionGone."""
    interval_ms = call.gmo.wait_interval_ms
    deadline_s = math.inf if interval_ms == mq.MQWI_UNLIMITED else time.monotonic() + interval_ms / 1000
    try:
        while waiting.outcome is None and (now_s := time.monotonic()) < deadline_s:
            until_s = min(deadline_s, call.next_expiry_of_marks_s())
            call.connection.waiter.wait(None if until_s == math.inf else max(0.0, until_s - now_s))
            if until_s < deadline_s and time.monotonic() >= until_s:
                with call.q_mgr.lock:
                    call.queue.wake()
    except BaseException:
        # The application is probably gone, so another application's call must get the message.
        with call.q_mgr.lock:
            call.end_wait(waiting)
            if isinstance(waiting.outcome, tuple):
                call.give_back(*waiting.outcome)
        raise
    with call.q_mgr.lock:
        call.end_wait(waiting)
    if waiting.outcome is None:
        raise Failed(mq.MQRC_NO_MSG_AVAILABLE)
    if isinstance(waiting.outcome, Exception):
        raise waiting.outcome
    return waiting.outcome


def _unlock(q_mgr: QueueManager, connection: Connection, hobj: int, gmo: GetMessageOptions) -> Answer:
    """Carry out MQGMO_UNLOCK: check the options, unlock, and return no message."""
    with q_mgr.lock:
        handle, _ = connection.queue_handle(hobj)
        check_get_options(gmo.options)
        reason = mq.MQRC_NONE if handle.unlock() else mq.MQRC_NO_MSG_LOCKED
    return mq.MQCC_WARNING if reason else mq.MQCC_OK, reason, [b"", gmo.raw, 0, b""]
