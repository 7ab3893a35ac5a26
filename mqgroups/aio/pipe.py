"""GroupPipe and PipedGroup for asyncio; see ``mqgroups.GroupPipe`` and ``mqgroups.PipedGroup``."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import Any

from mqgroups import pipe
from mqgroups.aio.consumer import IncomingGroup, following, incoming_calls
from mqgroups.aio.owner import Closing
from mqgroups.aio.thread import Calls, ConnectionThread
from mqgroups.mqi.abc import PropertyValue
from mqgroups.put.payload import Payload


class GroupPipe(Closing[pipe.GroupPipe]):
    """A consumer and a producer with a common unit of work. Made by ``QueueManager.group_pipe``."""

    def __aiter__(self) -> Pairs:
        """Return the incoming groups, each with the outgoing group to make from it."""
        return Pairs(self._sync, self._thread)


class Pairs:
    """The incoming groups, each with the outgoing group to make from it."""

    def __init__(self, sync: pipe.GroupPipe, thread: ConnectionThread) -> None:
        self._sync = sync
        self._thread = thread
        self._pairs = iter(sync)

    def __aiter__(self) -> Pairs:
        return self

    async def __anext__(self) -> tuple[IncomingGroup, PipedGroup]:
        try:
            incoming, outgoing = await following(self._thread.call, self._pairs)
        except asyncio.CancelledError:
            self._pairs = iter(self._sync)
            raise
        # The calls of both: after one that was cancelled, neither goes on.
        calls = incoming_calls(self._thread)
        return IncomingGroup(incoming, calls), PipedGroup(outgoing, calls)


class PipedGroup:
    """The outgoing group that is made from the incoming one."""

    def __init__(self, sync: pipe.PipedGroup, calls: Calls) -> None:
        self._sync = sync
        self._calls = calls

    async def set_properties(self, properties: Mapping[str, PropertyValue] | None = None, *, name: str = "") -> None:
        """Set the properties and the name of the outgoing group, before its first message is put."""
        await self._calls.make(partial(self._sync.set_properties, properties, name=name))

    async def put(
        self,
        payload: Payload,
        *,
        format: str | None = None,
        ccsid: int | None = None,
        correl_id: bytes | None = None,
        properties: Mapping[str, PropertyValue] | None = None,
    ) -> None:
        """Put the next message of the group, in the unit of work of the incoming message that is being processed."""
        put = partial(self._sync.put, format=format, ccsid=ccsid, correl_id=correl_id, properties=properties)
        await self._calls.make(partial(put, payload))

    async def put_value(
        self,
        value: Any,
        *,
        format: str | None = None,
        ccsid: int | None = None,
        correl_id: bytes | None = None,
        properties: Mapping[str, PropertyValue] | None = None,
    ) -> None:
        """Put what the pipe's codec makes of a value; see ``put``."""
        put = partial(self._sync.put_value, format=format, ccsid=ccsid, correl_id=correl_id, properties=properties)
        await self._calls.make(partial(put, value))
