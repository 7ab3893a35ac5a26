"""GroupConsumer and IncomingGroup for asyncio; see ``mqgroups.GroupConsumer`` and ``mqgroups.IncomingGroup``."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Mapping
from functools import partial
from typing import Any, TypeAlias, TypeVar

from mqgroups.aio.owner import Owner
from mqgroups.aio.thread import Calls, ConnectionThread
from mqgroups.core.status import Checkpoint
from mqgroups.get import consumer, group
from mqgroups.mqi.abc import PropertyValue
from mqgroups.mqi.message import Message
from mqgroups.printable import even_half_made

_T = TypeVar("_T")
BeforeCommit: TypeAlias = "Callable[[group.IncomingGroup], Coroutine[Any, Any, None] | None]"
_F = TypeVar("_F", bound=BeforeCommit)


class GroupConsumer(Owner[consumer.GroupConsumer]):
    """Gets message groups from one queue. Made by ``QueueManager.group_consumer``."""

    def __aiter__(self) -> Groups:
        """Return the groups as they come, the interrupted one first; see ``mqgroups.GroupConsumer``.

        After a call was cancelled, the iteration goes on with the interrupted group.
        """
        return Groups(self._sync, self._thread)

    def before_commit(self, function: _F) -> _F:
        """Call ``function(group)`` before each syncpoint, as ``mqgroups.GroupConsumer.before_commit`` does.

        ``group`` is the synchronous one, for ``set_checkpoint``. A coroutine function runs in the event loop, any other in the
        connection's thread. Neither may use the connection. Usable as a decorator, in a coroutine.
        """
        loop, thread = asyncio.get_running_loop(), self._thread

        def before_commit(group: group.IncomingGroup) -> None:
            given = function(group)
            if asyncio.iscoroutine(given):
                thread.wait_for(given, loop)

        self._sync.before_commit(before_commit)
        return function


class Groups:
    """The groups of a consumer as they come."""

    def __init__(self, sync: consumer.GroupConsumer, thread: ConnectionThread) -> None:
        self._sync = sync
        self._thread = thread
        self._groups = iter(sync)

    def __aiter__(self) -> Groups:
        return self

    async def __anext__(self) -> IncomingGroup:
        try:
            found = await following(self._thread.call, self._groups)
        except asyncio.CancelledError:
            # The synchronous iteration has ended, or has a group that nobody has seen.
            self._groups = iter(self._sync)
            raise
        return IncomingGroup(found, incoming_calls(self._thread))


def incoming_calls(thread: ConnectionThread) -> Calls:
    """Return the calls of an incoming group."""
    return Calls(thread, "Iterate over the consumer again, which returns the group after its last commit")


class IncomingGroup:
    """A message group being got. Iterate over it once.

    If a call is cancelled, the group fails: iterate over the consumer again, which resumes the group after its last commit.
    """

    def __init__(self, sync: group.IncomingGroup, calls: Calls) -> None:
        self._sync = sync
        self._calls = calls

    def __aiter__(self) -> Following[Message]:
        """Return the remaining messages of the group, in sequence."""
        return Following(iter(self._sync), self._calls)

    def chunks(self, message: Message) -> AsyncIterator[bytes]:
        """Return the data of a message, segment by segment, for a consumer with ``stream=True``; see ``Message.chunks``."""
        return Following(message.chunks(), self._calls)

    def set_checkpoint(self, checkpoint: Checkpoint) -> None:
        """Commit ``checkpoint`` with the next syncpoint."""
        self._calls.check()
        self._sync.set_checkpoint(checkpoint)

    @property
    def group_id(self) -> bytes:
        """24 bytes; ``MQGI_NONE`` for a message in no group."""
        return self._sync.group_id

    @property
    def key(self) -> bytes:
        """The group's identity, 48 bytes: its GroupId and the MsgId of its first message."""
        return self._sync.key

    @property
    def repeats(self) -> bool:
        """Whether it has the key of the group that this consumer completed before it."""
        return self._sync.repeats

    @property
    def resume_from(self) -> int:
        """How many messages of the group were consumed in committed units of work before this iteration."""
        return self._sync.resume_from

    @property
    def checkpoint(self) -> Any:
        """The checkpoint of the last commit in this group; ``None`` in a new group."""
        return self._sync.checkpoint

    @property
    def properties(self) -> Mapping[str, PropertyValue]:
        """The properties of the group's first message."""
        return self._sync.properties

    @property
    def name(self) -> str:
        """The name that the producer gave the group; empty if it gave none, or it is not known."""
        return self._sync.name

    @even_half_made
    def __repr__(self) -> str:
        return f"<aio {self._sync!r}>"


class Following(AsyncIterator[_T]):
    """An iterator of the library's, each step of which is a call in the connection's thread."""

    def __init__(self, each: Iterator[_T], calls: Calls) -> None:
        self._each = each
        self._calls = calls

    def __anext__(self) -> Awaitable[_T]:
        return following(self._calls.make, self._each)


async def following(call: Callable[[Callable[[], _T | None]], Awaitable[_T | None]], each: Iterator[_T]) -> _T:
    """Return the next of an iterator; raises StopAsyncIteration at its end."""
    found = await call(partial(next, each, None))
    if found is None:
        raise StopAsyncIteration
    return found
