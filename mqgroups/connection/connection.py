"""A connection to a queue manager and the queues open on it: this module calls the verbs and turns their codes into errors.

A connection has *one* unit of work. The first producer or consumer that puts or gets in syncpoint owns it until it is committed
or backed out (``begin``). A second one on the same connection is refused meanwhile, because its commit would also commit the
unfinished work of the first.

MQDISC commits (IBM MQ, topic q106120). Therefore ``close`` calls MQBACK first. If MQBACK fails on a live connection, MQDISC is
not called at all: the queue manager backs out the unit of work of a connection that is dropped.

A lost connection can be remade (``restore``), to the same queue manager. Everything that was open on the old connection is then
stale, and its owners open it again before their next unit of work. After an interruption in the middle of a call (``turn.py``)
the connection is kept: the open unit of work is backed out, and every object handle is closed.

Not here: which message comes next (``core``), and when to commit (``put``, ``get``, ``status``).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import TypeVar

from mqgroups.connection import authorities
from mqgroups.connection.handle import NO_CONNECTION, Handle
from mqgroups.connection.message_handles import MessageHandles
from mqgroups.connection.retry import CONNECT_LATER, NEVER, REDO, Patience, Sleep, retrying
from mqgroups.connection.turn import Turn
from mqgroups.errors import (
    CommitOutcomeUnknown,
    ConnectionBroken,
    GroupUsage,
    MessageTooLong,
    MQIError,
    NotAuthorised,
    QueueManagerChanged,
    mqi_error,
)
from mqgroups.mqi import constants as mq
from mqgroups.mqi import structures as st
from mqgroups.mqi.abc import Binding, ConnectArguments, PropertyValue
from mqgroups.telemetry import context, logs
from mqgroups.telemetry.settings import DEFAULT, TelemetrySettings

_log = logging.getLogger("mqgroups")
_ConnectionT = TypeVar("_ConnectionT", bound="Connection")
_T = TypeVar("_T")

# The message is on the queue, and the warning does not matter for a group.
_ACCEPTED_PUT_WARNINGS = frozenset({mq.MQRC_PRIORITY_EXCEEDS_MAXIMUM})
_UNFINISHED = frozenset({mq.MQRC_INCOMPLETE_GROUP, mq.MQRC_INCOMPLETE_MSG})
_SMALLEST_BUFFER_BYTES = 65_536
# The bindings allocate a buffer of this size; on some platforms allocating 0 bytes fails.
_NO_DATA_BYTES = 1


class Queue:
    """An open queue. Made by ``Connection.open_queue``."""

    def __init__(
        self, connection: Connection, name: str, opened: tuple[int, bytes, int, int], max_message_length: int
    ) -> None:
        hobj, od = opened[:2]
        self._connection = connection
        self._opened = opened
        self.name = name
        self.object_name = st.name_at(od, st.OD_OBJECT_NAME)
        self.resolved_q_name = st.name_at(od, st.OD_RESOLVED_Q_NAME)
        self.resolved_q_mgr_name = st.name_at(od, st.OD_RESOLVED_Q_MGR_NAME)
        self._hconn = connection.hconn
        self._generation = connection.generation
        self._hobj: int | None = hobj
        self._mqput = connection.binding.MQPUT
        self._mqget = connection.binding.MQGET
        self._max_message_length = max_message_length
        self._buffer_bytes = min(_SMALLEST_BUFFER_BYTES, max_message_length)

    @property
    def hobj(self) -> int:
        """The object handle, for an MQPMO that passes on the context of messages got from this queue."""
        assert self._hobj is not None
        return self._hobj

    @property
    def is_stale(self) -> bool:
        """Whether the connection was remade since the queue was opened; the queue must then be opened again."""
        return self._generation != self._connection.generation

    @property
    def is_open(self) -> bool:
        """Whether the queue can be used: it is neither closed nor stale."""
        return self._hobj is not None and not self.is_stale

    def leads_to(self, name: str) -> bool:
        """Whether it resolves to the queue ``name`` of this queue manager, directly or by an alias."""
        return (self.resolved_q_name, self.resolved_q_mgr_name) == (name, self._connection.q_mgr_name)

    def _usable_hobj(self) -> int:
        if self._hobj is None or self._generation != self._connection.generation:
            raise self._connection.gone()
        return self._hobj

    def put(self, md: bytearray, pmo: bytearray, data: bytes) -> tuple[bytes, bytes]:
        """MQPUT. Returns MQMD and MQPMO as the queue manager filled them; the templates ``md`` and ``pmo`` are not changed.

        Raises:
            MQIError: the message is not on the queue; or it is, with a warning that is not accepted (2241, 2242, 2185,
                2245), and then the caller must back out the unit of work.
        """
        hobj = self._usable_hobj()
        md_out, pmo_out, comp, reason = self._mqput(self._hconn, hobj, bytes(md), bytes(pmo), data)
        if comp and not (comp == mq.MQCC_WARNING and reason in _ACCEPTED_PUT_WARNINGS):
            raise self._connection.failed("MQPUT", f"queue {self.name}", comp, reason)
        return md_out, pmo_out

    def get(
        self, md: bytearray, gmo: bytearray, accepted: frozenset[int] = frozenset()
    ) -> tuple[bytes, bytes, bytes] | None:
        """MQGET. Returns data, MQMD and MQGMO; ``None`` if there is no message. ``md`` and ``gmo`` are templates.

        If the message does not fit the buffer (2080), the call is repeated with a larger buffer: nothing was consumed and no
        position changed. Data is never truncated. Warnings in ``accepted`` do not count as failures.

        Raises:
            MessageTooLong: the message is longer than this queue was opened for.
            MQIError: any other failure.
        """
        hobj = self._usable_hobj()
        while True:
            data, md_out, gmo_out, length, comp, reason = self._mqget(
                self._hconn, hobj, bytes(md), bytes(gmo), self._buffer_bytes
            )
            if comp == mq.MQCC_OK or (comp == mq.MQCC_WARNING and reason in accepted):
                return data, md_out, gmo_out
            if reason == mq.MQRC_NO_MSG_AVAILABLE:
                return None
            if reason != mq.MQRC_TRUNCATED_MSG_FAILED or length <= self._buffer_bytes:
                raise self._connection.failed("MQGET", f"queue {self.name}", comp, reason)
            if length > self._max_message_length:
                error = MessageTooLong("MQGET", f"queue {self.name}", comp, reason)
                error.context = f"The message has {length} bytes, max_message_length is {self._max_message_length}"
                raise error
            self._buffer_bytes = length

    def get_descriptor(self, md: bytearray, gmo: bytearray) -> tuple[bytes, bytes, int] | None:
        """MQGET without the data. Returns MQMD, MQGMO and the length of the data; ``None`` if there is no message.

        ``gmo`` must have MQGMO_ACCEPT_TRUNCATED_MSG. A destructive get loses the data. Raises MQIError.
        """
        hobj = self._usable_hobj()
        _, md_out, gmo_out, length, comp, reason = self._mqget(self._hconn, hobj, bytes(md), bytes(gmo), _NO_DATA_BYTES)
        if comp == mq.MQCC_OK or (comp == mq.MQCC_WARNING and reason == mq.MQRC_TRUNCATED_MSG_ACCEPTED):
            return md_out, gmo_out, length
        if reason == mq.MQRC_NO_MSG_AVAILABLE:
            return None
        raise self._connection.failed("MQGET", f"queue {self.name}", comp, reason)

    def inquire(self, selector: int) -> int | str:
        """MQINQ of one attribute. Character values are returned without padding."""
        value, comp, reason = self._connection.binding.inquire(self._hconn, self._usable_hobj(), selector)
        if comp:
            raise self._connection.failed("MQINQ", f"queue {self.name}", comp, reason)
        return value

    @property
    def is_in_cluster(self) -> bool:
        """Whether this local queue is shared in a cluster. Calls MQINQ once or twice."""
        return any(self.inquire(selector) for selector in (mq.MQCA_CLUSTER_NAME, mq.MQCA_CLUSTER_NAMELIST))

    def close(self, options: int = mq.MQCO_NONE) -> None:
        """MQCLOSE. Does nothing if the queue is closed or the connection is gone.

        An unfinished group is not an error. Losing the connection in this call is not an error either, unless the queue was to
        be deleted: the handle is gone with the connection.

        Raises:
            MQIError: MQCLOSE failed; the queue is still open.
        """
        if self._hobj is None or self.is_stale or not self._connection.usable:
            return
        if not self._connection.has_open(self._opened):
            # Closed for another owner of the name (``own_status_queue``); another handle may have its number now.
            self._hobj = None
            return
        comp, reason = self._connection.close_handle(self._hobj, options)
        if comp and not (comp == mq.MQCC_WARNING and reason in _UNFINISHED):
            error = self._connection.failed("MQCLOSE", f"queue {self.name}", comp, reason)
            if isinstance(error, NotAuthorised):
                error.context = authorities.to_delete(self.name)
            if not isinstance(error, ConnectionBroken) or options != mq.MQCO_NONE:
                raise error
        self._hobj = None


class Connection:
    """A connection to a queue manager. Leaving its ``with`` block backs out uncommitted work and disconnects."""

    def __init__(
        self,
        binding: Binding,
        handle: Handle | int,
        *,
        connect: Callable[[], Handle] | None = None,
        reconnect: Patience = NEVER,
        sleep: Sleep = time.sleep,
        telemetry: TelemetrySettings = DEFAULT,
    ) -> None:
        """Take over a connection handle.

        Args:
            binding: the binding that made the handle.
            handle: from MQCONNX. A number means that it is the application's own handle: ``close`` leaves it connected, and it
                is not remade.
            connect: makes a new handle, or fails; ``None`` if the handle is the application's own.
            reconnect: how long to retry when the connection is lost; 0 does not reconnect.
            sleep: the function that waits between tries.
            telemetry: what is traced, and whether messages carry trace context.

        Attributes:
            generation: how many times all open objects were lost or closed.
            turn: allows one call at a time.
            status_queues: the owners of the status queues that are open on this connection, by queue name.
            propagates: whether messages are put with trace context, and consumers look for it in messages.
            message_handles: the message handles for trace context.
        """
        self.binding = binding
        self._handle = handle if isinstance(handle, Handle) else None
        self.hconn = handle.hconn if isinstance(handle, Handle) else handle
        self.reconnect = reconnect
        self.sleep = sleep
        self.generation = 0
        self._connect = connect
        self._closed = False
        self._broken = False
        self._unit_of_work_of: object | None = None
        self._status_queues_in_it: frozenset[str] = frozenset()
        self.turn = Turn()
        self.status_queues: dict[str, object] = {}
        # The results of MQOPEN for all open objects: handle, MQOD, completion code, reason code.
        self._opened: list[tuple[int, bytes, int, int]] = []
        self._message_handles: dict[tuple[str, ...], int] = {}
        self.q_mgr_name = ""
        self.telemetry = telemetry
        self.propagates = telemetry.propagate
        self.message_handles = MessageHandles(self)
        if self.propagates and context.is_instrumented(binding.MQPUT):
            self.stop_propagating("another instrumentation wraps MQPUT")
        try:
            self._inquire_q_mgr()
        except BaseException:
            self.close()
            raise

    def _inquire_q_mgr(self) -> None:
        try:
            hobj = self._open(st.od("", object_type=mq.MQOT_Q_MGR), mq.MQOO_INQUIRE, "the queue manager")[0]
        except NotAuthorised as error:
            error.context = authorities.to_connect()
            raise
        self.q_mgr_name = str(self._inquire(hobj, mq.MQCA_Q_MGR_NAME))
        self.q_mgr_identifier = str(self._inquire(hobj, mq.MQCA_Q_MGR_IDENTIFIER))
        self.platform = int(self._inquire(hobj, mq.MQIA_PLATFORM))
        self.max_uncommitted_msgs = int(self._inquire(hobj, mq.MQIA_MAX_UNCOMMITTED_MSGS))
        self.close_handle(hobj)

    @classmethod
    def connected(
        cls: type[_ConnectionT],
        binding: Binding,
        arguments: ConnectArguments,
        patience: Patience,
        reconnect: Patience,
        sleep: Sleep,
        telemetry: TelemetrySettings,
    ) -> _ConnectionT:
        """MQCONNX, retried while the queue manager is not available."""

        def connect() -> Handle:
            handle = Handle(binding)
            comp, reason = handle.connect(arguments)
            if comp == mq.MQCC_FAILED:
                where = f" at {arguments.conn_name}" if arguments.conn_name else ""
                error = mqi_error("MQCONNX", f"queue manager {arguments.q_mgr_name}{where}", comp, reason)
                if isinstance(error, NotAuthorised):
                    error.context = authorities.to_connect()
                raise error
            return handle

        handle = retrying(patience, CONNECT_LATER, sleep)(connect)
        return cls(binding, handle, connect=connect, reconnect=reconnect, sleep=sleep, telemetry=telemetry)

    @property
    def can_go_on(self) -> bool:
        """Whether verbs can be called, now or after ``restore``."""
        return self.usable or (self._connect is not None and not self._closed and self.reconnect.wait_s > 0)

    def can_redo(self, error: MQIError) -> bool:
        """Whether a unit of work that failed with ``error`` can be redone, on this connection or after ``restore``."""
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
            extra = logs.fields(q_mgr_name=self.q_mgr_name, reason=not_yet.reason)
            _log.warning("%r: %s. Retrying in %.2g s", self, not_yet, pause_s, extra=extra)

        return retrying(self.reconnect, reasons, self.sleep, say)(attempt)

    @property
    def is_shared(self) -> bool:
        """Whether the handle is the application's own, so that other code may call verbs on it too."""
        return self._connect is None

    def restore(self) -> None:
        """Reconnect, with one try, if the connection is gone. After an interruption, back out and close every object handle.

        Everything that was open on the connection is then stale.

        Raises:
            QueueManagerChanged: a different queue manager answers at that address.
            MQIError: connecting or backing out failed.
        """
        if self._broken:
            self._connect_again()
        elif self.turn.interrupted:
            self.back_out()
            for answer in tuple(self._opened):
                self.binding.MQCLOSE(self.hconn, answer[0], mq.MQCO_NONE)
            self._nothing_is_open()
            _log.info("%r recovered after an interruption", self, extra=logs.fields(q_mgr_name=self.q_mgr_name))

    def give_up(self) -> bool:
        """Make ``restore`` reconnect, even if this connection still works. Returns whether it can."""
        if self._connect is None or self.reconnect.wait_s <= 0:
            return False
        self._broken = True
        return True

    def _connect_again(self) -> None:
        # The connection counts as lost until the last line, so that this is repeated after any interruption.
        assert self._connect is not None
        identifier = self.q_mgr_identifier
        # If the queue manager can be reached, tell it that the old connection is no longer used.
        if self._handle is not None:
            self._handle.let_go()
        self._handle = self._connect()
        self.hconn = self._handle.hconn
        self._opened.clear()
        self._message_handles.clear()
        try:
            self._inquire_q_mgr()
            found = self.q_mgr_identifier
        finally:
            self.q_mgr_identifier = identifier
        if found != identifier:
            raise QueueManagerChanged(self.q_mgr_name, found=found, expected=identifier)
        self._nothing_is_open()
        self._broken = False
        _log.info("%r is connected again", self, extra=logs.fields(q_mgr_name=self.q_mgr_name))

    def _nothing_is_open(self) -> None:
        self._unit_of_work_of = None
        self._opened.clear()
        self.generation += 1
        self.turn.interrupted = False

    @property
    def usable(self) -> bool:
        """Whether verbs can be called: neither closed nor broken."""
        return not (self._closed or self._broken)

    def failed(self, verb: str, object_name: str, comp: int, reason: int) -> MQIError:
        """Return the error for a verb's codes, and note if the connection is gone."""
        error = mqi_error(verb, object_name, comp, reason)
        if isinstance(error, ConnectionBroken):
            self._broken = True
        if reason == mq.MQRC_HCONN_ERROR:
            # The handle belongs to another process or thread, which has to reconnect itself.
            self.reconnect = NEVER
        return error

    def gone(self) -> ConnectionBroken:
        """Return the error for a call on an object that was lost with the connection."""
        return ConnectionBroken(
            "the call", f"queue manager {self.q_mgr_name}", mq.MQCC_FAILED, mq.MQRC_CONNECTION_BROKEN
        )

    def has_open(self, opened: tuple[int, bytes, int, int]) -> bool:
        """Whether this result of MQOPEN is still open; a later one may have the same handle number."""
        return any(each is opened for each in self._opened)

    def close_handle(self, hobj: int, options: int = mq.MQCO_NONE) -> tuple[int, int]:
        """MQCLOSE; returns completion and reason code."""
        comp, reason = self.binding.MQCLOSE(self.hconn, hobj, options)
        if comp != mq.MQCC_FAILED:
            self._opened = [answer for answer in self._opened if answer[0] != hobj]
        return comp, reason

    def own_status_queue(self, name: str, owner: object) -> None:
        """Make ``owner`` the owner of a status queue on this connection. A previous owner loses it and is backed out.

        An application may be interrupted while it makes or closes a producer, and then make another one of the same name. Nothing
        else would close the first one.

        Raises:
            GroupUsage: another producer or consumer on this connection has messages in the unit of work.
            MQIError: a call failed.
        """
        if name in self.status_queues:
            if name in self._status_queues_in_it and self._unit_of_work_of is not None:
                self.back_out()
            if self._unit_of_work_of is not None:
                raise GroupUsage(
                    f"status queue {name} is in use on this connection, and {self._unit_of_work_of!r} has an open unit of work. "
                    "End that unit of work first"
                )
            for hobj, od, _, _ in tuple(self._opened):
                if name in (st.name_at(od, st.OD_OBJECT_NAME), st.name_at(od, st.OD_RESOLVED_Q_NAME)):
                    self.close_handle(hobj)
        self.status_queues[name] = owner

    def open_queue(
        self,
        name: str,
        options: int,
        *,
        object_q_mgr_name: str = "",
        dynamic_q_name: str = "",
        max_message_length: int = 104_857_600,
    ) -> Queue:
        """MQOPEN.

        Args:
            name: of the queue, or of the model queue from which to create ``dynamic_q_name``.
            options: MQOO_*; MQOO_FAIL_IF_QUIESCING is added.
            object_q_mgr_name: the queue manager of a cluster queue's instance; empty lets the queue manager choose.
            dynamic_q_name: the name of the queue to create.
            max_message_length: the longest message to get from the queue, in bytes.

        Raises:
            MQIError: it cannot be opened.
        """
        self._require_usable()
        od = st.od(name, object_q_mgr_name=object_q_mgr_name, dynamic_q_name=dynamic_q_name)
        shown = dynamic_q_name or name
        try:
            opened = self._open(od, options | mq.MQOO_FAIL_IF_QUIESCING, f"queue {name}")
        except NotAuthorised as error:
            error.context = authorities.to_open(name, options, is_model=bool(dynamic_q_name))
            raise
        return Queue(self, shown, opened, max_message_length)

    def message_handle(self, properties: Mapping[str, PropertyValue]) -> int:
        """Return a message handle with these properties, for one MQPUT; raises MQIError.

        The handle is reused, with new values, for the next properties with the same names. A handle exists as long as the
        connection (pymqi has no MQDLTMH).
        """
        names = tuple(properties)
        hmsg, comp, reason = self.binding.message_handle(self.hconn, properties, self._message_handles.get(names))
        if comp == mq.MQCC_FAILED:
            raise self.failed("MQSETMP", "a message handle", comp, reason)
        self._message_handles[names] = hmsg
        return hmsg

    def stop_propagating(self, why: str) -> None:
        """Stop putting trace context into messages, and log ``why``."""
        self.propagates = False
        extra = logs.fields(q_mgr_name=self.q_mgr_name)
        _log.warning("messages carry no trace context: %s", why, extra=extra)

    def begin(self, owner: object, status_queues: Iterable[str] = ()) -> None:
        """Claim the connection's unit of work for ``owner``, which must then ``commit`` or ``back_out``.

        ``status_queues`` are the queues whose records will be in it.

        Raises:
            GroupUsage: another producer or consumer has messages in it, or the connection is closed.
            ConnectionBroken: the connection is lost.
        """
        self._require_usable()
        if self._unit_of_work_of is not None and self._unit_of_work_of is not owner:
            raise GroupUsage(
                f"{self._unit_of_work_of!r} has an open unit of work on this connection, and a connection has only "
                "one. Give producers and consumers that work at the same time a connection each"
            )
        self._status_queues_in_it = frozenset(status_queues)
        self._unit_of_work_of = owner

    def release(self, owner: object) -> None:
        """Release the unit of work without an MQI call, because nothing was put or got in it."""
        if self._unit_of_work_of is owner:
            self._unit_of_work_of = None

    @property
    def unit_of_work_of(self) -> object | None:
        """The owner that claimed the unit of work; ``None`` if it is free."""
        return self._unit_of_work_of

    def is_in_use_beside(self, owner: object) -> bool:
        """Whether another owner than ``owner`` has claimed the unit of work."""
        return self._unit_of_work_of is not None and self._unit_of_work_of is not owner

    def has_unit_of_work(self, owner: object) -> bool:
        """Whether ``owner`` has claimed the unit of work and not ended it."""
        return self._unit_of_work_of is owner

    def commit(self) -> None:
        """MQCMIT. If it fails, the caller must call ``back_out``.

        Raises:
            UnitOfWorkBackedOut: the queue manager has backed out instead (2003); calling MQBACK as well does no harm.
            CommitOutcomeUnknown: the connection was lost during the call, and it may have committed.
            MQIError: any other failure; the unit of work is still open.
        """
        comp, reason = self.binding.MQCMIT(self.hconn)
        if not comp:
            self._unit_of_work_of = None
            return
        error = self.failed("MQCMIT", f"queue manager {self.q_mgr_name}", comp, reason)
        if isinstance(error, CommitOutcomeUnknown):
            self._broken = True
        if self._broken:
            self._unit_of_work_of = None
        raise error

    def back_out(self) -> None:
        """MQBACK. If the connection is gone, the queue manager backs out by itself.

        MQBACK is called even on a connection that counts as lost. While the queue manager quiesces, the connection is alive
        although other calls are refused, and MQDISC would commit its unit of work.

        Raises:
            MQIError: MQBACK failed. The unit of work is still open, and the connection can only be closed.
        """
        if self._closed:
            return
        comp, reason = self.binding.MQBACK(self.hconn)
        if comp != mq.MQCC_FAILED:
            self._unit_of_work_of = None
            return
        self._broken = True
        if reason not in NO_CONNECTION:
            raise self.failed("MQBACK", f"queue manager {self.q_mgr_name}", comp, reason)

    @contextmanager
    def unit_of_work(self, owner: object) -> Iterator[None]:
        """Commit the work of the ``with`` block, or back it out after an exception.

        Raises:
            GroupUsage: another producer or consumer has messages in the unit of work.
            CommitOutcomeUnknown: the connection was lost during MQCMIT.
            MQIError: a call failed.
        """
        self.begin(owner)
        try:
            yield
            self.commit()
        except BaseException:
            self.back_out()
            raise

    def close(self) -> None:
        """Back out uncommitted work, and disconnect unless the handle is the application's own. Idempotent."""
        if self._closed:
            return
        if self._handle is None:
            if self._broken or self._unit_of_work_of is not None:
                self.back_out()
        else:
            verb, comp, reason = self._handle.let_go()
            extra = logs.fields(q_mgr_name=self.q_mgr_name, reason=reason)
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

    def __enter__(self: _ConnectionT) -> _ConnectionT:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __str__(self) -> str:
        state = "closed" if self._closed else "broken" if self._broken else "open"
        return f"{self.q_mgr_name} over {self.binding.name} {state}"

    def __repr__(self) -> str:
        return f"<Connection {self}>"

    def _require_usable(self) -> None:
        if self._broken:
            raise self.gone()
        if self._closed:
            raise GroupUsage(f"the connection to {self.q_mgr_name} is closed")

    def _open(self, od: bytes, options: int, object_name: str) -> tuple[int, bytes, int, int]:
        # MQOPEN is called and its result stored within one C call, so that no interruption can lose the handle in between.
        self._opened.extend(map(self.binding.MQOPEN, (self.hconn,), (od,), (options,)))
        opened = self._opened[-1]
        comp, reason = opened[2:]
        if comp == mq.MQCC_FAILED:
            self._opened.pop()
            raise self.failed("MQOPEN", object_name, comp, reason)
        return opened

    def _inquire(self, hobj: int, selector: int) -> int | str:
        value, comp, reason = self.binding.inquire(self.hconn, hobj, selector)
        if comp:
            raise self.failed("MQINQ", "the queue manager", comp, reason)
        return value
