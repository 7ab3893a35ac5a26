"""The cluster workload management algorithm, which chooses an instance of a cluster queue for a message.

Source: IBM MQ, "The cluster workload management algorithm" (comments below name its numbered steps), "CLWLUSEQ queue attribute",
"CLWLRANK queue attribute", "CLWLPRTY queue attribute". The steps for several clusters, topics, suspended queue managers, and the
ranks, priorities and weights of channels are not implemented. Unverified: unused instances are ordered by name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mqembedded.channels.settings import ChannelStatus

# A channel status with a lower number is better. Only the instances with the best status remain.
_PREFERENCE = {
    ChannelStatus.INACTIVE: 0,
    ChannelStatus.RUNNING: 0,
    ChannelStatus.RETRYING: 1,
    ChannelStatus.STOPPED: 2,
}


@dataclass(frozen=True, slots=True)
class Destination:
    """An instance that the algorithm can choose.

    ``status`` is the status of the channel to the instance's queue manager, or RUNNING for the local instance. ``last_chosen``
    is the number of the last choice that took this instance, or 0. This queue manager numbers all its choices.
    """

    q_mgr_name: str
    is_local: bool
    put_enabled: bool
    rank: int
    priority: int
    status: ChannelStatus
    last_chosen: int

    def is_better_than(self, status: ChannelStatus) -> bool:
        """Return whether the channel to this instance has a better status than ``status``."""
        return _PREFERENCE[self.status] < _PREFERENCE[status]


def choose(destinations: Sequence[Destination], *, local_only: bool) -> Destination | None:
    """Return the destination of a message, or None if puts are inhibited at all instances.

    Args:
        destinations: the instances of the queue in the cluster.
        local_only: whether a local instance must be used if there is one, because of CLWLUSEQ(LOCAL) or because the message came
            over a cluster channel.
    """
    if not destinations:
        return None
    # Step 4 compares ranks, before the status of channels.
    highest = max(each.rank for each in destinations)
    # Step 5 keeps only the instances that allow puts. If there are none, the message cannot be put.
    left = [each for each in destinations if each.rank == highest and each.put_enabled]
    # Step 6 prefers the local instance.
    local = next((each for each in left if each.is_local), None)
    if local is not None and local_only:
        return local
    if not left:
        return None
    # The next steps compare the status of channels and the priorities of instances. Then the least recently chosen instance wins.
    best = min(_PREFERENCE[each.status] for each in left)
    left = [each for each in left if _PREFERENCE[each.status] == best]
    first = max(each.priority for each in left)
    return min((each for each in left if each.priority == first), key=lambda each: (each.last_chosen, each.q_mgr_name))
