"""The route of a handle whose messages do not, or do not all, go to a queue of this queue manager.

MQOPEN makes a ``Route`` of the names in an MQOD: another member of the cluster that is named, or a cluster queue whose instance
is chosen now, for each group or for each message, as the binding says. MQPUT asks it where the message goes.

Source: IBM MQ, topics "MQOPEN option for cluster queue" (q026010), "Logical and physical ordering" (MQOO_BIND_ON_GROUP). Not
here: the resolution of names (``cluster/routing.py``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from mqgroups.embedded.answer import Failed
from mqgroups.embedded.messages.logical_order import IN_GROUP, GroupState, Identity
from mqgroups.embedded.messages.queue import Message, Queue
from mqgroups.embedded.messages.transmission import Bound, to_transmit
from mqgroups.embedded.objects.attributes import Value
from mqgroups.embedded.objects.definition import Definition
from mqgroups.mqi import constants as mq


@dataclass(frozen=True, slots=True)
class Target:
    """Where one message goes: the queue it is put on here, its names there, and the channel, "" if it stays here."""

    queue: Queue
    queue_name: str
    q_mgr_name: str
    bound: Bound
    channel_name: str = ""

    @property
    def is_away(self) -> bool:
        """Whether it is a queue of another queue manager."""
        return bool(self.channel_name)

    def transmitted(self, message: Message, identifier: bytes, bound: Bound | None = None) -> Message:
        """Return a message as it stands on the transmission queue: ``identifier`` is a new one, ``bound`` by default the
        target's."""
        destination = (self.queue_name, self.q_mgr_name)
        return to_transmit(message, self.queue, destination, self.channel_name, bound or self.bound, identifier)


class Instances(Protocol):
    """The instances of the cluster's queues. Both methods raise Failed if nobody takes the message."""

    def choose(self, queue_name: str) -> str:
        """Return the queue manager whose instance a message goes to."""

    def target(self, queue_name: str, q_mgr_name: str, bound: Bound) -> Target:
        """Return where a message for this instance goes."""


@dataclass(frozen=True, slots=True)
class Route:
    """Where messages put with a handle go.

    Attributes:
        queue_name: the queue as its own queue manager knows it.
        binding: MQBND_*.
        fixed: the queue manager, where the binding or the MQOD has fixed it; else "".
        values: attributes of what was opened: defaults for messages, and what MQINQ answers.
        definition: the alias or remote queue that was opened; None for the cluster queue itself.
        counted_on: the queue that counts the handle: the local instance, or a transmission queue.
        instances: chooses among the instances.
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
        """Whether what was opened is a cluster queue without an instance here."""
        return self.values.get(mq.MQIA_Q_TYPE) == mq.MQQT_CLUSTER

    def target(self, state: GroupState, msg_flags: int, identity: Identity, *, logical_order: bool) -> Target:
        """Return where a message goes; ``state`` is the handle's of its last put.

        With MQBND_BIND_ON_GROUP a group stays where its first message went; the algorithm decides between groups, and for
        every message that is in none or is put without logical order while none is in progress.

        Raises:
            Failed: MQRC_INCOMPLETE_GROUP, the message is not part of the group that the handle has in progress; or nobody
                takes it.
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
        """Return where a message goes whose instance is chosen now."""
        return self.instances.target(self.queue_name, self.instances.choose(self.queue_name), bound)
