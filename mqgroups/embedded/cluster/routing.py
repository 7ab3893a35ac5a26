"""Where messages put with a handle go when that is not, or not only, a queue of this queue manager.

MQOPEN makes a ``Route`` of the names in an MQOD: another member of the cluster that is named, or a cluster queue whose instance
is chosen now, for each group or for each message, as the binding says. MQPUT asks it where the message goes.

Source: IBM MQ, topics "Name resolution" (q025990), "MQOPEN and clusters" (q027030), "MQOPEN option for cluster queue"
(q026010), "Logical and physical ordering" (MQOO_BIND_ON_GROUP), reason codes 2085, 2087, 2184, 2189, 2268, 2270. Unverified:
the instance whose attributes count where there is no local one (the first by name of its queue manager); that a cluster queue
opened with MQOO_BIND_ON_GROUP has no ResolvedQMgrName yet; 2045 for what is elsewhere and opened for input; 2268 by MQPUT.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mqgroups.embedded.catalogue import Definition
from mqgroups.embedded.messages.handle import INPUT, Direction, Handle
from mqgroups.embedded.messages.logical_order import IN_GROUP, Identity
from mqgroups.embedded.messages.queue import Queue
from mqgroups.embedded.messages.transmission import Bound
from mqgroups.embedded.objects.attributes import ALIAS, MODEL, REMOTE, Value
from mqgroups.embedded.objects.others import CatalogueError
from mqgroups.embedded.queue_manager import Failed, QueueManager
from mqgroups.mqi import constants as mq

if TYPE_CHECKING:
    from mqgroups.embedded.cluster.cluster import Cluster

_BINDINGS = {
    mq.MQOO_BIND_ON_OPEN: mq.MQBND_BIND_ON_OPEN,
    mq.MQOO_BIND_NOT_FIXED: mq.MQBND_BIND_NOT_FIXED,
    mq.MQOO_BIND_ON_GROUP: mq.MQBND_BIND_ON_GROUP,
}
_NEEDS_LOCAL = INPUT | mq.MQOO_BROWSE | mq.MQOO_SET


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
    """

    queue_name: str
    binding: int
    fixed: str
    values: dict[int, Value]
    definition: Definition | None
    counted_on: Queue

    @property
    def is_elsewhere(self) -> bool:
        """Whether what was opened is a cluster queue without an instance here."""
        return self.values.get(mq.MQIA_Q_TYPE) == mq.MQQT_CLUSTER


@dataclass(frozen=True, slots=True)
class Target:
    """Where one message goes: the queue it is put on here, and its names there."""

    queue: Queue
    queue_name: str
    q_mgr_name: str
    bound: Bound


def route_of(q_mgr: QueueManager, name: str, q_mgr_name: str, options: int) -> Route | None:
    """Return where an MQOPEN of these names leads; None for a queue of this queue manager alone.

    Raises:
        Failed: the name leads nowhere, or to where it cannot be opened like this.
    """
    cluster = q_mgr.cluster
    if cluster is None:
        return None
    q_mgr_name = without_alias(q_mgr, q_mgr_name)
    if q_mgr_name not in ("", q_mgr.name):
        return _fully_qualified(cluster, name, q_mgr_name, options, None)
    found = q_mgr.catalogue.get(name)
    if isinstance(found, Definition) and found.type == ALIAS:
        base = q_mgr.catalogue.get(str(found.values[mq.MQCA_BASE_Q_NAME]))
        if isinstance(base, Definition) and base.type != REMOTE:
            return None
        route = _base_route(q_mgr, cluster, base or str(found.values[mq.MQCA_BASE_Q_NAME]), q_mgr_name, options, found)
        if route is None and base is None:
            raise Failed(mq.MQRC_UNKNOWN_ALIAS_BASE_Q)
        return route
    if isinstance(found, Definition) and found.type == MODEL:
        return None
    route = _base_route(q_mgr, cluster, found or name, q_mgr_name, options, None)
    if route is None and found is None and not cluster.is_fully_known:
        # The full repositories would have to be asked, and one of them has never been heard of.
        raise Failed(mq.MQRC_CLUSTER_RESOLUTION_ERROR)
    return route


def without_alias(q_mgr: QueueManager, q_mgr_name: str) -> str:
    """Return the queue manager that a name means, which may be that of a queue manager alias: a remote queue definition
    without RNAME."""
    alias = q_mgr.catalogue.get(q_mgr_name)
    if not isinstance(alias, Definition) or alias.type != REMOTE:
        return q_mgr_name
    if alias.values[mq.MQCA_REMOTE_Q_NAME]:
        raise Failed(mq.MQRC_UNKNOWN_REMOTE_Q_MGR)
    return str(alias.values[mq.MQCA_REMOTE_Q_MGR_NAME])


def _fully_qualified(
    cluster: Cluster, name: str, q_mgr_name: str, options: int, definition: Definition | None
) -> Route:
    """Return the way to a queue of a named member. Whether it exists is found out there."""
    channel = cluster.channels.get(q_mgr_name)
    if channel is None:
        raise Failed(mq.MQRC_UNKNOWN_REMOTE_Q_MGR)
    if options & _NEEDS_LOCAL or (options & mq.MQOO_INQUIRE and definition is None):
        raise Failed(mq.MQRC_OPTION_NOT_VALID_FOR_TYPE)
    values = channel.queue.values
    if definition is not None:
        values = {**definition.values, mq.MQIA_Q_TYPE: definition.type}
    return Route(name, mq.MQBND_BIND_ON_OPEN, q_mgr_name, values, definition, channel.queue)


