"""Opening a status queue, or making it from a model queue, and checking that it can be one.

Not here: who may have it open, and what is on it (``queue.py``; of queues that many share, ``batch/shared_queue.py``).
"""

from __future__ import annotations

from collections.abc import Callable

from mqgroups.connection.queue import Queue
from mqgroups.errors import ConfigurationError, MQIError, QueueMissing, StatusQueueUnusable
from mqgroups.mqi import constants as mq


def open_or_make(open_as: Callable[[str, str], Queue], name: str, model: str, sharing: str) -> tuple[Queue, bool]:
    """Open a status queue, or make it from the model queue; returns it, and whether it was made.

    Args:
        open_as: opens a queue, given its name and, for a model queue, the name of the queue to be made.
        name: of the status queue.
        model: of the model queue; empty for a queue that has to exist.
        sharing: the MQSC attributes that say who can have it open, for who has to define it.

    Raises:
        QueueMissing: it does not exist, and ``model`` is empty.
        StatusQueueUnusable: it does not exist, and neither does the model queue, or that is none.
        MQIError: it cannot be opened.
    """
    try:
        return open_as(name, ""), False
    except QueueMissing:
        if not model:
            raise
    try:
        made = open_as(model, name)
    except QueueMissing as error:
        raise StatusQueueUnusable(
            f"status queue {name} does not exist, and neither does the model queue {model} to make it from. "
            f"DEFINE QLOCAL('{name}') DEFPSIST(YES) {sharing}, or DEFINE QMODEL('{model}') DEFTYPE(PERMDYN) DEFPSIST(YES) "
            f"{sharing}",
            status_queue=name,
        ) from error
    except MQIError as error:
        if error.reason != mq.MQRC_OBJECT_ALREADY_EXISTS:
            raise
        return open_as(name, ""), False  # another instance has made it since
    if made.object_name != name:
        # A queue that is no model is opened itself, whatever name is given for the one to be made.
        made.close()
        raise StatusQueueUnusable(
            f"status queue {name} does not exist, and {model} is no model queue to make it from. Give the name of one, "
            f"with DEFTYPE(PERMDYN) DEFPSIST(YES) {sharing}",
            status_queue=name,
            found=f"a queue named {made.object_name}",
            expected="a model queue",
        )
    return made, True


def check_kind(queue: Queue) -> None:
    """Check that a status queue keeps its records here, and for longer than a connection.

    A queue that was made from a permanent-dynamic model is that by its nature; of another one its cluster is inquired.

    Raises:
        StatusQueueUnusable: it does not.
        MQIError: it cannot be inquired.
    """
    name = queue.name
    try:
        kind = queue.inquire(mq.MQIA_DEFINITION_TYPE)
    except MQIError as error:
        if error.reason != mq.MQRC_SELECTOR_NOT_FOR_TYPE:
            raise
        raise StatusQueueUnusable(
            f"status queue {name} is an alias. Give the name of the local queue itself: what an alias leads to can be changed, "
            "and its records would be lost from sight",
            status_queue=name,
            found="alias",
            expected="local queue",
        ) from error
    if kind == mq.MQQDT_TEMPORARY_DYNAMIC:
        raise StatusQueueUnusable(
            f"status queue {name} is a temporary dynamic queue: it and its records would go with the connection that made it. "
            "Use a predefined queue or a model queue with DEFTYPE(PERMDYN)",
            status_queue=name,
            found="temporary dynamic",
            expected="predefined or permanent dynamic",
        )
    if kind == mq.MQQDT_PREDEFINED and queue.is_in_cluster:
        raise StatusQueueUnusable(
            f"status queue {name} is a cluster queue: others in the cluster could put to it, and its records to another "
            f"instance of it. ALTER QLOCAL('{name}') CLUSTER(' ') CLUSNL(' '), or use another queue",
            status_queue=name,
            found="cluster queue",
            expected="local queue that is in no cluster",
        )


def check_apart(status_queue: str, data_queue: Queue) -> None:
    """Check that messages are not put to and got from the status queue itself, by an alias for example.

    Raises:
        ConfigurationError: they would be.
    """
    if data_queue.leads_to(status_queue):
        by = f" (by {data_queue.name})" if data_queue.name != status_queue else ""
        raise ConfigurationError(
            f"status_queue {status_queue} is the queue that its messages are put to or got from{by}. A status queue holds one "
            "owner's records and nothing else: give another name, or none"
        )
