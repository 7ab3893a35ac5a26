"""Gets the messages of a consumer's groups, and waits for them.

Not here: the application's interface (``consumer.py``), the checks on each message (``group.py``), and what becomes of processed
messages (``processing.py``).
"""

from __future__ import annotations

import logging

from mqgroups.connection.connection import Connection
from mqgroups.connection.queue import LongerThanAccepted, SegmentsDiffer
from mqgroups.core.model import GROUP_ID_NONE, Role
from mqgroups.core.poison import Suspect
from mqgroups.core.rest import Rest
from mqgroups.core.restart import Expectations
from mqgroups.errors import GroupQuarantined, MQGroupsError, MQIError
from mqgroups.get.aside import Aside
from mqgroups.get.processing import Again, Partner, Processing
from mqgroups.get.repetition import Repetition
from mqgroups.get.starting import find_backout_queue, open_cursor, refuse_unfit
from mqgroups.mqi.message import Message, NotGot
from mqgroups.printable import even_half_made
from mqgroups.settings import Consuming
from mqgroups.status.owner import new_owner_id
from mqgroups.status.units_of_work import UnitsOfWork

_log = logging.getLogger("mqgroups.get")
# How long a message of a group is waited for before the log says so.
_TELL_AFTER_S, _TELL_AGAIN_S = 10.0, 600.0


