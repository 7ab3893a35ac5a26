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
import uuid
from collections.abc import Callable, Sequence

from mqgroups.config import SEGMENT_BYTES, ProducerSettings
from mqgroups.connection.connection import Connection
from mqgroups.connection.queue import Queue
from mqgroups.connection.retry import NO_ROOM, Patience, retrying
from mqgroups.core.group import GroupPosition, MessagePart, after_messages, after_segment, follows
from mqgroups.core.model import Role
from mqgroups.core.protocol import PendingCommit
from mqgroups.core.restart import Expectations
from mqgroups.core.run import Run
from mqgroups.errors import GroupUsage, MQIError
from mqgroups.mqi import constants as mq
from mqgroups.mqi import structures as st
from mqgroups.mqi.structures import group_place
from mqgroups.printable import even_half_made
from mqgroups.put.answers import Answers
from mqgroups.put.descriptors import Descriptors
from mqgroups.put.destination import Destination
from mqgroups.put.payload import BYTES, Stream, Unsent, abandonment
from mqgroups.status.keeper import Keeper
from mqgroups.status.opening import check_apart
from mqgroups.status.units_of_work import UnitsOfWork
from mqgroups.telemetry import context
from mqgroups.telemetry.message_span import MessageSpan

_log = logging.getLogger("mqgroups.put")

