"""A queue manager's place in a cluster: whom it knows, which channels it has, whom it chooses.

Each queue manager of a cluster is a process of its own and has a ``Cluster``, through which its verbs find the instances of a
cluster queue and the way to them. There is one cluster, and one channel with a transmission queue of its own to each other
member, as DEFCLXQ(CHANNEL) has it. Not here: names in MQOPEN (``routing.py``), the algorithm (``workload.py``), the two ends of
a channel (``channels/sender.py``, ``channels/receiver.py``).
"""

from __future__ import annotations

import itertools
import threading
from pathlib import Path

from mqgroups.embedded.catalogue import Definition
from mqgroups.embedded.channels.receiver import Receiver
from mqgroups.embedded.channels.sender import SenderChannel
from mqgroups.embedded.cluster.membership import Membership
from mqgroups.embedded.cluster.repository import ADVERTISED, Instance, Member, Repository
from mqgroups.embedded.cluster.workload import ChannelStatus, Destination, choose
from mqgroups.embedded.messages.queue import Message, Queue
from mqgroups.embedded.messages.transmission import Bound, to_transmit
from mqgroups.embedded.objects.attributes import LOCAL
from mqgroups.embedded.queue_manager import Failed, QueueManager
from mqgroups.mqi import constants as mq

_TRANSMISSION_QUEUE = {
    mq.MQIA_USAGE: mq.MQUS_TRANSMISSION,
    mq.MQIA_MAX_Q_DEPTH: 999_999_999,
    mq.MQIA_MAX_MSG_LENGTH: 104_857_600,
    mq.MQIA_DEF_PERSISTENCE: mq.MQPER_PERSISTENT,
}


class Cluster:
    """The cluster as one of its queue managers sees it. Methods are called under that queue manager's lock if not said
    otherwise."""

    def __init__(self, q_mgr: QueueManager, membership: Membership) -> None:
        self.name = membership.cluster
        self.settings = membership.channels
        self.repository = Repository(Path(membership.directory))
        self.ending = threading.Event()
        self._q_mgr = q_mgr
        self._members = membership.members
        self._address: tuple[str, int, str] | None = None
        self._choices = itertools.count(1)
        self._last_chosen: dict[tuple[str, str], int] = {}
        self.channels = {
            name: SenderChannel(q_mgr, self, name, self.channel_name(name), self._transmission_queue(name))
            for name in membership.members
            if name != q_mgr.name
        }
        self.receiver = Receiver(q_mgr, self)

    def _transmission_queue(self, member: str) -> Queue:
        name = f"SYSTEM.CLUSTER.TRANSMIT.{self.channel_name(member)}"
        if self._q_mgr.catalogue.get(name) is None:
            self._q_mgr.catalogue.define(LOCAL, name, {**_TRANSMISSION_QUEUE})
        queue = self._q_mgr.catalogue.get(name)
        assert isinstance(queue, Queue)
        return queue

    def channel_name(self, member: str) -> str:
        """Return the name of the channels to a member, which is that of its cluster-receiver definition."""
        return f"{self.name}.{member}"

    def start(self, host: str, port: int, token: str) -> None:
        """Let the others know where this queue manager is and what it hosts, and start the channels."""
        with self._q_mgr.lock:
            self._address = (host, port, token)
            self.advertise()
            self._q_mgr.catalogue.on_change = self.advertise
        for channel in self.channels.values():
            channel.open()

    def stop(self) -> None:
        """End the channels, not under the lock; what is under way is left in doubt."""
        self.ending.set()
        for channel in self.channels.values():
            channel.close()

    # --- who hosts what

    def advertise(self) -> None:
        """Let the others know which cluster queues are here."""
        assert self._address is not None
        hosted = tuple(
            self._instance(found)
            for found in self._q_mgr.catalogue.all()
            if found.values.get(mq.MQCA_CLUSTER_NAME) == self.name
        )
        self.repository.advertise(Member(self._q_mgr.name, self._q_mgr.store.identifier, *self._address, hosted))

    def _instance(self, found: Queue | Definition) -> Instance:
        values = {selector: found.values[selector] for selector in ADVERTISED}
        return Instance(found.name, found.type, self._q_mgr.name, values)

    def is_member(self, q_mgr_name: str) -> bool:
        """Whether a queue manager of this name is in the cluster, this one or another."""
        return q_mgr_name in self._members

    def instances(self, queue_name: str) -> list[Instance]:
        """Return all instances of a cluster queue, by the names of their queue managers."""
        return self.repository.instances(queue_name, sorted(self._members))

    def members(self) -> list[Member]:
        """Return the members that were heard of, by name."""
        found = (self.repository.member(name) for name in sorted(self._members))
        return [member for member in found if member is not None]

    @property
    def is_fully_known(self) -> bool:
        """Whether every member was heard of, so that a name that is not known is nobody's."""
        return len(self.members()) == len(self._members)

    # --- choosing

    def choose(
        self, queue_name: str, *, arrived: bool = False, without: str = "", better_than: ChannelStatus | None = None
    ) -> str:
        """Return the queue manager whose instance of a cluster queue a message goes to.

        Args:
            queue_name: the cluster queue.
            arrived: whether the message came over a cluster channel.
            without: a queue manager that cannot take it.
            better_than: a channel status; an instance whose channel is no better is not chosen.

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
        """Whether CLWLUSEQ of the local instance, if there is one, keeps messages here."""
        local = self._q_mgr.catalogue.get(queue_name)
        use = mq.MQCLWL_USEQ_AS_Q_MGR if local is None else local.values.get(mq.MQIA_CLWL_USEQ, mq.MQCLWL_USEQ_AS_Q_MGR)
        if use == mq.MQCLWL_USEQ_AS_Q_MGR:
            use = self._q_mgr.catalogue.q_mgr_values[mq.MQIA_CLWL_USEQ]
        return use == mq.MQCLWL_USEQ_LOCAL

    # --- sending

    def for_channel(self, message: Message, queue_name: str, q_mgr_name: str, bound: Bound) -> Message:
        """Return a message as it stands on the transmission queue to another member."""
        channel = self.channels[q_mgr_name]
        return to_transmit(
            message, channel.queue, (queue_name, q_mgr_name), channel.name, bound, self._q_mgr.new_identifier()
        )
