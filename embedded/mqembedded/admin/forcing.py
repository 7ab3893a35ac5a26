"""Changes to open queues: the changes that need FORCE, and the handles that become invalid.

Applications do not notice most changes. But a command makes handles invalid if it sets NOSHARE, changes USAGE, or makes an opened
name lead to another queue. Without FORCE, such a command is refused. Calls with invalid handles end with MQRC_OBJECT_CHANGED.
REFRESH CLUSTER makes all handles invalid that lead to other members of the cluster.

Source: IBM MQ, "ALTER queues", "Forcing changes to queue properties", "MQOPEN", reason code 2041, "REFRESH CLUSTER". Unverified:
a waiting MQGET ends at once; changes of RNAME, RQMNAME and XMITQ make handles invalid.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from mqembedded import constants as mq
from mqembedded.messages.handle import Handle
from mqembedded.messages.queue import Queue
from mqembedded.objects.attributes import ALIAS, LOCAL, REMOTE, Value
from mqembedded.objects.others import CatalogueError
from mqembedded.queue_manager import QueueManager
from mqembedded.wire import pcf_constants as pcf

# The attributes that decide where a name leads. A command that gives them is a change, even with the old value.
_LEADS_TO = {
    ALIAS: {mq.MQCA_BASE_Q_NAME},
    REMOTE: {mq.MQCA_REMOTE_Q_NAME, mq.MQCA_REMOTE_Q_MGR_NAME, mq.MQCA_XMIT_Q_NAME},
}


def alter(q_mgr: QueueManager, kind: int, name: str, values: Mapping[int, Value], *, force: bool) -> None:
    """Change attributes of a queue. Raises CatalogueError, with MQRCCF_OBJECT_OPEN_FORCE if FORCE is needed."""
    ends = _ended_by(q_mgr, kind, name, values)
    ended = [handle for handle in _handles(q_mgr) if ends(handle)]
    queue = q_mgr.catalogue.get(name)
    in_use = bool(ended)
    if kind == LOCAL and isinstance(queue, Queue):
        in_use |= bool(queue.held) and _changes_usage(queue, values)
        in_use |= bool(queue.open_input_count) and _is_not_shared(values)
    if in_use and not force:
        raise CatalogueError(pcf.MQRCCF_OBJECT_OPEN_FORCE, f"{name} is in use; FORCE changes it all the same")
    q_mgr.catalogue.alter(kind, name, values)
    _end(ended)


def refresh_cluster(q_mgr: QueueManager) -> None:
    """Invalidate the handles that lead to other members of the cluster."""
    _end(handle for handle in _handles(q_mgr) if handle.route is not None)


def _ended_by(q_mgr: QueueManager, kind: int, name: str, values: Mapping[int, Value]) -> Callable[[Handle], bool]:
    if kind in _LEADS_TO and _LEADS_TO[kind] & values.keys():
        return lambda handle: handle.opened_name == name
    queue = q_mgr.catalogue.get(name)
    if kind != LOCAL or not isinstance(queue, Queue):
        return lambda _: False
    if _changes_usage(queue, values):
        return lambda handle: handle.queue is queue
    if _is_not_shared(values):
        return lambda handle: handle.queue is queue and handle.for_input and not handle.exclusive
    return lambda _: False


def _changes_usage(queue: Queue, values: Mapping[int, Value]) -> bool:
    return mq.MQIA_USAGE in values and values[mq.MQIA_USAGE] != queue.values[mq.MQIA_USAGE]


def _is_not_shared(values: Mapping[int, Value]) -> bool:
    return values.get(mq.MQIA_SHAREABILITY) == mq.MQQA_NOT_SHAREABLE


def _handles(q_mgr: QueueManager) -> Iterator[Handle]:
    for connection in q_mgr.connections.values():
        yield from connection.handles.values()


def _end(handles: Iterable[Handle]) -> None:
    for handle in handles:
        handle.changed = True
        if handle.queue is not None:
            handle.queue.wake()
