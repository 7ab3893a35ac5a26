"""A connection to a queue manager, also if it is lost or a call on it is interrupted, and the owners of its status queues.

MQDISC commits (IBM MQ, topic q106120). Therefore ``close`` calls MQBACK first. If MQBACK fails on a live connection, MQDISC is
not called at all: the queue manager backs out the unit of work of a connection that is dropped.

A lost connection can be remade (``restore``), to the same queue manager. Everything that was open on the old connection is then
stale, and its owners open it again before their next unit of work. After an interruption in the middle of a call
(``interruptions.py``) the connection is kept: the open unit of work is backed out, and every object handle is closed.

Not here: the calls themselves (``mqi_calls.py``).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import TypeVar

from mqgroups.connection.handle import Handle
from mqgroups.connection.interruptions import Turn
from mqgroups.connection.mqi_calls import MQICalls
from mqgroups.connection.retry import NEVER, REDO, Again, Patience, Say, Sleep, retrying
from mqgroups.connection.syncpoint import Own, Shared
from mqgroups.errors import GroupUsage, MQIError, QueueManagerChanged
from mqgroups.mqi import constants as mq
from mqgroups.mqi.abc import Binding
from mqgroups.printable import even_half_made
from mqgroups.telemetry import context, logs, metrics
from mqgroups.telemetry.place import Place
from mqgroups.telemetry.settings import DEFAULT, TelemetrySettings

_log = logging.getLogger("mqgroups")
_T = TypeVar("_T")


class Connection(MQICalls):
    """A connection to a queue manager, on one handle after the other."""

    def __init__(
        self,
        binding: Binding,
        handle: Handle | int,
        *,
        connect: Callable[[], object] | None = None,
        conn_name: str | None = None,
        reconnect: Patience = NEVER,
        sleep: Sleep = time.sleep,
        telemetry: TelemetrySettings = DEFAULT,
    ) -> None:
        """Take over a connection handle.

        Args:
            binding: the one that made the handle.
            handle: from MQCONNX. A number means that it is the application's own handle: it is neither disconnected nor remade.
            connect: connects the handle again, or fails; ``None`` if the handle is the application's own.
            conn_name: the address that ``connect`` connects to, if it was given.
            reconnect: how long to retry when the connection is lost; 0 does not reconnect.
            sleep: the function that waits between tries.
            telemetry: what is traced, and whether messages carry trace context.

        Attributes:
            turn: allows one call at a time.
            status_queues: the owners of the status queues that are open on this connection, by queue name.
            beat: called when a consumer on it asks for a message, and every few seconds while one waits or reconnects, with
                whether the connection can be used; ``None`` if nobody wants to know.
            propagates: whether messages are put with trace context, and consumers look for it in messages.
            place: the queue manager, for telemetry.
            syncpoint: whether the application uses the unit of work too: ``Own`` or ``Shared``.
        """
        super().__init__(binding, handle.hconn if isinstance(handle, Handle) else handle, reconnect)
        self._handle = handle if isinstance(handle, Handle) else None
        self.sleep = sleep
        self._connect = connect
        self.syncpoint = Shared() if connect is None else Own()
        self.turn = Turn()
        self.status_queues: dict[str, object] = {}
        self.beat: Callable[[bool], object] | None = None
        self.telemetry = telemetry
        self.place = Place()
        self.propagates = telemetry.propagate
        if self.propagates and context.is_instrumented(binding.MQPUT):
            self.stop_propagating("another instrumentation wraps MQPUT")
        try:
            self.q_mgr_identifier = self._inquire_q_mgr()
            self.place = Place.of(self.q_mgr_name, self.q_mgr_identifier, conn_name)
            metrics.connected(self.place)
        except BaseException:
            self.close()
            raise

    @property
    def can_go_on(self) -> bool:
        """Whether verbs can be called, now or after ``restore``."""
        return self.usable or (self._connect is not None and not self._closed and self.reconnect.wait_s > 0)

    def can_redo(self, error: MQIError) -> bool:
        """Whether a unit of work that failed with ``error`` can be redone, on this connection or after ``restore``."""
        # Not on a shared connection: the application's own messages in the unit of work would be lost.
        if self.unanswered.any and self.usable and self.syncpoint.can_be_redone:
            return True
        return self.can_go_on and self.reconnect.wait_s > 0 and error.reason in REDO

    def reopening(self, open_all: Callable[[], _T], reasons: frozenset[int] = REDO) -> _T:
        """Call ``open_all``. If the connection is lost, reconnect and call it again, for as long as ``reconnect`` allows.

        After an interruption it reconnects at once, because the owners of the open handles are not known.
        """
        if self.turn.interrupted:
            self.give_up()

        def attempt() -> _T:
            if self.can_go_on:
                self.restore()
            return open_all()

        def say(not_yet: MQIError, pause_s: float) -> None:
            extra = logs.fields(self.place, reason=not_yet.reason)
            _log.warning("%r: %s. Retrying in %.2g s", self, not_yet, pause_s, extra=extra)

        return self.retrying(self.reconnect, reasons, say)(attempt)

    def retrying(
        self,
        patience: Patience,
        reasons: frozenset[int],
        say: Say | None = None,
        until: Callable[[], bool] = lambda: False,
    ) -> Again:
        """Return a caller that retries, as ``retry.retrying`` does, at this queue manager."""
        return retrying(patience, reasons, self.sleep, say, until, self.q_mgr_name)

    def restore(self) -> None:
        """Reconnect, with one try, if the connection is gone. After an interruption, back out and close every object handle.

        Everything that was open on the connection is then stale. Raises MQIError; QueueManagerChanged if a different queue
        manager answers at that address.
        """
        if self._broken:
            self._connect_again()
        elif self.turn.interrupted:
            self.back_out()
            self.objects.close_all()
            self._nothing_is_open()
            _log.info("%r recovered after an interruption", self, extra=logs.fields(self.place))

    def give_up(self) -> bool:
        """Make ``restore`` reconnect, even if this connection still works. Returns whether it can."""
        can_connect = self._connect is not None and self.reconnect.wait_s > 0
        self._broken = self._broken or can_connect
        return can_connect

    def _connect_again(self) -> None:
        # The connection counts as lost until the last line, so that this is repeated after any interruption.
        assert self._connect is not None
        assert self._handle is not None
        try:
            self._connect()
            self.hconn = self._handle.hconn
            self.objects.forget()
            self.message_handles.forget()
            found = self._inquire_q_mgr()
        except MQIError as error:
            error.while_reconnecting = True
            raise
        if found != self.q_mgr_identifier:
            raise QueueManagerChanged(
                f"queue manager {self.q_mgr_name} answered with identifier {found}, expected {self.q_mgr_identifier}. The status "
                "queue is on the queue manager that was lost. Connect to that one again; if it is gone for good, find out from "
                "its data what was committed",
                because="reconnected",
                found=found,
                expected=self.q_mgr_identifier,
            )
        self._nothing_is_open()
        self.unanswered.any = self._broken = False
        metrics.connected(self.place)
        _log.info("%r is connected again", self, extra=logs.fields(self.place))

    def _nothing_is_open(self) -> None:
        self.unit_of_work_of = None
        self.objects.forget()
        self.generation += 1
        self.turn.interrupted = False

    def own_status_queue(self, name: str, owner: object) -> None:
        """Make ``owner`` the owner of a status queue on this connection. A previous owner loses it and is backed out.

        An application may be interrupted while it makes or closes a producer, and then make another one of the same name. Nothing
        else would close the first one. Raises MQIError; GroupUsage if yet another owner has messages in the unit of work.
        """
        if name in self.status_queues:
            if name in self._status_queues_in_it and self.unit_of_work_of is not None:
                self.back_out()
            if self.unit_of_work_of is not None:
                raise GroupUsage(
                    f"status queue {name} is in use on this connection, and {self.unit_of_work_of!r} has an open unit of work. "
                    "End that unit of work first"
                )
            self.objects.close_queue(name)
        self.status_queues[name] = owner

    def beats(self) -> None:
        """Tell who wants to know that whoever uses the connection is at work."""
        if self.beat is not None:
            self.beat(self.usable)

    def stop_propagating(self, why: str) -> None:
        """Stop putting trace context into messages, and log ``why``."""
        self.propagates = False
        extra = logs.fields(self.place)
        _log.warning("messages carry no trace context: %s", why, extra=extra)

    def close(self) -> None:
        """Back out uncommitted work, and disconnect unless the handle is the application's own. Idempotent."""
        if self._closed:
            return
        if self._handle is None:
            if self._broken or self.unit_of_work_of is not None:
                self.back_out()
        else:
            verb, comp, reason = self._handle.release()
            extra = logs.fields(self.place, reason=reason)
            if verb == "MQBACK":
                _log.warning(
                    "MQBACK on %s failed with %s; MQDISC is not called, because it would commit",
                    self.q_mgr_name,
                    mq.reason_name(reason),
                    extra=extra,
                )
            elif comp and not self._broken:
                _log.debug("MQDISC from %s: %s", self.q_mgr_name, mq.reason_name(reason), extra=extra)
        self._closed = True

    def __str__(self) -> str:
        return f"{self.q_mgr_name} over {self.binding.name} {self.state}"

    @even_half_made
    def __repr__(self) -> str:
        return f"<Connection {self}>"
