"""Opens a status queue, or makes it from a model queue, and checks that it is suitable.

Not here: the sharing and records of the queue (``queue.py``; for a queue that many attempts share, ``batch/shared_queue.py``).
"""

from __future__ import annotations

from collections.abc import Callable

from mqgroups.connection.connection import Connection
from mqgroups.connection.queue import Queue
from mqgroups.core.to_copy import to_copy
from mqgroups.errors import ConfigurationError, MQIError, NotAuthorised, QueueMissing, StatusQueueUnusable
from mqgroups.mqi import constants as mq
from mqgroups.mqi import structures as st


def open_or_make(
    connection: Connection, open_as: Callable[[str, str], Queue], name: str, model: str, sharing: str
) -> tuple[Queue, bool]:
    """Open a status queue, or make it from the model queue. Return the queue, and whether it was made.

    Args:
        connection: the connection to the queue manager.
        open_as: opens a queue. Its arguments are the queue's name and, for a model queue, the name of the queue to make.
        name, model: the names of the status queue and the model queue; ``model`` is empty if the status queue must exist.
        sharing: the MQSC attributes for sharing, to show in an error text.

    Raises:
        ConfigurationError: on z/OS nothing would protect a queue of this name.
        QueueMissing: the status queue does not exist, and ``model`` is empty.
        StatusQueueUnusable: the status queue does not exist, and ``model`` does not exist or is not a model queue.
        MQIError: the queue cannot be opened.
    """
    if connection.platform == mq.MQPL_ZOS and "%" in name:
        raise ConfigurationError(
            f"status queue {name} has a percent sign in its name, and queue manager {connection.q_mgr_name} is on z/OS. There "
            'generic profiles of RACF do not cover such a name, and nothing protects the queue (IBM MQ, "ObjectName"). Choose '
            "a name without it"
        )
    try:
        return open_as(name, ""), False
    except MQIError as error:
        # A queue manager in a cluster asks the full repositories for a name that it does not know, and they may be away.
        if error.reason not in (mq.MQRC_UNKNOWN_OBJECT_NAME, mq.MQRC_CLUSTER_RESOLUTION_ERROR) or not model:
            raise
    try:
        made = open_as(model, name)
    except QueueMissing:
        raise StatusQueueUnusable(
            f"status queue {name} does not exist, and model queue {model} to make it from does not exist either. Either "
            f"{to_copy('DEFINE QLOCAL({})', name)} DEFPSIST(YES) {sharing} MSGDLVSQ(FIFO), or "
            f"{to_copy('DEFINE QMODEL({})', model)} DEFTYPE(PERMDYN) "
            f"DEFPSIST(YES) {sharing} MSGDLVSQ(FIFO); `mqgroups mqsc` prints both with what a site may have altered besides",
            status_queue=name,
        ) from None
    except MQIError as error:
        if error.reason != mq.MQRC_OBJECT_ALREADY_EXISTS:
            raise
        return open_as(name, ""), False  # another instance has made it since
    if made.object_name != name:
        # ``model`` is not a model queue: MQOPEN opened it and ignored the name of the queue to make.
        made.close()
        raise StatusQueueUnusable(
            f"status queue {name} does not exist, and {model} is not a model queue to make it from. Set status_model to a model "
            f"queue with DEFTYPE(PERMDYN) DEFPSIST(YES) {sharing} MSGDLVSQ(FIFO)",
            status_queue=name,
            found=f"a queue named {made.object_name}",
            expected="a model queue",
        )
    return made, True


def open_keeping_users(open_with: Callable[[int], Queue]) -> tuple[Queue, NotAuthorised | None]:
    """Open a status queue so that a new record can keep the user of the record that it replaces (MQPMO_PASS_IDENTITY_CONTEXT).

    Returns:
        The queue, and ``None``; or the queue, and the error 2035 if this user lacks the authority. In that case, new records
        can only have this user, which is enough if the old records have the same user.
    """
    try:
        return open_with(mq.MQOO_PASS_IDENTITY_CONTEXT | mq.MQOO_SAVE_ALL_CONTEXT), None
    except NotAuthorised as error:
        return open_with(mq.MQOO_SAVE_ALL_CONTEXT), error


def check_kind(queue: Queue) -> None:
    """Check that a status queue keeps its records on this queue manager, and is not deleted when the connection ends.

    A permanent dynamic queue is always suitable. Only a predefined queue can be in a cluster. Raises MQIError;
    StatusQueueUnusable if the queue is an alias, temporary dynamic, or in a cluster.
    """
    name = queue.name
    try:
        kind = queue.inquire(mq.MQIA_DEFINITION_TYPE)
    except MQIError as error:
        if error.reason != mq.MQRC_SELECTOR_NOT_FOR_TYPE:
            raise
        raise StatusQueueUnusable(
            f"status queue {name} is an alias. If its target were changed, the records could not be found any more. Give the "
            "name of the local queue itself",
            status_queue=name,
            found="alias",
            expected="local queue",
        ) from None
    if kind == mq.MQQDT_TEMPORARY_DYNAMIC:
        raise StatusQueueUnusable(
            f"status queue {name} is a temporary dynamic queue, which is deleted with its records when the connection that made "
            "it ends. Use a predefined queue, or a model queue with DEFTYPE(PERMDYN)",
            status_queue=name,
            found="temporary dynamic",
            expected="predefined or permanent dynamic",
        )
    if kind == mq.MQQDT_PREDEFINED and queue.is_in_cluster:
        raise StatusQueueUnusable(
            f"status queue {name} is a cluster queue. Its records could go to another instance, and other queue managers could "
            f"put to it. {to_copy('ALTER QLOCAL({})', name)} CLUSTER(' ') CLUSNL(' '), or use another queue",
            status_queue=name,
            found="cluster queue",
            expected="local queue that is in no cluster",
        )


def check_stays(status_queue: str, md: bytes) -> None:
    """Raise StatusQueueUnusable if a message on a status queue will expire. ``md`` is the message's MQMD.

    The message was put without an expiry time, so the queue has set one (IBM MQ, "CAPEXPRY: Limit message expiry time").
    """
    left = st.long_at(md, st.MD_EXPIRY)
    if left != mq.MQEI_UNLIMITED:
        raise StatusQueueUnusable(
            f"status queue {status_queue}: messages expire there, this message in {left / 10:g} s, because CAPEXPRY "
            "limits the expiry of all messages of this queue. A group whose status record expires would be put again, or the "
            f"rest of it never got. {to_copy('ALTER QLOCAL({})', status_queue)} CAPEXPRY(NOLIMIT) CUSTOM(' '), "
            "without CAPEXPRY before release 9.3.1; and alter its model queue in the same way. The next start puts records "
            "that stay",
            status_queue=status_queue,
            found=f"{left / 10:g} s left",
            expected="no expiry",
        )


def check_apart(status_queue: str, data_queue: Queue) -> None:
    """Raise ConfigurationError if the data queue is the status queue, or is an alias of it."""
    if data_queue.leads_to(status_queue):
        by = f" (its alias {data_queue.name})" if data_queue.name != status_queue else ""
        raise ConfigurationError(
            f"status_queue={status_queue!r} is also the data queue{by}. A status queue holds the records of one owner and "
            "nothing else. Use a different queue for one of the two"
        )
