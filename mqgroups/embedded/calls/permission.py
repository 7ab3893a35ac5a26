"""What a call needs the user to be allowed: MQOPEN, MQPUT1, MQCLOSE, MQSUB. MQCONNX asks by itself.

The name that is checked is the one given to the call, an alias's rather than its base queue's. That an object is not there is
told before. Calls with a handle need nothing: opening for them did. Not here: who has which authority (``objects/authority.py``),
commands (``admin/commands/permission.py``).

A queue that other members of a cluster host is checked by the profile of SYSTEM.CLUSTER.TRANSMIT.QUEUE, as
ClusterQueueAccessControl=Xmitq says, the default; PUT on it is enough (topic "Access control and multiple cluster transmission
queues", q017170). RQMName is not here. Unverified: that INQ is checked there too, and that what needs a local instance is refused
(2085, 2045) before any authority is asked for.

Source: IBM MQ, topics "Authorizations for MQI calls", "Alternate user authority" (q010420), "AlternateUserId" (q098140), "Not
Authorized (type 3)" (q049910). From memory of the notes below the first one's tables: who opens a model queue needs DSP on it
besides and gets everything for the queue that is made; a transmission queue opened for output needs SETALL instead of PUT;
setting context needs authority on the queue manager too. Unverified: that a topic's authority may come from any topic object
above it; what providing a queue, and SET_IDENTITY_CONTEXT, need in MQSUB; that the creator of a subscription may remove it.
"""

from __future__ import annotations

from mqgroups.embedded.cluster.routing import without_alias
from mqgroups.embedded.messages.handle import INPUT, Handle
from mqgroups.embedded.objects.attributes import MODEL
from mqgroups.embedded.pubsub.topic import objects_at_and_above
from mqgroups.embedded.queue_manager import Connection, QueueManager
from mqgroups.embedded.wire.structures import ObjectDescriptor
from mqgroups.mqi import constants as mq

CLUSTER_TRANSMISSION_QUEUE = "SYSTEM.CLUSTER.TRANSMIT.QUEUE"
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
# An MQPUT1 opens for output, and for the context that its MQPMO asks for.
_OF_PUT1 = {
    mq.MQPMO_PASS_IDENTITY_CONTEXT: mq.MQOO_PASS_IDENTITY_CONTEXT,
    mq.MQPMO_PASS_ALL_CONTEXT: mq.MQOO_PASS_ALL_CONTEXT,
    mq.MQPMO_SET_IDENTITY_CONTEXT: mq.MQOO_SET_IDENTITY_CONTEXT,
    mq.MQPMO_SET_ALL_CONTEXT: mq.MQOO_SET_ALL_CONTEXT,
    mq.MQPMO_ALTERNATE_USER_AUTHORITY: mq.MQOO_ALTERNATE_USER_AUTHORITY,
}
_OF_Q_MGR = {"SETID", "SETALL"}
_OF_LOCAL = {"BROWSE", "GET", "SET"}
_CONTEXT = {"PASSID", "PASSALL", "SETID", "SETALL"}
_OTHER_TYPES = {mq.MQOT_Q_MGR: "QMGR", mq.MQOT_NAMELIST: "NAMELIST", mq.MQOT_PROCESS: "PROCESS"}


def needed_to_open(options: int) -> frozenset[str]:
    """Return the authorities that MQOO_* options need."""
    return frozenset(authority for bits, authority in _FOR_OPTIONS.items() if options & bits)


def check_open(
    q_mgr: QueueManager, connection: Connection, od: ObjectDescriptor, options: int, topic_string: str | None
) -> None:
    """Raise Failed with MQRC_NOT_AUTHORIZED unless the object may be opened so; ``topic_string`` is that of a topic."""
    needed = needed_to_open(options)
    user = _asking_user(q_mgr, connection, od, options)
    if topic_string is not None and od.object_type == mq.MQOT_TOPIC:
        if options & mq.MQOO_OUTPUT:
            _require_topic(q_mgr, user, topic_string, "PUB")
        for authority in needed & _CONTEXT:
            _require_topic(q_mgr, user, topic_string, authority)
    elif od.object_type == mq.MQOT_Q:
        name, needed = _needed_of_queue(q_mgr, od, needed)
        q_mgr.require(user, "QUEUE", name, needed)
    else:
        if od.object_type in _OTHER_TYPES:
            # Of these MQINQ is all that can be asked; who opens them for more is told so.
            q_mgr.require(user, _OTHER_TYPES[od.object_type], od.object_name, needed & {"INQ"})
        return
    # Context is a matter of who calls, whoever the object is opened for.
    q_mgr.require(connection.user, "QMGR", "", needed & _OF_Q_MGR)


