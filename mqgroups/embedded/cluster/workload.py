"""The cluster workload management algorithm: which instance of a cluster queue a message goes to. Values in, a value out.

Source: IBM MQ, topics "The cluster workload management algorithm" (q082390, its numbered steps are named below), "CLWLUSEQ
queue attribute", "CLWLRANK queue attribute", "CLWLPRTY queue attribute". What belongs to several clusters, to topics, to ranks,
priorities and weights of channels and to suspended queue managers is not here. Unverified: that instances not used yet come in
order of their names.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mqgroups.embedded.channels.settings import ChannelStatus

# Steps about channel status: the first of these sets that is not empty is what remains.
_PREFERENCE = {
    ChannelStatus.INACTIVE: 0,
    ChannelStatus.RUNNING: 0,
    ChannelStatus.RETRYING: 1,
    ChannelStatus.STOPPED: 2,
}


@dataclass(frozen=True, slots=True)
class Destination:
    """An instance that may be chosen.

    ``status`` is that of the channel to its queue manager, RUNNING for the local one; ``last_chosen`` counts up with every choice
    of this queue manager, 0 before the first.
    """

    q_mgr_name: str
    is_local: bool
    put_enabled: bool
    rank: int
    priority: int
    status: ChannelStatus
    last_chosen: int

    def is_better_than(self, status: ChannelStatus) -> bool:
        """Whether its channel can be counted on more than one of this status."""
        return _PREFERENCE[self.status] < _PREFERENCE[status]


def choose(destinations: Sequence[Destination], *, local_only: bool) -> Destination | None:
    """Return the destination of a message, None if there is none that is put enabled.

    Args:
        destinations: the instances of the queue in the cluster.
        local_only: whether a local instance is used if there is one: CLWLUSEQ(LOCAL), or a message that came over a cluster
            channel.
    """
    if not destinations:
        return None
    # Step 4, before anybody looks at the state of channels: ranks.
    highest = max(each.rank for each in destinations)
    # Step 5: those that are put disabled; if only such ones are left nothing can be put.
    left = [each for each in destinations if each.rank == highest and each.put_enabled]
    # Step 6: the local instance.
    local = next((each for each in left if each.is_local), None)
    if local is not None and local_only:
        return local
    if not left:
        return None
    # Then the state of channels, priorities among what remains, and who was chosen longest ago.
    best = min(_PREFERENCE[each.status] for each in left)
    left = [each for each in left if _PREFERENCE[each.status] == best]
    first = max(each.priority for each in left)
    return min((each for each in left if each.priority == first), key=lambda each: (each.last_chosen, each.q_mgr_name))
