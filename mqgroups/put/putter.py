"""Puts the messages of a producer's groups one by one, in units of work, and re-puts whatever was not committed.

The putter keeps messages in memory until they are committed. So if the connection is lost and the program is still running, the
putter redoes the unit of work. In a pipe the getter ends the unit of work, and the putter stages its part of it (``stage``).

Not here: how one message is put (``placing.py``), and the application's interface to a group (``group.py``).
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from mqgroups.connection.connection import Connection
from mqgroups.connection.queue import Queue
from mqgroups.connection.retry import NO_ROOM, Patience
from mqgroups.core.group import MessagePart
from mqgroups.core.group_properties import NO_PROPERTIES
from mqgroups.core.ownership import PendingCommit
from mqgroups.core.status import TIME_UTC, Done
from mqgroups.errors import GroupUsage, MQIError
from mqgroups.mqi import constants as mq
from mqgroups.printable import even_half_made
from mqgroups.put.payload import BYTES, Stream, Unsent, abandonment
from mqgroups.put.placing import Placing
from mqgroups.settings import SEGMENT_BYTES, Producing
from mqgroups.status.keeper import Keeper
from mqgroups.status.units_of_work import UnitsOfWork
from mqgroups.telemetry.semantic_conventions import BACKED_OUT

_log = logging.getLogger("mqgroups.put")

# Looked up once: to look up a member of an enum takes long.
_SEGMENT = MessagePart.SEGMENT


class Putter(Placing):
    """The open queues of a producer, and the messages that it has put since the last commit.

    Attributes:
        whole_bytes: longer payloads are put in segments.
        remembered: the properties, with the name, by which the status record knows the group when it is complete; empty if it has
            no name, or the record is not to know it.
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
        """Open the queue and read the status record. The caller must then call ``work.claim()``, or ``close`` this putter.

        Args:
            connection, settings: of the producer.
            keeper: keeps the status record; closed together with this putter.
            work: the new owner is added to it.
            open_queue: opens the queue for new groups; by default as the settings say.
            owner_id: the identity of the owner, which no other has; by default a random one.

        Raises:
            StatusError: the status queue, or the record on it, cannot be used.
            ConfigurationError: the queue is an alias of a topic.
            MQIError: a call failed.
        """
        super().__init__(connection, settings, keeper, work, open_queue, owner_id)
        self._keeper = keeper
        # The messages that are not committed yet, in order.
        self._unsent: list[Unsent] = []
        self._room = connection.retrying(Patience(settings.full_wait_s), NO_ROOM, until=lambda: self.work.stopping)
        self.whole_bytes = settings.segment_bytes or sys.maxsize
        self.remembered = NO_PROPERTIES
        if self.owner.resumed and settings.interrupted == "resume":
            _log.warning("%r resumes an interrupted group", self, extra=self.owner.log_fields())

    @even_half_made
    def __repr__(self) -> str:
        """Return the text that a producer shows as its repr."""
        position = self.position
        group = position.group_id.hex() if not position.at_start else "none"
        return (
            f"<GroupProducer {self.settings.queue} name={self.settings.name} group={group} "
            f"seq={position.msg_seq_number} uow={self.owner.own.number} {self._connection.state}>"
        )

    def put(self, message: Unsent) -> None:
        """Put a message; commit if a syncpoint is due or the group ends; redo the unit of work if the connection is lost."""
        self._unsent.append(message)
        try:
            self._put_and_commit(message)
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
        """Back out to the last commit, and end the group without completing it; if nothing of it is committed, put nothing."""
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
        """Abandon the interrupted group, if there is one and the settings say so."""
        if self.settings.interrupted == "abandon" and not self.owner.committed.at_start:
            self.owner.log(_log, logging.WARNING, "%r abandons its interrupted group: %s", self, reason)
            self.abandon(0, reason)

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
        self._answers.redo()
        self.set_back()
        last = len(self._unsent)
        for number, message in enumerate(tuple(self._unsent), 1):
            try:
                self._put_and_commit(message)
            except MQIError as error:
                if number < last and not error.context:
                    # The application is in a later call: this one was put asynchronously before.
                    error.context = f"This was message {self._run.next_number} of the group"
                raise

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

    def unit_committed(self) -> None:
        """Take note that the getter has committed what was put."""
        self._answers.unit_ended()
        self.set_back()

    def put_all(self, messages: Sequence[Unsent]) -> PendingCommit | None:
        """Put messages in a unit of work that the getter commits; returns how it ends. May be called again."""
        if self.work.redoing:
            self._answers.redo()
        self.set_back()
        for number, message in enumerate(messages, 1):
            ends = number == len(messages)
            if self._answers.are_missing:
                # A full queue shows only at the last message, and those before it have to be put again, too.
                self._put_once(message, ends)
            else:
                self._put_when_room(message, ends)
        if not messages:
            return None
        *_, ended, _ = messages[-1]
        return self._ending(ended=ended)

    # --- parts

    def _put_and_commit(self, message: Unsent) -> None:
        _, _, checkpoint, last, part = message
        answers = self._answers
        try:
            self._put_once(message, not answers.may_be_asynchronous or answers.ends_unit_of_work(message))
        except MQIError as error:
            if error.reason not in NO_ROOM or answers.are_missing:
                raise
            self._commit_and_wait_for_room(message)
        if checkpoint is not None:
            self.owner.set_checkpoint(checkpoint)
        if last and part is not _SEGMENT:
            self._commit(ended=True)
            self._unsent.clear()
            self._group_ended()
        elif answers.last_came and self.work.due():
            self._syncpoint()

    def _syncpoint(self) -> None:
        messages = self.owner.unit.messages
        self._commit(ended=False)
        del self._unsent[:messages]

    def _commit(self, *, ended: bool) -> None:
        self.work.settling()
        self.work.commit({self.owner: self._ending(ended=ended, done=self._done() if ended else None)})
        self._answers.unit_ended()
        self._stand_at_committed()

    def _done(self) -> Done | None:
        if not self.remembered:
            return None
        return Done(self.remembered, self.position.msg_seq_number, datetime.now(UTC).strftime(TIME_UTC))

    def _commit_and_wait_for_room(self, message: Unsent) -> None:
        # Commit first: consumers can then get these messages, which makes room.
        if self.work.may_end_early:
            self._syncpoint()
        self.owner.log(_log, logging.INFO, "%r waits for room on the queue", self)
        self._put_when_room(message)

    def _put_when_room(self, message: Unsent, ends: bool = True) -> None:
        try:
            self._room(self._put_once, message, ends)
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


def claimed_putter(
    connection: Connection,
    settings: Producing,
    keeper: Keeper,
    give_up: Callable[[], None],
    *,
    open_queue: Callable[[], Queue] | None = None,
    owner_id: str | None = None,
) -> Putter:
    """Return a putter with units of work of its own, whose name is claimed; arguments and errors as for ``Putter``.

    ``give_up``: closes the keeper if the status record cannot be used.
    """
    work = UnitsOfWork(connection, settings.every)
    try:
        putter = Putter(connection, settings, keeper, work, open_queue=open_queue, owner_id=owner_id)
    except BaseException:
        give_up()
        raise
    work.participant = putter
    try:
        work.claim()
    except BaseException:
        putter.close()
        raise
    return putter
