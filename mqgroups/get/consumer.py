"""GroupConsumer: gets message groups across units of work.

This class is the application's interface. ``getter.Getter`` gets the messages, and ``units_of_work.UnitsOfWork`` commits each
unit of work together with its status record.

    for group in consumer:              # the interrupted group first, if there is one
        for message in group:           # asking for the next message means that this one is processed
            ...

A message counts as processed when the application asks for the next message. A syncpoint can commit a message only after that,
so effects outside MQ happen at least once. After a crash, ``group.resume_from`` and ``group.checkpoint`` show what is committed.
If a loop is left early, also by an exception, the consumer backs out to the last commit when it is used again or closed.

If the connection is lost and the program is still running, the consumer continues by itself. It gets the uncommitted messages
again, but does not return a message that the application has already processed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from functools import partial
from types import TracebackType
from typing import Any

from mqgroups.connection.connection import Connection
from mqgroups.errors import GroupUsage
from mqgroups.get.getter import Getter
from mqgroups.get.group import BeforeCommit, IncomingGroup
from mqgroups.get.iteration import Iteration
from mqgroups.printable import even_half_made
from mqgroups.settings import Consuming
from mqgroups.status.hooks import checked_hook
from mqgroups.status.units_of_work import UnitsOfWork
from mqgroups.telemetry.forgotten import tell_forgotten

_log = logging.getLogger("mqgroups.get")
# Leaving a loop this often in a row is an error.
_MOST_TIMES_LEFT = 5


class GroupConsumer:
    """A consumer that gets message groups from one queue. Its name survives crashes. ``qmgr.group_consumer()`` makes it."""

    def __init__(self, connection: Connection, settings: Consuming) -> None:
        with connection.turn:
            connection.reopening(partial(self._start, connection, settings))
            try:
                self._getter.owner.tell_resumed()
            except BaseException:
                self._getter.close(finish=False)
                raise

    def _start(self, connection: Connection, settings: Consuming) -> None:
        """Open the queue and the status queue, read the status record, and claim the name."""
        work = UnitsOfWork(connection, settings.every)
        getter = Getter(connection, settings, work)
        try:
            work.claim()
        except BaseException:
            getter.close_queues()
            raise
        self._getter = getter
        if getter.owner.resumed:
            _log.warning("%r resumes an interrupted group", self, extra=getter.owner.log_fields())

    @property
    def checkpoint(self) -> Any:
        """The checkpoint that the last commit has stored, in an interrupted or a complete group; ``None`` if there is none.

        Raises:
            CommitOutcomeUnknown: the last commit had no answer, and its outcome cannot be found out on this connection.
            MQGroupsError: a call was interrupted before, and the consumer failed to find out what is committed.
        """
        getter = self._getter
        if getter.work.has_to_find_out and not getter.closed:
            with self._getter.connection.turn:
                getter.work.require_known()
        return self._getter.owner.committed_checkpoint

    def attach(self, *, before_commit: BeforeCommit, before_forget: Callable[[], object]) -> None:
        """Attach a sink, for example a ``FileSink``. A sink stores messages, and keeps its own position in the checkpoint.

        Args:
            before_commit: a function to call before each syncpoint. It is called before the application's function.
            before_forget: a function that ``forget`` calls first. It must finish the work that the checkpoint describes.
        """
        self._getter.sinks.append((before_commit, before_forget))

    def before_commit(self, function: BeforeCommit) -> BeforeCommit:
        """Register a function to call before each syncpoint, so that external effects are durable before the commit.

        The function is called with the group, and can call ``group.set_checkpoint``. If the function raises an error, the unit of
        work is backed out. A new function replaces the previous function, so each group can have its own. Attached sinks stay.
        This method can be used as a decorator.
        """
        self._getter.before_commit = checked_hook("before_commit", function)
        return function

    def __iter__(self) -> Iterator[IncomingGroup]:
        """Return an iterator over the groups, the interrupted group first. It ends if no group comes within ``wait_s`` seconds.

        Raises:
            Stopped: ``stop`` was called, and a group is interrupted. If no group is interrupted, the iteration ends.
            GroupUsage: the consumer is closed; or the application tried to skip the previous group without iterating over it.
            MQGroupsError: any other failure.
        """
        return groups_of(self._getter)

    def stop(self) -> None:
        """Stop this consumer for good, at the next safe place. Any thread or signal handler can call this method.

        The method returns at once. Between two groups, the iteration over the consumer ends. In a group, the application's next
        request for a message commits the processed messages, and raises ``Stopped``. A waiting consumer notices the stop within a
        second. If it has already waited ten seconds for a group, it notices the stop within five seconds.
        """
        self._getter.work.stopping = True

    @property
    def stopping(self) -> bool:
        """Whether ``stop`` was called."""
        return self._getter.work.stopping

    def forget(self) -> None:
        """Remove the checkpoint from the status record, in a separate unit of work. Call this between two groups.

        Raises:
            GroupUsage: the consumer is closed, is getting a group, or has an interrupted group.
            MQGroupsError: the unit of work failed.
        """
        getter = self._getter
        for _, before_forget in getter.sinks:
            before_forget()
        with self._getter.connection.turn:
            if getter.closed or getter.group is not None:
                raise GroupUsage(f"{self!r} is closed, or a group is being got. Call forget() between two groups")
            getter.recover()
            getter.work.forget(getter.owner)

    def close(self) -> None:
        """Back out uncommitted messages, remove the status record if it is no longer needed, and close both queues. Idempotent.

        The record stays if a group is interrupted, or if the record has a checkpoint.
        """
        with self._getter.connection.turn:
            self._getter.close(finish=True)

    def delete_status_queue(self) -> None:
        """Close the consumer, and delete its status queue. Only a queue that was made from a model queue can be deleted.

        Raises:
            GroupUsage: the record is still needed, because a group is interrupted or the record has a checkpoint.
            MQIError: the queue cannot be deleted (2045: it is a predefined queue).
        """
        with self._getter.connection.turn:
            if self._getter.owner.is_needed:
                raise GroupUsage(
                    f"{self!r} has an interrupted group or a checkpoint, so its status queue cannot be deleted. Get the rest of "
                    "the group, and call forget(), first"
                )
            self._getter.close(finish=True, delete=True)

    def __enter__(self) -> GroupConsumer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        # After an exception the application will start again and needs the record, so a COMPLETED record stays too.
        with self._getter.connection.turn:
            self._getter.owner.telemetry.application_failed(error)
            self._getter.close(finish=error is None)

    def __del__(self) -> None:
        getter = getattr(self, "_getter", None)
        if getter is not None and not getter.closed:
            what = f"{self!r} was not closed. Use it in a with statement, or call close()"
            tell_forgotten(what, self, getter.connection.turn.pid)

    @even_half_made
    def __repr__(self) -> str:
        return repr(self._getter)


def groups_of(getter: Getter) -> Iterator[IncomingGroup]:
    """Return an iterator over the groups of a consumer; see ``GroupConsumer.__iter__``."""
    return Iteration(getter.connection.turn, partial(next_group, getter))


def next_group(getter: Getter, before: IncomingGroup | None) -> IncomingGroup | None:
    """Return the next group; ``None`` if no group came. ``before``: the previous group of this iteration."""
    if before is not None and getter.group is before and before._is_new:
        getter.back_out(None)
        raise GroupUsage(
            f"group {before.group_id.hex()} was not iterated over. It cannot be skipped, because a group that is not "
            "processed comes again. Iterate over it, or close the consumer"
        )
    return _next_group(getter)


def _loop_was_left(getter: Getter, group: IncomingGroup) -> None:
    """Log that the application has left the loop over this group. Raise GroupUsage the fifth time since the last commit.

    Four times are allowed, because the application also leaves a loop if it is interrupted, or if it retries after an error.
    """
    owner = getter.owner
    committed = owner.committed
    times = getter.loop_left()
    text = (
        f"the loop over group {group.group_id.hex()} on queue {getter.settings.queue} was left early, so the group comes again, "
        f"from message {committed.msg_seq_number + 1} on"
    )
    remedy = "Iterate over a group to its end; to process a message later, let the error end the program, or retry in the loop"
    if times >= _MOST_TIMES_LEFT:
        raise GroupUsage(f"{text}, for the {times}th time without a commit in between. {remedy}")
    owner.log(_log, logging.WARNING, "%s. %s", text, remedy)


def _next_group(getter: Getter) -> IncomingGroup | None:
    if getter.closed:
        raise GroupUsage(f"{getter!r} is closed")
    owner, left = getter.owner, getter.group
    # If the last group was not iterated to its end, the messages since its last commit do not count as processed.
    getter.back_out(None)
    if left is not None and not getter.connection.turn.interrupted:
        _loop_was_left(getter, left)
    getter.work.require_known()
    committed = owner.committed
    if not committed.at_start:
        if getter.work.stopping:
            raise owner.stopped()
        group = IncomingGroup(getter, None)
    elif (first := getter.first()) is not None:
        group = IncomingGroup(getter, first)
    else:
        return None
    getter.group = group
    return group
