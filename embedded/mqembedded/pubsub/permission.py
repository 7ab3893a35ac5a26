"""Authority checks for MQOPEN and MQPUT1 of topics, MQSUB, and MQCLOSE of subscriptions.

Source: IBM MQ, "Authorizations for MQI calls", "Not Authorized (type 3)". Unverified: that authority for a topic can come
from any topic object above it; which authorities MQSUB needs for an application's own queue and for MQSO_SET_IDENTITY_CONTEXT;
that the creator of a subscription is allowed to remove it.
"""

from __future__ import annotations

from mqembedded import constants as mq
from mqembedded.calls.permission import asking_user, check_context_authority, check_open, needed_to_open
from mqembedded.connection import Connection
from mqembedded.pubsub.topic import objects_at_and_above
from mqembedded.queue_manager import QueueManager
from mqembedded.wire.object_descriptors import ObjectDescriptor

_CONTEXT = {"PASSID", "PASSALL", "SETID", "SETALL"}


def check_open_topic(
    q_mgr: QueueManager, connection: Connection, od: ObjectDescriptor, options: int, topic_string: str
) -> None:
    """Raise Failed with MQRC_NOT_AUTHORIZED if the user is not allowed to open the topic with these options.

    If the topic is opened through an alias queue, the user needs authority for the alias instead.
    """
    if od.object_type != mq.MQOT_TOPIC:
        check_open(q_mgr, connection, od, options)
        return
    needed = needed_to_open(options)
    user = asking_user(q_mgr, connection, od, options)
    if options & mq.MQOO_OUTPUT:
        _require_topic(q_mgr, user, topic_string, "PUB")
    for authority in needed & _CONTEXT:
        _require_topic(q_mgr, user, topic_string, authority)
    check_context_authority(q_mgr, connection, needed)


def _require_topic(q_mgr: QueueManager, user: str, topic_string: str, *any_of: str) -> None:
    """Raise Failed if no topic object at or above a topic string gives the user one of these authorities."""
    above = list(objects_at_and_above(q_mgr.catalogue.objects, topic_string))
    if not any(q_mgr.catalogue.authorities.of(user, "TOPIC", name).intersection(any_of) for name in above):
        q_mgr.require(user, "TOPIC", above[0], frozenset(any_of[:1]))


def check_subscribe(
    q_mgr: QueueManager, connection: Connection, topic_string: str, queue: str, *, sets_identity: bool
) -> None:
    """Raise Failed with MQRC_NOT_AUTHORIZED if the user is not allowed to make or alter a subscription.

    ``queue`` is the name of the queue that the application provides, or an empty string.
    """
    _require_topic(q_mgr, connection.user, topic_string, "SUB")
    if queue:
        q_mgr.require(connection.user, "QUEUE", queue, frozenset({"PUT", *(("SETID",) if sets_identity else ())}))


def check_resume(q_mgr: QueueManager, connection: Connection, topic_string: str) -> None:
    """Raise Failed with MQRC_NOT_AUTHORIZED if the user has neither RESUME nor SUB for the subscription's topic."""
    _require_topic(q_mgr, connection.user, topic_string, "RESUME", "SUB")


def check_removal(q_mgr: QueueManager, user: str, creator: str, topic_string: str) -> None:
    """Raise Failed with MQRC_NOT_AUTHORIZED if the user is not allowed to remove a subscription with MQCLOSE."""
    if user != creator:
        _require_topic(q_mgr, user, topic_string, "SUB")
