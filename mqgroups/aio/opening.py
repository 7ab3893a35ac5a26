"""The result of ``connect``, ``group_producer`` and so on, which can be used with ``async with`` or ``await``."""

from __future__ import annotations

from collections.abc import Coroutine, Generator
from types import TracebackType
from typing import Any, Generic, Protocol, TypeVar

from mqgroups.errors import GroupUsage, MQGroupsError
from mqgroups.telemetry.tracebacks import without_own_frames


class _Closes(Protocol):
    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None, /
    ) -> None: ...


_T = TypeVar("_T", bound=_Closes)


class Opening(Generic[_T]):
    """Opens an object. Use this only once. ``async with`` also closes the object. After ``await``, close the object yourself."""

    def __init__(self, opens: Coroutine[Any, Any, _T]) -> None:
        # A coroutine, not its function, because Python warns if no task awaits a coroutine.
        self._opens = opens
        self._opened: _T | None = None

    def __await__(self) -> Generator[Any, Any, _T]:
        try:
            return (yield from self._opens.__await__())
        except MQGroupsError as error:
            raise without_own_frames(error) from error.__cause__

    async def __aenter__(self) -> _T:
        if self._opened is not None:
            raise GroupUsage("this was opened already. Call the function again for another one")
        self._opened = await self
        return self._opened

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._opened is not None:
            await self._opened.__aexit__(kind, error, traceback)
