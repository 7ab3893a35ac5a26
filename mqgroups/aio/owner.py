"""The common bases of producers, consumers and pipes for asyncio: stop, close, and the checkpoint."""

from __future__ import annotations

from functools import partial
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from mqgroups.aio.thread import ConnectionThread
from mqgroups.get.consumer import GroupConsumer
from mqgroups.pipe import GroupPipe
from mqgroups.printable import even_half_made
from mqgroups.put.producer import GroupProducer

_S = TypeVar("_S", GroupProducer, GroupConsumer, GroupPipe)
_C = TypeVar("_C", GroupProducer, GroupConsumer)


class Closing(Generic[_S]):
    """A producer, consumer or pipe for asyncio. A synchronous object does the work, and is closed in the connection's thread."""

    def __init__(self, sync: _S, thread: ConnectionThread) -> None:
        self._sync: _S = sync
        self._thread = thread

    def stop(self) -> None:
        """Ask the group or the iteration to end at its next safe place. Signal handlers and any thread can call this method."""
        self._sync.stop()

    @property
    def stopping(self) -> bool:
        """Whether ``stop`` was called."""
        return self._sync.stopping

    async def close(self) -> None:
        """Back out what is not committed, and close. Idempotent."""
        await self._thread.call(self._sync.close, certain=True)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._thread.call(partial(self._sync.__exit__, kind, error, traceback), certain=True)

    @even_half_made
    def __repr__(self) -> str:
        return f"<aio {self._sync!r}>"


class AsyncOwner(Closing[_C]):
    """A producer or a consumer, which has a status queue."""

    async def checkpoint(self) -> Any:
        """Return the checkpoint of the last commit; ``None`` if there is no checkpoint."""
        return await self._thread.call(lambda: self._sync.checkpoint)

    async def forget(self) -> None:
        """Remove the checkpoint from the status record. Call this method between two groups."""
        await self._thread.call(self._sync.forget)

    async def delete_status_queue(self) -> None:
        """Close this producer or consumer, and delete its status queue."""
        await self._thread.call(self._sync.delete_status_queue)
