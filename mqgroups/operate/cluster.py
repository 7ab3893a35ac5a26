"""Inspects all instances of a cluster queue together, to find groups that are split over several of them.

MQOO_BIND_ON_GROUP keeps a group together as long as its instance accepts messages. If that instance is put inhibited or deleted
when a message arrives, its queue manager sends the rest of the group to another instance (IBM MQ, topic q027030). Neither the
producer nor a consumer can detect that. A program that browses all instances can.

Messages on transmission queues or on a dead-letter queue are at no instance. The instances are browsed one after the other. So a
split that is found is real, but messages that move between instances meanwhile may be missed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mqgroups.connection.holder import ConnectionHolder, connection_of
from mqgroups.errors import ConfigurationError
from mqgroups.operate.browse import inspect_queue
from mqgroups.operate.rules.cluster import ClusterInspection, Instance, group_splits


def inspect_cluster(q_mgrs: Iterable[ConnectionHolder], queue: str) -> ClusterInspection:
    """Return the groups on all instances of a cluster queue, and which groups are on more than one; by browsing only.

    Args:
        q_mgrs: connections to the queue managers that host an instance.
        queue: the queue's name on each of them.

    Raises:
        ConfigurationError: two connections are to the same queue manager.
        QueueMissing: a queue manager has no instance.
        MQIError: a call failed.
    """
    different = checked_different(tuple(q_mgrs))
    instances = tuple(Instance(q_mgr.q_mgr_name, inspect_queue(q_mgr, queue)) for q_mgr in different)
    return ClusterInspection(queue, instances, group_splits(instances))


def checked_different(q_mgrs: Sequence[ConnectionHolder]) -> Sequence[ConnectionHolder]:
    """Return the connections; raises ConfigurationError if two are to one queue manager: its groups would seem doubled."""
    seen = set()
    for q_mgr in q_mgrs:
        identifier = connection_of(q_mgr).q_mgr_identifier
        if identifier in seen:
            raise ConfigurationError(f"queue manager {q_mgr.q_mgr_name} is named twice. Name each queue manager once")
        seen.add(identifier)
    return q_mgrs