class Getter(Processing):
    """The open queues of a consumer, and the messages that it has got since the last commit.

    Attributes:
        status: its status queue.
        turn: the connection's.
        decode: the codec's function; ``None`` if messages are not decoded.
        repetition: what its last group has in common with the one before.
    """

    def __init__(
        self, connection: Connection, settings: Consuming, work: UnitsOfWork, partner: Partner | None = None
    ) -> None:
        """Open both queues and read the status record. The caller must then call ``work.claim()``, or ``close_queues``.

        ``work``: the consumer's owner is added to it. ``partner``: the outgoing side of a pipe.

        Raises:
            StatusError: the status queue, or the record on it, cannot be used; nothing was changed.
            ConfigurationError: the settings do not fit the queue or the interrupted group.
            MQIError: a call failed.
        """
        super().__init__(settings, work, partner)
        self.turn = connection.turn
        self.repetition = Repetition(settings.queue)
        self.decode = settings.codec.decode if settings.codec is not None else None
        self.closed = False
        # When the log says next that a message of this group is waited for, in seconds of waiting.
        self._tell_at = (GROUP_ID_NONE, _TELL_AFTER_S)
        # The unit of work in which the application left the loop over a group, with which suspect, and how often.
        self._left: tuple[int, Suspect | None, int] = (0, None, 0)
        self._connection = connection
        self.status = settings.open_status_queue(connection)
        try:
            expected = Expectations(Role.GET, settings.name, settings.queue, connection.q_mgr_identifier)
            self.owner = work.add(self.status, expected, new_owner_id(), settings.hooks)
            self.cursor = open_cursor(connection, settings, self.owner)
            self.owner.in_hand = lambda: self.cursor.position
            self.aside = Aside(
                connection,
                settings.queue,
                find_backout_queue(connection, settings, self.owner, self.cursor.queue),
            )
        except BaseException:
            self.status.give_up()
            raise
        try:
            refuse_unfit(settings, self.owner, repr(self), is_pipe=partner is not None)
        except BaseException:
            self.close_queues()
            raise
        work.participant = self

    @even_half_made
    def __repr__(self) -> str:
        """Return the text that a consumer shows as its repr."""
        position = self.cursor.position
        group = position.group_id.hex() if not position.at_start else "none"
        state = "closed" if self.closed else self._connection.state
        return (
            f"<GroupConsumer {self.settings.queue} name={self.settings.name} group={group} "
            f"seq={position.msg_seq_number} uow={self.owner.own.number} {state}>"
        )

    def first(self) -> Message | None:
        """Get the first message of the next group, waiting ``wait_s``; ``None`` if none came, or after ``stop()``."""
        try:
            message = self._first()
        except MQGroupsError as error:
            self.back_out(error)
            raise
        if message is None:
            self.work.release()
        else:
            self.repetition.compare(self.owner, message)
        return message

    def loop_left(self) -> int:
        """Take note that the application has left the loop over a group; returns how often since the last commit.

        It is counted anew for each suspect that is noted: that is given to the application to find out whether it is poison.
        """
        here = self.owner.own.number, self.owner.unit.note.suspect
        self._left = *here, self._left[2] + 1 if self._left[:2] == here else 1
        return self._left[2]

    @property
    def was_loop_left(self) -> bool:
        """Whether the application has left the loop over a group since the last commit."""
        return self._left[0] == self.owner.own.number

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
                self.call_failed = True
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
            if self._connection.beat is not None:
                self._connection.beats()
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
            except (SegmentsDiffer, LongerThanAccepted) as error:
                return self._not_got(error)
            except MQIError as error:
                self.redo(error, Again(self.processed(), self.owner.unit.note))

    @property
    def moves_poison(self) -> bool:
        """Whether poison goes to the backout queue."""
        backout = self.aside.backout
        return backout is not None and backout.threshold > 0 and self.settings.poison == "quarantine"

    def _not_got(self, error: SegmentsDiffer | LongerThanAccepted) -> Message:
        """Give back the part of a message that was got, and commit the messages before it; returns what stands for the message.

        Raises ``error`` if what the application has put and got on a shared connection would be backed out with it, or if it
        is told otherwise.
        """
        is_moved = self.moves_poison or self.owner.unit.note.quarantine or isinstance(error, SegmentsDiffer)
        if not (self.can_isolate and is_moved):
            raise error
        self.isolate(self.owner.unit.note.suspect)
        return NotGot(error.md, error.cause)

    def _begun(self, message: Message) -> None:
        """Begin the owner's part of a unit of work, with its first message."""
        self.work.begun(self.owner)
        # A group's first message is always the first of its unit of work.
        if message.msg_seq_number == 1 and message.offset == 0:
            self.owner.set_first_msg_id(message.msg_id)
            if message.taken is not None:
                self.owner.set_properties(message.properties)

    def _wait_for_next(self) -> Message:
        self._stop_if_asked()
        wait_s, cursor = self.settings.group_wait_s, self.cursor
        while (message := cursor.get_in_group(wait_s, self._while_waiting)) is None:
            self._keep_processed()
            # Before a group there is no rest to move: its first message was backed out as a suspect, and somebody has got it.
            if self.settings.stalled == "halt" or cursor.position.at_start:
                raise self.stalled()
            rest = self.aside.rest_of_group(cursor.position)
            if rest is not None:
                raise self._quarantined(rest)
            self.work.begin()
        self.aside.group_goes_on()
        return message

    def _quarantined(self, rest: Rest) -> GroupQuarantined:
        """Move the rest of the group to the backout queue, and end the group; returns the error to raise."""
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
            self.aside.leave(left)
            data_bytes += left.length
            self.owner.set_quarantine()
            self.owner.unit.to_put = len(self.aside)
        # Both waits.
        waited_s = 2 * settings.group_wait_s
        error = GroupQuarantined(settings.queue, position.group_id, missing, backout.name, waited_s=waited_s)
        self.cursor.end_in_middle()
        self.end_group(quarantined=error)
        return error

    def _while_waiting(self, left_s: float) -> bool:
        self._connection.beats()
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
                "%s waits for message %d of group %s, which is not on queue %s; it is stalled in %.0f s",
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
        """Commit the processed messages; without any, end the unit of work without a call."""
        if self.owner.unit.messages:
            self.syncpoint()
        else:
            self.work.release()

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
            self.aside.close()
            self.cursor.close()
        finally:
            self.status.close(delete=delete_status)
