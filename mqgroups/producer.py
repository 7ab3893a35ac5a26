"""GroupProducer: puts a message group across units of work.

A driver: it asks ``core.group`` how the next message is put, has ``connection.Queue`` put it, and keeps the new
position when that succeeded. ``unit_of_work.UnitsOfWork`` ends each unit of work with its status record.

The last message of a group has to say that it is the last, when it is put. Nobody knows that it is before the ``with``
block ends, so one message is always held back: ``put`` puts the one before. ``resume_from`` counts committed messages
only, so what is held back, or in an open unit of work, is put again after a crash.

A message longer than ``segment_bytes``, or a stream, is put in segments. Units of work may end between them, so the memory
that a message takes is that of a unit of work, however long it is. All segments have to say whether their message is the
group's last, from the first one on, so of a stream the application has to say it.

When the connection is lost and this program lives, the producer does the unit of work again by itself: it keeps the
messages of the open one until it is committed.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence
from dataclasses import replace
from types import TracebackType

from mqgroups.config import SEGMENT_BYTES, ProducerSettings
from mqgroups.connection import Connection, Queue
from mqgroups.core.group import GroupPosition, Part, next_put
from mqgroups.core.model import Role
from mqgroups.core.restart import Verdict
from mqgroups.core.status import Checkpoint, RecordState, StatusRecord
from mqgroups.destination import Destination
from mqgroups.errors import GroupUsage, MQIError, QueueFull, QueueInhibited
from mqgroups.mqi import constants as mq
from mqgroups.mqi import structures as st
from mqgroups.payload import BYTES, Kind, Stream, Unsent, abandonment
from mqgroups.put_group import PutGroup
from mqgroups.record_keeper import RecordKeeper
from mqgroups.retry import NO_ROOM, Patience, retrying
from mqgroups.status_queue import StatusQueue
from mqgroups.telemetry import context
from mqgroups.telemetry.message_span import MessageSpan
from mqgroups.telemetry.semantic_conventions import TRACEPARENT
from mqgroups.unit_of_work import UnitsOfWork

_log = logging.getLogger("mqgroups.producer")

_PUT_OPTIONS = mq.MQPMO_SYNCPOINT | mq.MQPMO_SYNC_RESPONSE | mq.MQPMO_NEW_MSG_ID | mq.MQPMO_FAIL_IF_QUIESCING
_IN_LOGICAL_ORDER = st.pmo(_PUT_OPTIONS | mq.MQPMO_LOGICAL_ORDER)
_IN_PHYSICAL_ORDER = st.pmo(_PUT_OPTIONS)
# A put that is refused because of the properties it was given: they are too long for MAXPROPL, or the handle is none.
_PROPERTIES_REFUSED = frozenset({mq.MQRC_PROPERTIES_TOO_BIG, mq.MQRC_HMSG_ERROR})


class GroupProducer:
    """Puts message groups to one queue, under a name that survives a crash. Made by ``QueueManager.group_producer``."""

    def __init__(self, connection: Connection, settings: ProducerSettings, leader: UnitsOfWork | None = None) -> None:
        self._connection = connection
        self._settings = settings
        self._leader = leader
        self._persistence = settings.persistence
        self._group: PutGroup | None = None
        self._group_id = mq.MQGI_NONE
        # Since the last commit: messages put to their ends; how many bytes of the one after them, and is it the last?
        self._messages = 0
        self._offset = 0
        self._in_last_message = False
        # What is not committed yet, in order.
        self._unit: list[Unsent] = []
        self._destination = Destination(connection, settings.queue, settings.bind)
        self._pinned = False
        # MQMD templates by kind, for messages that are not the last, while the handle retains the group.
        self._run: dict[Kind, bytearray] = {}
        # MQPMO templates, in logical and physical order, with the message handle of the trace context if messages carry it.
        self._context = context.NONE
        self._carrying = mq.MQHM_NONE
        self._in_logical_order, self._in_physical_order = _IN_LOGICAL_ORDER, _IN_PHYSICAL_ORDER
        self._each_message = False
        self._room = retrying(Patience(settings.full_wait_s), NO_ROOM, connection.sleep)
        # What is longer is put in segments.
        self._whole_bytes = settings.segment_bytes or sys.maxsize
        self._closed = False
        connection.reopening(self._start)
        try:
            self._work.tell_resumed()
        except BaseException:
            self._close(finish=False)
            raise

    def _start(self) -> None:
        """Open both queues and find out where things stand."""
        connection, settings = self._connection, self._settings
        self._destination.check()
        self._status = self._open_status()
        try:
            self._work = UnitsOfWork(
                connection,
                self._status,
                Role.PUT,
                settings.name,
                settings.queue,
                settings.every,
                settings.hooks,
                self._leader,
                settings.owner_id,
            )
            resumed = self._work.resumed
            if resumed:
                self._persistence = resumed.persistence
                self._destination.resolved = (resumed.resolved_q_name, resumed.resolved_q_mgr_name)
            self._queue = self._open()
        except BaseException:
            self._status.close()
            raise
        self._each_message = self._work.telemetry.each_message
        if resumed:
            _log.info("%r resumes an interrupted group", self, extra=self._work.log_fields())

    def _open_status(self) -> RecordKeeper:
        settings = self._settings
        return StatusQueue(
            self._connection,
            settings.status_queue,
            settings.status_model,
            settings.owner_wait_s,
            segmented=settings.segmented_status,
        )

    @property
    def checkpoint(self) -> Checkpoint:
        """The checkpoint of the last commit, be its group interrupted or completed; ``None`` without a status record."""
        return self._work.committed_checkpoint

    def group(self) -> PutGroup:
        """Return the next group: the interrupted one, if there is one, else a new one. Use it in a ``with`` statement.

        Leaving the block puts the last message and commits. Leaving it by an exception backs out to the last commit;
        the next ``group()``, of this producer or after a restart, goes on from there.

        Raises:
            GroupUsage: the producer is closed, or the group before has not ended.
        """
        if self._closed:
            raise GroupUsage(f"{self!r} is closed")
        if self._group is not None:
            raise GroupUsage("the group before has not ended; use `with producer.group() as group:`")
        self._work.recover(self._redo)
        committed = self._work.committed
        checkpoint = None if committed.at_start else self._work.committed_checkpoint
        self._group = PutGroup(self, committed, checkpoint)
        return self._group

    def close(self) -> None:
        """Back out what is not committed, take a completed group's record away, and close both queues. Idempotent."""
        self._close(finish=True)

    def delete_status_queue(self) -> None:
        """Close, and delete the status queue, which has to be one that was made from a model queue.

        Raises:
            GroupUsage: a group is interrupted, and its record is on it.
            MQIError: it cannot be deleted (2045: it is a predefined queue).
        """
        if not self._work.committed.at_start or self._group is not None:
            raise GroupUsage(f"{self!r} has an interrupted group; end it before its status queue can be deleted")
        self._close(finish=True, delete=True)

    def __enter__(self) -> GroupProducer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        # After an exception the application comes back and has to know where it was: a COMPLETED record stays.
        self._close(finish=error is None)

    def __repr__(self) -> str:
        position = self._position
        group = position.group_id.hex() if not position.at_start else "none"
        state = "closed" if self._closed else "open" if self._connection.usable else "broken"
        return (
            f"<GroupProducer {self._settings.queue} name={self._settings.name} group={group} "
            f"seq={position.msg_seq_number} uow={self._work.number} {state}>"
        )

    @property
    def _position(self) -> GroupPosition:
        committed = self._work.committed
        if not self._work.messages:
            return committed
        number = committed.msg_seq_number + self._messages
        return GroupPosition(self._group_id, number, self._offset, self._in_last_message and self._offset > 0)

    def _put(self, message: Unsent) -> None:
        self._unit.append(message)
        try:
            self._put_and_commit(message)
        except MQIError as error:
            self._work.redo(error, self._redo)

    def _abandon(self, result: int, reason: str) -> None:
        try:
            if self._work.committed.offset:
                self._put(Unsent(b"", BYTES, None, False, Part.LAST_SEGMENT))
            self._put(abandonment(result, reason))
        except BaseException as error:
            self._back_out(error)
            raise

    # --- with a leader: see pipe.py

    def _stage(self, messages: Sequence[Unsent]) -> None:
        """Put messages and their record in the leader's unit of work; also again, after ``settle``."""
        self._run.clear()
        work = self._work
        for message in messages:
            self._room(lambda message=message: self._put_once(message))
        if messages:
            record = self._record()
            work.stage(replace(record, state=RecordState.COMPLETED) if messages[-1].last else record)

    def _staged_is_committed(self) -> None:
        if self._work.committed.at_start:
            self._group_ended()

    def _put_and_commit(self, message: Unsent) -> None:
        try:
            self._put_once(message)
        except (QueueFull, QueueInhibited):
            self._put_when_there_is_room(message)
        if message.checkpoint is not None:
            self._work.checkpoint = message.checkpoint
        if message.ends_group:
            self._work.complete(self._record())
            self._unit.clear()
            self._group_ended()
        elif self._work.due():
            self._syncpoint()

    def _syncpoint(self) -> None:
        messages = self._work.messages
        self._work.syncpoint(self._record())
        del self._unit[:messages]

    def _redo(self) -> None:
        """Go on after a lost connection: put again what turns out not to be committed."""
        messages = self._work.messages
        if self._work.settle() is Verdict.COMMITTED:
            del self._unit[:messages]
        self._run.clear()
        if self._work.committed.at_start:
            self._group_ended()
        for message in tuple(self._unit):
            self._put_and_commit(message)

    def _put_once(self, message: Unsent) -> None:
        data, kind, _, last, part = message
        work = self._work
        first = work.messages == 0
        if first:
            work.begin()
            if not self._queue.is_open:
                self._queue = self._open()
            work.telemetry.begin(work.number)
            if not self._each_message:
                self._carry()
            self._messages, self._offset = 0, work.committed.offset
        span = self._creating() if self._each_message else None
        whole = part is Part.WHOLE
        md = None if last or not whole else self._run.get(kind)
        if md is None:
            md, pmo = self._prepare(kind, last, part, data)
        else:
            pmo = self._in_logical_order
        try:
            md_out, pmo_out = self._queue.put(md, pmo, data)
        except MQIError as error:
            if span is not None:
                span.why = error
                span.end()
            if error.reason not in _PROPERTIES_REFUSED or self._carrying == mq.MQHM_NONE:
                raise
            self._connection.stop_propagating(str(error))
            self._carry()
            self._put_once(message)
            return
        if span is not None:
            span.end()
        if first:
            self._group_id = md_out[st.MD_GROUP_ID]
        if first and work.committed.at_start:
            self._destination.begins(pmo_out)
        else:
            self._destination.went(pmo_out, md_out)
        work.messages += 1
        work.data_bytes += len(data)
        if part is Part.SEGMENT:
            self._offset += len(data)
            self._in_last_message = last
        else:
            self._messages += 1
            self._offset = 0

    def _creating(self) -> MessageSpan:
        """Begin the span of a message, whose context it carries if messages do."""
        telemetry, number = self._work.telemetry, self._work.committed.msg_seq_number + self._messages + 1
        span = telemetry.messages.begin(number, telemetry.context)
        if self._connection.propagates or self._carrying != mq.MQHM_NONE:
            self._carry(span)
        return span

    def _carry(self, span: MessageSpan | None = None) -> None:
        """Have the next messages carry the context of this span, or of the unit of work, if messages do."""
        propagates = self._connection.propagates
        self._context = self._work.telemetry.trace_context(span) if propagates else context.NONE
        hmsg = self._connection.message_handles.carrying(self._context)
        if hmsg != self._carrying:
            self._carrying = hmsg
            self._in_logical_order = st.pmo(_PUT_OPTIONS | mq.MQPMO_LOGICAL_ORDER, hmsg)
            self._in_physical_order = st.pmo(_PUT_OPTIONS, hmsg)

    def _prepare(self, kind: Kind, last: bool, part: Part, data: bytes) -> tuple[bytearray, bytearray]:
        """Return MQMD and MQPMO by the core's plan; keep the MQMD if the plan holds for the messages after it too."""
        plan = next_put(self._position, last=last, part=part)
        md = st.md(
            format_name=kind.format_name,
            ccsid=kind.ccsid,
            correl_id=kind.correl_id,
            msg_type=kind.msg_type,
            feedback=kind.feedback,
            priority=self._settings.priority,
            persistence=self._persistence,
            group_id=plan.group_id,
            msg_seq_number=plan.msg_seq_number,
            offset=plan.offset,
            msg_flags=plan.msg_flags,
        )
        if kind.msg_type == mq.MQMT_REPORT:
            self._work.telemetry.abandoned(kind.feedback - mq.MQFB_APPL_FIRST)
        if kind.properties:
            options = _PUT_OPTIONS | (mq.MQPMO_LOGICAL_ORDER if plan.logical_order else 0)
            properties = dict(kind.properties)
            if part is Part.WHOLE and TRACEPARENT not in properties:
                properties.update(self._context.as_properties())
            return md, st.pmo(options, self._connection.message_handle(properties))
        own_header = kind.format_name == mq.MQFMT_RF_HEADER_2
        if part is not Part.WHOLE or (own_header and context.in_header(bytes(md), data)):
            # Whether properties go with segments is not known (2443 is near; not tried on IBM MQ). And context that the
            # application gives is left alone.
            return md, _IN_LOGICAL_ORDER if plan.logical_order else _IN_PHYSICAL_ORDER
        if not plan.logical_order:
            return md, self._in_physical_order
        if not last and kind.correl_id == mq.MQCI_NONE and not own_header:
            self._run[kind] = md
        return md, self._in_logical_order

    def _put_when_there_is_room(self, message: Unsent) -> None:
        # What is in this unit of work is whole: committed, a consumer can take it, and that is what makes room.
        if self._work.messages:
            self._syncpoint()
        _log.info("%r waits for room on the queue", self, extra=self._work.log_fields())
        self._room(lambda: self._put_once(message))

    def _segment_bytes(self, payload: bytes | Stream) -> int | None:
        """How many bytes a segment of this payload has at the most; ``None`` if it is not cut."""
        given = self._settings.segment_bytes
        if isinstance(payload, bytes):
            return given
        if self._connection.platform == mq.MQPL_ZOS:
            raise GroupUsage(
                f"queue manager {self._connection.q_mgr_name} is on z/OS, where messages have no segments: give bytes, not a "
                "stream"
            )
        return given or SEGMENT_BYTES

    def _record(self) -> StatusRecord:
        q_name, q_mgr_name = self._destination.resolved
        return replace(
            self._work.record(self._position),
            resolved_q_name=q_name,
            resolved_q_mgr_name=q_mgr_name,
            persistence=self._persistence,
        )

    def _group_ended(self) -> None:
        self._persistence = self._settings.persistence
        self._destination.ended()
        if self._pinned:
            # Only the rest of that group had to go where its beginning went. The next one's first message opens the queue
            # again: here the commit has succeeded, and nothing may fail any more.
            self._pinned = False
            self._queue.close()
        self._run.clear()

    def _open(self) -> Queue:
        """Open the queue; for the rest of an interrupted group, the instance of it that the beginning went to.

        Otherwise MQOO_BIND_ON_GROUP might send the rest elsewhere: the first put after a restart goes without logical
        order, and such a put is workload-balanced as if not bound (IBM MQ, topic q027030).
        """
        self._pinned = bool(self._destination.resolved[1]) and not self._work.committed.at_start
        return self._destination.open_for_the_rest() if self._pinned else self._open_for_any_group()

    def _open_for_any_group(self) -> Queue:
        return self._destination.open()

    def _back_out(self, error: BaseException | None) -> None:
        """Go back to the last commit; tell ``error`` where that is."""
        self._run.clear()
        self._unit.clear()
        self._work.back_out_after(error)

    def _close(self, *, finish: bool, delete: bool = False) -> None:
        if self._closed:
            return
        self._closed = True
        if self._group is not None:
            self._group._ended = True
            self._group = None
        try:
            self._work.back_out()
            self._unit.clear()
            if finish:
                self._work.finish()
        finally:
            self._queue.close()
            self._status.close(delete=delete)
