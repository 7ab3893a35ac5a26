"""A connection to a queue manager: opens queues, ends its unit of work, and can be restored after a loss or an interruption.

A connection has *one* unit of work. The first producer or consumer that puts or gets in syncpoint owns the unit of work until it
is committed or backed out (``begin``). Meanwhile a second producer or consumer on the same connection is refused. If the second
one committed, it would also commit the unfinished work of the first.

MQDISC commits (IBM MQ, "MQDISC"). Therefore ``close`` calls MQBACK first. If MQBACK fails on a live connection, ``close`` does
not call MQDISC. When such a connection is dropped, the queue manager backs out the unit of work.

``restore`` can remake a lost connection, to the same queue manager. All objects that were open on the old connection are then
stale. Their owners open them again before the next unit of work. After an interruption in the middle of a call
(``interruptions.py``), ``restore`` keeps the connection, backs out the open unit of work, and closes every object handle.

Not here: MQPUT and MQGET (``queue.py``), and when to commit (``status/units_of_work.py``).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import Enum
from typing import NamedTuple, TypeVar

from mqgroups.connection import authorities
from mqgroups.connection.handle import NO_CONNECTION, Handle
from mqgroups.connection.interruptions import Turn
from mqgroups.connection.open_objects import OpenObjects
from mqgroups.connection.queue import Queue
from mqgroups.connection.retry import NEVER, REDO, Patience, Retrying, Say, Sleep, retrying
from mqgroups.connection.syncpoint import OWN, SHARED, Own
from mqgroups.connection.unanswered import UnansweredPuts
from mqgroups.errors import (
    CommitOutcomeUnknown,
    ConnectionBroken,
    GroupUsage,
    MQIError,
    NotAuthorised,
    QueueManagerChanged,
    mqi_error,
)
from mqgroups.mqi import constants as mq
from mqgroups.mqi import structures as st
from mqgroups.mqi.abc import Binding, PropertyValue
from mqgroups.mqi.reasons import HANDLE_LOST, NOT_OURS
from mqgroups.printable import even_half_made
from mqgroups.telemetry import context, logs, metrics
from mqgroups.telemetry.place import Place
from mqgroups.telemetry.settings import DEFAULT, TelemetrySettings

_log = logging.getLogger("mqgroups")
_T = TypeVar("_T")


class _State(Enum):
    OPEN = "open"
    BROKEN = "broken"  # lost, or given up
    CLOSED = "closed"


class _UnitOfWork(NamedTuple):
    """An open unit of work: its owner, and the status queues whose records are in it."""

    owner: object
    status_queues: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class _Inquired:
    """The attributes of a queue manager. They are empty before the first MQINQ."""

    name: str = ""
    identifier: str = ""
    platform: int = 0
    max_uncommitted_msgs: int = 0


class Connection:
    """A connection to a queue manager. It knows the owner of its unit of work, and replaces a lost handle by a new handle."""

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
            binding: the binding that made the handle.
            handle: the handle from MQCONNX. A number is the application's own handle, which this object never ends or remakes.
            connect: a function that connects the handle again; ``None`` if the handle is the application's own.
            conn_name: the address that ``connect`` connects to; ``None`` if the application gave no address.
            reconnect: how long to retry after the connection is lost. If it is 0, the connection is not remade.
            sleep: the function that waits between tries.
            telemetry: what is traced, and whether messages carry trace context.

        Attributes:
            reconnect, sleep, telemetry: as the arguments.
            generation: how many times all open objects were lost or closed.
            objects: the objects that are open.
            unanswered: the asynchronous puts whose outcome is not known yet.
            turn: the object that allows only one call at a time.
            status_queues: the owners of the status queues that are open on this connection, by queue name.
            beat: a function, or ``None``. It is called when a consumer on this connection asks for a message, and every few
                seconds while a consumer waits or reconnects. Its argument is whether the connection can be used.
            place: the description of the queue manager in telemetry.
        """
        self.binding = binding
        self._handle = handle
        self._connect = connect
        self.reconnect = reconnect
        self.sleep = sleep
        self.telemetry = telemetry
        self.turn = Turn()
        self.status_queues: dict[str, object] = {}
        self.beat: Callable[[bool], object] | None = None
        self.generation = 0
        self.objects = OpenObjects(self)
        self.unanswered = UnansweredPuts(self)
        # A message handle exists until the connection ends (pymqi has no MQDLTMH), and pymqi cannot delete a property. So there
        # is one handle for each set of property names, which is used again with new values.
        self._message_handles: dict[tuple[str, ...], int] = {}
        self._unit_of_work: _UnitOfWork | None = None
        self._state = _State.OPEN
        # The verb that lost the connection or its handles last. After an interruption, handles are opened again first.
        self._lost_at = "MQOPEN"
        self._q_mgr = _Inquired()
        self.place = Place()
        if self.propagates and context.is_instrumented(binding.MQPUT):
            self.stop_propagating("another instrumentation wraps MQPUT")
        try:
            self._q_mgr = self._inquired()
            self.place = Place.of(self.q_mgr_name, self.q_mgr_identifier, conn_name)
            metrics.connected(self.place)
        except BaseException:
            self.close()
            raise

    @property
    def hconn(self) -> int:
        """The connection handle."""
        return self._handle.hconn if isinstance(self._handle, Handle) else self._handle

    @property
    def q_mgr_name(self) -> str:
        """The queue manager's name."""
        return self._q_mgr.name

    @property
    def q_mgr_identifier(self) -> str:
        """The queue manager's identifier (QMID)."""
        return self._q_mgr.identifier

    @property
    def platform(self) -> int:
        """The platform of the queue manager, as MQPL_*."""
        return self._q_mgr.platform

    @property
    def max_uncommitted_msgs(self) -> int:
        """The queue manager's MAXUMSGS: how many messages a unit of work can have."""
        return self._q_mgr.max_uncommitted_msgs

    @property
    def syncpoint(self) -> Own:
        """``SHARED`` if the application uses the unit of work, too; otherwise ``OWN``."""
        return SHARED if self._connect is None else OWN

    @property
    def propagates(self) -> bool:
        """Whether producers put trace context into messages, and consumers look for trace context in messages."""
        return self.telemetry.propagate

    @property
    def unit_of_work_of(self) -> object | None:
        """The owner that claimed the unit of work; ``None`` if it is free."""
        return self._unit_of_work.owner if self._unit_of_work is not None else None

    @property
    def usable(self) -> bool:
        """Whether verbs can be called. This is true if the connection is neither closed nor broken."""
        return self._state is _State.OPEN

    @property
    def state(self) -> str:
        """The state as a word for a repr: open, broken or closed."""
        return self._state.value

    def failed(self, verb: str, object_name: str, comp: int, reason: int) -> MQIError:
        """Return the error for a verb's codes. If the codes mean that the connection is lost, mark the connection as broken."""
        error = mqi_error(verb, object_name, comp, reason)
        if isinstance(error, ConnectionBroken):
            self._is_lost(verb)
        if reason in HANDLE_LOST:
            # The cause may have made other handles invalid, too. So all objects are opened again, as after a lost connection.
            # They are closed only then, so that MQBACK comes before another instance can open the status queue.
            self.objects.close_before_next_open()
            self.generation, self._lost_at = self.generation + 1, verb
        if reason in NOT_OURS:
            # The handle belongs to another process or thread, which has to reconnect itself.
            self.reconnect = NEVER
        return error

    def gone(self) -> ConnectionBroken:
        """Return the error for a call on an object that was lost with the connection."""
        where = f"queue manager {self.q_mgr_name}"
        return ConnectionBroken(self._lost_at, where, mq.MQCC_FAILED, mq.MQRC_CONNECTION_BROKEN)

    def _is_lost(self, verb: str) -> None:
        self._lost_at = verb
        if self._state is _State.OPEN:
            self._state = _State.BROKEN

    def _require_usable(self) -> None:
        if self._state is _State.BROKEN:
            raise self.gone()
        if self._state is _State.CLOSED:
            raise GroupUsage(f"the connection to {self.q_mgr_name} is closed")

    def _inquired(self) -> _Inquired:
        """Return the queue manager's attributes; raises MQIError."""
        try:
            hobj = self.objects.open(st.od("", object_type=mq.MQOT_Q_MGR), mq.MQOO_INQUIRE, "the queue manager")[0]
        except NotAuthorised as error:
            error.context = authorities.to_inquire_q_mgr()
            raise
        found = _Inquired(
            str(self._inquire(hobj, mq.MQCA_Q_MGR_NAME)),
            str(self._inquire(hobj, mq.MQCA_Q_MGR_IDENTIFIER)),
            int(self._inquire(hobj, mq.MQIA_PLATFORM)),
            int(self._inquire(hobj, mq.MQIA_MAX_UNCOMMITTED_MSGS)),
        )
        self.objects.close(hobj)
        return found

    def _inquire(self, hobj: int, selector: int) -> int | str:
        value, comp, reason = self.binding.inquire(self.hconn, hobj, selector)
        if comp:
            raise self.failed("MQINQ", "the queue manager", comp, reason)
        return value

    def open_queue(
        self,
        name: str,
        options: int,
        *,
        object_type: int = mq.MQOT_Q,
        object_q_mgr_name: str = "",
        dynamic_q_name: str = "",
        max_message_length: int = st.LONGEST_MESSAGE_BYTES,
    ) -> Queue:
        """Open a queue with MQOPEN; raises MQIError.

        Args:
            name: the name of the queue, or of the model queue from which to create ``dynamic_q_name``.
            options: MQOO_*; MQOO_FAIL_IF_QUIESCING is added.
            object_type: MQOT_Q_MGR opens the queue manager itself, to inquire it; ``name`` is then empty.
            object_q_mgr_name: the queue manager that has the instance of a cluster queue to open; empty for any instance.
            max_message_length: the longest message to get from the queue, in bytes.
        """
        self._require_usable()
        od = st.od(name, object_type=object_type, object_q_mgr_name=object_q_mgr_name, dynamic_q_name=dynamic_q_name)
        shown = dynamic_q_name or name
        try:
            opened = self.objects.open(od, options | mq.MQOO_FAIL_IF_QUIESCING, f"queue {name}")
        except NotAuthorised as error:
            error.context = authorities.to_open(name, options, makes=dynamic_q_name)
            raise
        return Queue(self, shown, opened, max_message_length)

    def message_handle(self, properties: Mapping[str, PropertyValue]) -> int:
        """Return a message handle with these properties, for one MQPUT; raises MQIError."""
        names = tuple(properties)
        hmsg, comp, reason = self.binding.message_handle(self.hconn, properties, self._message_handles.get(names))
        if comp == mq.MQCC_FAILED:
            raise self.failed("MQSETMP", "a message handle", comp, reason)
        self._message_handles[names] = hmsg
        return hmsg

    def begin(self, owner: object, status_queues: Iterable[str] = ()) -> None:
        """Claim the connection's unit of work for ``owner``, which must later call ``commit`` or ``back_out``.

        ``status_queues``: the queues whose records will be in the unit of work. Raises ConnectionBroken if the connection is
        lost, and GroupUsage if it is closed or another producer or consumer has claimed the unit of work.
        """
        self._require_usable()
        if self.unit_of_work_of is not None and self.unit_of_work_of is not owner:
            raise GroupUsage(
                f"{self.unit_of_work_of!r} has an open unit of work on this connection, and a connection has only "
                "one. Give producers and consumers that work at the same time a connection each"
            )
        self._unit_of_work = _UnitOfWork(owner, frozenset(status_queues))

    def release(self, owner: object) -> None:
        """Release the unit of work without an MQI call, because nothing was put or got in it."""
        if self.unit_of_work_of is owner:
            self._unit_of_work = None

    def commit(self) -> None:
        """Commit with MQCMIT. If MQCMIT fails, the caller must call ``back_out``.

        Raises:
            CommitOutcomeUnknown: the connection was lost during the call, which may have committed.
            MQIError: any other failure. The unit of work is still open, or the queue manager has backed it out (2003). In the
                second case MQBACK does no harm.
        """
        comp, reason = self.binding.MQCMIT(self.hconn)
        if not comp:
            self._unit_of_work = None
            return
        error = self.failed("MQCMIT", f"queue manager {self.q_mgr_name}", comp, reason)
        if isinstance(error, CommitOutcomeUnknown):
            self._is_lost("MQCMIT")
        if not self.usable:
            self._unit_of_work = None
        raise error

    def back_out(self) -> None:
        """Back out with MQBACK. If the connection is gone, the queue manager backs out by itself.

        MQBACK is called even on a connection that counts as lost. While the queue manager quiesces, the connection is alive
        although other calls are refused, and MQDISC would commit its unit of work. Raises MQIError if MQBACK failed. Then the
        unit of work is still open, and the connection can only be closed.
        """
        if self._state is _State.CLOSED:
            return
        comp, reason = self.binding.MQBACK(self.hconn)
        if comp != mq.MQCC_FAILED:
            self._unit_of_work = None
            return
        self._state = _State.BROKEN
        if reason not in NO_CONNECTION:
            raise self.failed("MQBACK", f"queue manager {self.q_mgr_name}", comp, reason)

    @contextmanager
    def unit_of_work(self, owner: object) -> Iterator[None]:
        """Claim the unit of work for a ``with`` block; commit after it, or back out after an exception. Raises MQIError."""
        self.begin(owner)
        try:
            yield
            self.commit()
        except BaseException:
            self.back_out()
            raise

    # --- when the connection is lost, or a call on it interrupted

    @property
    def can_go_on(self) -> bool:
        """Whether verbs can be called, now or after ``restore``."""
        return self.usable or (self._state is _State.BROKEN and self._can_reconnect)

    @property
    def _can_reconnect(self) -> bool:
        return self._connect is not None and self.reconnect.wait_s > 0

    def can_redo(self, error: MQIError) -> bool:
        """Return whether a unit of work that failed with ``error`` can be redone, on this connection or after ``restore``."""
        # A shared connection has no asynchronous puts, because redoing them would lose the application's own messages.
        if self.unanswered.any and self.usable:
            return True
        return self.can_go_on and self.reconnect.wait_s > 0 and error.reason in REDO

    def reopening(self, open_all: Callable[[], _T], reasons: frozenset[int] = REDO) -> _T:
        """Call ``open_all`` and return its result. If the connection is lost, retry for as long as ``reconnect`` allows.

        After an interruption, reconnect before the first ``open_all()``, because nobody knows who owns the open handles.
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
    ) -> Retrying:
        """Return a retry policy for calls to this queue manager; see ``retry.retrying``."""
        return retrying(patience, reasons, self.sleep, say, until, self.q_mgr_name)

    def restore(self) -> None:
        """Reconnect, with one try, if the connection is gone. After an interruption, back out and close every object handle.

        After a reconnect or a recovery, all objects that were open before are stale. Raises MQIError, or QueueManagerChanged
        if a different queue manager answers at the address.
        """
        if self._state is _State.BROKEN:
            self._connect_again()
        elif self.turn.interrupted:
            self.back_out()
            self.objects.close_all()
            self._nothing_is_open()
            _log.info("%r recovered after an interruption", self, extra=logs.fields(self.place))

    def give_up(self) -> bool:
        """Make the next ``restore`` reconnect, even if this connection still works. Return whether reconnecting is possible."""
        if self._can_reconnect and self._state is _State.OPEN:
            self._state = _State.BROKEN
        return self._can_reconnect

    def _connect_again(self) -> None:
        # The connection counts as lost until the last line, so that an interrupted attempt is repeated.
        assert self._connect is not None
        try:
            self._connect()
            self.objects.forget()
            self._message_handles.clear()
            found = self._inquired()
        except MQIError as error:
            error.while_reconnecting = True
            raise
        if found.identifier != self.q_mgr_identifier:
            raise QueueManagerChanged(
                f"queue manager {found.name} answered with identifier {found.identifier}, expected {self.q_mgr_identifier}. The "
                "status queue is on the queue manager that was lost. Connect to that one again; if it is gone for good, find out "
                "from its data what was committed",
                because="reconnected",
                found=found.identifier,
                expected=self.q_mgr_identifier,
            )
        self._q_mgr = found
        self._nothing_is_open()
        self.unanswered.any = False
        self._state = _State.OPEN
        metrics.connected(self.place)
        _log.info("%r is connected again", self, extra=logs.fields(self.place))

    def _nothing_is_open(self) -> None:
        self._unit_of_work = None
        self.objects.forget()
        self.generation += 1
        self.turn.interrupted = False

    def own_status_queue(self, name: str, owner: object) -> None:
        """Make ``owner`` the owner of a status queue on this connection. Back out a previous owner's work, and close its queue.

        An application may be interrupted while it makes or closes a producer, and then make a second producer of the same name.
        Nothing else closes the first producer. Raises MQIError, or GroupUsage if a third owner has claimed the unit of work.
        """
        if name in self.status_queues:
            if self._unit_of_work is not None and name in self._unit_of_work.status_queues:
                self.back_out()
            if self.unit_of_work_of is not None:
                raise GroupUsage(
                    f"status queue {name} is in use on this connection, and {self.unit_of_work_of!r} has an open unit of work. "
                    "End that unit of work first"
                )
            self.objects.close_queue(name)
        self.status_queues[name] = owner

    def beats(self) -> None:
        """Call the function ``beat``, if there is one, to show that the connection is in use."""
        if self.beat is not None:
            self.beat(self.usable)

    def stop_propagating(self, why: str) -> None:
        """Stop putting trace context into messages, and log ``why``."""
        self.telemetry = replace(self.telemetry, propagate=False)
        extra = logs.fields(self.place)
        _log.warning("messages carry no trace context: %s", why, extra=extra)

    def close(self) -> None:
        """Back out uncommitted work, and disconnect unless the handle is the application's own. Idempotent."""
        if self._state is _State.CLOSED:
            return
        if not isinstance(self._handle, Handle):
            if not self.usable or self.unit_of_work_of is not None:
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
            elif comp and self.usable:
                _log.debug("MQDISC from %s: %s", self.q_mgr_name, mq.reason_name(reason), extra=extra)
        self._state = _State.CLOSED

    def __str__(self) -> str:
        return f"{self.q_mgr_name} over {self.binding.name} {self.state}"

    @even_half_made
    def __repr__(self) -> str:
        return f"<Connection {self}>"
