"""The authorities that MQOPEN, MQPUT1 and MQCLOSE of queues need. MQCONNX makes its own check.

The check uses the name that the application gives. So for an alias queue, it uses the alias, not the base queue. If the object
does not exist, the call fails without a check. Calls with a handle are not checked, because their MQOPEN was checked.
``objects/authority.py`` has the users' authorities. See ``pubsub/permission.py`` and ``admin/commands/permission.py``, too.

If ObjectQMgrName leads to another queue manager, the user needs PUT for the transmission queue. A queue manager alias is not
checked. If a remote queue is opened by its own name, this name is checked. For a queue that is only on other cluster members,
the user needs PUT for SYSTEM.CLUSTER.TRANSMIT.QUEUE, as with the default ClusterQueueAccessControl=Xmitq (IBM MQ, "Access control
and multiple cluster transmission queues"). ClusterQueueAccessControl=RQMName is not implemented. Unverified: INQ is also checked
for this queue; an MQOPEN that needs a local instance is refused (2085, 2045) before any authority is checked.

Source: IBM MQ, "Authorizations for MQI calls", "Alternate user authority", "AlternateUserId", "Not Authorized (type 3)". Three
rules are from memory of the notes on the first of these pages. Opening a model queue also needs DSP for the model, and gives the
user all authorities for the created queue. A transmission queue that is opened for output needs SETALL instead of PUT. Setting
context also needs authority for the queue manager.
"""

from __future__ import annotations

from mqembedded import constants as mq
from mqembedded.answer import Failed
from mqembedded.connection import Connection
from mqembedded.messages.handle import INPUT, Handle
from mqembedded.messages.queue import Queue
from mqembedded.objects.attributes import MODEL
from mqembedded.platform import Platform
from mqembedded.queue_manager import QueueManager
from mqembedded.readings import DYNAMIC_NAME_IS_CHECKED
from mqembedded.remote_queues import CLUSTER_TRANSMISSION_QUEUE
from mqembedded.wire.object_descriptors import ObjectDescriptor

_FOR_OPTIONS = {
    mq.MQOO_INQUIRE: "INQ",
    mq.MQOO_BROWSE: "BROWSE",
    INPUT: "GET",
    mq.MQOO_OUTPUT: "PUT",
    mq.MQOO_SET: "SET",
    mq.MQOO_PASS_IDENTITY_CONTEXT: "PASSID",
    mq.MQOO_PASS_ALL_CONTEXT: "PASSALL",
    mq.MQOO_SET_IDENTITY_CONTEXT: "SETID",
    mq.MQOO_SET_ALL_CONTEXT: "SETALL",
}
# MQPUT1 opens its queue for output, and for the context that its MQPMO requires.
_OF_PUT1 = {
    mq.MQPMO_PASS_IDENTITY_CONTEXT: mq.MQOO_PASS_IDENTITY_CONTEXT,
    mq.MQPMO_PASS_ALL_CONTEXT: mq.MQOO_PASS_ALL_CONTEXT,
    mq.MQPMO_SET_IDENTITY_CONTEXT: mq.MQOO_SET_IDENTITY_CONTEXT,
    mq.MQPMO_SET_ALL_CONTEXT: mq.MQOO_SET_ALL_CONTEXT,
    mq.MQPMO_ALTERNATE_USER_AUTHORITY: mq.MQOO_ALTERNATE_USER_AUTHORITY,
}
_OF_Q_MGR = {"SETID", "SETALL"}
_OF_LOCAL = {"BROWSE", "GET", "SET"}
_OTHER_TYPES = {mq.MQOT_Q_MGR: "QMGR", mq.MQOT_NAMELIST: "NAMELIST", mq.MQOT_PROCESS: "PROCESS"}


def needed_to_open(options: int) -> frozenset[str]:
    """Return the authorities that these MQOO_* options need."""
    return frozenset(authority for bits, authority in _FOR_OPTIONS.items() if options & bits)


