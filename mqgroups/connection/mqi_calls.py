"""MQI calls on a connection handle, as long as it lasts: MQOPEN, MQCMIT and MQBACK; their codes become errors.

A connection has *one* unit of work. The first producer or consumer that puts or gets in syncpoint owns it until it is committed
or backed out (``begin``). A second one on the same connection is refused meanwhile, because its commit would also commit the
unfinished work of the first.

Not here: MQPUT and MQGET (``queue.py``), what becomes of a lost connection (``connection.py``), and when to commit
(``status/units_of_work.py``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from mqgroups.connection import authorities
from mqgroups.connection.handle import NO_CONNECTION
from mqgroups.connection.message_handles import MessageHandles
from mqgroups.connection.open_objects import OpenObjects
from mqgroups.connection.queue import Queue
from mqgroups.connection.retry import NEVER, Patience
from mqgroups.connection.unanswered import UnansweredPuts
from mqgroups.errors import CommitOutcomeUnknown, ConnectionBroken, GroupUsage, MQIError, NotAuthorised, mqi_error
from mqgroups.mqi import constants as mq
from mqgroups.mqi import structures as st
from mqgroups.mqi.abc import Binding
from mqgroups.mqi.reasons import HANDLE_LOST, NOT_OURS


class MQICalls:
    """The calls on a connection handle, and who owns the unit of work.

    Attributes:
        binding: calls the verbs.
        hconn: the handle.
        reconnect: how long to retry when the connection is lost; 0 does not reconnect.
        generation: how many times all open objects were lost or closed.
        objects: what is open.
        message_handles: the message handles for properties and trace context.
        unanswered: the asynchronous puts whose outcome is not known yet.
        unit_of_work_of: the owner that claimed the unit of work; ``None`` if it is free.
    """

    def __init__(self, binding: Binding, hconn: int, reconnect: Patience) -> None:
        self.binding = binding
        self.hconn = hconn
        self.reconnect = reconnect
        self.generation = 0
        self.q_mgr_name = ""
        self.unit_of_work_of: object | None = None
        self._status_queues_in_it: frozenset[str] = frozenset()
        self._closed = False
        self._broken = False
        # The verb that found the connection broken last. Handles that an interruption made stale are opened again first.
        self._broken_at = "MQOPEN"
        self.objects = OpenObjects(self)
        self.message_handles = MessageHandles(self)
        self.unanswered = UnansweredPuts(self)

    @property
    def usable(self) -> bool:
        """Whether verbs can be called: neither closed nor broken."""
        return not (self._closed or self._broken)

    @property
    def state(self) -> str:
        """The word for it in a repr."""
        return "closed" if self._closed else "broken" if self._broken else "open"

    def failed(self, verb: str, object_name: str, comp: int, reason: int) -> MQIError:
        """Return the error for a verb's codes, and note if the connection is gone."""
        error = mqi_error(verb, object_name, comp, reason)
        if isinstance(error, ConnectionBroken):
            self._broken, self._broken_at = True, verb
        if reason in HANDLE_LOST:
            # What changed one object may have changed others. All are opened again, as after a lost connection: closed only then,
            # so that the unit of work is backed out before another instance can open the status queue.
            self.objects.close_before_next_open()
            self.generation, self._broken_at = self.generation + 1, verb
        if reason in NOT_OURS:
            # The handle belongs to another process or thread, which has to reconnect itself.
            self.reconnect = NEVER
        return error

    def gone(self) -> ConnectionBroken:
        """Return the error for a call on an object that was lost with the connection."""
        where = f"queue manager {self.q_mgr_name}"
        return ConnectionBroken(self._broken_at, where, mq.MQCC_FAILED, mq.MQRC_CONNECTION_BROKEN)

    def _require_usable(self) -> None:
        if self._broken:
            raise self.gone()
        if self._closed:
            raise GroupUsage(f"the connection to {self.q_mgr_name} is closed")

    def _inquire_q_mgr(self) -> str:
        """Inquire the queue manager, and return its identifier."""
        try:
            hobj = self.objects.open(st.od("", object_type=mq.MQOT_Q_MGR), mq.MQOO_INQUIRE, "the queue manager")[0]
        except NotAuthorised as error:
            error.context = authorities.to_inquire_q_mgr()
            raise
        self.q_mgr_name = str(self._inquire(hobj, mq.MQCA_Q_MGR_NAME))
        identifier = str(self._inquire(hobj, mq.MQCA_Q_MGR_IDENTIFIER))
        self.platform = int(self._inquire(hobj, mq.MQIA_PLATFORM))
        self.max_uncommitted_msgs = int(self._inquire(hobj, mq.MQIA_MAX_UNCOMMITTED_MSGS))
        self.objects.close(hobj)
        return identifier

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
        """MQOPEN; raises MQIError.

        Args:
            name: of the queue, or of the model queue from which to create ``dynamic_q_name``.
            options: MQOO_*; MQOO_FAIL_IF_QUIESCING is added.
            object_type: MQOT_Q_MGR opens the queue manager itself, to inquire it; ``name`` is then empty.
            object_q_mgr_name: the queue manager of a cluster queue's instance; empty lets the queue manager choose.
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

    def begin(self, owner: object, status_queues: Iterable[str] = ()) -> None:
        """Claim the connection's unit of work for ``owner``, which must then ``commit`` or ``back_out``.

        ``status_queues``: whose records will be in it. Raises ConnectionBroken if the connection is lost; GroupUsage
        if it is closed, or another producer or consumer has messages in the unit of work.
        """
        self._require_usable()
        if self.unit_of_work_of is not None and self.unit_of_work_of is not owner:
            raise GroupUsage(
                f"{self.unit_of_work_of!r} has an open unit of work on this connection, and a connection has only "
                "one. Give producers and consumers that work at the same time a connection each"
            )
        self._status_queues_in_it = frozenset(status_queues)
        self.unit_of_work_of = owner

    def release(self, owner: object) -> None:
        """Release the unit of work without an MQI call, because nothing was put or got in it."""
        if self.unit_of_work_of is owner:
            self.unit_of_work_of = None

    def commit(self) -> None:
        """MQCMIT. If it fails, the caller must call ``back_out``.

        Raises:
            CommitOutcomeUnknown: the connection was lost during the call, and it may have committed.
            MQIError: any other failure; the unit of work is still open. Or the queue manager has backed out instead (2003), and
                calling MQBACK as well does no harm.
        """
        comp, reason = self.binding.MQCMIT(self.hconn)
        if not comp:
            self.unit_of_work_of = None
            return
        error = self.failed("MQCMIT", f"queue manager {self.q_mgr_name}", comp, reason)
        if isinstance(error, CommitOutcomeUnknown):
            self._broken = True
        if self._broken:
            self.unit_of_work_of = None
        raise error

    def back_out(self) -> None:
        """MQBACK. If the connection is gone, the queue manager backs out by itself.

        MQBACK is called even on a connection that counts as lost. While the queue manager quiesces, the connection is alive
        although other calls are refused, and MQDISC would commit its unit of work. Raises MQIError if MQBACK failed: the unit of
        work is still open, and the connection can only be closed.
        """
        if self._closed:
            return
        comp, reason = self.binding.MQBACK(self.hconn)
        if comp != mq.MQCC_FAILED:
            self.unit_of_work_of = None
            return
        self._broken = True
        if reason not in NO_CONNECTION:
            raise self.failed("MQBACK", f"queue manager {self.q_mgr_name}", comp, reason)

    @contextmanager
    def unit_of_work(self, owner: object) -> Iterator[None]:
        """Commit the work of the ``with`` block, or back it out after an exception; raises as ``begin`` and ``commit``."""
        self.begin(owner)
        try:
            yield
            self.commit()
        except BaseException:
            self.back_out()
            raise
