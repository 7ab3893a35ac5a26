"""Name resolution for MQOPEN in a cluster: from the names in an MQOD to a cluster queue with its instances.

``messages/route.py`` chooses an instance for each message. ``remote_queues.py`` resolves remote queues and queue manager names.

Source: IBM MQ, "Name resolution", "MQOPEN and clusters", "MQOPEN option for cluster queue", "Logical and physical ordering"
(MQOO_BIND_ON_GROUP), reason codes 2085, 2189, 2268, 2270. Unverified: without a local instance, the attributes come from the
first instance by queue manager name; with MQOO_BIND_ON_GROUP, MQOPEN returns no ResolvedQMgrName; MQPUT, too, returns 2268.
"""

from __future__ import annotations

from mqembedded import constants as mq
from mqembedded.answer import Failed
from mqembedded.cluster.members import Members
from mqembedded.messages.handle import INPUT
from mqembedded.messages.queue import Queue
from mqembedded.messages.route import Route
from mqembedded.objects.attributes import ALIAS
from mqembedded.objects.definition import Definition
from mqembedded.queue_manager import QueueManager

_BINDINGS = {
    mq.MQOO_BIND_ON_OPEN: mq.MQBND_BIND_ON_OPEN,
    mq.MQOO_BIND_NOT_FIXED: mq.MQBND_BIND_NOT_FIXED,
    mq.MQOO_BIND_ON_GROUP: mq.MQBND_BIND_ON_GROUP,
}
_NEEDS_LOCAL = INPUT | mq.MQOO_BROWSE | mq.MQOO_SET


def route_of(q_mgr: QueueManager, members: Members, name: str, q_mgr_name: str, options: int) -> Route | None:
    """Return the route to the queue that an MQOPEN names; None if the queue is only on this queue manager.

    ``q_mgr_name`` is blank or means this queue manager. ``name`` must not lead to a remote queue.

    Raises:
        Failed: there is no such queue, or it cannot be opened with these options.
    """
    found = q_mgr.catalogue.get(name)
    if isinstance(found, Definition) and found.type == ALIAS:
        base = q_mgr.catalogue.get(str(found.values[mq.MQCA_BASE_Q_NAME]))
        if isinstance(base, Definition):
            return None
        route = _base_route(q_mgr, members, base or str(found.values[mq.MQCA_BASE_Q_NAME]), q_mgr_name, options, found)
        if route is None and base is None:
            raise Failed(mq.MQRC_UNKNOWN_ALIAS_BASE_Q)
        return route
    if isinstance(found, Definition):
        return None
    route = _base_route(q_mgr, members, found or name, q_mgr_name, options, None)
    if route is None and found is None and not members.is_fully_known:
        # A member that is not known yet might host the queue.
        raise Failed(mq.MQRC_CLUSTER_RESOLUTION_ERROR)
    return route


def _base_route(
    q_mgr: QueueManager,
    members: Members,
    found: Queue | str,
    q_mgr_name: str,
    options: int,
    alias: Definition | None,
) -> Route | None:
    """Return the route to ``found``: a local queue, or a name that no local queue has (from an MQOD or an alias)."""
    local = found if isinstance(found, Queue) else None
    name = local.name if local is not None else str(found)
    if q_mgr_name or (local is not None and local.values[mq.MQCA_CLUSTER_NAME] != members.cluster_name):
        return None
    if options & _NEEDS_LOCAL:
        # The name resolves to the local queue. MQOPEN fails if there is no local queue.
        return None
    instances = members.instances(name)
    if not instances:
        return None
    if alias is not None:
        values = {**alias.values, mq.MQIA_Q_TYPE: ALIAS}
    elif local is not None:
        values = local.values
    else:
        values = {**instances[0].values, mq.MQIA_Q_TYPE: mq.MQQT_CLUSTER}
    binding = next((value for option, value in _BINDINGS.items() if options & option), values[mq.MQIA_DEF_BIND])
    assert isinstance(binding, int)
    fixed = ""
    if binding == mq.MQBND_BIND_ON_OPEN and options & mq.MQOO_OUTPUT:
        try:
            fixed = members.choose(name)
        except Failed:
            # With a local instance the open succeeds, even if the instance is put inhibited.
            if local is None:
                raise
            fixed = q_mgr.name
        if fixed == q_mgr.name and local is not None:
            return None
    counted_on = local or members.channels[fixed or instances[0].q_mgr_name].queue
    return Route(name, binding, fixed, values, alias, counted_on, members)
