"""Looks at several queues at once: at those that are named, or at all that records of producers and consumers name.

Status queues are listed after the queues are browsed, because records from before may name groups that are gone by then.

Not here: how a queue is browsed and its groups are judged (``groups.py``), and what is done with what was seen.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

from mqgroups.connection.holder import ConnectionHolder
from mqgroups.errors import ConnectionBroken, MQIError
from mqgroups.operate.groups import GroupList, browse_groups
from mqgroups.operate.owners import SeenOwners, find_owners

_Q = TypeVar("_Q", bound=ConnectionHolder)


@dataclass(slots=True)
class Sight:
    """What was seen of queues and of all owners.

    Attributes:
        owners: all of them.
        lists: the groups by queue; a queue and its aliases are one. They are not judged yet.
        refused: why other queues could not be browsed.
    """

    owners: SeenOwners = field(default_factory=lambda: SeenOwners(()))
    lists: dict[str, GroupList] = field(default_factory=dict)
    refused: dict[str, MQIError] = field(default_factory=dict)

    def unseen(self) -> Iterator[str]:
        """Yield what could not be seen, and for want of what: a sentence each."""
        yield from self.owners.unseen
        for queue, error in self.refused.items():
            named = ", ".join(
                f"{each.role} {each.name} ({each.state.value})" for each in self.owners.owners if each.queue == queue
            )
            yield f"queue {queue}, which records name: {named}: {error}"
        for found in self.lists.values():
            at = found.instance
            yield from (f"{at.queue} at {at.q_mgr_name}: {sentence}" for sentence in at.unseen)


@contextmanager
def look_at_queues(
    q_mgr: _Q,
    queues: Collection[str] | None = None,
    browse: Callable[[_Q, str], GroupList] = browse_groups,
    *,
    also: Collection[str] = (),
    status_queues: Collection[str] = (),
) -> Iterator[Sight]:
    """Browse these queues, or all that records name, and then list the owners.

    Args:
        queues: their names; ``None`` for all.
        also: with ``None``, others besides. A queue whose programs have ended is named by no record any more.
        browse: ``browse_groups``, or a function that shows its progress.
        status_queues: as for ``find_owners``.
    """
    named = queues
    if named is None:
        owners = find_owners(q_mgr, status_queues=status_queues).owners
        named = {each.queue for each in owners if each.queue} | {*also}
    seen = Sight()
    with ExitStack() as stack:
        for queue in sorted(named):
            try:
                found = stack.enter_context(browse(q_mgr, queue))
            except ConnectionBroken:
                raise
            except MQIError as error:
                seen.refused[queue] = error
                continue
            same = next((each for each in seen.lists.values() if not each.names.isdisjoint(found.names)), None)
            if same is None:
                seen.lists[queue] = found
            else:
                same.names |= found.names
        seen.owners = find_owners(q_mgr, status_queues=status_queues)
        yield seen
