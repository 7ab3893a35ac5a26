"""The common base of groups for asyncio: calls in the connection's thread, and attributes of the synchronous group."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping
from functools import partial, wraps
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

from mqgroups.aio.thread import Calls, ConnectionThread
from mqgroups.core.status import Checkpoint
from mqgroups.get.group import IncomingGroup
from mqgroups.mqi.abc import PropertyValue
from mqgroups.printable import even_half_made
from mqgroups.put.group import OutgoingGroup

_P = ParamSpec("_P")
_R = TypeVar("_R")
_S = TypeVar("_S")
_T = TypeVar("_T")
_G = TypeVar("_G", IncomingGroup, OutgoingGroup)


class Called(Generic[_S]):
    """A group whose calls run in the connection's thread. After a cancelled call the group accepts no more calls."""

    _sync: _S
    _calls: Calls

    @even_half_made
    def __repr__(self) -> str:
        return f"<aio {self._sync!r}>"


def awaited(
    sync: Callable[Concatenate[_S, _P], _R],
) -> Callable[Concatenate[Called[_S], _P], Coroutine[Any, Any, _R]]:
    """Return a coroutine method that calls the method ``sync`` of the synchronous group, with the same arguments."""

    @wraps(sync)
    async def make(self: Called[_S], /, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        return await self._calls.make(partial(sync, self._sync, *args, **kwargs))

    return make


class AsyncGroup(Called[_G]):
    """A group with a checkpoint: an incoming group, or an outgoing group of a producer."""

    def set_checkpoint(self, checkpoint: Checkpoint) -> None:
        """Commit ``checkpoint`` with the next message of an outgoing group, or with the next syncpoint of an incoming group."""
        self._calls.check()
        self._sync.set_checkpoint(checkpoint)

    @property
    def resume_from(self) -> int:
        """How many messages of the group were committed already when the group was begun or resumed; 0 in a new group."""
        return self._sync.resume_from

    @property
    def checkpoint(self) -> Any:
        """The checkpoint of the last commit in this group; ``None`` in a new group."""
        return self._sync.checkpoint

    @property
    def properties(self) -> Mapping[str, PropertyValue]:
        """The properties of the group, which are the properties of its first message."""
        return self._sync.properties

    @property
    def name(self) -> str:
        """The name that the producer gave to the group; empty if the group has no name, or if the name is not known."""
        return self._sync.name


class AsyncGroups(AsyncIterator[_T], Generic[_S, _T]):
    """An iterator over the groups of a consumer or a pipe. ``made`` makes an asyncio group from each synchronous group."""

    def __init__(self, sync: Iterable[_S], thread: ConnectionThread, made: Callable[[_S, Calls], _T]) -> None:
        self._sync = sync
        self._thread = thread
        self._made = made
        self._groups = iter(sync)

    async def __anext__(self) -> _T:
        try:
            found = await following(self._thread.call, self._groups)
        except asyncio.CancelledError:
            # The synchronous iteration has ended, or has returned a group that no task got.
            self._groups = iter(self._sync)
            raise
        # The two groups of a pipe share a ``Calls`` object. After a cancelled call, neither group accepts more calls.
        remedy = "Iterate over the consumer again, which returns the group after its last commit"
        return self._made(found, Calls(self._thread, remedy))


async def following(call: Callable[[Callable[[], _T | None]], Awaitable[_T | None]], each: Iterator[_T]) -> _T:
    """Return the next element of an iterator. Raises StopAsyncIteration at the iterator's end."""
    found = await call(partial(next, each, None))
    if found is None:
        raise StopAsyncIteration
    return found
