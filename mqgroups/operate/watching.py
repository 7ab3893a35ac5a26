"""What one of many looks at a queue has seen, and how fast it moves since the look before; for ``mqgroups watch``.

Not here: how it is shown, and when to look again.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice

from mqgroups.connection.holder import ConnectionHolder
from mqgroups.operate.group_names import GroupNames
from mqgroups.operate.groups import GroupList, ListedGroup, in_order
from mqgroups.operate.owners import SeenOwners
from mqgroups.operate.rules.judgement import GroupState, Judgement
from mqgroups.operate.rules.owner_state import SeenOwner
from mqgroups.operate.rules.rates import Look, Rates, rates

# Groups that a look keeps.
_MOST_GROUPS = 200
# Names that a look has no time for are read by the next one.
_MOST_FOR_NAMES_S = 1.0


@dataclass(slots=True)
class SeenQueue:
    """What one look has seen of a queue, or why it has seen nothing.

    Attributes:
        look: for the rates of the next look.
        newest: the latest put time on the queue.
        oldest_complete: since when the group is complete that has been so for longest; empty without one.
        groups: the first ones, the most dangerous ones first, with those of which no message is on the queue.
        names: of groups, by GroupId, for the next look.
    """

    queue: str
    problem: str = ""
    look: Look | None = None
    newest: str = ""
    oldest_complete: str = ""
    rates: Rates = field(default_factory=Rates)
    messages: int = 0
    others: int = 0
    hidden: int | None = None
    data_bytes: int = 0
    states: Mapping[GroupState, int] = field(default_factory=dict)
    groups: list[ListedGroup] = field(default_factory=list)
    names: Mapping[bytes, str] = field(default_factory=dict)
    owners: list[SeenOwner] = field(default_factory=list)
    unseen: list[str] = field(default_factory=list)


def seen_queue(
    q_mgr: ConnectionHolder, found: GroupList, owners: SeenOwners, quiet_since: str, before: SeenQueue | None
) -> SeenQueue:
    """Judge a queue that was browsed, and compare it with the look before; raises MQIError."""
    (instance,) = found.instances
    before = before or SeenQueue(instance.queue)
    seen = SeenQueue(instance.queue)
    new_groups = 0

    def wanted(each: Judgement) -> bool:
        nonlocal new_groups
        new_groups += each.group is not None and each.group.first_put > before.newest
        if each.cause.state is GroupState.COMPLETE:
            seen.oldest_complete = min(seen.oldest_complete or each.since, each.since)
        return True

    found.judge(owners, quiet_since, wanted)
    with GroupNames([q_mgr], instance.queue) as names:
        some = islice(found.groups(), _MOST_GROUPS)
        there = list(names.named(some, most_s=_MOST_FOR_NAMES_S, known=before.names))
    seen.groups = list(in_order([found.gone, there]))
    # A group without a name may still get its first message, or a record.
    seen.names = {
        row.group.group_id: row.name or "" for row in there if row.name or (row.name is not None and row.group.has_head)
    }
    seen.states, seen.data_bytes = dict(found.counts), found.data_bytes
    seen.messages, seen.others, seen.hidden = instance.messages, instance.others, instance.hidden
    seen.newest = max(instance.newest, before.newest)
    mine = owners.of_queues(found.names)
    seen.owners = list(mine.owners)
    seen.unseen = [*mine.unseen, *instance.unseen]
    # What was there before the first look is not new.
    is_first = before.look is None
    seen.look = Look(
        time.monotonic(),
        instance.messages,
        sum(seen.states.values()),
        0 if is_first else instance.newer,
        0 if is_first else new_groups,
        {
            (owner.record.owner_id, owner.record.epoch): owner.record.unit_of_work
            for owner in mine.owners
            if owner.record is not None
        },
    )
    if before.look is not None:
        seen.rates = rates(before.look, seen.look)
    return seen
