"""The thread of a connection: it makes the calls, one after the other, in the order in which tasks asked for them.

A cancelled call cannot be taken back from the MQI. It ends at its next wait (``ConnectionThread.sleep``), or normally. In both
cases nobody has its result, so the connection is marked as interrupted before its next call; see ``connection/turn.py``.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError as HookCancelled
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import ContextVar, copy_context
from functools import partial
from typing import Any, Generic, ParamSpec, TypeVar

from mqgroups.connection.turn import Turn
from mqgroups.errors import GroupUsage

_P = ParamSpec("_P")
_T = TypeVar("_T")
# The thread that waits for the coroutine which runs in this context.
_waiting: ContextVar[ConnectionThread | None] = ContextVar("_waiting", default=None)


class CallCancelled(BaseException):
    """Ends a call in its thread, because its task was cancelled. No application sees it."""


class _Call(Generic[_T]):
    """A call in the thread.

    Attributes:
        cancelled: set when its task was cancelled.
        hook: the coroutine of the application that it waits for.
    """

    def __init__(self, function: Callable[[], _T], undo: Callable[[_T], object] | None) -> None:
        self.cancelled = threading.Event()
        self.hook: Future[Any] | None = None
        self._function = function
        self._undo = undo
        self._has_begun = False
        self._results: list[_T] = []

    def run(self) -> _T:
        self._has_begun = True
        self._results.append(self._function())
        return self._results[0]

    def cancel(self) -> None:
        self.cancelled.set()
        hook = self.hook
        if hook is not None:
            hook.cancel()

    def drop(self, turn: Turn | None) -> None:
        """Take note that nobody has the result; in the thread, after the call."""
        if self._has_begun and turn is not None:
            turn.interrupted = True
        if self._results and self._undo is not None:
            self._undo(self._results[0])


class ConnectionThread:
    """A thread, and the calls for it.

    Attributes:
        turn: the connection's, as soon as there is one.
    """

    def __init__(self) -> None:
        self.turn: Turn | None = None
        self._executor = ThreadPoolExecutor(1, "mqgroups.aio")
        self._running: _Call[Any] | None = None

    async def call(
        self,
        function: Callable[[], _T],
        *,
        undo: Callable[[_T], object] | None = None,
        certain: bool = False,
    ) -> _T:
        """Call ``function`` in the thread, in a copy of the task's context.

        Args:
            function: of the library's.
            undo: called with the result in the thread if the task was cancelled, so that nobody gets the result.
            certain: make the call even if the task is cancelled before it begins.

        Raises:
            GroupUsage: the thread waits for the application's function that makes this call.
        """
        if _waiting.get() is self:
            raise GroupUsage(
                "before_commit must not use the consumer that waits for it, nor its connection. Make the call later, or on "
                "another connection"
            )
        call = _Call(function, undo)
        work = partial(copy_context().run, self._run, call)
        future = asyncio.get_running_loop().run_in_executor(self._executor, work)
        try:
            return await (asyncio.shield(future) if certain else future)
        except asyncio.CancelledError:
            call.cancel()
            # Behind the call and in front of all that is asked for later.
            with contextlib.suppress(RuntimeError):
                # Not if the thread has ended, because then the connection is closed.
                self._executor.submit(call.drop, self.turn)
            raise

    def sleep(self, seconds: float) -> None:
        """Wait between two tries of a call. Raises CallCancelled if its task was cancelled."""
        if self._running is not None and self._running.cancelled.wait(seconds):
            raise CallCancelled

    def wait_for(self, coroutine: Coroutine[Any, Any, _T], loop: asyncio.AbstractEventLoop) -> _T:
        """Run a coroutine of the application's in the event loop, and wait for it; to be called in the thread."""
        call, before = self._running, _waiting.set(self)
        assert call is not None
        try:
            call.hook = hook = asyncio.run_coroutine_threadsafe(coroutine, loop)
            if call.cancelled.is_set():
                hook.cancel()
            return hook.result()
        except HookCancelled:
            raise CallCancelled from None
        finally:
            call.hook = None
            _waiting.reset(before)

    def end(self) -> None:
        """End the thread after the calls that were asked for. It need not be waited for."""
        self._executor.shutdown(wait=False)

    def _run(self, call: _Call[_T]) -> _T:
        self._running = call
        try:
            return call.run()
        finally:
            self._running = None