def _base_route(
    q_mgr: QueueManager,
    cluster: Cluster,
    found: Queue | Definition | str,
    q_mgr_name: str,
    options: int,
    alias: Definition | None,
) -> Route | None:
    """Return the route to what an MQOD or an alias names: a local queue, a remote queue, or a name nobody has here."""
    if isinstance(found, Definition):
        return _of_remote_queue(q_mgr, cluster, found, options, alias)
    local = found if isinstance(found, Queue) else None
    name = local.name if local is not None else str(found)
    if q_mgr_name or (local is not None and local.values[mq.MQCA_CLUSTER_NAME] != cluster.name):
        return None
    if options & _NEEDS_LOCAL:
        # Resolves to the local queue, and fails if there is none.
        return None
    instances = cluster.instances(name)
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
            fixed = cluster.choose(name)
        except Failed:
            # A local instance lets the open succeed, even if it is put inhibited.
            if local is None:
                raise
            fixed = q_mgr.name
        if fixed == q_mgr.name and local is not None:
            return None
    counted_on = local or cluster.channels[fixed or instances[0].q_mgr_name].queue
    return Route(name, binding, fixed, values, alias, counted_on)


def _of_remote_queue(
    q_mgr: QueueManager, cluster: Cluster, remote: Definition, options: int, alias: Definition | None
) -> Route:
    """Return the route of a local definition of a remote queue."""
    name = str(remote.values[mq.MQCA_REMOTE_Q_NAME])
    q_mgr_name = without_alias(q_mgr, str(remote.values[mq.MQCA_REMOTE_Q_MGR_NAME]))
    if not name:
        raise Failed(mq.MQRC_REMOTE_Q_NAME_ERROR)
    if q_mgr_name in ("", q_mgr.name):
        raise Failed(mq.MQRC_UNKNOWN_REMOTE_Q_MGR)
    return _fully_qualified(cluster, name, q_mgr_name, options, alias or remote)


def target(q_mgr: QueueManager, handle: Handle, msg_flags: int, identity: Identity, *, logical_order: bool) -> Target:
    """Return where a message put with a routed handle goes.

    With MQBND_BIND_ON_GROUP a group stays where its first message went; the algorithm decides between groups, and for every
    message that is in none or is put without logical order while none is in progress.

    Raises:
        Failed: MQRC_INCOMPLETE_GROUP, the message is not part of the group that the handle has in progress; or nobody takes it.
    """
    route, cluster = handle.route, q_mgr.cluster
    assert route is not None
    assert cluster is not None
    state = handle.states[Direction.PUT]
    if route.fixed:
        return _to(q_mgr, cluster, route.queue_name, route.fixed, Bound.ON_OPEN)
    if route.binding == mq.MQBND_BIND_ON_GROUP:
        if state.current_group:
            if not msg_flags & IN_GROUP or identity.group_id != state.group_id:
                raise Failed(mq.MQRC_INCOMPLETE_GROUP)
            return _to(q_mgr, cluster, route.queue_name, state.destination, Bound.ON_GROUP)
        if logical_order and msg_flags & IN_GROUP:
            return _to(q_mgr, cluster, route.queue_name, cluster.choose(route.queue_name), Bound.ON_GROUP)
    return _to(q_mgr, cluster, route.queue_name, cluster.choose(route.queue_name), Bound.NOT_FIXED)


def addressed(q_mgr: QueueManager, name: str, q_mgr_name: str) -> Target:
    """Return where a message goes that the queue manager itself sends, such as a report, or one that has to go on.

    Raises:
        Failed: the reason why there is no such queue.
    """
    cluster = q_mgr.cluster
    route = route_of(q_mgr, name, q_mgr_name, mq.MQOO_OUTPUT | mq.MQOO_BIND_NOT_FIXED)
    if route is None or cluster is None:
        if q_mgr_name not in ("", q_mgr.name):
            raise Failed(mq.MQRC_UNKNOWN_REMOTE_Q_MGR)
        return Target(_local(q_mgr, name), name, q_mgr.name, Bound.ON_OPEN)
    bound = Bound.ON_OPEN if route.fixed else Bound.NOT_FIXED
    return _to(q_mgr, cluster, route.queue_name, route.fixed or cluster.choose(route.queue_name), bound)


def here(q_mgr: QueueManager, name: str) -> Target:
    """Return where a message goes that came over a channel for a queue of this name.

    Raises:
        Failed: the reason why it cannot be put.
    """
    if isinstance(q_mgr.catalogue.get(name), Definition):
        return addressed(q_mgr, name, "")
    return Target(_local(q_mgr, name), name, q_mgr.name, Bound.ON_OPEN)


def _to(q_mgr: QueueManager, cluster: Cluster, queue_name: str, q_mgr_name: str, bound: Bound) -> Target:
    is_local = q_mgr_name == q_mgr.name
    queue = _local(q_mgr, queue_name) if is_local else cluster.channels[q_mgr_name].queue
    return Target(queue, queue_name, q_mgr_name, bound)


def _local(q_mgr: QueueManager, name: str) -> Queue:
    """Return the local queue that a name leads to, if it may be put to."""
    try:
        queue, named = q_mgr.catalogue.resolve(name)
    except CatalogueError as error:
        raise Failed(error.reason) from error
    if mq.MQQA_PUT_INHIBITED in (named.values[mq.MQIA_INHIBIT_PUT], queue.values[mq.MQIA_INHIBIT_PUT]):
        raise Failed(mq.MQRC_PUT_INHIBITED)
    return queue
