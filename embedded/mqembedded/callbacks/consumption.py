"""The state of asynchronous consumption: a connection's callbacks, the control calls that they must still get, and MQCTL's state.

MQCTL stops, starts or suspends a connection. A callback that MQCB has registered gets two kinds of calls. Control calls report
that the callback was registered, started, stopped or deregistered. They are *owed*: they wait in a queue, and are made before any
other call. The other calls deliver messages and events while the connection is started. ``consuming.py`` has the verbs.

Sources: IBM MQ, "MQCB", "MQCTL", "MQCBC", "CallType", "State".
"""

from __future__ import annotations

import enum
import struct
from collections import deque
from dataclasses import dataclass, field

from mqembedded import constants as mq
from mqembedded.connection import Connection

_MQCBC = struct.Struct("<4siiiqqiiiiiiii")


class State(enum.Enum):
    """The state that the last MQCTL has set."""

    STOPPED = "stopped"
    STARTED = "started"
    SUSPENDED = "suspended"


@dataclass(slots=True)
class Callback:
    """A message consumer or the event handler. The event handler's ``hobj`` is MQHO_NONE.

    Attributes:
        max_msg_length: the maximum length in bytes of the message data in a call. It is never MQCBD_FULL_MSG_LENGTH.
        state: the MQCS_* value. In all states except MQCS_NONE and MQCS_SUSPENDED_TEMPORARY, no messages come until MQOP_RESUME.
        due_s: the time when the current wait interval ends, or None if no interval has begun.
        tells_empty: whether a consumer with a wait interval of 0 must still get a call that reports that there is no message.
        browsed: whether the browse has begun with MQGMO_BROWSE_FIRST. It then continues with MQGMO_BROWSE_NEXT.
    """

    hobj: int
    options: int
    max_msg_length: int = 0
    md: bytes = b""
    gmo: bytes = b""
    state: int = mq.MQCS_NONE
    due_s: float | None = None
    tells_empty: bool = True
    browsed: bool = False

    @property
    def handles_events(self) -> bool:
        """Whether this is the event handler."""
        return self.hobj == mq.MQHO_NONE

    @property
    def active(self) -> bool:
        """Whether this is a message consumer that is not suspended."""
        return not self.handles_events and self.state in (mq.MQCS_NONE, mq.MQCS_SUSPENDED_TEMPORARY)

    def begins(self) -> None:
        """Set the state of a consumer that begins to take messages."""
        self.state, self.due_s, self.tells_empty, self.browsed = mq.MQCS_NONE, None, True, False


@dataclass(frozen=True, slots=True)
class Context:
    """The fields of MQCBC that differ from call to call."""

    call_type: int
    comp: int = mq.MQCC_OK
    reason: int = mq.MQRC_NONE
    state: int = mq.MQCS_NONE
    data_length: int = 0
    buffer_length: int = 0


@dataclass(slots=True)
class Consumption:
    """A connection's asynchronous consumption. Consumers look for messages in the order of ``callbacks``."""

    state: State = State.STOPPED
    waits: bool = False
    woken: bool = False
    told_quiescing: bool = False
    callbacks: dict[int, Callback] = field(default_factory=dict)
    owed: deque[tuple[int, bytes]] = field(default_factory=deque)

    @classmethod
    def of(cls, connection: Connection) -> Consumption:
        """Return a connection's asynchronous consumption."""
        return connection.parts.get_or_make(cls)

    @property
    def consumers(self) -> list[Callback]:
        """The connection's message consumers."""
        return [one for one in self.callbacks.values() if not one.handles_events]

    def packed(self, callback: Callback, context: Context, *, closed: bool = False) -> bytes:
        """Return a version 2 MQCBC for a call. The C library fills in CallbackArea and ConnectionArea.

        If the object handle is closed, the MQCBC has MQHO_UNUSABLE_HOBJ instead of the handle.
        """
        hobj = mq.MQHO_UNUSABLE_HOBJ if closed else callback.hobj
        codes = (context.comp, context.reason, context.state, context.data_length, context.buffer_length)
        return _MQCBC.pack(b"CBC ", 2, context.call_type, hobj, 0, 0, *codes, 0, 0, 0)

    def owe(self, callback: Callback, option: int, context: Context, *, closed: bool = False) -> None:
        """Queue a control call, if the callback has asked for this kind of call."""
        if callback.options & option:
            self.owed.append((callback.hobj, self.packed(callback, context, closed=closed)))

    def begin(self) -> None:
        """Carry out MQOP_START: queue a START call for each consumer. These calls come before messages."""
        self.state = State.STARTED
        for one in self.consumers:
            if one.active:
                one.begins()
            self.owe(one, mq.MQCBDO_START_CALL, Context(mq.MQCBCT_START_CALL))

    def end(self) -> None:
        """Carry out MQOP_STOP: queue a STOP call for each consumer. The State of the calls, MQCS_STOPPED, is unverified."""
        if self.state is not State.STOPPED:
            self.state = State.STOPPED
            for one in self.consumers:
                self._owe_stop(one)

    def _owe_stop(self, callback: Callback) -> None:
        self.owe(callback, mq.MQCBDO_STOP_CALL, Context(mq.MQCBCT_STOP_CALL, state=mq.MQCS_STOPPED))

    def begin_again(self) -> None:
        """Carry out MQOP_START from a callback that has itself made an MQOP_STOP: undo this MQOP_STOP."""
        self.state = State.STARTED
        stop = struct.pack("<i", mq.MQCBCT_STOP_CALL)
        self.owed = deque((hobj, cbc) for hobj, cbc in self.owed if cbc[8:12] != stop)

    def deregister(self, hobj: int, *, closed: bool = False) -> None:
        """Remove a callback, either because of MQCB or because the object handle is ``closed``."""
        callback = self.callbacks.pop(hobj)
        if self.state is not State.STOPPED and not callback.handles_events:
            self._owe_stop(callback)
        self.owe(callback, mq.MQCBDO_DEREGISTER_CALL, Context(mq.MQCBCT_DEREGISTER_CALL), closed=closed)
