"""MQOPEN of topics for publishing, and MQCLOSE of subscriptions. ``calls/opening.py`` opens all other objects.

Unverified: MQINQ accepts no selector for a topic's handle; ObjectString is ignored if an alias queue leads to a topic.
"""

from __future__ import annotations

from dataclasses import dataclass

from mqembedded import constants as mq
from mqembedded.answer import Answer, Failed
from mqembedded.calls.opening import USES, check_handles_left, check_open_options, descriptor, open_described
from mqembedded.connection import Connection
from mqembedded.messages.handle import Handle
from mqembedded.objects.others import CatalogueError
from mqembedded.pubsub.permission import check_open_topic, check_removal
from mqembedded.pubsub.subscription import Subscription, Subscriptions
from mqembedded.pubsub.topic import full_topic_string
from mqembedded.pubsub.topic_string import ADMIN_PREFIX, bytes_of, text_of
from mqembedded.queue_manager import QueueManager
from mqembedded.wire.object_descriptors import ObjectDescriptor


def open_object(
    q_mgr: QueueManager, connection: Connection, od_raw: bytes, options: int, object_string: bytes
) -> Answer:
    """Carry out MQOPEN of a topic or another object."""
    od = descriptor(od_raw)
    with q_mgr.lock:
        if not _means_topic(q_mgr, od):
            return open_described(q_mgr, connection, od, options)
        check_open_options(options)
        q_mgr.fail_if_quiescing(connection, options & mq.MQOO_FAIL_IF_QUIESCING)
        check_handles_left(q_mgr, connection)
        topic_string = topic_string_of(q_mgr, od, object_string)
        assert topic_string is not None
        check_open_topic(q_mgr, connection, od, options, topic_string)
        handle = open_topic(q_mgr, od, topic_string, options)
        answered, resolved = od.answered_topic(bytes_of(topic_string))
        connection.handles[handle.hobj] = handle
    return mq.MQCC_OK, mq.MQRC_NONE, [handle.hobj, answered, resolved, 0]


def _means_topic(q_mgr: QueueManager, od: ObjectDescriptor) -> bool:
    """Return whether an MQOD names a topic, directly or through an alias queue."""
    if od.object_type != mq.MQOT_Q:
        return bool(od.object_type == mq.MQOT_TOPIC)
    alias = q_mgr.catalogue.get(od.object_name)
    return alias is not None and alias.values.get(mq.MQIA_BASE_TYPE) == mq.MQOT_TOPIC


def topic_string_of(q_mgr: QueueManager, od: ObjectDescriptor, object_string: bytes) -> str | None:
    """Return the full topic string if an MQOD names a topic, directly or through an alias queue; None for other objects.

    Raises:
        Failed: MQRC_OBJECT_STRING_ERROR, MQRC_UNKNOWN_OBJECT_NAME, MQRC_TOPIC_STRING_ERROR.
    """
    if od.object_type == mq.MQOT_TOPIC:
        if not od.object_string.is_well_formed(object_string):
            raise Failed(mq.MQRC_OBJECT_STRING_ERROR)
        name, given = od.object_name, text_of(object_string, od.object_string.ccsid)
    else:
        alias = q_mgr.catalogue.get(od.object_name)
        if alias is None or not _means_topic(q_mgr, od):
            return None
        name, given = str(alias.values[mq.MQCA_BASE_Q_NAME]), ""
    try:
        return full_topic_string(q_mgr.catalogue.objects, name, given)
    except CatalogueError as error:
        raise Failed(error.reason) from error


def open_topic(q_mgr: QueueManager, od: ObjectDescriptor, topic_string: str, options: int) -> Handle:
    """Open a topic to publish on it, and return the new handle. The caller adds the handle to the connection."""
    if options & (USES & ~(mq.MQOO_OUTPUT | mq.MQOO_INQUIRE)):
        raise Failed(mq.MQRC_OPTION_NOT_VALID_FOR_TYPE)
    if topic_string.startswith(ADMIN_PREFIX) and options & mq.MQOO_OUTPUT:
        raise Failed(mq.MQRC_ADMIN_TOPIC_STRING_ERROR)
    return Handle(q_mgr.new_handle_number(), options, opened_name=od.object_name, topic_string=topic_string)


@dataclass(frozen=True, slots=True)
class OpenSubscription:
    """The open subscription of a handle. This class implements ``messages.handle.ClosableSubscription``."""

    q_mgr: QueueManager
    subscription: Subscription

    def close(self, user: str, option: int) -> None:
        """Close the subscription; see ``ClosableSubscription``."""
        attributes = self.subscription.attributes
        if option == mq.MQCO_REMOVE_SUB:
            check_removal(self.q_mgr, user, attributes.user, attributes.topic_string)
            self.q_mgr.parts.get(Subscriptions).remove(self.subscription)
        elif not attributes.is_(mq.MQSO_DURABLE):
            raise Failed(mq.MQRC_OPTION_NOT_VALID_FOR_TYPE)

    def released(self) -> None:
        """Record that the handle is closed; see ``ClosableSubscription``."""
        self.q_mgr.parts.get(Subscriptions).closed(self.subscription)
