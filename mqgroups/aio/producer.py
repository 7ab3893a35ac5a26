"""GroupProducer and OutgoingGroup for asyncio; see ``mqgroups.GroupProducer`` and ``mqgroups.OutgoingGroup``."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from types import TracebackType
from typing import Any

from mqgroups.aio.owner import Owner
from mqgroups.aio.thread import Calls, ConnectionThread
from mqgroups.core.status import Checkpoint
from mqgroups.errors import GroupUsage
from mqgroups.mqi.abc import PropertyValue
from mqgroups.put import group, producer
from mqgroups.put.payload import Payload


class GroupProducer(Owner[producer.GroupProducer]):
    """Puts message groups to one queue. Made by ``QueueManager.group_producer``."""

    def group(self, *, name: str = "", properties: Mapping[str, PropertyValue] | None = None) -> OutgoingGroup:
        """Return the next group, for ``async with``; see ``mqgroups.GroupProducer.group``."""
        return OutgoingGroup(self._sync, self._thread, name, properties)


class OutgoingGroup:
    """A message group being put: what ``async with producer.group() as group`` gives.

    If a call is cancelled, the group fails: leave the block, and the next ``producer.group()`` resumes it after its last commit.
    """

    def __init__(
        self,
        sync: producer.GroupProducer,
        thread: ConnectionThread,
        name: str,
        properties: Mapping[str, PropertyValue] | None,
    ) -> None:
        self._begin = partial(sync.group, name=name, properties=properties)
        self._thread = thread
        self._calls = Calls(thread, "Leave its block, and the next producer.group() resumes it after its last commit")

    async def __aenter__(self) -> OutgoingGroup:
        self._sync: group.OutgoingGroup = await self._thread.call(self._begin)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is not None:
            await self._leave(error)
            return
        try:
            self._calls.check()
        except GroupUsage as cancelled:
            # The application has not noticed that a message may be missing.
            await self._leave(cancelled)
            raise
        await self._leave(None)

    async def _leave(self, error: BaseException | None) -> None:
        kind = None if error is None else type(error)
        await self._thread.call(lambda: self._sync.__exit__(kind, error, None), certain=True)

    async def put(
        self,
        payload: Payload,
        *,
        last: bool | None = None,
        format: str | None = None,
        ccsid: int | None = None,
        correl_id: bytes | None = None,
        properties: Mapping[str, PropertyValue] | None = None,
    ) -> None:
        """Put the next message of the group; see ``mqgroups.OutgoingGroup.put``. A stream is read in the connection's thread."""
        put = partial(self._sync.put, last=last, format=format, ccsid=ccsid, correl_id=correl_id, properties=properties)
        await self._calls.make(partial(put, payload))

    async def put_value(
        self,
        value: Any,
        *,
        last: bool | None = None,
        format: str | None = None,
        ccsid: int | None = None,
        correl_id: bytes | None = None,
        properties: Mapping[str, PropertyValue] | None = None,
    ) -> None:
        """Put what the producer's codec makes of a value; see ``mqgroups.OutgoingGroup.put_value``."""
        put = partial(
            self._sync.put_value, last=last, format=format, ccsid=ccsid, correl_id=correl_id, properties=properties
        )
        await self._calls.make(partial(put, value))

    async def abandon(self, result: int = 0, reason: str = "") -> None:
        """End the group without completing it; see ``mqgroups.OutgoingGroup.abandon``."""
        await self._calls.make(partial(self._sync.abandon, result, reason))

    def set_checkpoint(self, checkpoint: Checkpoint) -> None:
        """Commit ``checkpoint`` with the next message that is put."""
        self._calls.check()
        self._sync.set_checkpoint(checkpoint)

    @property
    def resume_from(self) -> int:
        """How many messages of this group are committed already; 0 in a new group."""
        return self._sync.resume_from

    @property
    def resume_offset(self) -> int:
        """How many bytes of the next message are committed already."""
        return self._sync.resume_offset

    @property
    def checkpoint(self) -> Any:
        """The checkpoint of the last commit in this group; ``None`` in a new group."""
        return self._sync.checkpoint

    @property
    def properties(self) -> Mapping[str, PropertyValue]:
        """The group's properties."""
        return self._sync.properties

    @property
    def name(self) -> str:
        """The group's name; empty if it has none, or it is not known."""
        return self._sync.name
