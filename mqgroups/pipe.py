"""GroupPipe: gets groups from one queue and puts groups to another, both in the same units of work: exactly once, end to end.

    with qmgr.group_pipe("ORDERS", "INVOICES", name="invoicing", commit_every=100) as pipe:
        for orders, invoices in pipe:            # a group in, a group out
            for order in orders:
                invoices.put(invoice(order.data))

A consumer drives; what it takes a syncpoint for is the group that comes in. What the application puts waits in memory until
then, and is put and committed with the messages it was made from, and with the status records of both sides. So a unit of
work that has to be done again is done again whole, without the application.

Both sides are owners of one unit of work, and claim their names in one; what one of them has lost, both have.

The outgoing group ends with the incoming one. When the application put nothing for the last messages of a group, after a
syncpoint, the message that would have been the last is committed already, and an empty one ends the group. A group for which
nothing at all is put is none. A group that is abandoned, or quarantined, on its way in is abandoned on its way out.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from types import TracebackType

from mqgroups.config import SEGMENT_BYTES, ConsumerSettings, ProducerSettings
from mqgroups.connection.connection import Connection
from mqgroups.core.group import Part
from mqgroups.core.status_chain import MOST_SEGMENTS
from mqgroups.core.unit_of_work import Every
from mqgroups.errors import SALVAGE, GroupUsage, StatusRecordsDisagree
from mqgroups.get.consumer import Groups
from mqgroups.get.getter import Consumption
from mqgroups.get.group import IncomingGroup
from mqgroups.mqi.abc import PropertyValue
from mqgroups.put.payload import BYTES, Kind, Payload, Unsent, abandonment, check_stream, kind_of, pieces
from mqgroups.put.putter import Putter
from mqgroups.status.queue import StatusQueue, check_apart
from mqgroups.status.units_of_work import UnitsOfWork

# Two records that are replaced, at their most costly, and the message that may have to end the outgoing group.
_STATUS_MESSAGES = 2 * (1 + MOST_SEGMENTS) + 1


@dataclass(frozen=True, slots=True)
class _Output:
    data: bytes
    kind: Kind


def with_room(every: Every, max_uncommitted_msgs: int) -> Every:
    """Return when a pipe takes a syncpoint: half of what a unit of work may have is for what is put."""
    room = max(1, max_uncommitted_msgs // 2 - _STATUS_MESSAGES)
    return replace(every, messages=min(every.messages or room, room))


class PipedGroup:
    """The group that is made from the incoming one."""

    def __init__(self, pipe: GroupPipe) -> None:
        self._pipe = pipe

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
        self._pipe.add(self, *kind_of(payload, format, correl_id, properties))


class GroupPipe:
    """A consumer and a producer with one unit of work. Made by ``QueueManager.group_pipe``."""

    def __init__(self, connection: Connection, incoming: ConsumerSettings, outgoing: ProducerSettings) -> None:
        self._closed = True
        self._connection = connection
        self._settings = incoming, outgoing
        self._outputs: list[_Output] = []
        self._outgoing: PipedGroup | None = None
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
        consumption = Consumption(connection, incoming)
        try:
            # The other side's, before it is opened exclusively and would wait for this handle for nothing.
            check_apart(outgoing.status_queue, consumption.cursor.queue)
            keeper = StatusQueue(
                connection,
                outgoing.status_queue,
                outgoing.status_model,
                outgoing.owner_wait_s,
                segmented=outgoing.segmented_status,
                for_owner=True,
            )
            try:
                putter = Putter(connection, outgoing, keeper, leader=consumption.owner)
            except BaseException:
                keeper.close()
                raise
            try:
                check_apart(incoming.status_queue, putter.queue)
                self._refuse_disagreement(consumption, putter)
                work = UnitsOfWork(connection, incoming.commit_every, [consumption.owner, putter.owner])
                consumption.work = putter.work = work
                work.claim()
            except BaseException:
                putter.close()
                raise
        except BaseException:
            consumption.close_queues()
            raise
        consumption.partner = self
        self._consumption, self._putter, self._work = consumption, putter, work

    def __iter__(self) -> Iterator[tuple[IncomingGroup, PipedGroup]]:
        """Return the groups as they come, each with the group that is to be made from it; as ``GroupConsumer``."""
        return _Pairs(self, self._consumption)

    def begin(self, outgoing: PipedGroup | None) -> None:
        """Take messages for another group from now on, or for none; for the iterator."""
        self._outgoing = outgoing

    def add(self, group: PipedGroup, data: bytes, kind: Kind) -> None:
        """Take a message for the next commit; for ``PipedGroup``."""
        with self._connection.turn:
            if self._outgoing is not group or self._consumption.group is None or self._connection.turn.interrupted:
                raise GroupUsage(
                    "the pipe has gone on to another group, or is closed, or a call was interrupted in this one"
                )
            self._outputs.append(_Output(data, kind))
            self._work.beside = len(self._outputs)

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
        return f"<GroupPipe {self._consumption!r} -> {self._putter!r}>"

    # --- what the consumer asks of its partner

    def stage(self, *, ended: bool, failed_with: int | None) -> None:
        """Put what was made from the messages of this unit of work, and the outgoing side's record; the consumer commits.

        Args:
            ended: whether the incoming group ends with this unit of work.
            failed_with: the result to abandon the outgoing group with, instead of putting anything.
        """
        begun = not self._putter.owner.committed.at_start
        messages: list[Unsent] = []
        if failed_with is None:
            messages = [Unsent(one.data, one.kind, None, False, Part.WHOLE) for one in self._outputs]
            if ended and messages:
                messages[-1] = messages[-1]._replace(last=True)
            elif ended and begun:
                messages = [Unsent(b"", BYTES, None, True, Part.WHOLE)]
        elif begun:
            messages = [abandonment(failed_with, "its incoming group was not completed")]
        self._putter.stage(messages)

    def committed(self) -> None:
        """What was staged is committed."""
        self._outputs.clear()
        self._putter.set_back()

    def back_out(self) -> None:
        """Forget what is not committed."""
        self._outputs.clear()

    # --- parts

    def _refuse_disagreement(self, consumption: Consumption, putter: Putter) -> None:
        if not consumption.owner.committed.at_start or putter.owner.committed.at_start:
            return
        raise StatusRecordsDisagree(
            f"the outgoing group of {putter!r} was interrupted, and the incoming one of {consumption!r} was not, although both "
            "are committed together. A status record of one of them was removed or replaced: find out what the last commit was "
            f"by browsing both queues, and {consumption.status.name} and {self._settings[1].status_queue}; or {SALVAGE}",
            status_queue=consumption.status.name,
        )

    def _close(self, *, finish: bool) -> None:
        if self._closed:
            return
        self._closed = True
        self._outgoing = None
        try:
            self._consumption.close(finish=finish)
        finally:
            self._putter.close()


class _Pairs:
    """The groups that come in, each with the one that is to be made of it."""

    def __init__(self, pipe: GroupPipe, consumption: Consumption) -> None:
        self._pipe = pipe
        self._groups = Groups(consumption)

    def __iter__(self) -> _Pairs:
        return self

    def __next__(self) -> tuple[IncomingGroup, PipedGroup]:
        incoming = next(self._groups)
        outgoing = PipedGroup(self._pipe)
        self._pipe.begin(outgoing)
        return incoming, outgoing
