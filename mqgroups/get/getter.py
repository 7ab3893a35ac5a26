"""Gets the messages of a consumer's groups, in units of work, and gets again whatever was not committed.

A getter has a position on the queue (``cursor.py``) and an owner. It begins units of work, commits them, backs them out, and
redoes them after a lost connection. A commit includes the messages for the backout queue and those that a pipe puts.

Not here: the application's interface (``consumer.py``), and the checks on each message (``group.py``).
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from mqgroups.config import ConsumerSettings
from mqgroups.connection.connection import Connection
from mqgroups.connection.retry import OWNER_ACTIVE, ask
from mqgroups.core.group_key import Likeness, likeness
from mqgroups.core.model import Role
from mqgroups.core.next_record import Note
from mqgroups.core.poison import Suspect
from mqgroups.core.protocol import PendingCommit
from mqgroups.core.rest import Left
from mqgroups.core.restart import Expectations, Mismatch
from mqgroups.core.status import Outgoing
from mqgroups.errors import (
    ConfigurationError,
    GroupAbandoned,
    GroupQuarantined,
    GroupRepeated,
    GroupStalled,
    MQGroupsError,
    MQIError,
    SegmentsDiffer,
)
from mqgroups.get.backout_queue import BackoutQueue
from mqgroups.get.cursor import GroupCursor
from mqgroups.get.rest import RestOfGroup
from mqgroups.get.unreachable import UnreachableGroups
from mqgroups.mqi import constants as mq
from mqgroups.mqi.message import Message, NotJoined
from mqgroups.printable import even_half_made
from mqgroups.status.opening import check_apart
from mqgroups.status.owner import Owner
from mqgroups.status.queue import StatusQueue
from mqgroups.status.records import foreign_record
from mqgroups.status.units_of_work import UnitsOfWork
from mqgroups.telemetry import semantic_conventions as sc

_log = logging.getLogger("mqgroups.get")


class Partner(Protocol):
    """The other side of a pipe, which puts in the getter's units of work."""

    def put_all(self, *, ended: bool, failed_with: int | None) -> tuple[dict[Owner, PendingCommit], Outgoing]:
        """Put its messages in the unit of work, before the status records; see ``PipeOutput.put_all``."""

    def committed(self) -> None:
        """Take note that the unit of work is committed."""

    def back_out(self) -> None:
        """Take note that the unit of work will be backed out and not redone."""


class _End(NamedTuple):
    """How a unit of work ends: in the middle of a group, or at its end.

    ``failed_with``: the result of a group that was not completed, for a pipe's outgoing group.
    """

    ended: bool
    failed_with: int | None = None


_SYNCPOINT = _End(ended=False)
# Only the record is put, in a unit of work of its own.
_NOTE = _End(ended=False, failed_with=-1)


class _Again(NamedTuple):
    """What is done again if a unit of work is backed out with its connection.

    Attributes:
        processed: the MsgIds of the messages that the application has processed.
        note: what the next record says.
        end: how the unit of work was to end; ``None`` if it goes on.
    """

    processed: tuple[bytes, ...]
    note: Note
    end: _End | None = None


