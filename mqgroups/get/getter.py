"""Gets the messages of a consumer's groups, ends its units of work, and gets uncommitted messages again.

A unit of work also puts the messages for the backout queue, and a pipe's outgoing messages. Before a call that can fail, the
getter stores one value (``_Redo``), which describes what must be done again after a lost connection.

Not here: the application's interface (``consumer.py``), and the checks on each message (``message_check.py``).
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

from mqgroups.connection.connection import Connection
from mqgroups.connection.queue import LongerThanAccepted, SegmentsDiffer
from mqgroups.connection.retry import REDO, ask
from mqgroups.core.group_key import Likeness
from mqgroups.core.model import GROUP_ID_NONE, Role
from mqgroups.core.next_record import Note
from mqgroups.core.ownership import PendingCommit
from mqgroups.core.poison import PROOF, Suspect
from mqgroups.core.rest import Rest
from mqgroups.core.restart import Expectations
from mqgroups.core.status import Outgoing
from mqgroups.errors import GroupAbandoned, GroupQuarantined, GroupStalled, MQGroupsError, MQIError
from mqgroups.get.aside import Aside
from mqgroups.get.repetition import compared
from mqgroups.get.starting import find_backout_queue, open_cursor, refuse_unfit
from mqgroups.mqi.message import Message, NotGot
from mqgroups.printable import even_half_made
from mqgroups.settings import Consuming
from mqgroups.status.owner import Owner, new_owner_id
from mqgroups.status.units_of_work import UnitsOfWork

_log = logging.getLogger("mqgroups.get")
# How long to wait for a message of a group before a warning is logged, and before it is logged again.
_TELL_AFTER_S, _TELL_AGAIN_S = 10.0, 600.0


class Partner(Protocol):
    """The outgoing side of a pipe, which puts messages in the getter's units of work."""

    def put_all(self, *, ended: bool, failed_with: int | None) -> tuple[dict[Owner, PendingCommit], Outgoing]:
        """Put the outgoing messages in the unit of work, before the status records are put; see ``PipeOutput.put_all``."""

    def committed(self) -> None:
        """Called after the unit of work was committed."""

    def back_out(self) -> None:
        """Called before the unit of work is backed out, unless it will be redone."""


class _End(NamedTuple):
    """How a unit of work ends: in the middle of a group, or at the group's end.

    ``failed_with``: the result with which a pipe abandons its outgoing group if the incoming group was not completed.
    """

    ended: bool
    failed_with: int | None = None


_SYNCPOINT = _End(ended=False)
# Only the status record is put, in a unit of work of its own.
_NOTE = _End(ended=False, failed_with=-1)


class _Redo(NamedTuple):
    """What must be done again if a unit of work is backed out because its connection is lost.

    Attributes:
        processed: the MsgIds of the messages that the application has processed.
        note: the contents of the next status record besides the position.
        end: how to end the unit of work again. ``None`` means that it stays open.
    """

    processed: tuple[bytes, ...]
    note: Note
    end: _End | None = None


@dataclass(frozen=True, slots=True)
class _Trial:
    """What this process knows about the suspect, a message that may be poison.

    Attributes:
        tries: how often the application has got the suspect since the status record named it. ``PROOF`` means that another
            process wrote that record, so only the backout count can prove poison.
        call_failed: whether a call has failed since the suspect was recorded or returned, for a reason other than the suspect.
        is_alone: whether the last message that was got is the suspect, which must be the only message of its unit of work.
    """

    tries: int = PROOF
    call_failed: bool = False
    is_alone: bool = False