def check_open(q_mgr: QueueManager, connection: Connection, od: ObjectDescriptor, options: int) -> None:
    """Raise Failed with MQRC_NOT_AUTHORIZED if the user is not allowed to open the object with these options."""
    needed = needed_to_open(options)
    user = asking_user(q_mgr, connection, od, options)
    if od.object_type == mq.MQOT_Q:
        name, needed = _needed_of_queue(q_mgr, od, needed)
        q_mgr.require(user, "QUEUE", name, needed)
        check_context_authority(q_mgr, connection, needed)
    elif od.object_type in _OTHER_TYPES:
        # These objects can be opened only for MQINQ. MQOPEN itself refuses other options.
        q_mgr.require(user, _OTHER_TYPES[od.object_type], od.object_name, needed & {"INQ"})


def check_context_authority(q_mgr: QueueManager, connection: Connection, needed: frozenset[str]) -> None:
    """Raise Failed with MQRC_NOT_AUTHORIZED if the call sets context without authority for the queue manager.

    The connection's user needs this authority, even if the call names an alternate user.
    """
    q_mgr.require(connection.user, "QMGR", "", needed & _OF_Q_MGR)


def asking_user(q_mgr: QueueManager, connection: Connection, od: ObjectDescriptor, options: int) -> str:
    """Return the user who needs authority for the object: the connection's user, or the alternate user."""
    if not options & mq.MQOO_ALTERNATE_USER_AUTHORITY:
        return connection.user
    q_mgr.require(connection.user, "QMGR", "", frozenset({"ALTUSR"}))
    return od.alternate_user_id


def _needed_of_queue(q_mgr: QueueManager, od: ObjectDescriptor, needed: frozenset[str]) -> tuple[str, frozenset[str]]:
    """Return the profile to check, and the needed authorities."""
    # MQOPEN itself refuses a queue that does not exist or cannot be reached, or a remote queue that is opened to get.
    try:
        way = q_mgr.cluster.ways.to(od.object_q_mgr_name)
    except Failed:
        return "", frozenset()
    if way is not None:
        name = CLUSTER_TRANSMISSION_QUEUE if way.is_of_cluster else way.queue.name
        return name, frozenset() if needed & _OF_LOCAL else needed
    named = q_mgr.catalogue.get(od.object_name)
    if named is None:
        is_told = needed & _OF_LOCAL or not q_mgr.cluster.knows(od.object_name)
        return CLUSTER_TRANSMISSION_QUEUE, frozenset() if is_told else needed
    if "PUT" in needed and named.values.get(mq.MQIA_USAGE) == mq.MQUS_TRANSMISSION:
        needed = needed - {"PUT"} | {"SETALL"}
    return od.object_name, needed | {"DSP"} if named.type == MODEL else needed


def options_of_put1(put_options: int) -> int:
    """Return the MQOO_* options with which MQPUT1 opens its queue for these MQPMO_* options."""
    options = mq.MQOO_OUTPUT
    for bit, opened_for in _OF_PUT1.items():
        if put_options & bit:
            options |= opened_for
    return options


def check_dynamic(
    q_mgr: QueueManager, connection: Connection, od: ObjectDescriptor, options: int, queue: Queue
) -> None:
    """If authority is checked for a new dynamic queue's name, and the user has none, delete the queue and raise Failed."""
    if q_mgr.platform is Platform.ZOS or q_mgr.readings[DYNAMIC_NAME_IS_CHECKED]:
        try:
            q_mgr.require(asking_user(q_mgr, connection, od, options), "QUEUE", queue.name, needed_to_open(options))
        except Failed:
            q_mgr.catalogue.delete_dynamic(queue)
            raise


def grant_created(
    q_mgr: QueueManager, connection: Connection, od: ObjectDescriptor, options: int, handle: Handle
) -> None:
    """Give the user who opened a model queue all authorities for the new queue. On z/OS only profiles give authorities."""
    if handle.creates_dynamic and q_mgr.platform is not Platform.ZOS:
        user = od.alternate_user_id if options & mq.MQOO_ALTERNATE_USER_AUTHORITY else connection.user
        q_mgr.catalogue.authorities.created(user, "QUEUE", handle.opened_name)


def check_deletion(q_mgr: QueueManager, connection: Connection, handle: Handle) -> None:
    """Raise Failed with MQRC_NOT_AUTHORIZED if this handle has not created the queue and the user has no DLT for it."""
    if handle.queue is not None and not handle.creates_dynamic:
        q_mgr.require(connection.user, "QUEUE", handle.queue.name, frozenset({"DLT"}))
