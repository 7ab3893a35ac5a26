"""GroupProducer: puts a message group across units of work.

This is what an application sees. ``putter.Putter`` puts, and ``units_of_work.UnitsOfWork`` ends each unit of work with its status
record.

The last message of a group has to say that it is the last, when it is put. Nobody knows that it is before the ``with``
block ends, so one message is always held back: ``put`` puts the one before. ``resume_from`` counts committed messages
only, so what is held back, or in an open unit of work, is put again after a crash.

A message longer than ``segment_bytes``, or a stream, is put in segments. Units of work may end between them, so the memory
that a message takes is that of a unit of work, however long it is. All segments have to say whether their message is the
group's last, from the first one on, so of a stream the application has to say it.
"""

from __future__ import annotations

import warnings
from types import TracebackType

from mqgroups.config import ProducerSettings
from mqgroups.connection.connection import Connection
from mqgroups.core.status import Checkpoint
from mqgroups.errors import GroupUsage
from mqgroups.put.group import OutgoingGroup
from mqgroups.put.putter import Putter
from mqgroups.status.queue import StatusQueue
from mqgroups.status.units_of_work import UnitsOfWork


class GroupProducer:
    """Puts message groups to one queue, under a name that survives a crash. Made by ``QueueManager.group_producer``."""

    def __init__(self, connection: Connection, settings: ProducerSettings) -> None:
        self._closed = True
        self._connection = connection
        self._settings = settings
        self._group: OutgoingGroup | None = None
        with connection.turn:
            connection.reopening(self._start)
            self._closed = False
            try:
                self._putter.owner.tell_resumed()
            except BaseException:
                self._close(finish=False)
                raise

    def _start(self) -> None:
        """Open both queues, find out where things stand, and claim the name."""
        connection, settings = self._connection, self._settings
        keeper = StatusQueue(
            connection,
            settings.status_queue,
            settings.status_model,
            settings.owner_wait_s,
            segmented=settings.segmented_status,
            for_owner=True,
        )
        work = UnitsOfWork(connection, settings.commit_every)
        try:
            putter = Putter(connection, settings, keeper, work)
        except BaseException:
            keeper.close()
            raise
        try:
            work.claim()
        except BaseException:
            putter.close()
            raise
        self._putter = putter

    @property
    def checkpoint(self) -> Checkpoint:
        """The checkpoint of the last commit, be its group interrupted or completed; ``None`` if there was none.

        Raises:
            CommitOutcomeUnknown: the last commit had no answer, and on this connection it cannot be found out.
            MQGroupsError: what goes wrong in finding out, after an interruption.
        """
        if self._putter.work.has_to_find_out and not self._closed:
            with self._connection.turn:
                self._putter.require_known()
        return self._putter.owner.committed_checkpoint

    def group(self) -> OutgoingGroup:
        """Return the next group: the interrupted one, if there is one, else a new one. Use it in a ``with`` statement.

        Leaving the block puts the last message and commits. Leaving it by an exception backs out to the last commit;
        the next ``group()``, of this producer or after a restart, goes on from there.

        Raises:
            GroupUsage: the producer is closed, or the group before has not ended.
            OwnershipLost: another instance of the name has taken over.
        """
        with self._connection.turn:
            if self._closed:
                raise GroupUsage(f"{self!r} is closed")
            self._let_go_of_group()
            self._putter.require_known()
            self._group = OutgoingGroup(self._putter, self._connection.turn)
            return self._group

    def forget_checkpoint(self) -> None:
        """Have the status record keep no checkpoint any more, in a unit of work of its own; between two groups.

        Raises:
            GroupUsage: the producer is closed, or a group has not ended.
            MQGroupsError: it could not be done.
        """
        with self._connection.turn:
            if self._closed:
                raise GroupUsage(f"{self!r} is closed")
            self._let_go_of_group()
            self._putter.recover()
            self._putter.work.forget_checkpoint(self._putter.owner)

    def close(self) -> None:
        """Back out what is not committed, take a record away that says nothing any more, and close both queues. Idempotent.

        The record of an interrupted group stays, and a record with a checkpoint.
        """
        with self._connection.turn:
            self._close(finish=True)

    def delete_status_queue(self) -> None:
        """Close, and delete the status queue, which has to be one that was made from a model queue.

        Raises:
            GroupUsage: a group is interrupted, or there is a checkpoint, and the record is on it.
            MQIError: it cannot be deleted (2045: it is a predefined queue).
        """
        with self._connection.turn:
            self._let_go_of_group()
            if self._putter.owner.speaks:
                raise GroupUsage(
                    f"{self!r} has an interrupted group or a checkpoint; end the one, and forget the other, before the status "
                    "queue can be deleted"
                )
            self._close(finish=True, delete=True)

    def __enter__(self) -> GroupProducer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        # After an exception the application comes back and has to know where it was: a COMPLETED record stays.
        with self._connection.turn:
            self._close(finish=error is None)

    def __del__(self) -> None:
        if not getattr(self, "_closed", True):
            warnings.warn(
                f"{self!r} was not closed: use it in a with statement, or close() it",
                ResourceWarning,
                stacklevel=2,
                source=self,
            )

    def __repr__(self) -> str:
        shown = repr(self._putter)
        return shown.rpartition(" ")[0] + " closed>" if self._closed else shown

    def _let_go_of_group(self) -> None:
        before = self._group
        if before is None or before.has_ended:
            return
        turn = self._connection.turn
        if before.was_left:
            # Interrupted on the way out of its block: nobody knows how far that came.
            turn.interrupted = True
        # Of a call that was interrupted the application may have no group in hand, or one that it left.
        if before.is_begun and not turn.interrupted:
            raise GroupUsage("the group before has not ended; use `with producer.group() as group:`")
        before.close()

    def _close(self, *, finish: bool, delete: bool = False) -> None:
        if self._closed:
            return
        self._closed = True
        putter = self._putter
        if self._group is not None:
            self._group.close()
        try:
            putter.back_out(None)
            if finish:
                putter.recover()
                putter.work.finish()
        finally:
            putter.close(delete_status=delete)
