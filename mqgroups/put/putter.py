"""Puts the messages of a producer's groups in units of work, and puts uncommitted messages again after a failure.

For each message ``core.group`` plans how to put it. The putter compares the MQMD that MQPUT returns with that plan, and only then
moves its position.

The putter keeps messages in memory until they are committed. So if the connection is lost and the program is still running, the
putter redoes the unit of work. In a pipe the getter ends the unit of work, and the putter only puts messages (``put_all``).

Not here: the application's interface to a group (``group.py``).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from mqgroups.connection.connection import Connection
from mqgroups.connection.interruptions import Turn
from mqgroups.connection.queue import Queue
from mqgroups.connection.retry import NO_ROOM, Patience
from mqgroups.core.group import GroupPosition, MessagePart, after_messages, after_segment, follows, may_go_unanswered
from mqgroups.core.group_properties import NO_PROPERTIES
from mqgroups.core.model import Persistence, Role
from mqgroups.core.ownership import PendingCommit
from mqgroups.core.restart import Expectations
from mqgroups.core.run import Run
from mqgroups.core.status import TIME_UTC, Done
from mqgroups.errors import ForeignSyncpoint, GroupUsage, MQIError
from mqgroups.mqi import constants as mq
from mqgroups.mqi import structures as st
from mqgroups.mqi.structures import group_place
from mqgroups.printable import even_half_made
from mqgroups.put.answers import Answers
from mqgroups.put.descriptors import IN_LOGICAL_ORDER, Descriptors
from mqgroups.put.destination import Destination
from mqgroups.put.payload import BYTES, Stream, Unsent, abandonment
from mqgroups.settings import SEGMENT_BYTES, Producing
from mqgroups.status.keeper import Keeper
from mqgroups.status.opening import check_apart
from mqgroups.status.owner import new_owner_id
from mqgroups.status.units_of_work import UnitsOfWork
from mqgroups.telemetry import context
from mqgroups.telemetry.message_span import MessageSpan
from mqgroups.telemetry.semantic_conventions import BACKED_OUT

_log = logging.getLogger("mqgroups.put")

# Looked up once, because looking up a member of an enum takes long.
_WHOLE, _SEGMENT = MessagePart.WHOLE, MessagePart.SEGMENT
_RESOLVED_Q_MGR_NAME, _MSG_ID = st.PMO_RESOLVED_Q_MGR_NAME, st.MD_MSG_ID
# The reason codes of a put that is refused for its properties, which are longer than MAXPROPL or have an invalid handle; and of
# a put that is refused for its length, perhaps only because of its header.
_PROPERTIES_REFUSED = frozenset({mq.MQRC_PROPERTIES_TOO_BIG, mq.MQRC_HMSG_ERROR})
_TOO_LONG = frozenset({mq.MQRC_MSG_TOO_BIG_FOR_Q, mq.MQRC_MSG_TOO_BIG_FOR_Q_MGR, mq.MQRC_DATA_LENGTH_ERROR})


class Putter:
    """A producer's open queue, its position in a group there, and the messages that it has put since the last commit.

    Attributes:
        settings: the producer's settings.
        work, owner: the producer's units of work, and the part of them that belongs to the producer's name.
        queue: the data queue, open for output.
        remembered: the properties, including the name, by which the status record remembers a complete group; empty if the group
            has no name, or if the record must not remember it.
    """

    def __init__(
        self,
        connection: Connection,
        settings: Producing,
        keeper: Keeper,
        work: UnitsOfWork,
        *,
        open_queue: Callable[[], Queue] | None = None,
        owner_id: str | None = None,
    ) -> None:
        """Open the queue and read the status record. Afterwards the caller must call ``work.claim()``, or ``close`` this putter.

        Args:
            connection, settings: the producer's connection and settings.
            keeper: keeps the status record; closed together with this putter.
            work: the units of work, to which the new owner is added.
            open_queue: opens the queue for new groups; by default as the settings say.
            owner_id: the unique identity of the owner; by default a random one.

        Raises:
            StatusError: the status queue, or the record on it, cannot be used.
            ConfigurationError: the queue is an alias of a topic.
            MQIError: a call failed.
        """
        self._connection = connection
        self.settings = settings
        self.work = work
        self._destination = Destination(connection, settings)
        self._open_for_any_group = open_queue or self._destination.open
        # Whether the queue is open at one instance, for the rest of the present group only.
        self._pinned = False
        self._descriptors = Descriptors(connection, settings)
        self._answers = Answers(connection, settings)
        # The messages that are not committed yet, in order.
        self._unsent: list[Unsent] = []
        self.remembered = NO_PROPERTIES
        expected = Expectations(Role.PUT, settings.name, settings.queue, connection.q_mgr_identifier)
        self.owner = work.add(keeper, expected, owner_id or new_owner_id(), settings.hooks)
        self._run = Run(self.owner.committed)
        self.owner.in_hand = lambda: self.position
        resumed = self.owner.resumed
        if resumed:
            self._destination.resolved = (resumed.resolved_q_name, resumed.resolved_q_mgr_name)
        self.queue = self._open()
        try:
            self._destination.check_opened(self.queue)
            check_apart(keeper.name, self.queue)
        except BaseException:
            self.queue.close()
            raise
        if resumed and settings.interrupted == "resume":
            _log.warning("%r resumes an interrupted group", self, extra=self.owner.log_fields())

    @even_half_made
    def __repr__(self) -> str:
        """Return the repr of the producer."""
        position = self.position
        group = position.group_id.hex() if not position.at_start else "none"
        return (
            f"<GroupProducer {self.settings.queue} name={self.settings.name} group={group} "
            f"seq={position.msg_seq_number} uow={self.owner.own.number} {self._connection.state}>"
        )

    @property
    def position(self) -> GroupPosition:
        """The position in the group after the last put."""
        return self._run.position

    @property
    def turn(self) -> Turn:
        """The connection's lock, which admits one caller at a time."""
        return self._connection.turn

    @property
    def _persistence(self) -> Persistence:
        # All messages of a group have the same persistence, whatever the settings say now.
        owner = self.owner
        record = owner.own.record
        return self.settings.persistence if record is None or owner.committed.at_start else record.persistence

    def put(self, message: Unsent) -> None:
        """Put a message. Commit if a syncpoint is due or the group ends. If the connection is lost, redo the unit of work."""
        self._unsent.append(message)
        try:
            self._put_and_commit(message)
        except MQIError as error:
            self.work.redo(error)

    def stop_if_asked(self) -> None:
        """If the application has called ``stop``, commit the earlier messages and raise Stopped."""
        # After an asynchronous put, the next message is still put, and synchronously, which proves the unit of work.
        if not self.work.stopping or not self._answers.last_came:
            return
        try:
            if self.work.may_end_early:
                self._syncpoint()
        except MQIError as error:
            self.work.redo(error)
        raise self.owner.stopped()

    def segment_bytes(self, payload: bytes | Stream) -> int | None:
        """Return the maximum segment size for this payload; ``None`` if it is not cut. Raises GroupUsage for a stream on z/OS."""
        given = self.settings.segment_bytes
        if isinstance(payload, bytes):
            return given
        if self._connection.platform == mq.MQPL_ZOS:
            raise GroupUsage(
                f"queue manager {self._connection.q_mgr_name} is on z/OS, which does not support segments, so a stream "
                "cannot be put. Put bytes"
            )
        return given or SEGMENT_BYTES

    # --- a message

    def _put_and_commit(self, message: Unsent) -> None:
        data, _, checkpoint, last, part = message
        answers, ends_group = self._answers, last and part is not _SEGMENT
        try:
            self._put_once(message, ends_group or answers.answered_units > 0 or self.work.due(1, len(data)))
        except MQIError as error:
            if error.reason not in NO_ROOM or answers.are_missing:
                raise
            self._commit_and_wait_for_room(message)
        if checkpoint is not None:
            self.owner.set_checkpoint(checkpoint)
        if ends_group:
            self._commit(ended=True)
            self._unsent.clear()
            self._group_ended()
        elif answers.last_came and self.work.due():
            self._syncpoint()

    def _put_once(self, message: Unsent, ends: bool = True, in_handle: bool = False) -> None:
        """Put a message, without a commit.

        ``ends``: whether the put must be synchronous, for example because the message ends its unit of work. ``in_handle``:
        whether the trace context goes in a message handle.
        """
        data, kind, _, last, part = message
        owner, descriptors, answers = self.owner, self._descriptors, self._answers
        if owner.unit.messages == 0:
            self._begin()
        span = self._creating() if owner.telemetry.has_message_spans else None
        md = None if last or part is not _WHOLE or in_handle else descriptors.of_run.get(kind)
        in_run = md is not None
        if md is not None:
            # A fast path, because only the number changes. It saves 6 of the 9 µs of processor time that a put takes in Python.
            pmo = IN_LOGICAL_ORDER
            header = descriptors.in_front(kind) if descriptors.headers is not None else b""
        else:
            if kind.msg_type == mq.MQMT_REPORT:
                owner.telemetry.abandoned(kind.feedback - mq.MQFB_APPL_FIRST)
            md, pmo, header = descriptors.prepare(self.position, self._persistence, message, in_handle=in_handle)
        # In a run the position is behind the group's first message, on a handle that retains the position.
        unanswered = not ends and not answers.answered_units and (in_run or may_go_unanswered(self.position))
        if unanswered:
            pmo = answers.asynchronously(pmo)
        try:
            md_out, pmo_out = self.queue.put(md, pmo, header + data)
        except MQIError as error:
            if span is not None:
                span.why = error
                span.end()
            self._put_otherwise(message, error, ends, had_header=bool(header))
            return
        if span is not None:
            if not unanswered:
                span.put_as(md_out[_MSG_ID])
            span.end()
        run = self._run
        base = run.base
        if in_run and (
            unanswered
            or (
                group_place(md_out) == (base.group_id, base.msg_seq_number + run.ahead + 1)
                and pmo_out[_RESOLVED_Q_MGR_NAME] == self._destination.field
            )
        ):
            run.ahead += 1
            answers.last_came = not unanswered
        else:
            self._arrived(message, md_out, pmo_out, unanswered=unanswered)
        unit = owner.unit
        unit.messages += 1
        unit.data_bytes += len(data)

    def _put_otherwise(self, message: Unsent, error: MQIError, ends: bool, *, had_header: bool) -> None:
        """Put a message in another way, because the queue manager has refused it with ``error``.

        If its properties were refused, the message goes without trace context. If it was too long, its trace context goes in a
        message handle. Any other refusal raises ``error``, or the error of the earlier asynchronous put that caused it.
        """
        self._answers.explain(error)
        if had_header and error.reason in _TOO_LONG:
            self._put_once(message, ends, in_handle=True)
            return
        if error.reason not in _PROPERTIES_REFUSED or self._descriptors.headers is None:
            raise error
        self._connection.stop_propagating(str(error))
        self._carry()
        self._put_once(message, ends)

    def _arrived(self, message: Unsent, md: bytes, pmo: bytes, *, unanswered: bool) -> None:
        """Check the MQMD and MQPMO that MQPUT returned for a message, and move the position past the message.

        Raises QueueManagerChanged if the message went to another queue manager than the group's first message, and
        ForeignSyncpoint if it is not the group's next message.
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
                    self.owner.set_properties(dict(kind.properties))
            else:
                self._destination.went(pmo, md)
            offset = 0 if whole else st.long_at(md, st.MD_OFFSET)
            if not follows(base, group_id, found - run.ahead, offset):
                raise self._misplaced(group_id, found)
        self._answers.last_came = not unanswered
        if whole and base.msg_seq_number and not base.offset:
            run.ahead += 1
        else:
            ends = part is not _SEGMENT
            position = self.position
            run.go_to(
                after_messages(position, group_id) if ends else after_segment(position, group_id, len(data), last=last)
            )

    def _misplaced(self, group_id: bytes, found: int) -> ForeignSyncpoint:
        """Return the error for a message that has another number, offset or group than planned.

        Raises MQIError instead if an earlier message was not put, because this explains the difference.
        """
        self._answers.check()
        position = self.position
        expected = group_id if position.at_start else position.group_id
        return ForeignSyncpoint(
            f"a message was put to {self.settings.queue} as message {found} of group {group_id.hex()}, expected message "
            f"{position.msg_seq_number + 1} of group {expected.hex()}"
        )

    def _begin(self) -> None:
        """Begin the producer's part of a unit of work."""
        self.work.begin()
        if not self.queue.is_open:
            self.queue = self._open()
        self.work.begun(self.owner)
        if not self.owner.telemetry.has_message_spans:
            self._carry()
        self._stand_at_committed()

    def _carry(self, span: MessageSpan | None = None) -> None:
        """Give the next messages the trace context of ``span``, by default of the unit of work; none if propagation is off."""
        propagates = self._connection.propagates
        self._descriptors.carry(self.owner.telemetry.trace_context(span) if propagates else context.NONE)

    def _creating(self) -> MessageSpan:
        """Begin the span of a message. If propagation is on, the message carries the context of that span."""
        telemetry = self.owner.telemetry
        span = telemetry.messages.begin(self._run.next_number, telemetry.context)
        if self._connection.propagates or self._descriptors.headers is not None:
            self._carry(span)
        return span

    def _commit_and_wait_for_room(self, message: Unsent) -> None:
        # Commit first: consumers can then get these messages, which makes room.
        if self.work.may_end_early:
            self._syncpoint()
        self.owner.log(_log, logging.INFO, "%r waits for room on the queue", self)
        self._put_when_room(message)

    def _put_when_room(self, message: Unsent, ends: bool = True) -> None:
        patience = Patience(self.settings.full_wait_s)
        try:
            self._connection.retrying(patience, NO_ROOM, until=lambda: self.work.stopping)(
                self._put_once, message, ends
            )
        except MQIError as error:
            if error.reason in NO_ROOM and self.work.stopping:
                raise self.owner.stopped() from None
            raise

    # --- the end of a unit of work

    def _syncpoint(self) -> None:
        messages = self.owner.unit.messages
        self._commit(ended=False)
        del self._unsent[:messages]

    def _commit(self, *, ended: bool) -> None:
        self.work.settling()
        self.work.commit({self.owner: self._ending(ended=ended, done=self._done() if ended else None)})
        self._unit_ended()
        self._stand_at_committed()

    def _done(self) -> Done | None:
        if not self.remembered:
            return None
        return Done(self.remembered, self.position.msg_seq_number, datetime.now(UTC).strftime(TIME_UTC))

    def _ending(self, *, ended: bool, done: Done | None = None) -> PendingCommit:
        if not ended:
            self._destination.check_told()
        self._answers.check()
        resolved, persistence = self._destination.resolved, self._persistence
        return self.owner.ending(self.position, ended=ended, resolved=resolved, persistence=persistence, done=done)

    def _unit_ended(self) -> None:
        if not self.work.redoing:
            self._answers.unit_ended()

    def _stand_at_committed(self) -> None:
        self._run.go_to(self.owner.committed)

    def set_back(self) -> None:
        """Set the position to that of the owner's record. Call this after a commit or a backout."""
        self._descriptors.of_run.clear()
        self._stand_at_committed()
        if self.owner.committed.at_start:
            self._group_ended()

    def _group_ended(self) -> None:
        self._destination.ended()
        if self._pinned:
            # The queue was open at one instance only for the rest of that group. The next group's first message opens it again.
            # An MQOPEN here could fail although the commit has already succeeded.
            self._pinned = False
            self.queue.close()
        self._descriptors.of_run.clear()

    def back_out(self, why: BaseException | str | None) -> None:
        """Back out to the last commit. If ``why`` is an error, add the position of that commit to the error's text."""
        self._unsent.clear()
        try:
            self.work.back_out_after(why)
        finally:
            self.set_back()

    def abandon(self, result: int, reason: str) -> None:
        """Back out, and end the group without completing it. If no part of the group is committed, put nothing."""
        self.back_out(BACKED_OUT)
        self.recover()
        committed = self.owner.committed
        if committed.at_start:
            return
        if committed.offset and committed.in_last_message:
            raise GroupUsage(
                f"message {committed.msg_seq_number + 1}, the group's last, is committed only up to byte {committed.offset}. The "
                "group cannot be abandoned now: consumers would take that part for the whole message. Put the whole message "
                "again; the committed part is skipped"
            )
        self.remembered = NO_PROPERTIES
        try:
            if committed.offset:
                self.put((b"", BYTES, None, False, MessagePart.LAST_SEGMENT))
            self.put(abandonment(result, reason))
        except BaseException as error:
            self.back_out(error)
            raise

    def abandon_interrupted(self, reason: str) -> None:
        """Abandon the interrupted group, if there is one and the settings say ``interrupted="abandon"``."""
        if self.settings.interrupted == "abandon" and not self.owner.committed.at_start:
            self.owner.log(_log, logging.WARNING, "%r abandons its interrupted group: %s", self, reason)
            self.abandon(0, reason)

    # --- after a lost connection

    def recover(self) -> None:
        """Restore the open queues and the position after a lost connection or an interrupted call."""
        if self._connection.turn.interrupted:
            # The application does not know which of these messages were put, and puts them again.
            self._unsent.clear()
        self.work.recover()

    def require_known(self) -> None:
        """Recover as ``recover`` does. Raises CommitOutcomeUnknown if the outcome of a commit cannot be found out."""
        self.recover()
        self.work.require_known()

    def replay(self, committed: int | None) -> None:
        """Put the uncommitted messages again after a lost connection; see ``Participant.replay``."""
        del self._unsent[: committed or 0]
        self._answers.redo()
        self.set_back()
        last = len(self._unsent)
        for number, message in enumerate(tuple(self._unsent), 1):
            try:
                self._put_and_commit(message)
            except MQIError as error:
                if number < last and not error.context:
                    # The application is in the call for a later message, because this one was put asynchronously.
                    error.context = f"This was message {self._run.next_number} of the group"
                raise

    # --- in a pipe

    def unit_committed(self) -> None:
        """Move the position past this putter's messages, because the getter has committed them."""
        self._unit_ended()
        self.set_back()

    def put_all(self, messages: Sequence[Unsent]) -> PendingCommit | None:
        """Put messages in a unit of work that the getter commits. Return the outgoing group's part of the commit.

        If the unit of work is redone, the getter calls this again.
        """
        if self.work.redoing:
            self._answers.redo()
        self.set_back()
        for number, message in enumerate(messages, 1):
            ends = number == len(messages)
            try:
                self._put_once(message, ends)
            except MQIError as error:
                # After asynchronous puts, a full queue shows only at the last message, and all messages must be put again.
                if error.reason not in NO_ROOM or self._answers.are_missing:
                    raise
                self._put_when_room(message, ends)
        if not messages:
            return None
        *_, ended, _ = messages[-1]
        return self._ending(ended=ended)

    # --- the queue

    def _open(self) -> Queue:
        """Open the queue. For the rest of an interrupted group, open the instance that has the group's beginning.

        Otherwise MQOO_BIND_ON_GROUP might send the rest to another instance. The first put after a restart goes without logical
        order, and such a put is workload-balanced as if the handle were not bound (IBM MQ, "MQOPEN and clusters").
        """
        self._pinned = bool(self._destination.resolved[1]) and not self.owner.committed.at_start
        return self._destination.open_for_the_rest() if self._pinned else self._open_for_any_group()

    def close(self, *, delete_status: bool = False) -> None:
        """Close both queues. ``delete_status``: whether also to delete the status queue."""
        try:
            self.queue.close()
        finally:
            self.owner.keeper.close(delete=delete_status)


def claimed_putter(
    connection: Connection,
    settings: Producing,
    keeper: Keeper,
    *,
    open_queue: Callable[[], Queue] | None = None,
    owner_id: str | None = None,
) -> Putter:
    """Return a putter that has its own units of work and has claimed its name. Arguments and errors are those of ``Putter``."""
    work = UnitsOfWork(connection, settings.every)
    try:
        putter = Putter(connection, settings, keeper, work, open_queue=open_queue, owner_id=owner_id)
    except BaseException:
        keeper.give_up()
        raise
    work.participant = putter
    try:
        work.claim()
    except BaseException:
        putter.close()
        raise
    return putter
