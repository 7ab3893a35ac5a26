"""A pipe gets groups from a queue and puts groups to another queue in the same units of work, exactly once from end to end.

    with qmgr.group_pipe("ORDERS", "INVOICES", name="invoicing", commit_every=100) as pipe:
        for orders, invoices in pipe:            # an incoming and an outgoing group
            for order in orders:
                invoices.put(invoice(order.data))

The number of incoming messages decides when the pipe commits. Until then, messages that the application puts wait in memory. The
commit includes these messages, the incoming messages that they were made from, and the status records of both sides. So the pipe
can redo a whole unit of work without the application.

Each side owns a name. Both sides claim their names in one unit of work. If one side loses its name, so does the other side.

The outgoing group ends when the incoming group ends. If the application puts nothing for the last messages of an incoming group,
although earlier outgoing messages were committed, an empty message ends the outgoing group. If it puts nothing for a whole
incoming group, there is no outgoing group. If an incoming group is abandoned or quarantined, the outgoing group is abandoned.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from types import TracebackType

from mqgroups.connection.connection import Connection
from mqgroups.core.group import MessagePart
from mqgroups.core.group_properties import NO_PROPERTIES
from mqgroups.core.ownership import PendingCommit
from mqgroups.core.status import Outgoing
from mqgroups.core.status_chain import MOST_SEGMENTS
from mqgroups.core.unit_of_work import Every
from mqgroups.errors import GroupUsage
from mqgroups.get.consumer import next_group
from mqgroups.get.getter import Getter
from mqgroups.get.group import IncomingGroup
from mqgroups.get.iteration import Iteration
from mqgroups.mqi.abc import PropertyValue
from mqgroups.printable import even_half_made
from mqgroups.put.payload import (
    BYTES,
    MessageKind,
    Payload,
    Unsent,
    abandonment,
    check_stream,
    data_and_kind,
    pieces,
)
from mqgroups.put.properties import group_properties, passed_on, resumed_with, with_group_properties
from mqgroups.put.putter import Putter
from mqgroups.settings import SEGMENT_BYTES, Consuming, Producing
from mqgroups.status.opening import check_apart
from mqgroups.status.owner import Owner, outgoing_at
from mqgroups.status.records import records_disagree
from mqgroups.status.units_of_work import UnitsOfWork
from mqgroups.telemetry.forgotten import tell_forgotten

# The most messages needed to replace both status records, and the empty message that may have to end the outgoing group.
_STATUS_MESSAGES = 2 * (1 + MOST_SEGMENTS) + 1


def with_room(every: Every, max_uncommitted_msgs: int) -> Every:
    """Return ``every`` with at most half of MAXUMSGS as the limit of messages to get. The other half is for the pipe's puts."""
    room = max(1, max_uncommitted_msgs // 2 - _STATUS_MESSAGES)
    return replace(every, messages=min(every.messages or room, room))


class PipedGroup:
    """The outgoing group that the application makes from an incoming group."""

    def __init__(self, output: PipeOutput) -> None:
        self._output = output

    def set_properties(self, properties: Mapping[str, PropertyValue] | None = None, *, name: str = "") -> None:
        """Set the properties and the name of the outgoing group. Call it before the first put.

        Without a ``name`` the outgoing group has the name of the incoming group. In a pipe, a name does not prevent repetition:
        two incoming groups of one name become two outgoing groups. A program that resumes a group can call this again with the
        same values.

        Raises:
            GroupUsage: the group has other properties, and a message of it is put already, perhaps before a restart. Or the
                pipe has continued with another group, or is closed.
            MessageRefused: as for ``GroupProducer.group``.
        """
        self._output.set_properties(self, group_properties(name or self._output.inherited_name, properties))

    def put(
        self,
        payload: Payload,
        *,
        format: str | None = None,
        ccsid: int | None = None,
        correl_id: bytes | None = None,
        properties: Mapping[str, PropertyValue] | None = None,
    ) -> None:
        """Put the next message of the group, in the unit of work of the incoming message that is being processed.

        Args:
            payload, format, ccsid, correl_id, properties: as for ``OutgoingGroup.put``, except that a stream is read to its end
                and put as one message.

        Raises:
            GroupUsage: the pipe has continued with another group, or is closed.
            MessageRefused: an argument is invalid for a message.
        """
        if not isinstance(payload, (bytes, str, bytearray, memoryview)):
            check_stream(payload)
            payload = b"".join(data for data, _ in pieces(payload, SEGMENT_BYTES, 0))
        properties = self._output.with_properties(properties)
        self._output.add(self, *data_and_kind(payload, format, correl_id, properties, ccsid))


class PipeOutput:
    """The outgoing side of a pipe. It keeps the messages that the application has put since the last commit.

    Attributes:
        group: the group that accepts messages now; ``None`` if no group does.
        getter, putter: the two sides of the pipe. Both are set before the first group begins.
    """

    getter: Getter
    putter: Putter

    def __init__(self) -> None:
        self.group: PipedGroup | None = None
        self._waiting: list[tuple[bytes, MessageKind]] = []
        # The outgoing group's properties, for its first message.
        self._properties = NO_PROPERTIES

    @property
    def inherited_name(self) -> str:
        """The name that the outgoing group inherits from the incoming group."""
        incoming: IncomingGroup | None = self.getter.group
        return passed_on(incoming.name) if incoming is not None else ""

    def set_properties(self, group: PipedGroup, properties: Mapping[str, PropertyValue]) -> None:
        """Set the current group's properties. Raises GroupUsage for another group, and for new properties after a put."""
        with self.getter.connection.turn:
            self._check_current(group)
            if not self.putter.owner.committed.at_start:
                resumed_with(properties, self.putter.owner)
            elif self._waiting and properties != self._properties:
                raise GroupUsage("the properties of an outgoing group must be set before its first message is put")
            self._properties = properties

    def with_properties(self, message: Mapping[str, PropertyValue] | None) -> Mapping[str, PropertyValue] | None:
        """Return the properties of the next message. In a group's first message, the group's properties are added."""
        is_first = self._properties and not self._waiting and self.putter.owner.committed.at_start
        return with_group_properties(self._properties, message) if is_first else message

    def begin(self) -> PipedGroup:
        """Return a new outgoing group, for the current incoming group. From now on, only this group accepts messages."""
        self.group, self._properties = PipedGroup(self), group_properties(self.inherited_name, None)
        return self.group

    def _check_current(self, group: PipedGroup) -> None:
        if self.group is not group or self.getter.group is None or self.getter.connection.turn.interrupted:
            raise GroupUsage(
                "the pipe has gone on to another group, or is closed, or was interrupted in a call of this group. Put to the "
                "outgoing group that the pipe returned last"
            )

    def add(self, group: PipedGroup, data: bytes, kind: MessageKind) -> None:
        """Keep a message for the next commit; raises GroupUsage if ``group`` is not the current group."""
        with self.getter.connection.turn:
            self._check_current(group)
            self._waiting.append((data, kind))
            self.putter.owner.unit.to_put = len(self._waiting)

    def put_all(self, *, ended: bool, failed_with: int | None) -> tuple[dict[Owner, PendingCommit], Outgoing]:
        """Put the messages that the application has made in this unit of work. The getter commits them.

        Returns the putter's pending commit, if there is one, and the outgoing position for the getter's record.

        Args:
            ended: whether the incoming group ends with this unit of work.
            failed_with: if given, these messages are not put, and the outgoing group is abandoned with this result.
        """
        begun = not self.putter.owner.committed.at_start
        messages: list[Unsent] = []
        if failed_with is None:
            number = len(self._waiting)
            messages = [
                (data, kind, None, ended and each == number, MessagePart.WHOLE)
                for each, (data, kind) in enumerate(self._waiting, 1)
            ]
            if ended and begun and not messages:
                messages = [(b"", BYTES, None, True, MessagePart.WHOLE)]
        elif begun:
            messages = [abandonment(failed_with, "its incoming group was not completed")]
        owner = self.putter.owner
        ending = self.putter.put_all(messages)
        if ending is None:
            return {}, owner.outgoing
        return {owner: ending}, outgoing_at(ending.position)

    def committed(self) -> None:
        """Forget the kept messages, because they are committed."""
        self._waiting.clear()
        self.putter.unit_committed()

    def back_out(self) -> None:
        """Forget the kept messages, because their unit of work is backed out."""
        self._waiting.clear()


class GroupPipe:
    """A consumer and a producer that share a unit of work. ``QueueManager.group_pipe`` makes it."""

    def __init__(self, connection: Connection, incoming: Consuming, outgoing: Producing) -> None:
        with connection.turn:
            connection.reopening(partial(self._start, connection, incoming, outgoing))
            try:
                for owner in self._getter.work.owners:
                    owner.tell_resumed()
            except BaseException:
                self._close(finish=False)
                raise

    def _start(self, connection: Connection, incoming: Consuming, outgoing: Producing) -> None:
        """Open all queues, read both status records, and claim both names."""
        work = UnitsOfWork(connection, incoming.every)
        output = PipeOutput()
        with ExitStack() as undo:
            getter = Getter(connection, incoming, work, output)
            undo.callback(getter.close_queues)
            undo.callback(getter.owner.keeper.give_up)
            # Checked before the outgoing status queue is opened exclusively. If it is also the getter's queue, opening it would
            # wait in vain for the getter's handle.
            check_apart(outgoing.record_queue, getter.cursor.queue)
            keeper = outgoing.open_status_queue(connection)
            undo.callback(keeper.give_up)
            putter = Putter(connection, outgoing, keeper, work)
            undo.callback(putter.queue.close)
            check_apart(incoming.record_queue, putter.queue)
            _refuse_disagreement(getter, putter)
            work.claim()
            undo.pop_all()
        output.getter, output.putter = getter, putter
        self._getter, self._output = getter, output

    def __iter__(self) -> Iterator[tuple[IncomingGroup, PipedGroup]]:
        """Return an iterator over pairs: an incoming group, as from ``GroupConsumer``, and the outgoing group to make from it."""
        return Iteration(self._getter.connection.turn, self._next_pair)

    def stop(self) -> None:
        """End the iteration at the next safe place, as ``GroupConsumer.stop`` does. Messages that were put are committed."""
        self._getter.work.stopping = True

    @property
    def stopping(self) -> bool:
        """Whether ``stop`` was called."""
        return self._getter.work.stopping

    def close(self) -> None:
        """Back out uncommitted work, remove the status records if no group is interrupted, and close. Idempotent."""
        with self._getter.connection.turn:
            self._close(finish=True)

    def __enter__(self) -> GroupPipe:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        with self._getter.connection.turn:
            for owner in self._getter.work.owners:
                owner.telemetry.application_failed(error)
            self._close(finish=error is None)

    def __del__(self) -> None:
        getter = getattr(self, "_getter", None)
        if getter is not None and not getter.closed:
            what = f"{self!r} was not closed. Use it in a with statement, or call close()"
            tell_forgotten(what, self, getter.connection.turn.pid)

    @even_half_made
    def __repr__(self) -> str:
        return f"<GroupPipe {self._getter!r} -> {self._output.putter!r}>"

    # --- parts

    def _next_pair(self, before: tuple[IncomingGroup, PipedGroup] | None) -> tuple[IncomingGroup, PipedGroup] | None:
        incoming = next_group(self._getter, before[0] if before is not None else None)
        return (incoming, self._output.begin()) if incoming is not None else None

    def _close(self, *, finish: bool) -> None:
        if self._getter.closed:
            return
        self._output.group = None
        try:
            self._getter.close(finish=finish)
        finally:
            self._output.putter.close()


def _refuse_disagreement(getter: Getter, putter: Putter) -> None:
    """Raise StatusQueueUnusable if the two records are not from the same commit."""
    found, expected = putter.owner.outgoing, Outgoing()
    if (record := getter.owner.resumed) is not None:
        # A rebuilt record does not have the outgoing position.
        expected = record.outgoing or found
    if found == expected:
        return
    raise records_disagree(
        found,
        expected,
        of=(repr(putter), repr(getter)),
        status_queues=(putter.settings.record_queue, getter.owner.keeper.name),
    )
