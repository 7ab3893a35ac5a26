"""The thread of a connection. All calls run in this thread, one after the other, in the order in which tasks made them.

An MQI call cannot be undone. A cancelled call ends normally, or it ends at its next wait (``ConnectionThread.sleep``), like an
interrupted call. After an interruption the next call recovers (``connection/interruptions.py``). But no task gets the result of a
cancelled call, and the cancelled task cannot know whether the call began. So the call's group accepts no more calls (``Calls``).
"""

from __future__ import annotations

import asyncio
import itertools
import threading
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError as HookCancelled
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import ContextVar, copy_context
from functools import partial
from typing import Any, TypeVar

from mqgroups.errors import GroupUsage

_T = TypeVar("_T")
# The thread that waits for the application's coroutine that runs in this context.
_waiting: ContextVar[ConnectionThread | None] = ContextVar("_waiting", default=None)
_numbers = itertools.count(1)


class CallCancelled(BaseException):
    """Ends a call in its thread because the call's task was cancelled. Applications never see this exception."""


class _Call:
    """A call in the thread.

    Attributes:
        cancelled: an event that is set when the call's task is cancelled.
        hook: the application's coroutine for which the call is waiting; ``None`` if there is no such coroutine.
    """

    def __init__(self) -> None:
        self.cancelled = threading.Event()
        self.hook: Future[Any] | None = None

    def cancel(self) -> None:
        self.cancelled.set()
        hook = self.hook
        if hook is not None:
            hook.cancel()


class ConnectionThread:
    """A thread that makes all calls on one connection, for all tasks."""

    def __init__(self) -> None:
        self._executor = ThreadPoolExecutor(1, f"mqgroups.aio-{next(_numbers)}")
        self._running: _Call | None = None
        self._ended = False

    async def call(
        self,
        function: Callable[[], _T],
        *,
        undo: Callable[[_T], object] | None = None,
        certain: bool = False,
    ) -> _T:
        """Call ``function`` in the thread, in a copy of the task's context.

        Args:
            function: a function of this package.
            undo: called in the thread with the result, if the task was cancelled and does not get the result.
            certain: whether to make the call even if the task is cancelled before the call begins.

        Raises:
            GroupUsage: the connection is closed; or the thread is waiting for the caller, which is a function of the application.
        """
        if _waiting.get() is self:
            raise GroupUsage(
                "before_commit must not use the consumer that waits for it, nor its connection. Make the call later, or on "
                "another connection"
            )
        if self._ended:
            raise GroupUsage("the connection is closed")
        call = _Call()
        results: list[_T] = []

        def keep() -> _T:
            results.append(function())
            return results[0]

        work = partial(copy_context().run, self._run, call, keep)
        future = asyncio.get_running_loop().run_in_executor(self._executor, work)
        try:
            return await (asyncio.shield(future) if certain else future)
        except asyncio.CancelledError:
            call.cancel()
            if undo is not None:
                # ``undo`` runs after the call, and this task does not wait for it.
                self._executor.submit(self._run, call, lambda: [undo(result) for result in results])
            raise

    def sleep(self, seconds: float) -> None:
        """Wait between two tries of a call. Raises CallCancelled if the call's task is cancelled."""
        call = self._running
        if call is None:
            time.sleep(seconds)
        elif call.cancelled.wait(seconds):
            raise CallCancelled

    def wait_for(self, coroutine: Coroutine[Any, Any, _T], loop: asyncio.AbstractEventLoop) -> _T:
        """Run a coroutine of the application in the event loop, and return its result. Call this method in the thread."""
        call, before = self._running, _waiting.set(self)
        assert call is not None
        try:
            call.hook = hook = asyncio.run_coroutine_threadsafe(coroutine, loop)
            if call.cancelled.is_set():
                hook.cancel()
            return hook.result()
        except HookCancelled:
            raise (CallCancelled if call.cancelled.is_set() else asyncio.CancelledError) from None
        finally:
            call.hook = None
            _waiting.reset(before)

    def end(self) -> None:
        """Let the thread end after its pending calls. Do not wait for the end."""
        self._ended = True
        self._executor.shutdown(wait=False)

    def _run(self, call: _Call, function: Callable[[], _T]) -> _T:
        self._running = call
        try:
            return function()
        except asyncio.CancelledError as error:
            # This task was not cancelled. But a TaskGroup would treat it as cancelled, and end it silently.
            raise RuntimeError("a function of the application was cancelled, or raised CancelledError") from error
        finally:
            self._running = None


class Calls:
    """Makes the calls of one group. It refuses calls after a cancelled call, because the effect of that call is not known."""

    def __init__(self, thread: ConnectionThread, remedy: str) -> None:
        """``remedy``: a text for errors, about what the application can do after a cancelled call."""
        self._thread = thread
        self._remedy = remedy
        self._is_over = False

    async def make(self, function: Callable[[], _T]) -> _T:
        """Call ``function`` in the thread. Raises GroupUsage if an earlier call was cancelled."""
        self.check()
        try:
            return await self._thread.call(function)
        except asyncio.CancelledError:
            self._is_over = True
            raise

    def check(self) -> None:
        """Raise GroupUsage if an earlier call was cancelled."""
        if self._is_over:
            raise GroupUsage(f"a call was cancelled in this group, so it is not known what it did. {self._remedy}")
