"""AsyncGroupPipe and AsyncPipedGroup; see ``mqgroups.GroupPipe`` and ``mqgroups.PipedGroup``."""

from __future__ import annotations

from collections.abc import AsyncIterator

from mqgroups import pipe
from mqgroups.aio.consumer import AsyncIncomingGroup
from mqgroups.aio.group import AsyncGroups, Called, awaited
from mqgroups.aio.owner import Closing
from mqgroups.aio.thread import Calls
from mqgroups.get import group


class AsyncGroupPipe(Closing[pipe.GroupPipe]):
    """A consumer and a producer that share a unit of work. Made by ``AsyncQueueManager.group_pipe``."""

    def __aiter__(self) -> AsyncIterator[tuple[AsyncIncomingGroup, AsyncPipedGroup]]:
        """Return an iterator over pairs: an incoming group, and the outgoing group to make from it."""
        return AsyncGroups(self._sync, self._thread, _pair)


def _pair(
    groups: tuple[group.IncomingGroup, pipe.PipedGroup], calls: Calls
) -> tuple[AsyncIncomingGroup, AsyncPipedGroup]:
    return AsyncIncomingGroup(groups[0], calls), AsyncPipedGroup(groups[1], calls)


class AsyncPipedGroup(Called[pipe.PipedGroup]):
    """The outgoing group that the application makes from an incoming group."""

    def __init__(self, sync: pipe.PipedGroup, calls: Calls) -> None:
        self._sync = sync
        self._calls = calls

    set_properties = awaited(pipe.PipedGroup.set_properties)
    put = awaited(pipe.PipedGroup.put)
