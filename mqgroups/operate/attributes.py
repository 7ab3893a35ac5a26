"""Inquires attributes of queues and of the queue manager with MQINQ. Names and values are those of MQSC.

Not here: what the values mean (``rules/findings.py``), and attributes that only the command server returns.
"""

from __future__ import annotations

from collections.abc import Collection
from contextlib import closing

from mqgroups.connection.connection import Connection
from mqgroups.errors import ConnectionBroken, MQIError, QueueMissing
from mqgroups.mqi import constants as mq

# This is known since release 9.3.1, but not to pymqi.
_MQIA_CAP_EXPIRY = 276
# Attributes by selector, and the words of MQSC for their values.
# fmt: off
_WORDS: dict[str, tuple[int, dict[int, str]]] = {
    "PUT": (mq.MQIA_INHIBIT_PUT, {0: "ENABLED", 1: "DISABLED"}),
    "GET": (mq.MQIA_INHIBIT_GET, {0: "ENABLED", 1: "DISABLED"}),
    "MSGDLVSQ": (mq.MQIA_MSG_DELIVERY_SEQUENCE, {mq.MQMDS_PRIORITY: "PRIORITY", mq.MQMDS_FIFO: "FIFO"}),
    "INDXTYPE": (mq.MQIA_INDEX_TYPE, {mq.MQIT_GROUP_ID: "GROUPID", mq.MQIT_NONE: "NONE"}),
    "SHARE": (mq.MQIA_SHAREABILITY, {0: "NO", 1: "YES"}),
    "DEFBIND": (mq.MQIA_DEF_BIND, {mq.MQBND_BIND_ON_OPEN: "OPEN", mq.MQBND_BIND_NOT_FIXED: "NOTFIXED",
                                   mq.MQBND_BIND_ON_GROUP: "GROUP"}),
    "DEFTYPE": (mq.MQIA_DEFINITION_TYPE, {mq.MQQDT_PREDEFINED: "PREDEFINED", mq.MQQDT_PERMANENT_DYNAMIC: "PERMDYN",
                                          mq.MQQDT_TEMPORARY_DYNAMIC: "TEMPDYN"}),
    "TRIGGER": (mq.MQIA_TRIGGER_CONTROL, {mq.MQTC_OFF: "NO", mq.MQTC_ON: "YES"}),
    "USAGE": (mq.MQIA_USAGE, {mq.MQUS_NORMAL: "NORMAL", mq.MQUS_TRANSMISSION: "XMITQ"}),
    "CAPEXPRY": (_MQIA_CAP_EXPIRY, {-1: "NOLIMIT"}),
    "PLATFORM": (mq.MQIA_PLATFORM, {mq.MQPL_ZOS: "MQPL_ZOS", mq.MQPL_UNIX: "MQPL_UNIX"}),
}
# STREAMQ is known since release 9.3.
_SELECTORS = {
    "CURDEPTH": mq.MQIA_CURRENT_Q_DEPTH, "MAXDEPTH": mq.MQIA_MAX_Q_DEPTH, "MAXMSGL": mq.MQIA_MAX_MSG_LENGTH,
    "BOTHRESH": mq.MQIA_BACKOUT_THRESHOLD, "IPPROCS": mq.MQIA_OPEN_INPUT_COUNT, "MAXUMSGS": mq.MQIA_MAX_UNCOMMITTED_MSGS,
    "BOQNAME": mq.MQCA_BACKOUT_REQ_Q_NAME, "CLUSTER": mq.MQCA_CLUSTER_NAME, "CUSTOM": mq.MQCA_CUSTOM,
    "DEADQ": mq.MQCA_DEAD_LETTER_Q_NAME, "STREAMQ": mq.MQCA_STREAM_QUEUE_NAME, "TARGET": mq.MQCA_BASE_Q_NAME,
}
# fmt: on


def inquired(
    connection: Connection, name: str, wanted: Collection[str], object_type: int = mq.MQOT_Q
) -> tuple[dict[str, int | str], MQIError | None]:
    """Return an object's attributes and ``None``. If it cannot be inquired, return no attributes and the error."""
    try:
        opened = closing(connection.open_queue(name, mq.MQOO_INQUIRE, object_type=object_type))
    except ConnectionBroken:
        raise
    except MQIError as error:
        return {}, error
    found: dict[str, int | str] = {}
    with opened as queue:
        for attribute in wanted:
            selector, words = _WORDS.get(attribute, (_SELECTORS.get(attribute, 0), {}))
            try:
                value = queue.inquire(selector)
            except ConnectionBroken:
                raise
            except MQIError:
                # The object has no attribute of this name.
                continue
            found[attribute] = words.get(int(value), str(value)) if words else value
    return found, None


def queue_behind(connection: Connection, name: str) -> str | None:
    """Return the target of an alias, or the name of another queue; empty if it is missing, ``None`` if it cannot be inquired."""
    found, problem = inquired(connection, name, ("TARGET",))
    if problem is not None:
        return "" if isinstance(problem, QueueMissing) else None
    return str(found.get("TARGET", name))
