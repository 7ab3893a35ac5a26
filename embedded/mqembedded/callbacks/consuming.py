"""MQCB and MQCTL, which register, start and stop callbacks. ``dispatching.py`` chooses the next callback.

Sources: IBM MQ, "MQCB", "MQCTL", "MQCBD", "MQCTLO", and the pages of the reason codes. Unverified: the reason code that is
returned if several apply. Comments below mark other points that are unverified.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import replace

from mqembedded import constants as mq
from mqembedded.answer import Answer, Failed
from mqembedded.callbacks.consumption import Callback, Consumption, Context, State
from mqembedded.calls import opening
from mqembedded.calls.get_call import Get
from mqembedded.connection import Connection
from mqembedded.properties.message_handle import MessageHandle
from mqembedded.queue_manager import QueueManager
from mqembedded.wire.structures import (
    GetMessageOptions,
    SearchDescriptor,
    StructureError,
    text_field,
    version_of,
)
from mqembedded.wire.verbs import STRUCTURE_LENGTHS

_CBD_OPTIONS = (
    mq.MQCBDO_START_CALL
    | mq.MQCBDO_STOP_CALL
    | mq.MQCBDO_REGISTER_CALL
    | mq.MQCBDO_DEREGISTER_CALL
    | mq.MQCBDO_FAIL_IF_QUIESCING
    | mq.MQCBDO_EVENT_CALL
    | mq.MQCBDO_MC_EVENT_CALL
)
_OPERATIONS = {
    mq.MQOP_REGISTER,
    mq.MQOP_REGISTER | mq.MQOP_SUSPEND,
    mq.MQOP_REGISTER | mq.MQOP_RESUME,
    mq.MQOP_DEREGISTER,
    mq.MQOP_SUSPEND,
    mq.MQOP_RESUME,
}
_MARKS = mq.MQGMO_MARK_BROWSE_HANDLE | mq.MQGMO_MARK_BROWSE_CO_OP
_FROM_THE_FIRST_ON = mq.MQGMO_BROWSE_FIRST | mq.MQGMO_BROWSE_NEXT
# MQMD_DEFAULT and MQGMO_DEFAULT of IBM's C header. Unverified: MQGMO_DEFAULT has MQGMO_FAIL_IF_QUIESCING here.
_DEFAULT_MD = struct.pack("<4siiiiiiii8sii", b"MD  ", 1, 0, 8, -1, 0, mq.MQENC_NATIVE, 0, 0, b" " * 8, -1, 2).ljust(
    324, b"\0"
)
_DEFAULT_GMO = struct.pack("<4sii", b"GMO ", 1, mq.MQGMO_FAIL_IF_QUIESCING).ljust(72, b"\0")
_GMO_LENGTH = STRUCTURE_LENGTHS["MQGMO"][4]


# --- MQCB


def manage(
    q_mgr: QueueManager, connection: Connection, operation: int, cbd: bytes, hobj: int, md: bytes, gmo: bytes
) -> Answer:
    """Carry out MQCB. Even after a failure, the answer has the object handle and a flag (1 if this handle has a callback)."""
    reason = mq.MQRC_NONE
    with q_mgr.lock:
        callbacks = Consumption.of(connection).callbacks
        try:
            if _callback_type(cbd) == mq.MQCBT_EVENT_HANDLER:
                hobj = mq.MQHO_NONE
            if operation not in _OPERATIONS:
                raise Failed(mq.MQRC_OPERATION_ERROR)
            if operation & mq.MQOP_REGISTER:
                _register(q_mgr, connection, operation, cbd, hobj, md, gmo)
            else:
                _change(connection, operation, hobj)
        except Failed as failed:
            reason = failed.reason
        return mq.MQCC_FAILED if reason else mq.MQCC_OK, reason, [hobj, int(hobj in callbacks)]


def _callback_type(cbd: bytes) -> int:
    if 0 < len(cbd) < STRUCTURE_LENGTHS["MQCBD"][1]:
        raise Failed(mq.MQRC_CBD_ERROR)
    return struct.unpack_from("<i", cbd, 8)[0] if cbd else mq.MQCBT_MESSAGE_CONSUMER


def _change(connection: Connection, operation: int, hobj: int) -> None:
    """Carry out MQOP_DEREGISTER, MQOP_SUSPEND or MQOP_RESUME."""
    consumption = Consumption.of(connection)
    if hobj != mq.MQHO_NONE:
        connection.handle(hobj)
    callback = consumption.callbacks.get(hobj)
    if callback is None:
        raise Failed(mq.MQRC_CALLBACK_NOT_REGISTERED)
    if operation == mq.MQOP_DEREGISTER:
        deregister(connection, hobj)
    elif operation == mq.MQOP_SUSPEND:
        callback.state = mq.MQCS_SUSPENDED
    else:
        callback.begins()


def deregister(connection: Connection, hobj: int, *, closed: bool = False) -> None:
    """Remove a callback, either because of MQCB or because the object handle is ``closed``."""
    _forget_message_handle(connection, Consumption.of(connection).callbacks[hobj])
    Consumption.of(connection).deregister(hobj, closed=closed)


def _forget_message_handle(connection: Connection, callback: Callback) -> None:
    if callback.gmo:
        connection.message_handles.pop(GetMessageOptions.read(callback.gmo).msg_handle, None)


def _register(
    q_mgr: QueueManager, connection: Connection, operation: int, cbd: bytes, hobj: int, md: bytes, gmo: bytes
) -> None:
    """Carry out MQOP_REGISTER. The new callback replaces an old one without a control call. An error deregisters the old one."""
    consumption = Consumption.of(connection)
    before = consumption.callbacks.get(hobj)
    try:
        made = _callback(q_mgr, connection, cbd, hobj, md, gmo)
    except Failed:
        if before is not None:
            deregister(connection, hobj)
        raise
    if operation & mq.MQOP_SUSPEND:
        made.state = mq.MQCS_SUSPENDED
    if before is not None:
        _forget_message_handle(connection, before)
        state = before.state if operation == mq.MQOP_REGISTER else made.state
        made = replace(made, state=state)
    consumption.callbacks[hobj] = made
    if before is None:
        consumption.owe(made, mq.MQCBDO_REGISTER_CALL, Context(mq.MQCBCT_REGISTER_CALL))
        if consumption.state is not State.STOPPED and not made.handles_events:
            consumption.owe(made, mq.MQCBDO_START_CALL, Context(mq.MQCBCT_START_CALL))


def _callback(q_mgr: QueueManager, connection: Connection, cbd: bytes, hobj: int, md: bytes, gmo: bytes) -> Callback:
    """Check the arguments of MQOP_REGISTER, and return the new callback."""
    try:
        version_of(cbd, b"CBD ", "MQCBD")
    except StructureError as error:
        raise Failed(mq.MQRC_CBD_ERROR) from error
    kind, options, function, name, max_msg_length = struct.unpack_from("<ii8xq128si", cbd, 8)
    if kind not in (mq.MQCBT_MESSAGE_CONSUMER, mq.MQCBT_EVENT_HANDLER):
        raise Failed(mq.MQRC_CALLBACK_TYPE_ERROR)
    if options & ~_CBD_OPTIONS:
        raise Failed(mq.MQRC_CBD_OPTIONS_ERROR)
    named = bool(text_field(name))
    if named == bool(function):
        # The caller must give either a function or a name (IBM MQ, "MQCBD").
        raise Failed(mq.MQRC_CALLBACK_ROUTINE_ERROR)
    if named:
        # Functions by name are not supported.
        raise Failed(mq.MQRC_MODULE_NOT_FOUND)
    if max_msg_length < mq.MQCBD_FULL_MSG_LENGTH:
        raise Failed(mq.MQRC_MAX_MSG_LENGTH_ERROR)
    q_mgr.fail_if_quiescing(connection, options & mq.MQCBDO_FAIL_IF_QUIESCING)
    if kind == mq.MQCBT_EVENT_HANDLER:
        return Callback(hobj, options)
    longest = connection.max_msg_length if max_msg_length == mq.MQCBD_FULL_MSG_LENGTH else max_msg_length
    callback = Callback(hobj, options, longest, md or _DEFAULT_MD, gmo or _DEFAULT_GMO)
    return _checked(q_mgr, connection, callback)


def _checked(q_mgr: QueueManager, connection: Connection, callback: Callback) -> Callback:
    """Check MQMD and MQGMO as MQGET does, and return the callback with an MQGMO of the version that callbacks get."""
    connection.queue_handle(callback.hobj)
    try:
        gmo = GetMessageOptions.read(callback.gmo)
    except StructureError as error:
        raise Failed(mq.MQRC_GMO_ERROR) from error
    wants_first_and_next = gmo.options & _FROM_THE_FIRST_ON == _FROM_THE_FIRST_ON
    # MQGMO_UNLOCK gets no message, so there is nothing to consume. This is unverified.
    if gmo.options & (mq.MQGMO_SET_SIGNAL | mq.MQGMO_UNLOCK) or (wants_first_and_next and gmo.options & _MARKS):
        raise Failed(mq.MQRC_OPTIONS_ERROR)
    call = get_for(q_mgr, connection, callback)
    whole = callback.gmo[:4] + struct.pack("<i", 4) + callback.gmo[8:]
    if gmo.version == 1:
        whole += struct.pack("<i", gmo.match_options) + b" " * 4
    whole = whole.ljust(_GMO_LENGTH, b"\0")
    if call.message_handle is not None:
        # This handle is a copy, because the application can delete its own handle.
        copy = MessageHandle(q_mgr.new_handle_number(), validates=call.message_handle.validates)
        connection.message_handles[copy.hmsg] = copy
        whole = whole[:104] + struct.pack("<q", copy.hmsg)
    return replace(callback, gmo=whole)


def get_for(q_mgr: QueueManager, connection: Connection, callback: Callback) -> Get:
    """Return the MQGET for the consumer's next message; raise Failed if MQGET refuses the options."""
    gmo = GetMessageOptions.read(callback.gmo)
    if gmo.options & _FROM_THE_FIRST_ON == _FROM_THE_FIRST_ON:
        # The browse begins at the start of the queue only once, and then continues. This is unverified.
        not_now = mq.MQGMO_BROWSE_FIRST if callback.browsed else mq.MQGMO_BROWSE_NEXT
        gmo = replace(gmo, options=gmo.options & ~not_now)
    try:
        md = SearchDescriptor(callback.md)
    except StructureError as error:
        raise Failed(mq.MQRC_MD_ERROR) from error
    return Get(q_mgr, connection, callback.hobj, md, gmo, callback.max_msg_length)


