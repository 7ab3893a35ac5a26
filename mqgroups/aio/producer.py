"""AsyncGroupProducer and AsyncOutgoingGroup; see ``mqgroups.GroupProducer`` and ``mqgroups.OutgoingGroup``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from types import TracebackType

from mqgroups.aio.group import AsyncGroup, awaited
from mqgroups.aio.owner import AsyncOwner
from mqgroups.aio.thread import Calls, ConnectionThread
from mqgroups.errors import GroupUsage
from mqgroups.mqi.abc import PropertyValue
from mqgroups.put import group, producer


class AsyncGroupProducer(AsyncOwner[producer.GroupProducer]):
    """Puts message groups to one queue. Made by ``AsyncQueueManager.group_producer``."""

    def group(self, name: str = "", *, properties: Mapping[str, PropertyValue] | None = None) -> AsyncOutgoingGroup:
        """Return the next group, for ``async with``; see ``mqgroups.GroupProducer.group``."""
        return AsyncOutgoingGroup(self._sync, self._thread, name, properties)

    async def remaining(self, names: Iterable[str]) -> Iterator[str]:
        """Return an iterator over the ``names`` whose groups are not complete; see ``mqgroups.GroupProducer.remaining``."""
        return await self._thread.call(partial(self._sync.remaining, names))


class AsyncOutgoingGroup(AsyncGroup[group.OutgoingGroup]):
    """A message group that a producer is putting: the ``group`` of ``async with producer.group() as group``.

    After a cancelled call the group accepts no more calls. Leave the block; the next ``producer.group()`` resumes the group after
    its last commit. Streams are read in the connection's thread.
    """

    def __init__(
        self,
        sync: producer.GroupProducer,
        thread: ConnectionThread,
        name: str,
        properties: Mapping[str, PropertyValue] | None,
    ) -> None:
        self._begin = partial(sync.group, name, properties=properties)
        self._thread = thread
        self._calls = Calls(thread, "Leave its block, and the next producer.group() resumes it after its last commit")

    async def __aenter__(self) -> AsyncOutgoingGroup:
        self._sync = await self._thread.call(self._begin)
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
            # A message may be missing, and the application has not noticed.
            await self._leave(cancelled)
            raise
        await self._leave(None)

    async def _leave(self, error: BaseException | None) -> None:
        kind = None if error is None else type(error)
        await self._thread.call(lambda: self._sync.__exit__(kind, error, None), certain=True)

    put = awaited(group.OutgoingGroup.put)
    abandon = awaited(group.OutgoingGroup.abandon)

    @property
    def is_complete(self) -> bool:
        """Whether the group is complete already; see ``mqgroups.OutgoingGroup.is_complete``."""
        return self._sync.is_complete

    @property
    def resume_offset(self) -> int:
        """How many bytes of the group's next message are committed already."""
        return self._sync.resume_offset