class Getter:
    """A consumer's open queues, and the messages that it has got since the last commit.

    Attributes:
        connection, settings: the consumer's connection and settings.
        work, owner: the consumer's units of work, and the ``Owner`` of the consumer's name.
        cursor: the queue handle, and the position in the group.
        aside: the messages that go to the backout queue.
        group: the group that is being got; ``None`` between groups.
        before_commit: the application's function, called before each syncpoint.
        sinks: two functions of each attached sink. The first is called before ``before_commit``, the second by ``forget``.
        trial: what this process knows about the suspect, in addition to the status record.
    """

    def __init__(
        self, connection: Connection, settings: Consuming, work: UnitsOfWork, partner: Partner | None = None
    ) -> None:
        """Open both queues and read the status record. Afterwards the caller must call ``work.claim()`` or ``close_queues``.

        ``work``: the units of work, to which an owner is added. ``partner``: the outgoing side if the consumer is part of a pipe.

        Raises:
            StatusError: the status queue, or the record on it, cannot be used; nothing was changed.
            ConfigurationError: the settings do not fit the queue or the interrupted group.
            MQIError: a call failed.
        """
        self.connection = connection
        self.settings = settings
        self.work = work
        self._partner = partner
        # An IncomingGroup, which this module only passes on to ``before_commit``.
        self.group: Any = None
        self.before_commit: Callable[[Any], None] | None = None
        self.sinks: list[tuple[Callable[[Any], None], Callable[[], object]]] = []
        # Whether to log the next repeated use of a GroupId.
        self._tells_reuse = True
        self.closed = False
        self.trial = _Trial()
        # What is done again if the connection is lost.
        self._due: _Redo | None = None
        # A group, and after how many seconds of waiting for its next message the next warning is logged.
        self._tell_at = (GROUP_ID_NONE, _TELL_AFTER_S)
        # The unit of work in which the application left the loop over a group, with which suspect, and how often.
        self._left: tuple[int, Suspect | None, int] = (0, None, 0)
        keeper = settings.open_status_queue(connection)
        try:
            expected = Expectations(Role.GET, settings.name, settings.queue, connection.q_mgr_identifier)
            self.owner = work.add(keeper, expected, new_owner_id(), settings.hooks)
            self.cursor = open_cursor(connection, settings, self.owner)
            self.owner.in_hand = lambda: self.cursor.position
            self.aside = Aside(
                connection,
                settings.queue,
                find_backout_queue(connection, settings, self.owner, self.cursor.queue),
            )
        except BaseException:
            keeper.give_up()
            raise
        try:
            refuse_unfit(settings, self.owner, repr(self), is_pipe=partner is not None)
        except BaseException:
            self.close_queues()
            raise
        work.participant = self

    @even_half_made
    def __repr__(self) -> str:
        """Return the repr of the consumer."""
        position = self.cursor.position
        group = position.group_id.hex() if not position.at_start else "none"
        state = "closed" if self.closed else self.connection.state
        return (
            f"<GroupConsumer {self.settings.queue} name={self.settings.name} group={group} "
            f"seq={position.msg_seq_number} uow={self.owner.own.number} {state}>"
        )

    # --- the next message

    def first(self) -> Message | None:
        """Get the next group's first message. Return ``None`` if no message comes within ``wait_s``, or after ``stop()``."""
        try:
            message = self._first()
        except MQGroupsError as error:
            self.back_out(error)
            raise
        if message is None:
            self.work.release()
        return message

    def repeats(self, first: Message) -> bool:
        """Return whether the group that begins with this message has the same key as the previous group. Log a repetition."""
        found = compared(self.owner, self.settings.queue, first, tells_reuse=self._tells_reuse)
        self._tells_reuse = self._tells_reuse and found is not Likeness.GROUP_ID
        return found is Likeness.KEY

    def _first(self) -> Message | None:
        while not self.work.is_stopping():
            try:
                self.work.begin()
                message = self.cursor.get(self.settings.wait_s, lambda _: self.work.is_stopping())
                if message is not None:
                    self._begun(message)
                return message
            except (SegmentsDiffer, LongerThanAccepted) as error:
                return self._not_got(error)
            except MQIError as error:
                self._call_has_failed()
                self.work.redo(error)
        return None

    def take(self) -> Message:
        """Get the next message of the group, waiting up to ``group_wait_s``. If the connection is lost, reconnect.

        Raises:
            GroupStalled: no message came. The processed messages are committed.
            GroupQuarantined: no message came. By the consumer's policy, the rest of the group was moved to the backout queue.
            Stopped: the application has called ``stop``. The processed messages are committed.
            GroupIncomplete: the message that came is not the group's next message.
            MQIError: a call failed.
        """
        while True:
            if self.connection.beat is not None:
                self.connection.beats()
            if self.work.stopping:
                self._stop_if_asked()
            try:
                first = self.owner.unit.messages == 0
                if first:
                    self.work.begin()
                message = self.cursor.get_in_run()
                if message is None:
                    message = self._wait_for_next()
                    # During the wait, a commit by age may have begun another unit of work.
                    first = self.owner.unit.messages == 0
                if first:
                    self._begun(message)
                return message
            except (SegmentsDiffer, LongerThanAccepted) as error:
                return self._not_got(error)
            except MQIError as error:
                self.redo(error, _Redo(self.processed(), self.owner.unit.note))

    def _begun(self, message: Message) -> None:
        """Begin the consumer's part of a unit of work. ``message``: the first message of that unit of work."""
        self.work.begun(self.owner)
        # A group's first message is always the first of its unit of work.
        if message.msg_seq_number == 1 and message.offset == 0:
            self.owner.set_first_msg_id(message.msg_id)
            if message._taken is not None:
                self.owner.set_properties(message.properties)

    def _wait_for_next(self) -> Message:
        self._stop_if_asked()
        wait_s, cursor = self.settings.group_wait_s, self.cursor
        while (message := cursor.get_in_group(wait_s, self._while_waiting)) is None:
            self._keep_processed()
            # Before a group there is no rest: its first message was backed out as a suspect, and another consumer has got it.
            if self.settings.stalled == "halt" or cursor.position.at_start:
                raise self.stalled()
            rest = self.aside.rest_of_group(cursor.position)
            if rest is not None:
                raise self._quarantined(rest)
            self.work.begin()
        self.aside.group_goes_on()
        return message

    def _while_waiting(self, left_s: float) -> bool:
        self.connection.beats()
        self._stop_if_asked()
        if self.work.due():
            self.syncpoint()
            self.work.begin()
        position, settings = self.cursor.position, self.settings
        if position.group_id != self._tell_at[0]:
            self._tell_at = (position.group_id, _TELL_AFTER_S)
        waited_s = settings.group_wait_s - left_s
        if waited_s >= self._tell_at[1]:
            self._tell_at = (position.group_id, waited_s + _TELL_AGAIN_S)
            _log.warning(
                "%s waits for message %d of group %s, which is not on queue %s; the group counts as stalled in %.0f s",
                settings.name,
                position.msg_seq_number + 1,
                position.group_id.hex(),
                settings.queue,
                left_s,
                extra=self.owner.log_fields(),
            )
        return False

    def _stop_if_asked(self) -> None:
        if self.work.stopping:
            self._keep_processed()
            raise self.owner.stopped()

    def _keep_processed(self) -> None:
        """Commit the processed messages. If there are none, end the unit of work without an MQI call."""
        if self.owner.unit.messages:
            self.syncpoint()
        else:
            self.work.release()

    def stalled(self) -> GroupStalled:
        """Return the error for a group whose next message does not come."""
        settings, position = self.settings, self.cursor.position
        return GroupStalled(
            settings.queue, position.group_id, position.msg_seq_number + 1, settings.group_wait_s, position.offset
        )

    # --- processed messages

    def message_processed(self, message: Message) -> bool:
        """Count a message that the application has processed. Commit if the message ends the group, or if a syncpoint is due.

        Return whether the message was the group's last.
        """
        unit = self.owner.unit
        unit.messages += 1
        unit.data_bytes += len(message.data)
        if not message._is_plain and message.is_last:
            self.end_group()
            return True
        if self.trial.is_alone:
            self.owner.clear_suspect()
            self.syncpoint()
        elif self.work.due():
            self.syncpoint()
        return False

    def segment_processed(self, segment: Message) -> None:
        """Count a processed segment that is not the last segment of its message. Commit if a syncpoint is due."""
        self.owner.count(len(segment.data))
        if self.work.due():
            self.syncpoint()

    def processed(self) -> tuple[bytes, ...]:
        """Return the MsgIds of the messages that the application has processed in the open unit of work."""
        return tuple(self.cursor.unit[: self.owner.unit.messages])

    def loop_left(self) -> int:
        """Record that the application has left the loop over a group. Return how often it has done so since the last commit.

        A new suspect restarts the count, because the application must get the suspect again to show whether it is poison.
        """
        here = self.owner.own.number, self.owner.unit.note.suspect
        self._left = *here, self._left[2] + 1 if self._left[:2] == here else 1
        return self._left[2]

    @property
    def was_loop_left(self) -> bool:
        """Whether the application has left a loop over a group since the last commit."""
        return self._left[0] == self.owner.own.number

    # --- the end of a unit of work

    def syncpoint(self) -> None:
        """Commit the unit of work in the middle of a group."""
        self._ask_application()
        self._commit(ended=False)

    def end_group(
        self, *, abandoned: GroupAbandoned | None = None, quarantined: GroupQuarantined | None = None
    ) -> None:
        """Commit the group's last unit of work. If the group was not completed, one argument is the error that says why."""
        if self.group is not None:
            self.group._ends_with(abandoned or quarantined)
        self._ask_application()
        failed_with = abandoned.result if abandoned is not None else None if quarantined is None else 0
        self._commit(ended=True, failed_with=failed_with)
        self.cursor.group_ended()
        self.aside.group_goes_on()
        ended, self.group = self.group, None
        if ended is not None:
            ended._is_over()

    def _ask_application(self) -> None:
        group = self.group
        if group is None:
            return
        for function in (*(each for each, _ in self.sinks), self.before_commit, group._asked_before_commit):
            if function is not None:
                self.owner.telemetry.asking()
                ask(function, group)

    def _commit(self, *, ended: bool, failed_with: int | None = None) -> None:
        """Put the remaining messages of the unit of work, put the status record, and call MQCMIT."""

        end = _End(ended, failed_with)
        again = _Redo(self.processed(), self.owner.unit.note, end)
        try:
            self._end(end)
        except MQIError as error:
            self.redo(error, again)
        self.aside.clear()
        self._committed()

    def _end(self, end: _End) -> None:
        # A unit of work without processed messages begins here.
        self.work.begin()
        self.aside.put_got()
        self._move_rest()
        self._commit_record(end)

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
        self._not_alone()
        if self._partner is not None:
            self._partner.committed()

    def back_out(self, error: BaseException | None) -> None:
        """Back out to the last commit, and add the position of that commit to the text of ``error``."""
        self.group = None
        self.aside.clear()
        if self._partner is not None:
            self._partner.back_out()
        try:
            self.work.back_out_after(error)
        finally:
            self.cursor.set_back(self.owner.committed)

    # --- messages that are not for the application

    @property
    def moves_poison(self) -> bool:
        """Whether poison messages go to the backout queue."""
        backout = self.aside.backout
        return backout is not None and backout.threshold > 0 and self.settings.poison == "quarantine"

    def move(self, message: Message) -> None:
        """Let the next commit put a message to the backout queue. A message that was got in part needs its own unit of work."""
        self.aside.add(message)
        if not message._not_got_because:
            self.owner.count(len(message.data))
            self.owner.unit.to_put = len(self.aside)

    def _call_has_failed(self, says_nothing: bool = True) -> None:
        self.trial = replace(self.trial, call_failed=says_nothing)

    def _not_alone(self) -> None:
        self.trial = replace(self.trial, is_alone=False)

    def process_alone(self) -> None:
        """Make sure that the unit of work will contain only one message: the message that was got last."""
        self.trial = _Trial(self.trial.tries + 1, is_alone=True)

    @property
    def can_isolate(self) -> bool:
        """Whether ``isolate`` can be called, which gets messages again without the application."""
        return self.work.may_be_split

    def isolate(self, suspect: Suspect | None) -> None:
        """Give back the message that was got last, commit the unit of work's earlier messages, and record ``suspect``."""
        processed = self.processed()
        if processed:
            self._ask_application()
        note = self.owner.unit.note._replace(suspect=suspect)
        again = _Redo(processed, note, _SYNCPOINT if processed else _NOTE)
        self.work.back_out("a message is suspected")
        self._set_back()
        try:
            self._get_again(again)
        except MQIError as error:
            self.redo(error, again)
        self.trial = replace(self.trial, call_failed=False)
        if processed:
            self.aside.clear()
            self._committed()
        else:
            self.cursor.unit.clear()

    def _not_got(self, error: SegmentsDiffer | LongerThanAccepted) -> Message:
        """Give back to the queue a message of which only a part was got. Commit earlier messages, and return a ``NotGot``.

        Raises ``error`` if the message is not to be moved to the backout queue. ``error`` is also raised if, on a shared
        connection, giving the message back would back out the application's own messages.
        """
        is_moved = self.moves_poison or self.owner.unit.note.quarantine or isinstance(error, SegmentsDiffer)
        if not (self.can_isolate and is_moved):
            raise error
        self.isolate(self.owner.unit.note.suspect)
        return NotGot(error.md, error.cause)

    def _quarantined(self, rest: Rest) -> GroupQuarantined:
        """Move the rest of the group to the backout queue, and end the group. Return the error to raise."""
        settings, position = self.settings, self.cursor.position
        missing = position.msg_seq_number + 1
        backout = self.aside.backout
        assert backout is not None
        self.owner.telemetry.quarantined(missing, backout.name)
        data_bytes = 0
        for left in rest:
            if len(self.aside) and self.work.due(len(self.aside), data_bytes):
                self.syncpoint()
                data_bytes = 0
            self.aside.add(left)
            data_bytes += left.length
            self.owner.set_quarantine()
            self.owner.unit.to_put = len(self.aside)
        # The rest is browsed after each of two waits.
        waited_s = 2 * settings.group_wait_s
        error = GroupQuarantined(settings.queue, position.group_id, missing, backout.name, waited_s=waited_s)
        self.cursor.end_in_middle()
        self.end_group(quarantined=error)
        return error

    def _move_rest(self) -> None:
        """Get the messages in ``aside`` that were not got before, put them to the backout queue, and count them.

        Raises MQIError; GroupStalled if a message has disappeared from the queue.
        """
        unit = self.owner.unit
        for length in self.aside.put_rest(self.cursor, again=self.work.redoing):
            if length < 0:
                raise self.stalled()
            if not unit.messages:
                self.work.begun(self.owner)
            self.owner.count(length)

    # --- after a lost connection

    def recover(self) -> None:
        """Restore the open queues and the position after a lost connection or an interrupted call."""
        self.work.recover()

    def redo(self, error: MQIError, again: _Redo) -> None:
        """Recover from ``error``, and do what ``again`` describes, unless the failed commit took effect. Raises MQGroupsError."""
        # The queue manager may have refused a put because of the message itself, for example its length.
        self._call_has_failed(error.verb != "MQPUT" or error.reason in REDO)
        self._due = again
        try:
            self.work.redo(error)
        finally:
            self._due = None

    def replay(self, committed: int | None) -> None:
        """Get the uncommitted messages again after a lost connection; see ``Participant.replay``.

        The application does not see these messages again, and ``before_commit`` is not called again.
        """
        if committed is not None:
            # The unit of work is committed, so it must not be redone if the connection is lost once more.
            self._due = None
        self._set_back()
        if self._due is not None:
            self._get_again(self._due)

    def _get_again(self, again: _Redo) -> None:
        owner, work = self.owner, self.work
        owner.unit.note = again.note
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
        self._not_alone()
        self.cursor.set_back(self.owner.committed)
        self.cursor.reopen()

    # --- the queues

    def close(self, *, finish: bool, delete: bool = False) -> None:
        """Back out and close all queues. With ``finish``, remove a status record that is no longer needed. Idempotent."""
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
            self.aside.close()
            self.cursor.close()
        finally:
            self.owner.keeper.close(delete=delete_status)
