"""The members of the cluster as this queue manager sees them: their queues, the channels to them, and the choice of an instance.

A queue manager is in one cluster only. It has a channel to each other member. Each channel has its own transmission queue, as
with DEFCLXQ(CHANNEL). Any other transmission queue of QM1 has a sender channel to QM2 if its TRIGDATA is ``QM1.QM2``.
Callers hold the queue manager's lock. ``workload.py`` has the algorithm, ``routing.py`` resolves names.
"""

from __future__ import annotations

import itertools
import threading
from pathlib import Path

from mqembedded import constants as mq
from mqembedded.answer import Failed
from mqembedded.channels.sender import SenderChannel
from mqembedded.channels.settings import ChannelStatus
from mqembedded.cluster.membership import Membership
from mqembedded.cluster.repository import Repository
from mqembedded.cluster.workload import Destination, choose
from mqembedded.cluster_view import local_queue
from mqembedded.messages.queue import Queue
from mqembedded.messages.route import Target
from mqembedded.messages.transmission import Bound
from mqembedded.objects.attributes import LOCAL
from mqembedded.objects.instances import Instance, Member
from mqembedded.queue_manager import QueueManager
from mqembedded.remote_queues import Way

_TRANSMISSION_QUEUE = {
    mq.MQIA_USAGE: mq.MQUS_TRANSMISSION,
    mq.MQIA_MAX_Q_DEPTH: 999_999_999,
    mq.MQIA_MAX_MSG_LENGTH: 104_857_600,
    mq.MQIA_DEF_PERSISTENCE: mq.MQPER_PERSISTENT,
}


class Members:
    """All members of the cluster, including this queue manager."""

    def __init__(self, q_mgr: QueueManager, membership: Membership) -> None:
        self.cluster_name = membership.cluster
        self.settings = membership.channels
        self.repository = Repository(Path(membership.directory))
        self.ending = threading.Event()
        self._q_mgr = q_mgr
        self._names = sorted(membership.members)
        self._choices = itertools.count(1)
        self._last_chosen: dict[tuple[str, str], int] = {}
        self.channels = {
            name: SenderChannel(q_mgr, self, name, self.channel_name(name), self._transmission_queue(name))
            for name in membership.members
            if name != q_mgr.name
        }
        # The sender channels, by transmission queue.
        self.senders: dict[Queue, SenderChannel] = {}

    def _transmission_queue(self, member: str) -> Queue:
        name = f"SYSTEM.CLUSTER.TRANSMIT.{self.channel_name(member)}"
        if self._q_mgr.catalogue.get(name) is None:
            self._q_mgr.catalogue.define(LOCAL, name, {**_TRANSMISSION_QUEUE})
        queue = self._q_mgr.catalogue.get(name)
        assert isinstance(queue, Queue)
        return queue

    def start_senders(self) -> None:
        """Start sender channels for new transmission queues, and end the channels of deleted transmission queues."""
        for queue in [each for each in self.senders if each.deleted]:
            self.senders.pop(queue).hurry()
        partners = {f"{self._q_mgr.name}.{name}": name for name in self.channels}
        for queue in self._q_mgr.catalogue.queues():
            name = str(queue.values[mq.MQCA_TRIGGER_DATA])
            is_wanted = queue.values[mq.MQIA_USAGE] == mq.MQUS_TRANSMISSION and name in partners
            if is_wanted and queue not in self.senders:
                # Each transmission queue has its own batch numbers.
                self.senders[queue] = SenderChannel(self._q_mgr, self, partners[name], queue.name, queue)
                self.senders[queue].open()

    def way(self, q_mgr_name: str) -> Way | None:
        """Return the way to a member through the cluster, or None if no member has this name."""
        channel = self.channels.get(q_mgr_name)
        return None if channel is None else Way(q_mgr_name, channel.queue, self)

    def channel_name(self, member: str) -> str:
        """Return the name of all cluster channels to a member, which is the name of its cluster-receiver channel."""
        return f"{self.cluster_name}.{member}"

    def instances(self, queue_name: str) -> list[Instance]:
        """Return all instances of a cluster queue, ordered by queue manager."""
        return self.repository.instances(queue_name, self._names)

    def heard_of(self) -> list[Member]:
        """Return the members that this queue manager knows, ordered by name."""
        found = map(self.repository.member, self._names)
        return [member for member in found if member is not None]

    def partner(self, q_mgr_name: str) -> Member | None:
        """Return the address of a member, or None if the address is not known yet."""
        return self.repository.member(q_mgr_name)

    @property
    def is_fully_known(self) -> bool:
        """Whether all members are known. If not, an unknown name can belong to a member that has never started."""
        return len(self.heard_of()) == len(self._names)

    # --- choosing

    def choose(
        self, queue_name: str, *, arrived: bool = False, without: str = "", better_than: ChannelStatus | None = None
    ) -> str:
        """Choose an instance of a cluster queue for a message, and return the name of its queue manager.

        Args:
            queue_name: the cluster queue.
            arrived: whether the message came over a cluster channel.
            without: a queue manager that must not be chosen.
            better_than: a channel status, or None. An instance is chosen only if its channel has a better status.

        Raises:
            Failed: MQRC_NO_DESTINATIONS_AVAILABLE, MQRC_CLUSTER_PUT_INHIBITED.
        """
        known = [self._destination(each) for each in self.instances(queue_name) if each.q_mgr_name != without]
        chosen = choose(known, local_only=arrived or self._uses_local_only(queue_name))
        if chosen is None:
            raise Failed(mq.MQRC_CLUSTER_PUT_INHIBITED if known else mq.MQRC_NO_DESTINATIONS_AVAILABLE)
        if better_than is not None and not chosen.is_better_than(better_than):
            raise Failed(mq.MQRC_NO_DESTINATIONS_AVAILABLE)
        self._last_chosen[queue_name, chosen.q_mgr_name] = next(self._choices)
        return chosen.q_mgr_name

    def _destination(self, instance: Instance) -> Destination:
        is_local = instance.q_mgr_name == self._q_mgr.name
        return Destination(
            instance.q_mgr_name,
            is_local,
            instance.put_enabled,
            instance.integer(mq.MQIA_CLWL_Q_RANK),
            instance.integer(mq.MQIA_CLWL_Q_PRIORITY),
            ChannelStatus.RUNNING if is_local else self.channels[instance.q_mgr_name].status,
            self._last_chosen.get((instance.queue_name, instance.q_mgr_name), 0),
        )

    def _uses_local_only(self, queue_name: str) -> bool:
        """Return whether CLWLUSEQ requires the local instance. The queue's CLWLUSEQ has precedence over the queue manager's."""
        local = self._q_mgr.catalogue.get(queue_name)
        use = mq.MQCLWL_USEQ_AS_Q_MGR if local is None else local.values.get(mq.MQIA_CLWL_USEQ, mq.MQCLWL_USEQ_AS_Q_MGR)
        if use == mq.MQCLWL_USEQ_AS_Q_MGR:
            use = self._q_mgr.catalogue.q_mgr_values[mq.MQIA_CLWL_USEQ]
        return use == mq.MQCLWL_USEQ_LOCAL

    def target(self, queue_name: str, q_mgr_name: str, bound: Bound) -> Target:
        """Return the target of a message for this instance; raise Failed if the instance is local and refuses puts."""
        if q_mgr_name == self._q_mgr.name:
            return Target(local_queue(self._q_mgr.catalogue, queue_name), queue_name, q_mgr_name, bound)
        channel = self.channels[q_mgr_name]
        return Target(channel.queue, queue_name, q_mgr_name, bound, channel.name)