def close_object(q_mgr: QueueManager, connection: Connection, hobj: int, options: int) -> Answer:
    """Carry out MQCLOSE, and deregister the handle's consumer."""
    with q_mgr.lock:
        answer = opening.close_object(q_mgr, connection, hobj, options)
        if hobj in Consumption.of(connection).callbacks:
            deregister(connection, hobj, closed=True)
    return answer


# --- MQCTL


def control(q_mgr: QueueManager, connection: Connection, operation: int, ctlo: bytes, in_callback: int) -> Answer:
    """Carry out MQCTL. The C library first waits until no callback runs, except if a callback itself makes the call."""
    try:
        version_of(ctlo, b"CTLO", "MQCTLO")
    except StructureError as error:
        raise Failed(mq.MQRC_CTLO_ERROR) from error
    (options,) = struct.unpack_from("<i", ctlo, 8)
    if options & ~(mq.MQCTLO_FAIL_IF_QUIESCING | mq.MQCTLO_THREAD_AFFINITY):
        raise Failed(mq.MQRC_OPTIONS_ERROR)
    perform = _CONTROLS.get(operation)
    if perform is None:
        raise Failed(mq.MQRC_OPERATION_ERROR)
    with q_mgr.lock:
        q_mgr.fail_if_quiescing(connection, options & mq.MQCTLO_FAIL_IF_QUIESCING)
        consumption = Consumption.of(connection)
        before = consumption.state
        perform(consumption, bool(in_callback))
        if before is State.STOPPED and consumption.state is State.STARTED and not in_callback:
            consumption.begin()
    return mq.MQCC_OK, mq.MQRC_NONE, []


