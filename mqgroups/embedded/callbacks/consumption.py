"""Asynchronous consumption as values: which callbacks a connection has, what is owed to them, whether it is started.

A connection is stopped, started or suspended (MQCTL). A callback that is registered (MQCB) gets calls of two kinds. Those that
are *owed* say what happened to it: registered, started, stopped, deregistered; they are made in order, before anything else.
The others are messages and events, and come while the connection is started. Not here: when what happens (``consuming.py``).

Sources: IBM MQ, topics "MQCB" (q101720), "MQCTL" (q101790), "MQCBC", "CallType" (q094380), "State" (q094450).
"""

from __future__ import annotations

import enum
import struct
from collections import deque
from dataclasses import dataclass, field

from mqgroups.embedded.connection import Connection
from mqgroups.mqi import constants as mq

_MQCBC = struct.Struct("<4siiiqqiiiiiiii")


class State(enum.Enum):
    """What MQCTL did last."""

    STOPPED = "stopped"
    STARTED = "started"
    SUSPENDED = "suspended"


@dataclass(slots=True)
class Callback:
    """A message consumer, or the event handler, whose ``hobj`` is MQHO_NONE.

    ``max_msg_length`` is resolved, bytes. ``state`` is MQCS_*: other than MQCS_NONE and MQCS_SUSPENDED_TEMPORARY no messages
    come until MQOP_RESUME. ``due_s`` is when a wait with an interval ends, None while there is none; ``tells_empty`` whether one
    without is over as soon as there is no message. ``browsed`` says that MQGMO_BROWSE_FIRST has been done where
    MQGMO_BROWSE_NEXT goes on.
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
        """Whether it is a message consumer that is not suspended."""
        return not self.handles_events and self.state in (mq.MQCS_NONE, mq.MQCS_SUSPENDED_TEMPORARY)

    def begins(self) -> None:
        """Take messages from now on."""
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
    """All of a connection. ``callbacks`` are in the order in which they are looked after next."""

    state: State = State.STOPPED
    waits: bool = False
    woken: bool = False
    told_quiescing: bool = False
    callbacks: dict[int, Callback] = field(default_factory=dict)
    owed: deque[tuple[int, bytes]] = field(default_factory=deque)

    @classmethod
    def of(cls, connection: Connection) -> Consumption:
        """Return what a connection has."""
        return connection.parts.get_or_make(cls)

    @property
    def consumers(self) -> list[Callback]:
        """The message consumers."""
        return [one for one in self.callbacks.values() if not one.handles_events]

    def packed(self, callback: Callback, context: Context, *, closed: bool = False) -> bytes:
        """Return MQCBC, version 2, without the areas, which the C library keeps.

        A handle that was closed is MQHO_UNUSABLE_HOBJ in it.
        """
        hobj = mq.MQHO_UNUSABLE_HOBJ if closed else callback.hobj
        codes = (context.comp, context.reason, context.state, context.data_length, context.buffer_length)
        return _MQCBC.pack(b"CBC ", 2, context.call_type, hobj, 0, 0, *codes, 0, 0, 0)

    def owe(self, callback: Callback, option: int, context: Context, *, closed: bool = False) -> None:
        """Owe a control call, if the callback asked for this kind."""
        if callback.options & option:
            self.owed.append((callback.hobj, self.packed(callback, context, closed=closed)))

    def begin(self) -> None:
        """MQOP_START: all START calls, then messages."""
        self.state = State.STARTED
        for one in self.consumers:
            if one.active:
                one.begins()
            self.owe(one, mq.MQCBDO_START_CALL, Context(mq.MQCBCT_START_CALL))

    def end(self) -> None:
        """MQOP_STOP: all STOP calls. That their State is MQCS_STOPPED is unverified."""
        if self.state is not State.STOPPED:
            self.state = State.STOPPED
            for one in self.consumers:
                self._owe_stop(one)

    def _owe_stop(self, callback: Callback) -> None:
        self.owe(callback, mq.MQCBDO_STOP_CALL, Context(mq.MQCBCT_STOP_CALL, state=mq.MQCS_STOPPED))

    def begin_again(self) -> None:
        """MQOP_START in the callback that said MQOP_STOP: as if that had not been."""
        self.state = State.STARTED
        stop = struct.pack("<i", mq.MQCBCT_STOP_CALL)
        self.owed = deque((hobj, cbc) for hobj, cbc in self.owed if cbc[8:12] != stop)

    def deregister(self, hobj: int, *, closed: bool = False) -> None:
        """Take a callback away, by MQCB or because its object handle was closed."""
        callback = self.callbacks.pop(hobj)
        if self.state is not State.STOPPED and not callback.handles_events:
            self._owe_stop(callback)
        self.owe(callback, mq.MQCBDO_DEREGISTER_CALL, Context(mq.MQCBCT_DEREGISTER_CALL), closed=closed)
