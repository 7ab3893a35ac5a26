"""The cluster workload management algorithm, which chooses an instance of a cluster queue for a message. A pure function.

Source: IBM MQ, "The cluster workload management algorithm" (comments below name its numbered steps), "CLWLUSEQ queue
attribute", "CLWLRANK queue attribute", "CLWLPRTY queue attribute". Steps about several clusters, topics, suspended queue
managers, and ranks, priorities and weights of channels are not implemented. Unverified: that instances that were not used yet
come in order of their names.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mqembedded.channels.settings import ChannelStatus

# Steps about channel status: a lower number is better. Only the instances with the best status remain.
_PREFERENCE = {
    ChannelStatus.INACTIVE: 0,
    ChannelStatus.RUNNING: 0,
    ChannelStatus.RETRYING: 1,
    ChannelStatus.STOPPED: 2,
}


@dataclass(frozen=True, slots=True)
class Destination:
    """An instance that may be chosen.

    ``status`` is that of the channel to its queue manager, RUNNING for the local instance. ``last_chosen`` is the number of the
    choice that last took this instance, counted over all choices of this queue manager; 0 if it was never chosen.
    """

    q_mgr_name: str
    is_local: bool
    put_enabled: bool
    rank: int
    priority: int
    status: ChannelStatus
    last_chosen: int

    def is_better_than(self, status: ChannelStatus) -> bool:
        """Whether its channel has a better status than this one."""
        return _PREFERENCE[self.status] < _PREFERENCE[status]


def choose(destinations: Sequence[Destination], *, local_only: bool) -> Destination | None:
    """Return the destination of a message; None if none is put enabled.

    Args:
        destinations: the instances of the queue in the cluster.
        local_only: whether a local instance is used if there is one, because of CLWLUSEQ(LOCAL), or because the message came
            over a cluster channel.
    """
    if not destinations:
        return None
    # Step 4, before the status of channels: ranks.
    highest = max(each.rank for each in destinations)
    # Step 5: only instances that are put enabled remain. If there are none, nothing can be put.
    left = [each for each in destinations if each.rank == highest and each.put_enabled]
    # Step 6: the local instance.
    local = next((each for each in left if each.is_local), None)
    if local is not None and local_only:
        return local
    if not left:
        return None
    # Then the status of channels, the priorities of the remaining instances, and the instance that was not chosen for the
    # longest time.
    best = min(_PREFERENCE[each.status] for each in left)
    left = [each for each in left if _PREFERENCE[each.status] == best]
    first = max(each.priority for each in left)
    return min((each for each in left if each.priority == first), key=lambda each: (each.last_chosen, each.q_mgr_name))
