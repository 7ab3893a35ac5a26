"""The instances of a cluster queue looked at together: is every group at one of them?

MQOO_BIND_ON_GROUP keeps a group together as long as the instance it goes to takes messages. If that one is put inhibited or gone
when a message arrives, its queue manager sends the rest of the group on to another instance (IBM MQ, topic q027030). Neither
producer nor consumer can see that where they are; who browses all instances can.

Messages that are on their way, on transmission queues or on a dead-letter queue, are at no instance. And the instances are
browsed one after the other: a split that is found is there, and what moves between them meanwhile may be missed.
"""

from __future__ import annotations

from collections.abc import Iterable

from mqgroups.connection.holder import ConnectionHolder
from mqgroups.core.cluster import ClusterInspection, Instance, group_splits
from mqgroups.operate.browse import inspect_queue


def inspect_cluster(q_mgrs: Iterable[ConnectionHolder], queue: str) -> ClusterInspection:
    """Say what lies on the instances of a cluster queue, and which groups are at more than one; by browsing only.

    Args:
        q_mgrs: connections to the queue managers that host them.
        queue: its name at each of them; there has to be an instance.

    Raises:
        MQIError: a call failed; QueueMissing: a queue manager has no instance.
    """
    instances = tuple(Instance(q_mgr.q_mgr_name, inspect_queue(q_mgr, queue)) for q_mgr in q_mgrs)
    return ClusterInspection(queue, instances, group_splits(instances))
