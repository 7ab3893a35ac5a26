"""Cancels a task when it waits for the n-th time: while its call is under way, or done and nobody has its result yet."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Generator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Cancellation:
    """When a task is cancelled.

    Attributes:
        when: ``under-way`` or ``done``.
        nth: at which wait, counted from the cancellation before, or from the start.
    """

    when: str
    nth: int

    def __str__(self) -> str:
        return f"{self.when}@{self.nth}"


class Canceller:
    """Runs a coroutine and cancels its task, as often as there are cancellations.

    Attributes:
        came: how many cancellations have come.
        waits: how often the task has waited.
    """

    def __init__(self, *cancellations: Cancellation, then: Callable[[], object] = int) -> None:
        """``then`` is called when the task is about to be cancelled the first time."""
        self.came = 0
        self.waits = 0
        self._left = list(cancellations)
        self._since = 0
        self._then = then

    def run(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        """Run a coroutine in an event loop of its own."""

        async def main() -> Any:
            self._task = asyncio.current_task()
            return await _Watched(coroutine, self._waits)

        return asyncio.run(main())

    def _waits(self, future: asyncio.Future[Any] | None) -> None:
        self.waits += 1
        if not self._left or self.waits - self._since < self._left[0].nth:
            return
        self._since = self.waits
        when = self._left.pop(0).when
        if not self.came:
            self._then()
        self.came += 1
        assert self._task is not None
        if future is None or when == "under-way":
            asyncio.get_running_loop().call_soon(self._task.cancel)
        else:
            # Before the task's own callback: the call is done, and its result gets lost.
            future.add_done_callback(lambda _: self._task and self._task.cancel())


class _Watched:
    """A coroutine, and a function that is told whenever it waits."""

    def __init__(self, coroutine: Coroutine[Any, Any, Any], waits: Callable[[Any], None]) -> None:
        self._coroutine = coroutine
        self._waits = waits

    def __await__(self) -> Generator[Any, Any, Any]:
        error: BaseException | None = None
        while True:
            try:
                future = self._coroutine.send(None) if error is None else self._coroutine.throw(error)
            except StopIteration as stop:
                return stop.value
            self._waits(future)
            error = None
            try:
                yield future
            except BaseException as given:
                error = given


def goes_on() -> None:
    """Take note that the cancellation ends here."""
    task = asyncio.current_task()
    assert task is not None
    task.uncancel()
