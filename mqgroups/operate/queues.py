"""Looks at several queues at once: at those that are named, or at all that records of producers and consumers name.

Status queues are listed after the queues are browsed, because records from before may name groups that are gone by then.

Not here: how a queue is browsed and its groups are judged (``groups.py``), and what is done with what was seen.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
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
        owners: all of them, at all queue managers.
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
            for each in found.instances:
                yield from (f"{each.queue} at {each.q_mgr_name}: {sentence}" for sentence in each.unseen)


@contextmanager
def look_at_queues(
    q_mgrs: Sequence[_Q],
    queues: Collection[str] | None = None,
    browse: Callable[[Sequence[_Q], str], GroupList] = browse_groups,
    *,
    also: Collection[str] = (),
    status_queues: Collection[str] = (),
) -> Iterator[Sight]:
    """Browse these queues, or all that records name, and then list the owners.

    Args:
        q_mgrs: as for ``browse_groups``.
        queues: their names; ``None`` for all.
        also: with ``None``, others besides. A queue whose programs have ended is named by no record any more.
        browse: ``browse_groups``, or a function that shows its progress.
        status_queues: as for ``find_owners``.
    """
    named = queues
    if named is None:
        named = {each.queue for each in owners_at(q_mgrs, status_queues).owners if each.queue} | {*also}
    seen = Sight()
    with ExitStack() as stack:
        for queue in sorted(named):
            try:
                found = stack.enter_context(browse(q_mgrs, queue))
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
        seen.owners = owners_at(q_mgrs, status_queues)
        yield seen


def owners_at(q_mgrs: Sequence[ConnectionHolder], status_queues: Collection[str] = ()) -> SeenOwners:
    """Return the owners at all these queue managers, as ``find_owners``."""
    found = SeenOwners(())
    for q_mgr in q_mgrs:
        seen = find_owners(q_mgr, status_queues=status_queues)
        where = f"at {q_mgr.q_mgr_name}: " if len(q_mgrs) > 1 else ""
        unseen = tuple(where + sentence for sentence in seen.unseen)
        found = SeenOwners(found.owners + seen.owners, found.unseen + unseen, found.q_mgr_names + seen.q_mgr_names)
    return found