def _asking_user(q_mgr: QueueManager, connection: Connection, od: ObjectDescriptor, options: int) -> str:
    """Return whose authority for the object counts."""
    if not options & mq.MQOO_ALTERNATE_USER_AUTHORITY:
        return connection.user
    q_mgr.require(connection.user, "QMGR", "", frozenset({"ALTUSR"}))
    return od.alternate_user_id


def _needed_of_queue(q_mgr: QueueManager, od: ObjectDescriptor, needed: frozenset[str]) -> tuple[str, frozenset[str]]:
    """Return the profile that counts, and what it has to give."""
    named, q_mgr_name = q_mgr.catalogue.get(od.object_name), without_alias(q_mgr, od.object_q_mgr_name)
    if named is None or q_mgr_name not in ("", q_mgr.name):
        # A queue that is elsewhere has no object here to be checked. If it is nowhere, or is to be got from, that is told.
        is_told = needed & _OF_LOCAL or not _is_elsewhere(q_mgr, od.object_name, q_mgr_name)
        return CLUSTER_TRANSMISSION_QUEUE, frozenset() if is_told else needed
    if "PUT" in needed and named.values.get(mq.MQIA_USAGE) == mq.MQUS_TRANSMISSION:
        needed = needed - {"PUT"} | {"SETALL"}
    return od.object_name, needed | {"DSP"} if named.type == MODEL else needed


def _is_elsewhere(q_mgr: QueueManager, name: str, q_mgr_name: str) -> bool:
    if q_mgr.cluster is None:
        return False
    if q_mgr_name not in ("", q_mgr.name):
        return q_mgr_name in q_mgr.cluster.channels
    return bool(q_mgr.cluster.instances(name))


def _require_topic(q_mgr: QueueManager, user: str, topic_string: str, *any_of: str) -> None:
    """Raise Failed unless one of the topic objects at and above a topic string gives one of these authorities."""
    above = list(objects_at_and_above(q_mgr.catalogue.objects, topic_string))
    if not any(q_mgr.catalogue.authorities.of(user, "TOPIC", name).intersection(any_of) for name in above):
        q_mgr.require(user, "TOPIC", above[0], frozenset(any_of[:1]))


def check_put1(
    q_mgr: QueueManager, connection: Connection, od: ObjectDescriptor, put_options: int, topic_string: str | None = None
) -> None:
    """Raise Failed with MQRC_NOT_AUTHORIZED unless MQPUT1 may do so with its MQPMO_* options."""
    options = mq.MQOO_OUTPUT
    for bit, opened_for in _OF_PUT1.items():
        if put_options & bit:
            options |= opened_for
    check_open(q_mgr, connection, od, options, topic_string)


def grant_created(
    q_mgr: QueueManager, connection: Connection, od: ObjectDescriptor, options: int, handle: Handle
) -> None:
    """Give who opened a model queue everything for the queue that was made."""
    if handle.creates_dynamic:
        user = od.alternate_user_id if options & mq.MQOO_ALTERNATE_USER_AUTHORITY else connection.user
        q_mgr.catalogue.authorities.created(user, "QUEUE", handle.opened_name)


def check_deletion(q_mgr: QueueManager, connection: Connection, handle: Handle) -> None:
    """Raise Failed with MQRC_NOT_AUTHORIZED unless MQCLOSE may delete the queue: by the handle that made it, anybody may."""
    if handle.queue is not None and not handle.creates_dynamic:
        q_mgr.require(connection.user, "QUEUE", handle.queue.name, frozenset({"DLT"}))


def check_subscribe(
    q_mgr: QueueManager, connection: Connection, topic_string: str, queue: str, *, sets_identity: bool
) -> None:
    """Raise Failed with MQRC_NOT_AUTHORIZED unless a subscription may be made or altered; ``queue`` is a queue that the
    application provides, or empty."""
    _require_topic(q_mgr, connection.user, topic_string, "SUB")
    if queue:
        q_mgr.require(connection.user, "QUEUE", queue, frozenset({"PUT", *(("SETID",) if sets_identity else ())}))


def check_resume(q_mgr: QueueManager, connection: Connection, topic_string: str) -> None:
    """Raise Failed with MQRC_NOT_AUTHORIZED unless a subscription may be resumed: SUB allows that too."""
    _require_topic(q_mgr, connection.user, topic_string, "RESUME", "SUB")


def check_removal(q_mgr: QueueManager, connection: Connection, creator: str, topic_string: str) -> None:
    """Raise Failed with MQRC_NOT_AUTHORIZED unless MQCLOSE may remove a subscription."""
    if connection.user != creator:
        _require_topic(q_mgr, connection.user, topic_string, "SUB")
