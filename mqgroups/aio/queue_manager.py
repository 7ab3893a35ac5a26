"""Connects to a queue manager, and makes producers, consumers and pipes for asyncio on that connection."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from operator import methodcaller
from typing import Concatenate, ParamSpec, TypeVar

from mqgroups import queue_manager
from mqgroups.aio.consumer import AsyncGroupConsumer
from mqgroups.aio.opening import Opening
from mqgroups.aio.pipe import AsyncGroupPipe
from mqgroups.aio.producer import AsyncGroupProducer
from mqgroups.aio.thread import ConnectionThread
from mqgroups.connection.holder import connection_of
from mqgroups.errors import ConfigurationError
from mqgroups.mqi.secret import hide_secrets
from mqgroups.printable import even_half_made
from mqgroups.telemetry.forgotten import tell_forgotten

_P = ParamSpec("_P")
_S = TypeVar("_S")
_T = TypeVar("_T", AsyncGroupProducer, AsyncGroupConsumer, AsyncGroupPipe)
_R = TypeVar("_R")
# Closes a result that no task gets.
_close = methodcaller("close")


def _makes(
    sync: Callable[Concatenate[queue_manager.QueueManager, _P], _S],
    kind: Callable[[_S, ConnectionThread], _T],
) -> Callable[Concatenate[AsyncQueueManager, _P], Opening[_T]]:
    """Return a method that calls ``sync`` with its own arguments and opens an object of the class ``kind`` for the result."""

    @wraps(sync)
    def make(self: AsyncQueueManager, /, *args: _P.args, **kwargs: _P.kwargs) -> Opening[_T]:
        async def opens() -> _T:
            function = partial(sync, self.q_mgr, *args, **kwargs)
            return kind(await self.thread.call(function, undo=_close), self.thread)

        opens.__qualname__ = sync.__qualname__
        return Opening(opens())

    return make


class AsyncQueueManager:
    """A connected queue manager. Leaving its ``async with`` block backs out what is not committed, and disconnects.

    One thread makes all calls of a connection, one after the other. Tasks that work at the same time need a connection each.

    Attributes:
        q_mgr: the synchronous queue manager. Use it only in functions that you give to ``run``.
        thread: the thread that makes the calls.
    """

    def __init__(self, q_mgr: queue_manager.QueueManager, thread: ConnectionThread | None = None) -> None:
        """Take over a connection that exists already, for example the result of ``mqgroups.wrap``.

        Such a connection was made in another thread, so the application must have connected with MQCNO_HANDLE_SHARE_BLOCK, as
        ``connect`` does. Otherwise calls fail with 2018 (MQRC_HCONN_ERROR).
        """
        self.q_mgr = q_mgr
        self.thread = thread or ConnectionThread()
        # With this ``sleep``, a wait ends when its call is cancelled.
        connection_of(q_mgr).sleep = self.thread.sleep
        self._closed = False

    group_producer = _makes(queue_manager.QueueManager.group_producer, AsyncGroupProducer)
    group_consumer = _makes(queue_manager.QueueManager.group_consumer, AsyncGroupConsumer)
    group_pipe = _makes(queue_manager.QueueManager.group_pipe, AsyncGroupPipe)

    async def run(
        self, function: Callable[Concatenate[queue_manager.QueueManager, _P], _R], *args: _P.args, **kwargs: _P.kwargs
    ) -> _R:
        """Call ``function(q_mgr, ...)`` in the connection's thread, for example ``operate.inspect_owner``."""
        return await self.thread.call(partial(function, self.q_mgr, *args, **kwargs))

    async def close(self) -> None:
        """Back out what is not committed, and disconnect if this package made the connection. Idempotent."""
        if self._closed:
            return
        self._closed = True
        try:
            # __exit__ is called, not close(), because it closes again if the first try was interrupted.
            await self.thread.call(partial(self.q_mgr.__exit__, None, None, None), certain=True)
        finally:
            self.thread.end()

    async def __aenter__(self) -> AsyncQueueManager:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __del__(self) -> None:
        if not getattr(self, "_closed", True):
            self.thread.end()
            what = f"{self!r} was not closed. Use it in an async with statement, or await close()"
            tell_forgotten(what, self, connection_of(self.q_mgr).turn.pid)

    @even_half_made
    def __repr__(self) -> str:
        return f"<aio {self.q_mgr!r}>"


def _connects(
    sync: Callable[_P, queue_manager.QueueManager],
) -> Callable[_P, Opening[AsyncQueueManager]]:
    @wraps(sync)
    def connect(*args: _P.args, **kwargs: _P.kwargs) -> Opening[AsyncQueueManager]:
        # As in ``mqgroups.connect``. From here on, no local variable of a frame shows a secret.
        hide_secrets(kwargs)

        async def opens() -> AsyncQueueManager:
            thread = ConnectionThread()
            if "sleep" in kwargs:
                raise ConfigurationError("aio.connect takes no sleep=: a wait has to end when its call is cancelled")
            kwargs["sleep"] = thread.sleep
            try:
                return AsyncQueueManager(await thread.call(partial(sync, *args, **kwargs), undo=_close), thread)
            except BaseException:
                thread.end()
                raise
            finally:
                del kwargs["sleep"]

        opens.__qualname__ = sync.__qualname__
        return Opening(opens())

    return connect


connect = _connects(queue_manager.connect)
