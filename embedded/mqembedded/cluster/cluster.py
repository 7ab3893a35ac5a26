"""The ``ClusterView`` of a queue manager that is in a cluster.

Each queue manager of a cluster is a process of its own and has a ``Cluster``. The queue manager's verbs use it to find the
instances of a cluster queue, and the ways to these instances. ``members.py`` has the members and chooses an instance,
``routing.py`` resolves names, ``channels/`` has both ends of a channel.
"""

from __future__ import annotations

from typing import Any

from mqembedded import constants as mq
from mqembedded.channels.receiver import Receiver
from mqembedded.channels.settings import ChannelStatus
from mqembedded.cluster import control, routing
from mqembedded.cluster.members import Members
from mqembedded.cluster.membership import Membership
from mqembedded.cluster_view import MemberView, local_target, target_of
from mqembedded.messages.queue import Queue
from mqembedded.messages.route import Route, Target
from mqembedded.objects.definition import Definition
from mqembedded.objects.instances import ADVERTISED, Instance, Member
from mqembedded.queue_manager import QueueManager
from mqembedded.remote_queues import Ways


class Cluster:
    """The cluster as one of its queue managers sees it. ``ClusterView`` describes the methods."""

    def __init__(self, q_mgr: QueueManager, membership: Membership) -> None:
        self._q_mgr = q_mgr
        self._members = Members(q_mgr, membership)
        self._receiver = Receiver(q_mgr, self._members)
        self.ways = Ways(q_mgr.name, q_mgr.catalogue, self._members.way)
        self._address: tuple[str, int, str] | None = None

    def start(self, host: str, port: int, token: str) -> None:
        with self._q_mgr.lock:
            self._address = (host, port, token)
            self._changed()
            self._q_mgr.catalogue.on_change = self._changed
        for channel in self._members.channels.values():
            channel.open()

    def stop(self) -> None:
        self._members.ending.set()
        for channel in (*self._members.channels.values(), *self._members.senders.values()):
            channel.close()

    def route(self, name: str, q_mgr_name: str, options: int) -> Route | None:
        way = self.ways.to(q_mgr_name)
        if way is not None:
            return way.route(name, options)
        return self.ways.route(name, options) or routing.route_of(self._q_mgr, self._members, name, q_mgr_name, options)

    def addressed(self, name: str, q_mgr_name: str) -> Target:
        route = self.route(name, q_mgr_name, mq.MQOO_OUTPUT | mq.MQOO_BIND_NOT_FIXED)
        return local_target(self._q_mgr.catalogue, self._q_mgr.name, name) if route is None else target_of(route)

    def knows(self, name: str) -> bool:
        return bool(self._members.instances(name))

    def control(self, action: str, to: str = "", **how: Any) -> dict[str, Any]:
        with self._q_mgr.lock:
            senders = {queue.name: channel for queue, channel in self._members.senders.items()}
        return control.perform(self._q_mgr, {**self._members.channels, **senders}, action, to, **how)

    def receive(self, command: dict[str, Any], messages: bytes) -> dict[str, Any]:
        return self._receiver.answer(command, messages)

    # --- queues and their hosts

    def members(self) -> list[MemberView]:
        return [self._view(member) for member in self._members.heard_of()]

    def _view(self, member: Member) -> MemberView:
        channel = self._members.channels.get(member.q_mgr_name)
        return MemberView(
            member,
            self._members.cluster_name,
            self._members.channel_name(member.q_mgr_name),
            (ChannelStatus.RUNNING if channel is None else channel.status).value,
            "" if channel is None else channel.queue.name,
        )

    def _changed(self) -> None:
        """Publish this member's cluster queues to the other members, and start channels for new transmission queues."""
        self._members.start_senders()
        assert self._address is not None
        hosted = tuple(
            self._instance(found)
            for found in self._q_mgr.catalogue.all()
            if found.values.get(mq.MQCA_CLUSTER_NAME) == self._members.cluster_name
        )
        here = Member(self._q_mgr.name, self._q_mgr.store.identifier, *self._address, hosted)
        self._members.repository.advertise(here)

    def _instance(self, found: Queue | Definition) -> Instance:
        values = {selector: found.values[selector] for selector in ADVERTISED}
        return Instance(found.name, found.type, self._q_mgr.name, values)
