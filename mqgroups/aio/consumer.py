"""AsyncGroupConsumer and AsyncIncomingGroup; see ``mqgroups.GroupConsumer`` and ``mqgroups.IncomingGroup``."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from typing import Any, TypeAlias, TypeVar

from mqgroups.aio.group import AsyncGroup, AsyncGroups, following
from mqgroups.aio.owner import AsyncOwner
from mqgroups.aio.thread import Calls
from mqgroups.get import consumer, group
from mqgroups.mqi.message import Message

_T = TypeVar("_T")
BeforeCommit: TypeAlias = "Callable[[group.IncomingGroup], Coroutine[Any, Any, None] | None]"
_F = TypeVar("_F", bound=BeforeCommit)


class AsyncGroupConsumer(AsyncOwner[consumer.GroupConsumer]):
    """Gets message groups from one queue. Made by ``AsyncQueueManager.group_consumer``."""

    def __aiter__(self) -> AsyncIterator[AsyncIncomingGroup]:
        """Return an iterator over the groups. An interrupted group comes first; see ``mqgroups.GroupConsumer``.

        After a cancelled call, iterate again. The first group is then the interrupted group.
        """
        return AsyncGroups(self._sync, self._thread, AsyncIncomingGroup)

    def before_commit(self, function: _F) -> _F:
        """Call ``function(group)`` before each syncpoint, as ``mqgroups.GroupConsumer.before_commit`` does.

        ``group`` is the synchronous group; you can call its ``set_checkpoint``. A coroutine function runs in the event loop, and
        any other function in the connection's thread. ``function`` must not use the connection. Call this method in a coroutine.
        You can use this method as a decorator.
        """
        loop, thread = asyncio.get_running_loop(), self._thread

        def before_commit(group: group.IncomingGroup) -> None:
            given = function(group)
            if asyncio.iscoroutine(given):
                thread.wait_for(given, loop)

        self._sync.before_commit(before_commit)
        return function


class AsyncIncomingGroup(AsyncGroup[group.IncomingGroup]):
    """A message group that a consumer is getting. Iterate over it once.

    After a cancelled call the group accepts no more calls. To resume the group after its last commit, iterate over the consumer
    again.
    """

    def __init__(self, sync: group.IncomingGroup, calls: Calls) -> None:
        self._sync = sync
        self._calls = calls

    def __aiter__(self) -> AsyncIterator[Message]:
        """Return an iterator over the remaining messages of the group, in sequence."""
        return _Following(iter(self._sync), self._calls)

    def chunks(self, message: Message) -> AsyncIterator[bytes]:
        """Return an iterator over a message's data, by segments. The consumer needs ``stream=True``; see ``Message.chunks``."""
        return _Following(message.chunks(), self._calls)

    @property
    def group_id(self) -> bytes:
        """The group's GroupId, 24 bytes; ``MQGI_NONE`` for a message without a group."""
        return self._sync.group_id

    @property
    def key(self) -> bytes:
        """The group's identity, 48 bytes: its GroupId and the MsgId of its first message."""
        return self._sync.key

    @property
    def repeats(self) -> bool:
        """Whether this group has the same key as the previous group that this consumer completed."""
        return self._sync.repeats


class _Following(AsyncIterator[_T]):
    """An async iterator over a synchronous iterator of this package. Each step is a call in the connection's thread."""

    def __init__(self, each: Iterator[_T], calls: Calls) -> None:
        self._each = each
        self._calls = calls

    def __anext__(self) -> Awaitable[_T]:
        return following(self._calls.make, self._each)
