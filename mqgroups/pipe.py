"""GroupPipe: gets groups from one queue and puts groups to another, both in the same units of work: exactly once, end to end.

    with qmgr.group_pipe("ORDERS", "INVOICES", name="invoicing", every=100) as pipe:
        for orders, invoices in pipe:            # a group in, a group out
            for order in orders:
                invoices.put(invoice(order.data))

A consumer drives; what it takes a syncpoint for is the group that comes in. What the application puts waits in memory until
then, and is put and committed with the messages it was made from, and with the status records of both sides. So a unit of
work that has to be done again is done again whole, without the application.

The outgoing group ends with the incoming one. When the application put nothing for the last messages of a group, after a
syncpoint, the message that would have been the last is committed already, and an empty one ends the group. A group for which
nothing at all is put is none. A group that is abandoned, or quarantined, on its way in is abandoned on its way out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import TracebackType

from mqgroups.connection import Connection
from mqgroups.consumer import GroupConsumer
from mqgroups.core.group import Part
from mqgroups.errors import SALVAGE, GroupUsage, StatusRecordsDisagree
from mqgroups.get_group import GetGroup
from mqgroups.payload import BYTES, Kind, Unsent, abandonment, kind_of
from mqgroups.producer import GroupProducer


@dataclass(frozen=True, slots=True)
class _Output:
    data: bytes
    kind: Kind


class OutgoingGroup:
    """The group that is made from the incoming one."""

    def __init__(self, pipe: GroupPipe) -> None:
        self._pipe = pipe

    def put(self, payload: bytes | str, *, format: str | None = None, correl_id: bytes | None = None) -> None:
        """Put the next message of the group, with the unit of work of the incoming message that is being processed.

        Args:
            payload, format, correl_id: as for ``PutGroup.put``.

        Raises:
            GroupUsage: the pipe has gone on to another group, or is closed.
        """
        if self._pipe._outgoing is not self:
            raise GroupUsage("the pipe has gone on to another group, or is closed")
        data, kind = kind_of(payload, format, correl_id)
        self._pipe._outputs.append(_Output(data, kind))
        self._pipe._consumption.work.beside = len(self._pipe._outputs)


class GroupPipe:
    """A consumer and a producer with one unit of work. Made by ``QueueManager.group_pipe``."""

    def __init__(
        self,
        connection: Connection,
        make_consumer: Callable[[], GroupConsumer],
        make_producer: Callable[[GroupConsumer], GroupProducer],
    ) -> None:
        self._connection = connection
        self._outputs: list[_Output] = []
        self._outgoing: OutgoingGroup | None = None
        self._consumer = make_consumer()
        self._consumption = self._consumer._consumption
        try:
            self._producer = make_producer(self._consumer)
        except BaseException:
            self._consumer._close(finish=False)
            raise
        self._consumption.partner = self
        if self._consumption.work.committed.at_start and not self._producer._work.committed.at_start:
            self._close(finish=False)
            raise StatusRecordsDisagree(
                f"the outgoing group of {self!r} was interrupted, and the incoming one was not, although both are committed "
                "together. A status record of one of them was removed or replaced: find out what the last commit was by "
                f"browsing both queues, and {self._consumption.status.name} and {self._producer._status.name}; or {SALVAGE}",
                status_queue=self._consumption.status.name,
            )

    def __iter__(self) -> Iterator[tuple[GetGroup, OutgoingGroup]]:
        """Return the groups as they come, each with the group that is to be made from it; as ``GroupConsumer``."""
        for incoming in self._consumer:
            self._outgoing = OutgoingGroup(self)
            yield incoming, self._outgoing
            self._outgoing = None

    def close(self) -> None:
        """Back out what is not committed, take the records away if no group is interrupted, and close. Idempotent."""
        self._close(finish=True)

    def __enter__(self) -> GroupPipe:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._close(finish=error is None)

    def __repr__(self) -> str:
        return f"<GroupPipe {self._consumer!r} -> {self._producer!r}>"

    # --- what the consumer asks of its partner

    def stage(self, *, ended: bool, failed_with: int | None) -> None:
        """Put what was made from the messages of this unit of work, and the outgoing side's record; the consumer commits.

        Args:
            ended: whether the incoming group ends with this unit of work.
            failed_with: the result to abandon the outgoing group with, instead of putting anything.
        """
        producer = self._producer
        begun = not producer._work.committed.at_start
        messages: list[Unsent] = []
        if failed_with is None:
            messages = [Unsent(one.data, one.kind, None, False, Part.WHOLE) for one in self._outputs]
            if ended and messages:
                messages[-1] = messages[-1]._replace(last=True)
            elif ended and begun:
                messages = [Unsent(b"", BYTES, None, True, Part.WHOLE)]
        elif begun:
            messages = [abandonment(failed_with, "its incoming group was not completed")]
        producer._stage(messages)

    def committed(self) -> None:
        """What was staged is committed."""
        self._outputs.clear()
        self._consumption.work.beside = 0
        self._producer._staged_is_committed()

    def back_out(self) -> None:
        """Forget what is not committed."""
        self._outputs.clear()
        self._consumption.work.beside = 0
        self._producer._run.clear()

    def _close(self, *, finish: bool) -> None:
        self._outgoing = None
        try:
            self._consumer._close(finish=finish)
        finally:
            # Where nothing was put yet its record has nothing to say, whatever went wrong.
            self._producer._close(finish=finish or self._producer._work.is_idle)
