"""GroupPipe and PipedGroup for asyncio; see ``mqgroups.GroupPipe`` and ``mqgroups.PipedGroup``."""

from __future__ import annotations

from collections.abc import AsyncIterator

from mqgroups import pipe
from mqgroups.aio.consumer import IncomingGroup
from mqgroups.aio.group import Called, Groups, awaited
from mqgroups.aio.owner import Closing
from mqgroups.aio.thread import Calls
from mqgroups.get import group


class GroupPipe(Closing[pipe.GroupPipe]):
    """A consumer and a producer with a common unit of work. Made by ``QueueManager.group_pipe``."""

    def __aiter__(self) -> AsyncIterator[tuple[IncomingGroup, PipedGroup]]:
        """Return the incoming groups, each with the outgoing group to make from it."""
        return Groups(self._sync, self._thread, _pair)


def _pair(groups: tuple[group.IncomingGroup, pipe.PipedGroup], calls: Calls) -> tuple[IncomingGroup, PipedGroup]:
    return IncomingGroup(groups[0], calls), PipedGroup(groups[1], calls)


class PipedGroup(Called[pipe.PipedGroup]):
    """The outgoing group that is made from the incoming one."""

    def __init__(self, sync: pipe.PipedGroup, calls: Calls) -> None:
        self._sync = sync
        self._calls = calls

    set_properties = awaited(pipe.PipedGroup.set_properties)
    put = awaited(pipe.PipedGroup.put)
