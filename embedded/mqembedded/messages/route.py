"""The route of a handle whose messages can go to another queue manager.

MQOPEN makes a ``Route`` from an MQOD that names another member of the cluster, or a cluster queue. The binding decides when the
route chooses an instance of the cluster queue: at MQOPEN, for each group, or for each message. MQPUT gets each message's target
from the route.

Source: IBM MQ, "MQOPEN option for cluster queue", "Logical and physical ordering" (MQOO_BIND_ON_GROUP). ``cluster/routing.py``
resolves names.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from mqembedded import constants as mq
from mqembedded.answer import Failed
from mqembedded.messages.logical_order import IN_GROUP, GroupState, Identity
from mqembedded.messages.queue import Message, Queue
from mqembedded.messages.transmission import Bound, to_transmit
from mqembedded.objects.attributes import Value
from mqembedded.objects.definition import Definition


@dataclass(frozen=True, slots=True)
class Target:
    """The target of a message: the local queue that the message is put on, the final queue, its queue manager, and the channel.

    ``channel_name`` is None if the final queue is on this queue manager, and "" if the transmission queue is in no cluster.
    """

    queue: Queue
    queue_name: str
    q_mgr_name: str
    bound: Bound
    channel_name: str | None = None

    @property
    def is_away(self) -> bool:
        """Whether the message goes to another queue manager."""
        return self.channel_name is not None

    def transmitted(self, message: Message, identifier: bytes, bound: Bound | None = None) -> Message:
        """Return a message in its form on the transmission queue, with this MsgId. ``bound`` replaces the target's binding."""
        destination = (self.queue_name, self.q_mgr_name)
        return to_transmit(message, self.queue, destination, self.channel_name or "", bound or self.bound, identifier)


class Instances(Protocol):
    """The instances of the cluster's queues. Both methods raise Failed if no instance can take the message."""

    def choose(self, queue_name: str) -> str:
        """Choose an instance of this queue, and return the name of the instance's queue manager."""

    def target(self, queue_name: str, q_mgr_name: str, bound: Bound) -> Target:
        """Return the target of a message for the queue's instance on the queue manager ``q_mgr_name``."""


@dataclass(frozen=True, slots=True)
class Route:
    """The route of the messages that are put with a handle. The route chooses an instance of their queue.

    Attributes:
        queue_name: the queue's name on its own queue manager.
        binding: the binding, which is an MQBND_* value.
        fixed: the queue manager that the binding or the MQOD fixes for all messages; "" if their queue managers can differ.
        values: the opened object's attributes, which give the defaults for messages and the values for MQINQ.
        definition: the alias or remote queue that was opened; None if the cluster queue itself was opened.
        counted_on: the queue whose open counts include the handle: the local instance or a transmission queue.
        instances: the object that chooses an instance.
    """

    queue_name: str
    binding: int
    fixed: str
    values: dict[int, Value]
    definition: Definition | None
    counted_on: Queue
    instances: Instances

    @property
    def is_elsewhere(self) -> bool:
        """Whether the opened object is a cluster queue without a local instance."""
        return self.values.get(mq.MQIA_Q_TYPE) == mq.MQQT_CLUSTER

    def target(self, state: GroupState, msg_flags: int, identity: Identity, *, logical_order: bool) -> Target:
        """Return the target of a message. ``state`` is the handle's group state after its last put.

        With MQBND_BIND_ON_GROUP, all messages of a group go to the instance of its first message. The workload algorithm chooses
        an instance for each new group. It also chooses an instance for every message that is not in a group, or that is put
        without logical order while no group is in progress.

        Raises:
            Failed: no instance takes the message; or the message is not in the group in progress (MQRC_INCOMPLETE_GROUP).
        """
        if self.fixed:
            return self.instances.target(self.queue_name, self.fixed, Bound.ON_OPEN)
        bound = Bound.NOT_FIXED
        if self.binding == mq.MQBND_BIND_ON_GROUP:
            if state.current_group:
                if not msg_flags & IN_GROUP or identity.group_id != state.group_id:
                    raise Failed(mq.MQRC_INCOMPLETE_GROUP)
                return self.instances.target(self.queue_name, state.destination, Bound.ON_GROUP)
            if logical_order and msg_flags & IN_GROUP:
                bound = Bound.ON_GROUP
        return self.chosen(bound)

    def chosen(self, bound: Bound) -> Target:
        """Choose an instance, and return the target of a message for it."""
        return self.instances.target(self.queue_name, self.instances.choose(self.queue_name), bound)
