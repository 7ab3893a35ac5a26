"""Puts the messages of a producer's groups one by one, in units of work, and re-puts whatever was not committed.

For each message the putter asks ``core.group`` how to put it, puts it to the queue, and compares the returned MQMD with the plan.
Only then does it move to the position that the core returns. Its owner's status record ends each unit of work.

The putter keeps messages in memory until they are committed. So if the connection is lost and the program is still running, the
putter redoes the unit of work. In a pipe the getter ends the unit of work, and the putter stages its part of it (``stage``).

Not here: the application's interface to a group (``group.py``).
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mqgroups.config import SEGMENT_BYTES, ProducerSettings
from mqgroups.connection.connection import Connection
from mqgroups.connection.queue import Queue
from mqgroups.connection.retry import NO_ROOM, Patience, retrying
from mqgroups.core.group import GroupPosition, MessagePart, after_messages, after_segment, follows, next_put
from mqgroups.core.model import Role
from mqgroups.core.restart import CommitOutcome
from mqgroups.errors import GroupUsage, MQIError, QueueFull, QueueInhibited
from mqgroups.mqi import constants as mq
from mqgroups.mqi import structures as st
from mqgroups.mqi.structures import group_place
from mqgroups.put.answers import Answers
from mqgroups.put.destination import Destination
from mqgroups.put.payload import BYTES, MessageKind, Stream, Unsent, abandonment
from mqgroups.status.keeper import RecordKeeper
from mqgroups.status.open_unit import OpenUnit
from mqgroups.status.opening import check_apart
from mqgroups.status.owner import Owner
from mqgroups.status.units_of_work import UnitsOfWork
from mqgroups.telemetry import context
from mqgroups.telemetry.message_span import MessageSpan
from mqgroups.telemetry.semantic_conventions import TRACEPARENT

_log = logging.getLogger("mqgroups.put")

_IN_LOGICAL_ORDER = st.pmo(st.PUT_NEW_MESSAGE | mq.MQPMO_LOGICAL_ORDER)
_IN_PHYSICAL_ORDER = st.pmo(st.PUT_NEW_MESSAGE)
# Looked up once: to look up a member of an enum takes long.
_WHOLE, _SEGMENT = MessagePart.WHOLE, MessagePart.SEGMENT
_RESOLVED_Q_MGR_NAME = st.PMO_RESOLVED_Q_MGR_NAME
# The reason codes of a put that is refused because of its properties: they are longer than MAXPROPL, or the handle is not valid.
_PROPERTIES_REFUSED = frozenset({mq.MQRC_PROPERTIES_TOO_BIG, mq.MQRC_HMSG_ERROR})


@dataclass(slots=True)  # not frozen: it is made in each unit of work, and that takes three times as long
class _Run:
    """A run of like puts: whole messages of one kind, in one unit of work, none of them the group's last.

    Attributes:
        kind: of the messages.
        md, pmo: the structures for each of them.
        unit: the owner's part of the unit of work. While the run lasts, only the number of messages in it changes.
        begun_with: the number of messages in the unit of work when the run began.
        group_id: of the group.
        number_less: each message's MsgSeqNumber, less the number of messages in the unit of work before it.
        destination: the ResolvedQMgrName of each message.
        unanswered: whether they are put asynchronously, so that nothing is known of them yet.
    """

    kind: MessageKind
    md: memoryview
    pmo: memoryview
    unit: OpenUnit
    begun_with: int
    group_id: bytes
    number_less: int
    destination: bytes
    unanswered: bool


class Putter:
    """The open queues of a producer, and the messages that it has put since the last commit.

    Attributes:
        settings: the producer's.
        owner: the owner of the status record.
        queue: the data queue, open for output.
        work: the units of work that it puts in.
        whole_bytes: longer payloads are put in segments.
    """

    def __init__(
        self,
        connection: Connection,
        settings: ProducerSettings,
        keeper: RecordKeeper,
        work: UnitsOfWork,
        *,
        open_queue: Callable[[], Queue] | None = None,
    ) -> None:
        """Open the queue and read the status record. The caller must then call ``work.claim()``, or ``close`` this putter.

        Args:
            connection: to the queue manager.
            settings: the producer's.
            keeper: keeps the status record; closed together with this putter.
            work: the new owner is added to it.
            open_queue: opens the queue for new groups; by default as the settings say.

        Raises:
            StatusError: the status queue, or the record on it, cannot be used.
            ConfigurationError: the messages of a group could go to several instances of a cluster queue.
            MQIError: a call failed.
        """
        self._connection = connection
        self.settings = settings
        self.work = work
        self._keeper = keeper
        self._destination = Destination(connection, settings.queue, settings.bind)
        self._open_for_any_group = open_queue or self._destination.open
        self._persistence = settings.persistence
        self._pinned = False
        # The messages that are not committed yet, in order.
        self._unsent: list[Unsent] = []
        # MQMD templates by kind, for messages that are not the last, while the handle retains the group.
        self._templates: dict[MessageKind, memoryview] = {}
        # The run of like puts that the next message may continue. Most messages do.
        self._run: _Run | None = None
        # MQPMO templates, in logical and physical order, with a message handle for the trace context if messages carry it.
        self._context = context.NONE
        self._carrying = mq.MQHM_NONE
        self._in_logical_order, self._in_physical_order = _IN_LOGICAL_ORDER, _IN_PHYSICAL_ORDER
        self._answers = Answers(connection, settings, work)
        self._room = retrying(
            Patience(settings.full_wait_s), NO_ROOM, connection.sleep, until=lambda: self.work.stopping
        )
        self.whole_bytes = settings.segment_bytes or sys.maxsize
        self._destination.check()
        self.owner = Owner(
            connection,
            keeper,
            Role.PUT,
            settings.name,
            settings.queue,
            settings.hooks,
            owner_id=settings.owner_id,
        )
        # The position in the group before the run, or without one.
        self._position = self.owner.committed
        self._each_message = self.owner.telemetry.each_message
        resumed = self.owner.resumed
        if resumed:
            self._persistence = resumed.persistence
            self._destination.resolved = (resumed.resolved_q_name, resumed.resolved_q_mgr_name)
        self.queue = self._open()
        try:
            check_apart(keeper.name, self.queue)
        except BaseException:
            self.queue.close()
            raise
        work.add(self.owner)
        if resumed:
            _log.info("%r resumes an interrupted group", self, extra=self.owner.log_fields())

    def __repr__(self) -> str:
        """Return the text that a producer shows as its repr."""
        position = self.position
        group = position.group_id.hex() if not position.at_start else "none"
        return (
            f"<GroupProducer {self.settings.queue} name={self.settings.name} group={group} "
            f"seq={position.msg_seq_number} uow={self.owner.number} {'open' if self._connection.usable else 'broken'}>"
        )

    @property
    def position(self) -> GroupPosition:
        """The position in the group after the last put."""
        run = self._run
        ahead = run.unit.messages - run.begun_with if run is not None else 0
        return after_messages(self._position, self._position.group_id, ahead) if ahead else self._position

    def put(self, message: Unsent) -> None:
        """Put a message; commit if a syncpoint is due or the group ends; redo the unit of work if the connection is lost.

        Raises:
            Stopped: the application has asked for the end before this message. What was put is committed.
        """
        data, kind, checkpoint, last, part = message
        run = self._run
        if (
            run is None
            or kind is not run.kind
            or checkpoint is not None
            or last
            or part is not _WHOLE
            or self.work.stopping
        ):
            if not last or part is _SEGMENT:
                self._stop_if_asked()
            self._put_or_redo(message)
            return
        # Most messages come here: only the number is not the same as with the message before. As soon as anything else is not the
        # same, what is called by ``_put_or_redo`` is called here too.
        self._unsent.append(message)
        try:
            try:
                md, pmo = self.queue.put(run.md, run.pmo, data)
            except MQIError as error:
                self._put_and_commit(message, error)
                return
            unit = run.unit
            if run.unanswered or (
                group_place(md) == (run.group_id, run.number_less + unit.messages)
                and pmo[_RESOLVED_Q_MGR_NAME] == run.destination
            ):
                unit.messages += 1
                unit.data_bytes += len(data)
            else:
                self._arrived(message, md, pmo, unanswered=False)
            if unit.messages + run.unanswered >= self.work.soonest:
                self._may_be_due()
        except MQIError as error:
            self.work.redo(error, self.redo)

    def _put_or_redo(self, message: Unsent) -> None:
        self._unsent.append(message)
        try:
            self._put_and_commit(message)
        except MQIError as error:
            self.work.redo(error, self.redo)

    def _stop_if_asked(self) -> None:
        """If the application has asked for the end, commit what is put, and raise Stopped.

        After an asynchronous put, the next message is still put: synchronously, which proves the unit of work.
        """
        if not self.work.stopping or not self._answers.last_came:
            return
        try:
            if self.owner.unit.messages:
                self._syncpoint()
        except MQIError as error:
            self.work.redo(error, self.redo)
        raise self.owner.stopped()

    def abandon(self, result: int, reason: str) -> None:
        """End a group without completing it; some of its messages must be committed."""
        try:
            if self.owner.committed.offset:
                self._put_or_redo((b"", BYTES, None, False, MessagePart.LAST_SEGMENT))
            self._put_or_redo(abandonment(result, reason))
        except BaseException as error:
            self.back_out(error)
            raise

    def recover(self) -> None:
        """Restore the open queues and the position if the connection was lost, or a call interrupted, since the last commit."""
        if self._connection.turn.interrupted:
            # The application does not know which of these messages were put, and puts them again.
            self._unsent.clear()
        self.work.recover(self.redo)

    def require_known(self) -> None:
        """Call ``recover``; raises CommitOutcomeUnknown if the outcome of a commit cannot be found out."""
        self.recover()
        self.work.require_known(self.redo)

    def redo(self) -> None:
        """After a lost connection, find out what is committed and re-put the rest."""
        messages = self.owner.unit.messages
        if self.work.settle() is CommitOutcome.COMMITTED:
            del self._unsent[:messages]
        self.set_back()
        for message in tuple(self._unsent):
            self._put_and_commit(message)

    def set_back(self) -> None:
        """Go to the position in the owner's record, after a commit or a backout."""
        self._templates.clear()
        self._stand_at_committed()
        if self.owner.committed.at_start:
            self._group_ended()

    def back_out(self, error: BaseException | None) -> None:
        """Back out to the last commit, and add its position to the text of ``error``."""
        self._unsent.clear()
        try:
            self.work.back_out_after(error)
        finally:
            self.set_back()

    def close(self, *, delete_status: bool = False) -> None:
        """Close both queues."""
        try:
            self.queue.close()
        finally:
            self._keeper.close(delete=delete_status)

    # --- in a pipe

    def stage(self, messages: Sequence[Unsent]) -> None:
        """Put messages and their record in a unit of work that the getter commits. After ``settle`` it may be called again."""
        self.set_back()
        for number, message in enumerate(messages, 1):
            ends = number == len(messages)
            if self._answers.are_missing:
                # A full queue shows only at the last message, and those before it have to be put again, too.
                self._put_once(message, ends=ends)
            else:
                self._put_when_room(message, ends=ends)
        if messages:
            *_, ended, _ = messages[-1]
            self._stage_record(ended=ended)

    # --- parts

    def _put_and_commit(self, message: Unsent, refused: MQIError | None = None) -> None:
        """Put a message, and commit if a syncpoint is due or the group ends; ``refused``: the error of a first try."""
        _, _, checkpoint, last, part = message
        try:
            ends = self._answers.ends_unit_of_work(message)
            if refused is None:
                self._put_once(message, ends=ends)
            else:
                self._put_without_context(message, refused, ends=ends)
        except (QueueFull, QueueInhibited):
            if self._answers.are_missing:
                raise
            self._commit_and_wait_for_room(message)
        if checkpoint is not None:
            self.owner.set_checkpoint(checkpoint)
        if last and part is not _SEGMENT:
            self._commit(ended=True)
            self._unsent.clear()
            self._group_ended()
        else:
            self._may_be_due()

    def _may_be_due(self) -> None:
        """Commit if a syncpoint is due, unless the last message was not answered."""
        if not self._answers.last_came:
            # The next message may end the unit of work, and then has to be answered.
            self._stand_at(self.position)
        elif self.work.due():
            self._syncpoint()

    def _syncpoint(self) -> None:
        messages = self.owner.unit.messages
        self._commit(ended=False)
        del self._unsent[:messages]

    def _commit(self, *, ended: bool) -> None:
        self.work.settling()
        self._stage_record(ended=ended)
        self.work.commit()
        self._stand_at_committed()

    def _stand_at_committed(self) -> None:
        self._stand_at(self.owner.committed)

    def _stand_at(self, position: GroupPosition) -> None:
        self._run = None
        self._position = position

    def _stage_record(self, *, ended: bool) -> None:
        if not ended and self._keeper.most_messages:
            self._destination.check_told()
        self._answers.check()
        record = self.owner.record(
            self.position, ended=ended, resolved=self._destination.resolved, persistence=self._persistence
        )
        self.owner.stage(record)

    def _put_once(self, message: Unsent, *, ends: bool = True) -> None:
        """Put a message; ``ends``: whether it is the last of its unit of work, or has to be answered in any case."""
        data, kind, _, last, part = message
        if self.owner.unit.messages == 0:
            self._begin()
        span = self._creating() if self._each_message else None
        md, pmo = self._prepare(kind, last, part, data)
        unanswered = not ends and self._answers.can_do_without(self.position)
        if unanswered:
            pmo = self._answers.do_without(pmo)
        try:
            md_out, pmo_out = self.queue.put(md, pmo, data)
        except MQIError as error:
            if span is not None:
                span.why = error
                span.end()
            self._put_without_context(message, error, ends=ends)
            return
        if span is not None:
            span.end()
        self._arrived(message, md_out, pmo_out, unanswered=unanswered)
        if self._templates.get(kind) is md and unanswered is self._answers.are_asynchronous and not self._each_message:
            position, unit = self._position, self.owner.unit
            self._run = _Run(
                kind,
                md,
                pmo,
                unit,
                unit.messages,
                position.group_id,
                position.msg_seq_number + 1 - unit.messages,
                pmo_out[_RESOLVED_Q_MGR_NAME],
                unanswered,
            )

    def _put_without_context(self, message: Unsent, error: MQIError, *, ends: bool) -> None:
        """Put a message again without trace context, if ``error`` refused its properties; else raise the error."""
        if error.reason not in _PROPERTIES_REFUSED or self._carrying == mq.MQHM_NONE:
            raise error
        self._connection.stop_propagating(str(error))
        self._stand_at(self.position)
        self._carry()
        self._put_once(message, ends=ends)

    def _arrived(self, message: Unsent, md: bytes, pmo: bytes, *, unanswered: bool) -> None:
        """Check where a message went, by the MQMD and MQPMO that came back; move the position behind it, and count it.

        Raises:
            GroupWouldSplit: it went to another queue manager than the group's first message.
            ForeignSyncpoint: it is not the next message of the group.
        """
        data, kind, _, last, part = message
        position = self.position
        group_id = position.group_id
        if not unanswered:
            group_id, number = group_place(md)
            if position.at_start:
                self._destination.begins(pmo)
                if kind.properties:
                    self.owner.unit.set_properties(dict(kind.properties))
            else:
                self._destination.went(pmo, md)
            offset = 0 if part is _WHOLE else st.long_at(md, st.MD_OFFSET)
            if not follows(position, group_id, number, offset):
                raise self._answers.misplaced(position, group_id, number)
        self._answers.last_came = not unanswered
        ends = part is not _SEGMENT
        self._stand_at(
            after_messages(position, group_id) if ends else after_segment(position, group_id, len(data), last=last)
        )
        self.owner.count(len(data))
    def _begin(self) -> None:
        """Begin the owner's part of a unit of work."""
        self.work.begin()
        if not self.queue.is_open:
            self.queue = self._open()
        self.work.begun(self.owner)
        if not self._each_message:
            self._carry()
        self._stand_at_committed()

    def _carry(self, span: MessageSpan | None = None) -> None:
        """Set the trace context of the next messages: that of ``span``, else of the unit of work; none if not propagated."""
        propagates = self._connection.propagates
        self._context = self.owner.telemetry.trace_context(span) if propagates else context.NONE
        hmsg = self._connection.message_handles.carrying(self._context)
        if hmsg != self._carrying:
            self._carrying = hmsg
            self._in_logical_order = st.pmo(st.PUT_NEW_MESSAGE | mq.MQPMO_LOGICAL_ORDER, hmsg)
            self._in_physical_order = st.pmo(st.PUT_NEW_MESSAGE, hmsg)

    def _prepare(self, kind: MessageKind, last: bool, part: MessagePart, data: bytes) -> tuple[memoryview, memoryview]:
        """Return MQMD and MQPMO by the core's plan; keep the MQMD if it also fits the messages that follow."""
        if part is _WHOLE and not last and (template := self._templates.get(kind)) is not None:
            return template, self._in_logical_order
        plan = next_put(self.position, last=last, part=part)
        md = st.md(
            format_name=kind.format_name,
            ccsid=kind.ccsid,
            correl_id=kind.correl_id,
            msg_type=kind.msg_type,
            feedback=kind.feedback,
            priority=self.settings.mqmd_priority,
            persistence=self._persistence,
            group_id=plan.group_id,
            msg_seq_number=plan.msg_seq_number,
            offset=plan.offset,
            msg_flags=plan.msg_flags,
        )
        if kind.msg_type == mq.MQMT_REPORT:
            self.owner.telemetry.abandoned(kind.feedback - mq.MQFB_APPL_FIRST)
        if kind.properties:
            options = st.PUT_NEW_MESSAGE | (mq.MQPMO_LOGICAL_ORDER if plan.logical_order else 0)
            properties = dict(kind.properties)
            if part is _WHOLE and TRACEPARENT not in properties:
                properties.update(self._context.as_properties())
            return md, st.pmo(options, self._connection.message_handle(properties))
        own_header = kind.format_name == mq.MQFMT_RF_HEADER_2
        if part is not _WHOLE or (own_header and context.in_header(bytes(md), data)):
            # No trace context here. IBM's texts do not say whether a segment may have properties (2443 may apply; not tried on
            # IBM MQ), and context that the application has set itself is not replaced.
            return md, _IN_LOGICAL_ORDER if plan.logical_order else _IN_PHYSICAL_ORDER
        if not plan.logical_order:
            return md, self._in_physical_order
        if not last and kind.correl_id == mq.MQCI_NONE and not own_header:
            self._templates[kind] = md
        return md, self._in_logical_order

    def _creating(self) -> MessageSpan:
        """Begin the span of a message; the message carries its context if propagation is on."""
        telemetry = self.owner.telemetry
        span = telemetry.messages.begin(self._position.msg_seq_number + 1, telemetry.context)
        if self._connection.propagates or self._carrying != mq.MQHM_NONE:
            self._carry(span)
        return span

    def _commit_and_wait_for_room(self, message: Unsent) -> None:
        # Commit first: consumers can then get these messages, which makes room.
        if self.owner.unit.messages:
            self._syncpoint()
        _log.info("%r waits for room on the queue", self, extra=self.owner.log_fields())
        self._put_when_room(message)

    def _put_when_room(self, message: Unsent, *, ends: bool = True) -> None:
        try:
            self._room(self._put_once, message, ends=ends)
        except (QueueFull, QueueInhibited):
            if self.work.stopping:
                raise self.owner.stopped() from None
            raise

    def segment_bytes(self, payload: bytes | Stream) -> int | None:
        """Return the most bytes of a segment of this payload; ``None`` if it is not cut. Raises GroupUsage on z/OS."""
        given = self.settings.segment_bytes
        if isinstance(payload, bytes):
            return given
        if self._connection.platform == mq.MQPL_ZOS:
            raise GroupUsage(
                f"queue manager {self._connection.q_mgr_name} is on z/OS, which does not support segments, so a stream "
                "cannot be put. Put bytes"
            )
        return given or SEGMENT_BYTES

    def _group_ended(self) -> None:
        self._persistence = self.settings.persistence
        self._destination.ended()
        if self._pinned:
            # The queue was open at one instance only for the rest of that group. The next group's first message opens it again:
            # not here, because an MQOPEN can fail and the commit has already succeeded.
            self._pinned = False
            self.queue.close()
        self._templates.clear()

    def _open(self) -> Queue:
        """Open the queue; for the rest of an interrupted group, open the instance that its beginning went to.

        Otherwise MQOO_BIND_ON_GROUP might send the rest to another instance: the first put after a restart goes without logical
        order, and such a put is workload-balanced as if not bound (IBM MQ, topic q027030).
        """
        self._pinned = bool(self._destination.resolved[1]) and not self.owner.committed.at_start
        return self._destination.open_for_the_rest() if self._pinned else self._open_for_any_group()
