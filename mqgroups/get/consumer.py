"""GroupConsumer: gets message groups across units of work.

What an application sees; ``getter.Getter`` gets, and ``units_of_work.UnitsOfWork`` ends each unit of work with its status
record.

    for group in consumer:              # the interrupted group first, if there is one
        for message in group:           # asking for the next message says that this one is processed
            ...

A message counts as processed when the application asks for the one after it; only then a syncpoint is taken that
covers it, if one is due. So effects outside MQ happen at least once, never not at all, and after a crash
``group.resume_from`` and ``group.checkpoint`` tell what is committed. Leaving a loop early, or an exception in it,
backs out to the last commit when the consumer is asked again or closed.

When the connection is lost and this program lives, the consumer goes on by itself: what it finds not committed it gets
again, without troubling the application with messages that it has processed.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from types import TracebackType

from mqgroups.config import ConsumerSettings
from mqgroups.connection.connection import Connection
from mqgroups.core.status import Checkpoint
from mqgroups.errors import GroupUsage
from mqgroups.get.getter import Getter
from mqgroups.get.group import BeforeCommit, IncomingGroup
from mqgroups.status.units_of_work import UnitsOfWork

_log = logging.getLogger("mqgroups.get")


class GroupConsumer:
    """Gets message groups from one queue, under a name that survives a crash; see ``QueueManager.group_consumer``."""

    def __init__(self, connection: Connection, settings: ConsumerSettings) -> None:
        self._connection = connection
        self._settings = settings
        with connection.turn:
            connection.reopening(self._start)
            try:
                self._getter.owner.tell_resumed()
            except BaseException:
                self._getter.close(finish=False)
                raise

    def _start(self) -> None:
        """Open both queues, find out where things stand, and claim the name."""
        work = UnitsOfWork(self._connection, self._settings.commit_every)
        getter = Getter(self._connection, self._settings, work)
        try:
            work.claim()
        except BaseException:
            getter.close_queues()
            raise
        self._getter = getter
        if getter.owner.resumed:
            _log.info("%r resumes an interrupted group", self, extra=getter.owner.log_fields())

    @property
    def checkpoint(self) -> Checkpoint:
        """The checkpoint of the last commit, be its group interrupted or completed; ``None`` if there was none.

        Raises:
            CommitOutcomeUnknown: the last commit had no answer, and on this connection it cannot be found out.
            MQGroupsError: what goes wrong in finding out, after an interruption.
        """
        getter = self._getter
        if getter.work.has_to_find_out and not getter.closed:
            with self._connection.turn:
                getter.work.require_known(getter.settle)
        return self._getter.owner.committed_checkpoint

    def before_commit(self, function: BeforeCommit) -> BeforeCommit:
        """Have ``function(group)`` called before each syncpoint, to make durable what the commit will say is done.

        It may call ``group.set_checkpoint``. If it raises, the unit of work is backed out. Usable as a decorator.
        """
        self._getter.before_commit = function
        return function

    def __iter__(self) -> Iterator[IncomingGroup]:
        """Return the groups as they come: the interrupted one first. It ends when none came for ``wait_s``.

        Raises:
            GroupUsage: the consumer is closed; or the next group is asked for and this one was not looked at, which
                would come again and again.
            MQGroupsError: what else goes wrong.
        """
        return Groups(self._getter)

    def forget_checkpoint(self) -> None:
        """Have the status record keep no checkpoint any more, in a unit of work of its own; between two groups.

        Raises:
            GroupUsage: the consumer is closed, or a group is being got.
            MQGroupsError: it could not be done.
        """
        getter = self._getter
        with self._connection.turn:
            if getter.closed or getter.group is not None:
                raise GroupUsage(f"{self!r} is closed, or in a group")
            getter.recover()
            getter.work.forget_checkpoint(getter.owner)

    def close(self) -> None:
        """Back out what is not committed, take a record away that says nothing any more, and close both queues. Idempotent.

        The record of an interrupted group stays, and a record with a checkpoint.
        """
        with self._connection.turn:
            self._getter.close(finish=True)

    def delete_status_queue(self) -> None:
        """Close, and delete the status queue, which has to be one that was made from a model queue.

        Raises:
            GroupUsage: a group is interrupted, or there is a checkpoint, and the record is on it.
            MQIError: it cannot be deleted (2045: it is a predefined queue).
        """
        with self._connection.turn:
            if self._getter.owner.speaks:
                raise GroupUsage(
                    f"{self!r} has an interrupted group or a checkpoint; get the rest of the one, and forget the other, before "
                    "its status queue can be deleted"
                )
            self._getter.close(finish=True, delete=True)

    def __enter__(self) -> GroupConsumer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        # After an exception the application comes back and has to know where it was: a COMPLETED record stays.
        with self._connection.turn:
            self._getter.close(finish=error is None)

    def __repr__(self) -> str:
        return repr(self._getter)


class Groups:
    """The groups of a consumer as they come; see ``GroupConsumer.__iter__``. Not a generator, as ``group._Messages``."""

    def __init__(self, getter: Getter) -> None:
        self._getter = getter
        self._group: IncomingGroup | None = None
        self._ended = False

    def __iter__(self) -> Groups:
        return self

    def __next__(self) -> IncomingGroup:
        group = None
        with self._getter.turn:
            if not self._ended:
                before, self._group = self._group, None
                # If this does not come back there is no way on.
                self._ended = True
                group = self._after(before)
                self._group, self._ended = group, group is None
        if group is None:
            raise StopIteration
        return group

    def _after(self, before: IncomingGroup | None) -> IncomingGroup | None:
        getter = self._getter
        if before is not None and getter.group is before and not before.started:
            getter.back_out(None)
            raise GroupUsage(
                f"group {before.group_id.hex()} was not iterated over. A group that is not processed comes again, so "
                "it cannot be passed over: iterate over it, or close the consumer"
            )
        return _next_group(getter)


def _next_group(getter: Getter) -> IncomingGroup | None:
    if getter.closed:
        raise GroupUsage(f"{getter!r} is closed")
    # A group that was not got to its end: its last messages were never said to be processed.
    getter.back_out(None)
    getter.work.require_known(getter.settle)
    owner, committed = getter.owner, getter.owner.committed
    if not committed.at_start:
        group = IncomingGroup(getter, committed.group_id, committed.msg_seq_number, owner.committed_checkpoint)
    elif (first := getter.first()) is not None:
        group = IncomingGroup(getter, first.group_id, first=first)
    else:
        return None
    getter.group = group
    return group
