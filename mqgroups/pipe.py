"""GroupPipe: gets groups from one queue and puts groups to another, both in the same units of work: exactly once, end to end.

    with qmgr.group_pipe("ORDERS", "INVOICES", name="invoicing", commit_every=100) as pipe:
        for orders, invoices in pipe:            # a group in, a group out
            for order in orders:
                invoices.put(invoice(order.data))

The getter says when to commit, by the messages that come in. What the application puts waits in memory until then. It is put and
committed with the messages that it was made from, and with the status records of both sides. So a unit of work can be redone
whole, without the application.

Both sides are owners of one unit of work, and claim their names in one. What one of them has lost, both have.

The outgoing group ends with the incoming one. If the application puts nothing for the last messages of a group, and messages
before them are committed already, an empty message ends the outgoing group. If nothing is put for a group, no outgoing group is
created. A group that is abandoned, or quarantined, on its way in is abandoned on its way out.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import TracebackType

from mqgroups.config import SEGMENT_BYTES, ConsumerSettings, ProducerSettings
from mqgroups.connection.connection import Connection
from mqgroups.connection.turn import Turn
from mqgroups.core.group import MessagePart
from mqgroups.core.status_chain import MOST_SEGMENTS
from mqgroups.core.unit_of_work import Every
from mqgroups.errors import SALVAGE, GroupUsage, StatusRecordsDisagree
from mqgroups.get.consumer import Groups
from mqgroups.get.getter import Getter
from mqgroups.get.group import IncomingGroup
from mqgroups.mqi.abc import PropertyValue
from mqgroups.put.payload import BYTES, MessageKind, Payload, Unsent, abandonment, check_stream, data_and_kind, pieces
from mqgroups.put.putter import Putter
from mqgroups.status.opening import check_apart
from mqgroups.status.queue import StatusQueue
from mqgroups.status.units_of_work import UnitsOfWork

# Two records that are replaced, at their most costly, and the message that may have to end the outgoing group.
_STATUS_MESSAGES = 2 * (1 + MOST_SEGMENTS) + 1


def with_room(every: Every, max_uncommitted_msgs: int) -> Every:
    """Return when a pipe takes a syncpoint: half of what a unit of work may have is for what is put."""
    room = max(1, max_uncommitted_msgs // 2 - _STATUS_MESSAGES)
    return replace(every, messages=min(every.messages or room, room))


class PipedGroup:
    """The group that is made from the incoming one."""

    def __init__(self, output: PipeOutput) -> None:
        self._output = output

    def put(
        self,
        payload: Payload,
        *,
        format: str | None = None,
        correl_id: bytes | None = None,
        properties: Mapping[str, PropertyValue] | None = None,
    ) -> None:
        """Put the next message of the group, with the unit of work of the incoming message that is being processed.

        Args:
            payload, format, correl_id, properties: as for ``OutgoingGroup.put``; but a stream is read to its end, and put whole.

        Raises:
            GroupUsage: the pipe has gone on to another group, or is closed.
            MessageRefused: what is given cannot be a message's.
        """
        if not isinstance(payload, (bytes, str, bytearray, memoryview)):
            check_stream(payload)
            payload = b"".join(data for data, _ in pieces(payload, SEGMENT_BYTES, 0))
        self._output.add(self, *data_and_kind(payload, format, correl_id, properties))


class PipeOutput:
    """The outgoing side of a pipe: what the application has put since the last commit. The getter has it put with the next one.

    Attributes:
        group: the group that messages are taken for; ``None`` takes none.
        getter, putter: of the pipe; given as soon as they are there.
    """

    getter: Getter
    putter: Putter

    def __init__(self, turn: Turn) -> None:
        self.group: PipedGroup | None = None
        self._turn = turn
        self._waiting: list[tuple[bytes, MessageKind]] = []

    def add(self, group: PipedGroup, data: bytes, kind: MessageKind) -> None:
        """Take a message for the next commit."""
        with self._turn:
            if self.group is not group or self.getter.group is None or self._turn.interrupted:
                raise GroupUsage(
                    "the pipe has gone on to another group, or is closed, or a call was interrupted in this one"
                )
            self._waiting.append((data, kind))
            self.putter.owner.will_put(len(self._waiting))

    def stage(self, *, ended: bool, failed_with: int | None) -> None:
        """Put what was made from the messages of this unit of work, and the outgoing side's record; the getter commits.

        Args:
            ended: whether the incoming group ends with this unit of work.
            failed_with: the result to abandon the outgoing group with, instead of putting anything.
        """
        begun = not self.putter.owner.committed.at_start
        messages: list[Unsent] = []
        if failed_with is None:
            number = len(self._waiting)
            messages = [
                Unsent(data, kind, None, ended and each == number, MessagePart.WHOLE)
                for each, (data, kind) in enumerate(self._waiting, 1)
            ]
            if ended and begun and not messages:
                messages = [Unsent(b"", BYTES, None, True, MessagePart.WHOLE)]
        elif begun:
            messages = [abandonment(failed_with, "its incoming group was not completed")]
        self.putter.stage(messages)

    def committed(self) -> None:
        """What was staged is committed."""
        self._waiting.clear()
        self.putter.set_back()

    def back_out(self) -> None:
        """Forget what is not committed."""
        self._waiting.clear()


class GroupPipe:
    """A consumer and a producer with one unit of work. Made by ``QueueManager.group_pipe``."""

    def __init__(self, connection: Connection, incoming: ConsumerSettings, outgoing: ProducerSettings) -> None:
        self._closed = True
        self._connection = connection
        self._settings = incoming, outgoing
        with connection.turn:
            connection.reopening(self._start)
            self._closed = False
            try:
                for owner in self._work.owners:
                    owner.tell_resumed()
            except BaseException:
                self._close(finish=False)
                raise

    def _start(self) -> None:
        """Open all queues, find out where things stand, and claim both names."""
        connection, (incoming, outgoing) = self._connection, self._settings
        work = UnitsOfWork(connection, incoming.commit_every)
        output = PipeOutput(connection.turn)
        getter = Getter(connection, incoming, work, output)
        try:
            # The other side's, before it is opened exclusively and would wait for this handle for nothing.
            check_apart(outgoing.status_queue, getter.cursor.queue)
            keeper = StatusQueue(
                connection,
                outgoing.status_queue,
                outgoing.status_model,
                outgoing.owner_wait_s,
                segmented=outgoing.segmented_status,
                for_owner=True,
            )
            try:
                putter = Putter(connection, outgoing, keeper, work)
            except BaseException:
                keeper.close()
                raise
            try:
                check_apart(incoming.status_queue, putter.queue)
                self._refuse_disagreement(getter, putter)
                work.claim()
            except BaseException:
                putter.close()
                raise
        except BaseException:
            getter.close_queues()
            raise
        output.getter, output.putter = getter, putter
        self._getter, self._putter, self._work, self._output = getter, putter, work, output

    def __iter__(self) -> Iterator[tuple[IncomingGroup, PipedGroup]]:
        """Return the groups as they come, each with the group that is to be made from it; as ``GroupConsumer``."""
        return _Pairs(self._getter, self._output)

    def close(self) -> None:
        """Back out what is not committed, take the records away if no group is interrupted, and close. Idempotent."""
        with self._connection.turn:
            self._close(finish=True)

    def __enter__(self) -> GroupPipe:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
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
        return f"<GroupPipe {self._getter!r} -> {self._putter!r}>"

    # --- parts

    def _refuse_disagreement(self, getter: Getter, putter: Putter) -> None:
        if not getter.owner.committed.at_start or putter.owner.committed.at_start:
            return
        raise StatusRecordsDisagree(
            f"the outgoing group of {putter!r} was interrupted, and the incoming one of {getter!r} was not, although both "
            "are committed together. A status record of one of them was removed or replaced: find out what the last commit was "
            f"by browsing both queues, and {getter.status.name} and {self._settings[1].status_queue}; or {SALVAGE}",
            status_queue=getter.status.name,
        )

    def _close(self, *, finish: bool) -> None:
        if self._closed:
            return
        self._closed = True
        self._output.group = None
        try:
            self._getter.close(finish=finish)
        finally:
            self._putter.close()


class _Pairs:
    """The groups that come in, each with the one that is to be made of it."""

    def __init__(self, getter: Getter, output: PipeOutput) -> None:
        self._groups = Groups(getter)
        self._output = output

    def __iter__(self) -> _Pairs:
        return self

    def __next__(self) -> tuple[IncomingGroup, PipedGroup]:
        incoming = next(self._groups)
        outgoing = PipedGroup(self._output)
        self._output.group = outgoing
        return incoming, outgoing