# Looked up once: to look up a member of an enum takes long.
_WHOLE, _SEGMENT = MessagePart.WHOLE, MessagePart.SEGMENT
_RESOLVED_Q_MGR_NAME = st.PMO_RESOLVED_Q_MGR_NAME
# The reason codes of a put that is refused because of its properties: they are longer than MAXPROPL, or the handle is not valid.
_PROPERTIES_REFUSED = frozenset({mq.MQRC_PROPERTIES_TOO_BIG, mq.MQRC_HMSG_ERROR})


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
        keeper: Keeper,
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
            ConfigurationError: the messages of a group could go to several instances of a cluster queue, or to a topic.
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
        self._descriptors = Descriptors(connection, settings)
        # Whether the last put was of a run of like messages, in the open unit of work. The next one is then mostly the same.
        self._in_run = False
        self._answers = Answers(connection, settings, work)
        self._room = retrying(
            Patience(settings.full_wait_s), NO_ROOM, connection.sleep, until=lambda: self.work.stopping
        )
        self.whole_bytes = settings.segment_bytes or sys.maxsize
        self._destination.check()
        expected = Expectations(Role.PUT, settings.name, settings.queue, connection.q_mgr_identifier)
        self.owner = work.add(keeper, expected, settings.owner_id or uuid.uuid4().hex, settings.hooks)
        self._run = Run(self.owner.committed)
        self._each_message = self.owner.telemetry.each_message
        resumed = self.owner.resumed
        if resumed:
            self._persistence = resumed.persistence
            self._destination.resolved = (resumed.resolved_q_name, resumed.resolved_q_mgr_name)
        self.queue = self._open()
        try:
            self._destination.check_opened(self.queue)
            check_apart(keeper.name, self.queue)
        except BaseException:
            self.queue.close()
            raise
        if resumed:
            _log.info("%r resumes an interrupted group", self, extra=self.owner.log_fields())

    @even_half_made
    def __repr__(self) -> str:
        """Return the text that a producer shows as its repr."""
        position = self.position
        group = position.group_id.hex() if not position.at_start else "none"
        return (
            f"<GroupProducer {self.settings.queue} name={self.settings.name} group={group} "
            f"seq={position.msg_seq_number} uow={self.owner.own.number} {'open' if self._connection.usable else 'broken'}>"
        )

    @property
    def position(self) -> GroupPosition:
        """The position in the group after the last put."""
        return self._run.position

    def put(self, message: Unsent) -> None:
        """Put a message; commit if a syncpoint is due or the group ends; redo the unit of work if the connection is lost."""
        self._unsent.append(message)
        data, kind, checkpoint, last, part = message
        try:
            descriptors = self._descriptors
            md = descriptors.of_run.get(kind) if self._in_run else None
            if md is None or checkpoint is not None or last or part is not _WHOLE:
                self._put_and_commit(message)
                return
            # Most messages come here: only the number is not the same as for the message before. As soon as anything else has to
            # be done, what ``_put_and_commit`` calls is called here too.
            try:
                md_out, pmo_out = self.queue.put(md, descriptors.in_logical_order, data)
            except MQIError as error:
                self._put_and_commit(message, error)
                return
            unit, run = self.owner.unit, self._run
            base, ahead = run.base, run.ahead + 1
            if (
                group_place(md_out) == (base.group_id, base.msg_seq_number + ahead)
                and pmo_out[_RESOLVED_Q_MGR_NAME] == self._destination.field
            ):
                unit.messages += 1
                unit.data_bytes += len(data)
                run.ahead = ahead
            else:
                self._arrived(message, md_out, pmo_out, unanswered=False)
            work = self.work
            if (unit.messages >= work.soonest or work.stopping or work.clock() >= work.old_s) and work.due():
                self._syncpoint()
        except MQIError as error:
            self.work.redo(error)

    def stop_if_asked(self) -> None:
        """If the application has asked for the end, commit what is put, and raise Stopped."""
        # After an asynchronous put, the next message is still put: synchronously, which proves the unit of work.
        if not self.work.stopping or not self._answers.last_came:
            return
        try:
            if self.work.may_end_early:
                self._syncpoint()
        except MQIError as error:
            self.work.redo(error)
        raise self.owner.stopped()

    def abandon(self, result: int, reason: str) -> None:
        """End a group without completing it; some of its messages must be committed."""
        try:
            if self.owner.committed.offset:
                self.put((b"", BYTES, None, False, MessagePart.LAST_SEGMENT))
            self.put(abandonment(result, reason))
        except BaseException as error:
            self.back_out(error)
            raise

    def recover(self) -> None:
        """Restore the open queues and the position if the connection was lost, or a call interrupted, since the last commit."""
        if self._connection.turn.interrupted:
            # The application does not know which of these messages were put, and puts them again.
            self._unsent.clear()
        self.work.recover()

    def require_known(self) -> None:
        """Call ``recover``; raises CommitOutcomeUnknown if the outcome of a commit cannot be found out."""
        self.recover()
        self.work.require_known()

    def replay(self, committed: int | None) -> None:
        """Put again what is not committed, after a lost connection; see ``units_of_work.Participant``."""
        del self._unsent[: committed or 0]
        self.set_back()
        for message in tuple(self._unsent):
            self._put_and_commit(message)

    def set_back(self) -> None:
        """Go to the position in the owner's record, after a commit or a backout."""
        self._descriptors.of_run.clear()
        self._stand_at_committed()
        if self.owner.committed.at_start:
            self._group_ended()

    def back_out(self, why: BaseException | str | None) -> None:
        """Back out to the last commit, and add its position to the text of an error."""
        self._unsent.clear()
        try:
            self.work.back_out_after(why)
        finally:
            self.set_back()

    def close(self, *, delete_status: bool = False) -> None:
        """Close both queues."""
        try:
            self.queue.close()
        finally:
            self._keeper.close(delete=delete_status)

    # --- in a pipe

    def put_all(self, messages: Sequence[Unsent]) -> PendingCommit | None:
        """Put messages in a unit of work that the getter commits; returns how it ends. May be called again."""
        self.set_back()
        for number, message in enumerate(messages, 1):
            ends = number == len(messages)
            if self._answers.are_missing:
                # A full queue shows only at the last message, and those before it have to be put again, too.
                self._put_once(message, ends=ends)
            else:
                self._put_when_room(message, ends=ends)
        if not messages:
            return None
        *_, ended, _ = messages[-1]
        return self._ending(ended=ended)

    # --- parts

    def _put_and_commit(self, message: Unsent, refused: MQIError | None = None) -> None:
        """Put a message, and commit if a syncpoint is due or the group ends; ``refused``: the error of a first try."""
        _, _, checkpoint, last, part = message
        try:
            if refused is None:
                self._put_once(message, ends=self._answers.ends_unit_of_work(message))
            else:
                self._put_without_context(message, refused)
        except MQIError as error:
            if error.reason not in NO_ROOM or self._answers.are_missing:
                raise
            self._commit_and_wait_for_room(message)
        if checkpoint is not None:
            self.owner.set_checkpoint(checkpoint)
        if last and part is not _SEGMENT:
            self._commit(ended=True)
            self._unsent.clear()
            self._group_ended()
        elif self._answers.last_came and self.work.due():
            self._syncpoint()

    def _syncpoint(self) -> None:
        messages = self.owner.unit.messages
        self._commit(ended=False)
        del self._unsent[:messages]

    def _commit(self, *, ended: bool) -> None:
        self.work.settling()
        self.work.commit({self.owner: self._ending(ended=ended)})
        self._stand_at_committed()

    def _stand_at_committed(self) -> None:
        self._in_run = False
        self._run.go_to(self.owner.committed)

    def _ending(self, *, ended: bool) -> PendingCommit:
        if not ended and self.owner.own.kept.most_messages:
            self._destination.check_told()
        self._answers.check()
        return self.owner.ending(
            self.position, ended=ended, resolved=self._destination.resolved, persistence=self._persistence
        )

    def _put_once(self, message: Unsent, *, ends: bool = True) -> None:
        """Put a message; ``ends``: whether it is the last of its unit of work, or has to be answered in any case."""
        data, kind, _, last, part = message
        owner = self.owner
        if owner.unit.messages == 0:
            self._begin()
        span = self._creating() if self._each_message else None
        md = None if last or part is not _WHOLE else self._descriptors.of_run.get(kind)
        if md is None:
            if kind.msg_type == mq.MQMT_REPORT:
                owner.telemetry.abandoned(kind.feedback - mq.MQFB_APPL_FIRST)
            md, pmo = self._descriptors.prepare(self.position, self._persistence, kind, last, part, data)
        else:
            pmo = self._descriptors.in_logical_order
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
        self._in_run = (
            self._descriptors.of_run.get(kind) is md and not self._each_message and not self._answers.are_asynchronous
        )

    def _put_without_context(self, message: Unsent, error: MQIError, *, ends: bool = True) -> None:
        """Put a message again without trace context, if ``error`` refused its properties; else raise the error, or that of a put
        before it that was not answered and explains it.
        """
        self._answers.explain(error)
        if error.reason not in _PROPERTIES_REFUSED or not self._descriptors.carries_context:
            raise error
        self._connection.stop_propagating(str(error))
        self._carry()
        self._put_once(message, ends=ends)

    def _arrived(self, message: Unsent, md: bytes, pmo: bytes, *, unanswered: bool) -> None:
        """Check where a message went, by the MQMD and MQPMO that came back; move the position behind it, and count it.

        Raises:
            GroupWouldSplit: it went to another queue manager than the group's first message.
            ForeignSyncpoint: it is not the next message of the group.
        """
        data, kind, _, last, part = message
        run, whole = self._run, part is _WHOLE
        base = run.base
        if unanswered:
            group_id = base.group_id
        else:
            group_id, found = group_place(md)
            if base.at_start:
                self._destination.begins(pmo)
                if kind.properties:
                    self.owner.unit.set_properties(dict(kind.properties))
            else:
                self._destination.went(pmo, md)
            offset = 0 if whole else st.long_at(md, st.MD_OFFSET)
            if not follows(base, group_id, found - run.ahead, offset):
                raise self._answers.misplaced(self.position, group_id, found)
        self._answers.last_came = not unanswered
        if whole and base.msg_seq_number and not base.offset:
            run.ahead += 1
        else:
            ends = part is not _SEGMENT
            position = self.position
            run.go_to(
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
        self._descriptors.carry(self.owner.telemetry.trace_context(span) if propagates else context.NONE)

    def _creating(self) -> MessageSpan:
        """Begin the span of a message; the message carries its context if propagation is on."""
        telemetry = self.owner.telemetry
        span = telemetry.messages.begin(self._run.next_number, telemetry.context)
        if self._connection.propagates or self._descriptors.carries_context:
            self._carry(span)
        return span

    def _commit_and_wait_for_room(self, message: Unsent) -> None:
        # Commit first: consumers can then get these messages, which makes room.
        if self.work.may_end_early:
            self._syncpoint()
        _log.info("%r waits for room on the queue", self, extra=self.owner.log_fields())
        self._put_when_room(message)

    def _put_when_room(self, message: Unsent, *, ends: bool = True) -> None:
        try:
            self._room(self._put_once, message, ends=ends)
        except MQIError as error:
            if error.reason in NO_ROOM and self.work.stopping:
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
        self._descriptors.of_run.clear()

    def _open(self) -> Queue:
        """Open the queue; for the rest of an interrupted group, open the instance that its beginning went to.

        Otherwise MQOO_BIND_ON_GROUP might send the rest to another instance: the first put after a restart goes without logical
        order, and such a put is workload-balanced as if not bound (IBM MQ, topic q027030).
        """
        self._pinned = bool(self._destination.resolved[1]) and not self.owner.committed.at_start
        return self._destination.open_for_the_rest() if self._pinned else self._open_for_any_group()