def _start(consumption: Consumption, in_callback: bool) -> None:
    if in_callback:
        # In a callback, MQOP_START can only undo an MQOP_STOP that the same callback has made.
        if consumption.state is State.SUSPENDED:
            raise Failed(mq.MQRC_OPERATION_NOT_ALLOWED)
        consumption.begin_again()
        return
    if consumption.state is State.STARTED:
        raise Failed(mq.MQRC_HCONN_ASYNC_ACTIVE)
    if consumption.state is State.SUSPENDED:
        raise Failed(mq.MQRC_OPERATION_NOT_ALLOWED)
    if not consumption.consumers:
        raise Failed(mq.MQRC_OPERATION_ERROR)
    consumption.state, consumption.waits = State.STARTED, False


def _start_wait(consumption: Consumption, _in_callback: bool) -> None:
    if consumption.state is not State.STOPPED:
        raise Failed(mq.MQRC_OPERATION_NOT_ALLOWED)
    if not any(one.active for one in consumption.consumers):
        raise Failed(mq.MQRC_NO_CALLBACKS_ACTIVE)
    consumption.state, consumption.waits = State.STARTED, True


def _stop(consumption: Consumption, _in_callback: bool) -> None:
    consumption.end()


def _suspend(consumption: Consumption, _in_callback: bool) -> None:
    if consumption.state is State.STOPPED:
        raise Failed(mq.MQRC_OPERATION_NOT_ALLOWED)
    consumption.state = State.SUSPENDED


def _resume(consumption: Consumption, in_callback: bool) -> None:
    if consumption.state is State.STOPPED:
        raise Failed(mq.MQRC_OPERATION_NOT_ALLOWED)
    if consumption.state is State.STARTED and not in_callback:
        raise Failed(mq.MQRC_HCONN_ASYNC_ACTIVE)
    consumption.state = State.STARTED


_CONTROLS: dict[int, Callable[[Consumption, bool], None]] = {
    mq.MQOP_START: _start,
    mq.MQOP_START_WAIT: _start_wait,
    mq.MQOP_STOP: _stop,
    mq.MQOP_SUSPEND: _suspend,
    mq.MQOP_RESUME: _resume,
}
