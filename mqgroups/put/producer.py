"""GroupProducer: puts a message group across units of work.

This class is the application's interface. ``putter.Putter`` puts the messages, and ``units_of_work.UnitsOfWork`` commits each
unit of work together with its status record.

The last message of a group must be marked as the last when it is put, and only the end of the ``with`` block shows which message
that is. So the producer always holds one message back: each ``put`` puts the previous one. ``resume_from`` counts only committed
messages. So after a crash the application puts again the messages of the open unit of work and the held-back message.

A stream, or a message longer than ``segment_bytes``, is put in segments. A unit of work can end between two segments, so even a
very long message needs no more memory than one unit of work. Even the first segment must say whether its message is the group's
last. So for a stream the application must give ``last``.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from types import TracebackType
from typing import Any

from mqgroups.connection.connection import Connection
from mqgroups.core.group_properties import NO_PROPERTIES, GroupProperties, name_of
from mqgroups.core.status import Done
from mqgroups.errors import GroupUsage
from mqgroups.mqi.abc import PropertyValue
from mqgroups.printable import even_half_made
from mqgroups.put.group import OutgoingGroup
from mqgroups.put.properties import (
    NAME_OF_ITS_OWN,
    check_name,
    done_with,
    group_properties,
    resumed_with,
    sentence_of,
)
from mqgroups.put.putter import claimed_putter
from mqgroups.settings import Producing
from mqgroups.telemetry.forgotten import tell_forgotten

_log = logging.getLogger("mqgroups.put")


class GroupProducer:
    """A producer that puts message groups to one queue, under a name that survives crashes (``QueueManager.group_producer``)."""

    def __init__(self, connection: Connection, settings: Producing) -> None:
        self._closed = True
        self._group: OutgoingGroup | None = None
        with connection.turn:
            connection.reopening(partial(self._start, connection, settings))
            self._closed = False
            try:
                self._putter.owner.tell_resumed()
                self._putter.abandon_interrupted("the program that put it has ended")
            except BaseException:
                self._close(finish=False)
                raise

    def _start(self, connection: Connection, settings: Producing) -> None:
        """Open both queues, read the status record, and claim the name."""
        keeper = settings.open_status_queue(connection)
        self._putter = claimed_putter(connection, settings, keeper)

    @property
    def checkpoint(self) -> Any:
        """The checkpoint that the last commit has stored, even if its group is complete; ``None`` if none was set.

        Raises:
            CommitOutcomeUnknown: the last commit had no answer, and its outcome cannot be found out on this connection.
            MQGroupsError: finding out the outcome of an interrupted commit failed.
        """
        if self._putter.work.has_to_find_out and not self._closed:
            with self._putter.turn:
                self._putter.require_known()
        return self._putter.owner.committed_checkpoint

    def group(self, name: str = "", *, properties: Mapping[str, PropertyValue] | None = None) -> OutgoingGroup:
        """Return the interrupted group if there is one, else a new group. Use it in a ``with`` statement.

        Leaving the block puts the last message and commits. Leaving it by an exception backs out to the last commit. The next
        ``group()``, of this producer or after a restart, continues from there.

        The input of a name is put once. If the last named group that this producer completed has this name, the returned group is
        complete (``group.is_complete``). Its ``resume_from`` is the number of its messages, and it accepts no more messages. The
        producer logs a warning, because another input under the same name would not be put. The producer knows no earlier names.
        For a list of names, use ``remaining``. A group without a name is put again if the program restarts after the group's end.

        Args:
            name: the name of the group's input, for example of a file, a request or a day. It is put as the property
                ``mqgroups.Name``. Consumers have it as ``group.name``, and logs, spans and operators see it.
            properties: the group's properties. Its first message carries them, and a consumer has them as ``group.properties``,
                even after a restart. Give values that identify the group, not values of this attempt, such as a time. A reader
                without a message handle gets them as an MQRFH2 in front of the data, if PROPCTL of its queue says so.

        Raises:
            Stopped: ``stop`` was called.
            GroupUsage: the producer is closed, or the previous group has not ended; or the interrupted group has another name or
                other properties (``group()`` without arguments resumes it); or the complete group has other properties.
            MessageRefused: a property is invalid, or all properties together are longer than 32 KiB.
            OwnershipLost: another instance of the name has taken over.
        """
        with self._putter.turn:
            if self._closed:
                raise GroupUsage(f"{self!r} is closed")
            given = group_properties(name, properties)
            self._let_go_of_group()
            self._putter.require_known()
            if self.stopping:
                raise self._putter.owner.stopped()
            # A name that is only among the properties identifies the group, but is not remembered.
            done = done_with(given, self._putter.owner) if name else None
            self._group = self._complete_group(given, done) if done is not None else self._next_group(name, given)
            return self._group

    def remaining(self, names: Iterable[str]) -> Iterator[str]:
        """Return an iterator over those ``names`` whose groups are not complete, in the given order.

            for day in producer.remaining(days):
                with producer.group(day) as group:
                    ...

        The iterator begins with the name of the interrupted group. If no group is interrupted, it begins after the last name that
        this producer completed. If ``names`` contains neither of these two, it begins with the first name. So give the names in
        the same order at each start. New names can follow at the end.

        Raises:
            GroupUsage: the producer is closed; or a name is empty, or occurs twice; or the order of the names has changed,
                so that the interrupted group's name precedes the completed group's.
            MQGroupsError: finding out what is committed failed.
        """
        listed = list(names)
        place = {name: number for number, name in enumerate(listed)}
        wrong = next((name for number, name in enumerate(listed) if not name or place[name] != number), None)
        if wrong is not None:
            raise GroupUsage(
                f"each group needs a name of its own, but {wrong!r:.100} {'occurs twice' if wrong else 'is no name'}"
            )
        with self._putter.turn:
            if self._closed:
                raise GroupUsage(f"{self!r} is closed")
            self._putter.require_known()
            owner = self._putter.owner
            done = place.get(owner.done.name, -1) if owner.done is not None else -1
            interrupted = "" if owner.committed.at_start else name_of(owner.unit.note.properties)
        first = place.get(interrupted, done + 1)
        if first <= done:
            raise GroupUsage(
                f"group {interrupted!r:.100} is interrupted, but it comes before {listed[done]!r:.100}, which is complete. Give "
                "the names in the order in which their groups are put, and in the same order at each start"
            )
        return iter(listed[first:])

    def _complete_group(self, given: Mapping[str, PropertyValue], done: Done) -> OutgoingGroup:
        putter = self._putter
        text = "%s, so nothing is put. %s"
        putter.owner.log(_log, logging.WARNING, text, sentence_of(done), NAME_OF_ITS_OWN)
        return OutgoingGroup(putter, given, done=done)

    def _next_group(self, name: str, given: Mapping[str, PropertyValue]) -> OutgoingGroup:
        putter = self._putter
        putter.abandon_interrupted("the program that put it continues with another group")
        properties: GroupProperties = given
        if not putter.owner.committed.at_start:
            check_name(name, given, putter.owner)
            properties = resumed_with(given, putter.owner)
        # The properties of an interrupted group are not known if its record was rebuilt without its first message.
        known = given if properties is None else properties
        is_remembered = name or (name_of(known) and not putter.owner.committed.at_start)
        putter.remembered = known if is_remembered else NO_PROPERTIES
        return OutgoingGroup(putter, properties)

    def stop(self) -> None:
        """Stop this producer for good, at the next safe place. Any thread or signal handler can call this; it returns at once.

        The application's next ``put`` commits the earlier messages, puts nothing, and raises ``Stopped``. The next ``group``
        raises ``Stopped`` too. In a stream, each place between two segments is safe. A group whose last message was already given
        to ``put`` is completed. On a wrapped connection, uncommitted messages are backed out instead of committed.
        """
        self._putter.work.stopping = True

    @property
    def stopping(self) -> bool:
        """Whether ``stop`` was called."""
        return self._putter.work.stopping

    def forget(self) -> None:
        """Remove the checkpoint and the last group's name from the status record, in a separate unit of work.

        Call this between two groups.

        Raises:
            GroupUsage: the producer is closed, or a group has not ended or is interrupted.
            MQGroupsError: the unit of work failed.
        """
        with self._putter.turn:
            if self._closed:
                raise GroupUsage(f"{self!r} is closed")
            self._let_go_of_group()
            self._putter.recover()
            self._putter.work.forget(self._putter.owner)

    def close(self) -> None:
        """Back out uncommitted messages, remove the status record if it is no longer needed, and close both queues. Idempotent.

        The record stays if a group is interrupted, or if the record has a checkpoint or the name of a complete group.
        """
        with self._putter.turn:
            if not self._closed and self._left_open() is not None:
                _log.warning(
                    "%r is closed before its group has ended. What is committed of it is resumed by the next start of this name; "
                    "the rest is backed out. Use `with producer.group() as group`",
                    self,
                    extra=self._putter.owner.log_fields(),
                )
            self._close(finish=True)

    def delete_status_queue(self) -> None:
        """Close the producer, and delete its status queue. Only a queue that was made from a model queue can be deleted.

        Raises:
            GroupUsage: a group is interrupted, or the record has a checkpoint or the name of a group, so it is still needed.
            MQIError: the queue cannot be deleted (2045: it is a predefined queue).
        """
        with self._putter.turn:
            self._let_go_of_group()
            if self._putter.owner.is_needed:
                raise GroupUsage(
                    f"the record of {self!r} is needed for an interrupted group, a checkpoint or the name of a complete group. "
                    "End the group, and call forget(), before its status queue is deleted"
                )
            self._close(finish=True, delete=True)

    def __enter__(self) -> GroupProducer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        # After an exception the application will start again and needs the record, so a COMPLETED record stays too.
        with self._putter.turn:
            left_open = self._left_open() if error is None else None
            self._close(finish=error is None)
            if left_open is not None:
                raise left_open

    def __del__(self) -> None:
        if not getattr(self, "_closed", True):
            what = f"{self!r} was not closed. Use it in a with statement, or call close()"
            tell_forgotten(what, self, self._putter.turn.pid)

    @even_half_made
    def __repr__(self) -> str:
        shown = repr(self._putter)
        return shown.rpartition(" ")[0] + " closed>" if self._closed else shown

    def _let_go_of_group(self) -> None:
        before = self._group
        if before is None or before._has_ended:
            return
        turn = self._putter.turn
        if before._was_left:
            # The interruption came while the block was being left, so it is not known which calls were made.
            turn.interrupted = True
        if (not_ended := self._not_ended()) is not None:
            raise not_ended
        before._let_go()

    def _not_ended(self) -> GroupUsage | None:
        """Return an error if the application has begun a group and not ended it, else ``None``."""
        group = self._group
        # After an interrupted call the application may have lost or left the group. Then an unended group is no mistake.
        if group is None or group._has_ended or self._putter.turn.interrupted:
            return None
        if not group._is_begun and not group._is_in_block:
            return None
        return GroupUsage(
            "the last group has not ended, so its held-back message is not put. Use `with producer.group() as group`"
        )

    def _left_open(self) -> GroupUsage | None:
        # A failed group has already raised its error.
        return None if self._group is not None and self._group._has_failed else self._not_ended()

    def _close(self, *, finish: bool, delete: bool = False) -> None:
        if self._closed:
            return
        self._closed = True
        putter = self._putter
        if self._group is not None:
            self._group._let_go()
        try:
            putter.back_out(None)
            if finish:
                putter.recover()
                putter.work.finish()
        finally:
            putter.close(delete_status=delete)