class Getter:
    """The open queues of a consumer, and the messages that it has got since the last commit.

    Attributes:
        settings: the consumer's.
        status, owner, cursor: its status queue, its side of the units of work, its position on its queue.
        work: the units of work that it gets in.
        backout: the queue for poison messages; ``None`` if backout counts are ignored.
        group: the group that is being got; ``None`` between groups.
        turn: the connection's.
        before_commit, sinks: the application's function, called before each syncpoint, and those of what is attached.
        decode: the codec's function; ``None`` if messages are not decoded.
        repeats: whether the group that was begun last has the key of the one completed before.
        lost_suspect: whether a lost connection has backed out the suspect since it was noted or processed.
    """

    def __init__(
        self, connection: Connection, settings: ConsumerSettings, work: UnitsOfWork, partner: Partner | None = None
    ) -> None:
        """Open both queues and read the status record. The caller must then call ``work.claim()``, or ``close_queues``.

        Args:
            connection: to the queue manager.
            settings: the consumer's.
            work: the consumer's owner is added to it.
            partner: the outgoing side of a pipe.

        Raises:
            StatusError: the status queue, or the record on it, cannot be used; nothing was changed.
            ConfigurationError: the settings do not fit the queue or the interrupted group.
            MQIError: a call failed.
        """
        self.settings = settings
        self.work = work
        self.turn = connection.turn
        self._connection = connection
        # An IncomingGroup, which this module only passes on to ``before_commit``.
        self.group: Any = None
        # Messages of this unit of work that are put to the backout queue at its commit.
        self._moved: list[Message] = []
        # Messages that are got and put there at its commit: the rest of a group that cannot be completed.
        self._left: list[Left] = []
        # A message that goes there segment by segment.
        self._apart: Message | None = None
        # What is done again if the connection is lost.
        self._due: _Again | None = None
        self._rest = RestOfGroup(connection, settings.queue)
        # Whether the message that was got last must be the only one of its unit of work.
        self._alone = False
        self.repeats = False
        self._told_group_ids = False
        self.lost_suspect = False
        self._partner = partner
        self.before_commit: Callable[[Any], None] | None = None
        self.sinks: list[Callable[[Any], None]] = []
        self.decode = settings.codec.decode if settings.codec is not None else None
        self.closed = False
        self.backout: BackoutQueue | None = None
        self._unreachable = UnreachableGroups(connection, settings)
        self.status = StatusQueue(
            connection,
            settings.status_queue,
            settings.status_model,
            settings.owner_wait_s,
            segmented=settings.segmented_status,
            record_users=settings.record_users,
        )
        try:
            expected = Expectations(Role.GET, settings.name, settings.queue, connection.q_mgr_identifier)
            self.owner = work.add(self.status, expected, uuid.uuid4().hex, settings.hooks)
            self.cursor = self._open_cursor()
            self.backout = self._find_backout_queue()
        except BaseException:
            self.status.close()
            raise
        if (refusal := self._unfit()) is not None:
            self.close_queues()
            raise refusal
        work.participant = self

    @even_half_made
    def __repr__(self) -> str:
        """Return the text that a consumer shows as its repr."""
        position = self.cursor.position
        group = position.group_id.hex() if not position.at_start else "none"
        state = "closed" if self.closed else "open" if self._connection.usable else "broken"
        return (
            f"<GroupConsumer {self.settings.queue} name={self.settings.name} group={group} "
            f"seq={position.msg_seq_number} uow={self.owner.own.number} {state}>"
        )

    def _unfit(self) -> MQGroupsError | None:
        """Return the error if these settings cannot finish the interrupted group that other settings began."""
        committed, stream = self.owner.committed, self.settings.stream
        if committed.offset and not stream:
            return ConfigurationError(
                f"{self!r} was interrupted between two segments, after {committed.offset} bytes of message "
                f"{committed.msg_seq_number + 1}. The rest of that message can be got only segment by segment. Make the "
                "consumer with stream=True"
            )
        if self.owner.unit.note.quarantine and stream:
            return ConfigurationError(
                f"{self!r} was interrupted while it moved the rest of a group to the backout queue, message by message. With "
                "stream=True it would get segments. Make the consumer without stream=True until that group is moved"
            )
        resumed = self.owner.resumed
        if resumed is not None and resumed.outgoing is not None and self._partner is None:
            return foreign_record(self.status.name, Mismatch("role", "get, of a pipe", "get, of a consumer"))
        return None

    def _open_cursor(self) -> GroupCursor:
        try:
            return GroupCursor(self._connection, self.settings, self.owner.committed)
        except MQIError as error:
            if error.reason not in OWNER_ACTIVE:
                raise
            self._refuse_status_queue(error)
            raise

    def _refuse_status_queue(self, in_use: MQIError) -> None:
        """Raise ConfigurationError if the queue is in use because it is the status queue, which is open exclusively."""
        try:
            queue = self._connection.open_queue(self.settings.queue, mq.MQOO_BROWSE)
        except MQIError:
            raise in_use from None
        try:
            check_apart(self.status.name, queue)
        finally:
            queue.close()

    def _find_backout_queue(self) -> BackoutQueue | None:
        poison, stalled = self.settings.poison, self.settings.stalled
        moves_groups = stalled == "quarantine" or self.owner.unit.note.quarantine
        if poison == "ignore" and not moves_groups:
            return None
        found = BackoutQueue(self._connection, self.cursor.queue, poison, stalled)
        return found if found.threshold or moves_groups else None

    def first(self) -> Message | None:
        """Get the first message of the next group, waiting ``wait_s``; ``None`` if none came, or after ``stop()``.

        Raises:
            GroupRepeated: the group has the key of the one before, and ``repeats="halt"``.
            MQGroupsError: any other failure.
        """
        try:
            message = self._first()
            if message is not None:
                self._compare(message)
        except MQGroupsError as error:
            self.back_out(error)
            raise
        if message is None:
            self.work.release()
            self._has_waited()
        return message

    def _compare(self, first: Message) -> None:
        """Compare a group that begins with the one that was completed before it, and tell what they have in common."""
        queue, group_id = self.settings.queue, first.group_id
        found = likeness(self.owner.own.record, group_id, first.msg_id)
        self.repeats = found is Likeness.KEY
        if found is Likeness.NONE:
            return
        extra = {**self.owner.log_fields(), sc.GROUP_ID: group_id.hex()}
        if self.repeats:
            repeated = GroupRepeated(queue, group_id, first.msg_id)
            if self.settings.repeats == "halt":
                raise repeated
            _log.warning("%s. It is processed; a consumer with repeats='halt' stops there", repeated.found, extra=extra)
        elif not self._told_group_ids:
            self._told_group_ids = True
            _log.warning(
                "queue %s: GroupId %s was used again, for another group. Tell groups apart by group.key, not by GroupId",
                queue,
                group_id.hex(),
                extra=extra,
            )

    def _first(self) -> Message | None:
        while not self.work.stopping:
            try:
                self.work.begin()
                message = self.cursor.get(self.settings.wait_s, self._has_waited)
                if message is not None:
                    self._begun(message)
                return message
            except SegmentsDiffer as error:
                return self._not_joined(error)
            except MQIError as error:
                self.lost_suspect = True
                self.work.redo(error)
        return None

    def take(self) -> Message:
        """Get the next message of the group, waiting ``group_wait_s``; on a new connection if this one is lost.

        Raises:
            GroupStalled: no message came. The processed messages are committed.
            GroupQuarantined: no message came, and the rest of the group was moved, by the consumer's policy.
            Stopped: the application has asked for the end. The processed messages are committed.
            GroupIncomplete: the message that came is not the next one.
            MQIError: a call failed.
        """
        while True:
            if self.work.stopping:
                self._stop_if_asked()
            try:
                first = self.owner.unit.messages == 0
                if first:
                    self.work.begin()
                message = self.cursor.get_in_run()
                if message is None:
                    message = self._wait_for_next()
                    # Meanwhile a commit by age may have begun another unit of work.
                    first = self.owner.unit.messages == 0
                if first:
                    self._begun(message)
                return message
            except SegmentsDiffer as error:
                return self._not_joined(error)
            except MQIError as error:
                self._redo(error, _Again(self._processed(), self.owner.unit.note))

    def _has_waited(self) -> bool:
        """Look for groups that never come; returns whether to wait no longer."""
        if not self.work.stopping:
            self._unreachable.look(self.cursor.queue, self.owner.log_fields())
        return self.work.stopping

    def _not_joined(self, error: SegmentsDiffer) -> Message:
        """Give back the part of a message that was got, and commit the messages before it; returns what stands for the message.

        Raises:
            SegmentsDiffer: what the application has put and got on a shared connection would be backed out with it.
        """
        if not self.can_isolate:
            raise error
        self.isolate(self.owner.unit.note.suspect)
        return NotJoined(error.md, error.group_status, error.reason_name)

    def _begun(self, message: Message) -> None:
        """Begin the owner's part of a unit of work, with its first message."""
        self.work.begun(self.owner)
        # A group's first message is always the first of its unit of work.
        if message.msg_seq_number == 1 and message.offset == 0:
            self.owner.unit.set_first_msg_id(message.msg_id)
            if message.taken is not None:
                self.owner.unit.set_properties(message.properties)

    def _wait_for_next(self) -> Message:
        self._stop_if_asked()
        wait_s, cursor = self.settings.group_wait_s, self.cursor
        while (message := cursor.get_in_group(wait_s, self._while_waiting)) is None:
            self._keep_processed()
            # Before a group there is no rest to move: its first message was backed out as a suspect, and somebody has got it.
            if self.settings.stalled == "halt" or cursor.position.at_start:
                raise self._stalled()
            if self._rest.is_unchanged(cursor.position):
                raise self._quarantined()
            self.work.begin()
        self._rest.forget()
        return message

    def _stalled(self) -> GroupStalled:
        settings, position = self.settings, self.cursor.position
        return GroupStalled(
            settings.queue, position.group_id, position.msg_seq_number + 1, settings.group_wait_s, position.offset
        )

    def _quarantined(self) -> GroupQuarantined:
        """Move the rest of the group to the backout queue, and end the group; returns the error to raise."""
        settings, position = self.settings, self.cursor.position
        missing = position.msg_seq_number + 1
        assert self.backout is not None
        self.owner.telemetry.quarantined(missing, self.backout.name)
        data_bytes = 0
        for left in self._rest.found:
            if self._left and self.work.due(len(self._left), data_bytes):
                self.syncpoint()
                data_bytes = 0
            self._left.append(left)
            data_bytes += left.length
            self.owner.set_quarantine()
            self.owner.will_put(len(self._left))
        # Both waits.
        waited_s = 2 * settings.group_wait_s
        error = GroupQuarantined(settings.queue, position.group_id, missing, self.backout.name, waited_s=waited_s)
        self.end_group(quarantined=error)
        self.cursor.leave_group()
        return error

    def _move_rest(self) -> None:
        """Get what belongs in this unit of work besides the messages got, and put it to the backout queue.

        Raises:
            GroupStalled: some of it is gone since it was looked at.
            MQIError: a call failed.
        """
        again, apart = self.work.redoing, self._apart
        for left in self._left:
            got = self._rest.take(self.cursor.position.group_id, left, again=again)
            if got is None:
                raise self._stalled()
            self._forward(*got)
        if apart is not None:
            for md, data in self.cursor.take_apart(apart.group_id, again=again):
                self._forward(md, data)
            if self.cursor.position.msg_seq_number != apart.msg_seq_number:
                raise GroupStalled(self.settings.queue, apart.group_id, apart.msg_seq_number, 0)

    def _forward(self, md: bytes, data: bytes) -> None:
        if not self.owner.unit.messages:
            self.work.begun(self.owner)
        assert self.backout is not None
        self.backout.take(md, data)
        self.owner.count(len(data))

    def _while_waiting(self) -> bool:
        self._stop_if_asked()
        if self.work.due():
            self.syncpoint()
            self.work.begin()
        return False

    def _stop_if_asked(self) -> None:
        if self.work.stopping:
            self._keep_processed()
            raise self.owner.stopped()

    def _keep_processed(self) -> None:
        """Commit the processed messages; without any, end the unit of work without a call."""
        if self.owner.unit.messages:
            self.syncpoint()
        else:
            self.work.release()

    def message_processed(self, message: Message) -> bool:
        """Count a message that the application has processed; commit if it was the group's last, or if a syncpoint is due.

        Returns:
            Whether it was the group's last.
        """
        unit, work = self.owner.unit, self.work
        unit.messages += 1
        unit.data_bytes += len(message.data)
        if not message.is_plain and message.is_last:
            self.end_group()
            return True
        if self._alone:
            self.owner.set_suspect(None)
            self.syncpoint()
        elif (unit.messages >= work.soonest or work.stopping or work.clock() >= work.old_s) and work.due():
            self.syncpoint()
        return False

    def segment_processed(self, segment: Message) -> None:
        """Count a segment that the application has processed and that is not the last; commit if a syncpoint is due."""
        self.owner.count(len(segment.data))
        if self.work.due():
            self.syncpoint()

    def process_alone(self) -> None:
        """Make the message that was got last the only one of its unit of work."""
        self._alone = True
        self.lost_suspect = False

    def move(self, message: Message) -> None:
        """Put a message to the backout queue at the commit of this unit of work; one that is not joined needs one of its own."""
        if message.not_joined_because:
            self._apart = message
            return
        self._moved.append(message)
        self.owner.count(len(message.data))
        self.owner.will_put(len(self._moved))

    def syncpoint(self) -> None:
        """End the unit of work in the middle of a group."""
        self._ask_application()
        self._commit(ended=False)

    def end_group(
        self, *, abandoned: GroupAbandoned | None = None, quarantined: GroupQuarantined | None = None
    ) -> None:
        """End the group's last unit of work. The arguments are the error of a group that was not completed."""
        if self.group is not None:
            self.group.ends, self.group.abandoned, self.group.quarantined = True, abandoned, quarantined
        self._ask_application()
        failed_with = abandoned.result if abandoned is not None else None if quarantined is None else 0
        self._commit(ended=True, failed_with=failed_with)
        self.cursor.group_ended()
        self._rest.forget()
        ended, self.group = self.group, None
        if ended is not None:
            ended.has_ended = True

    def _ask_application(self) -> None:
        group = self.group
        for function in (*self.sinks, self.before_commit, group.asked_before_commit) if group is not None else ():
            if function is not None:
                self.owner.telemetry.messages.step_out()
                ask(function, group)

    def _commit(self, *, ended: bool, failed_with: int | None = None) -> None:
        """End the unit of work: put the messages that belong in it and the status record, then MQCMIT."""

        end = _End(ended, failed_with)
        again = _Again(self._processed(), self.owner.unit.note, end)
        try:
            self._end(end)
        except MQIError as error:
            self._redo(error, again)
        self._clear_moves()
        self._committed()

    def _end(self, end: _End) -> None:
        # If there is nothing but a rest to move, or not even that, the unit of work begins here.
        self.work.begin()
        self._move_got()
        self._move_rest()
        self._commit_record(end)

    def _move_got(self) -> None:
        for message in self._moved:
            assert self.backout is not None
            self.backout.take(*message.as_got)

    def _clear_moves(self) -> None:
        self._moved.clear()
        self._left.clear()
        self._apart = None

    def _commit_record(self, end: _End) -> None:
        endings: dict[Owner, PendingCommit] = {}
        outgoing = None
        if self._partner is not None:
            endings, outgoing = self._partner.put_all(ended=end.ended, failed_with=end.failed_with)
        self.work.settling()
        endings[self.owner] = self.owner.ending(self.cursor.position, ended=end.ended, outgoing=outgoing)
        self.work.commit(endings)

    def _committed(self) -> None:
        self.cursor.unit.clear()
        self._alone = False
        if self._partner is not None:
            self._partner.committed()

    @property
    def can_isolate(self) -> bool:
        """Whether the messages processed before the one got last can be got again without the application."""
        return self.work.may_be_split

    def isolate(self, suspect: Suspect | None) -> None:
        """Commit the messages processed before the one got last, which goes back to the queue, and note the suspect."""
        processed = self._processed()
        if processed:
            self._ask_application()
        note = self.owner.unit.note._replace(suspect=suspect)
        again = _Again(processed, note, _SYNCPOINT if processed else _NOTE)
        self.work.back_out("a message is suspected")
        self._set_back()
        try:
            self._get_again(again)
        except MQIError as error:
            self._redo(error, again)
        self.lost_suspect = False
        if processed:
            self._clear_moves()
            self._committed()
        else:
            self.cursor.unit.clear()

    # --- after a lost connection

    def recover(self) -> None:
        """Restore the open queues and the position if the connection was lost since the last unit of work."""
        self.work.recover()

    def replay(self, committed: int | None) -> None:
        """Get again what is not committed, after a lost connection; see ``units_of_work.Participant``.

        The application does not see these messages again. ``before_commit`` is not called again either.
        """
        if committed is not None:
            # Forget it: if a later call loses the connection too, no commit is in doubt any more.
            self._due = None
        self._set_back()
        if self._due is not None:
            self._get_again(self._due)

    def _processed(self) -> tuple[bytes, ...]:
        return tuple(self.cursor.unit[: self.owner.unit.messages])

    def _redo(self, error: MQIError, again: _Again) -> None:
        self.lost_suspect = True
        self._due = again
        try:
            self.work.redo(error)
        finally:
            self._due = None

    def _get_again(self, again: _Again) -> None:
        owner, work = self.owner, self.work
        owner.set_note(again.note)
        for msg_id in again.processed:
            first = owner.unit.messages == 0
            if first:
                work.begin()
            message = self.cursor.get_again(msg_id)
            if first:
                work.begun(owner)
            owner.count(len(message.data))
        if again.end is _NOTE:
            work.note(owner)
        elif again.end is not None:
            self._end(again.end)

    def _set_back(self) -> None:
        self._alone = False
        self.cursor.set_back(self.owner.committed)
        self.cursor.reopen()

    def back_out(self, error: BaseException | None) -> None:
        """Back out to the last commit, and add its position to the text of ``error``."""
        self.group = None
        self._clear_moves()
        if self._partner is not None:
            self._partner.back_out()
        try:
            self.work.back_out_after(error)
        finally:
            self.cursor.set_back(self.owner.committed)

    def close(self, *, finish: bool, delete: bool = False) -> None:
        """Back out and close all queues; with ``finish``, first remove a status record that is no longer needed. Idempotent."""
        if self.closed:
            return
        self.closed = True
        try:
            self.back_out(None)
            if finish:
                self.recover()
                self.work.finish()
        finally:
            self.close_queues(delete_status=delete)

    def close_queues(self, *, delete_status: bool = False) -> None:
        """Close all queues."""
        self.closed = True
        try:
            if self.backout is not None:
                self.backout.close()
            self._rest.close()
            self._unreachable.close()
            self.cursor.close()
        finally:
            self.status.close(delete=delete_status)
