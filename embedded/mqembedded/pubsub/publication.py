"""Copies of publications for subscriptions: a copy's queue, and the fields in which a copy differs from the publication.

``publishing.py`` decides which subscriptions get a copy.

Source: IBM MQ, "SubCorrelId", "PubPriority", "MsgId", "Publish/subscribe message properties". Unverified: a MsgId from the
publisher goes into every copy; the copy of a persistent publication on a temporary dynamic queue is not persistent.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence

from mqembedded import constants as mq
from mqembedded.answer import Failed
from mqembedded.messages.queue import Message, Queue
from mqembedded.objects.others import CatalogueError
from mqembedded.properties.control import kept
from mqembedded.properties.names import path_of
from mqembedded.properties.sets import Property
from mqembedded.pubsub.subscription import Subscription
from mqembedded.queue_manager import MAX_PRIORITY, QueueManager
from mqembedded.wire import pcf_constants as pcf
from mqembedded.wire.structures import NO_ID, MessageDescriptor

TOPIC_STRING, USER_DATA, IS_RETAINED = map(path_of, ("MQTopicString", "MQSubUserData", "MQIsRetained"))


def destination(
    q_mgr: QueueManager, subscription: Subscription, length: int, delivered: dict[Queue, int]
) -> Queue | None:
    """Return a subscription's queue, or None if the queue cannot take ``length`` bytes. ``delivered`` counts copies by queue."""
    try:
        queue, named = q_mgr.catalogue.resolve(subscription.attributes.queue)
    except CatalogueError:
        return None
    if mq.MQQA_PUT_INHIBITED in (queue.values[mq.MQIA_INHIBIT_PUT], named.values[mq.MQIA_INHIBIT_PUT]):
        return None
    is_full = queue.depth + delivered.get(queue, 0) >= queue.integer(mq.MQIA_MAX_Q_DEPTH)
    return None if is_full or length > queue.integer(mq.MQIA_MAX_MSG_LENGTH) else queue


def copy_for(
    q_mgr: QueueManager,
    subscription: Subscription,
    queue: Queue,
    topic_string: str,
    publication: MessageDescriptor,
    body: bytes,
    properties: Sequence[Property],
) -> Message:
    """Return a subscription's copy of a publication."""
    attributes = subscription.attributes
    md = copy.copy(publication)
    if md.msg_id == NO_ID:
        md.msg_id = q_mgr.new_identifier()
    if attributes.correl_id != NO_ID:
        md.correl_id = attributes.correl_id
    if attributes.pub_priority == mq.MQPRI_PRIORITY_AS_Q_DEF:
        md.priority = queue.integer(mq.MQIA_DEF_PRIORITY)
    elif attributes.pub_priority != mq.MQPRI_PRIORITY_AS_PUBLISHED:
        md.priority = attributes.pub_priority
    # The identity context is the subscriber's, the origin context is the publisher's.
    md.user_identifier = attributes.user.encode("latin-1", "replace")[:12].ljust(12)
    md.accounting_token = attributes.accounting_token
    md.appl_identity_data = attributes.appl_identity_data.encode("latin-1", "replace")[:32].ljust(32)
    if queue.definition_type == mq.MQQDT_TEMPORARY_DYNAMIC:
        md.persistence = mq.MQPER_NOT_PERSISTENT
    if attributes.properties != pcf.MQPSPROP_NONE:
        properties = [*properties, Property(TOPIC_STRING, mq.MQTYPE_STRING, topic_string)]
        if attributes.user_data:
            properties.append(Property(USER_DATA, mq.MQTYPE_STRING, attributes.user_data))
    return message_of(q_mgr, queue, md, body, properties)


def message_of(
    q_mgr: QueueManager, queue: Queue, md: MessageDescriptor, body: bytes, properties: Sequence[Property]
) -> Message:
    """Return a new message for a queue. The message is not on the queue yet."""
    message = Message(
        queue,
        q_mgr.new_position(),
        queue.delivery_priority(min(md.priority, MAX_PRIORITY)),
        md.pack(2),
        body,
        group_fields=(md.group_id, 1, 0, mq.MQMF_NONE),
        persistent=md.persistence == mq.MQPER_PERSISTENT,
        expires_at_s=queue.expires_at_s(md.expiry),
    )
    message.properties = kept(properties)
    return message


def make_visible(q_mgr: QueueManager, messages: Sequence[Message]) -> None:
    """End a put outside syncpoint: write persistent messages to the disk, then make all messages available."""
    try:
        q_mgr.write_now(messages, ())
    except Failed:
        with q_mgr.lock:
            for message in messages:
                message.queue.held -= 1
        raise
    with q_mgr.lock:
        for message in messages:
            message.queue.make_available((message,))
            q_mgr.catalogue.discard(message.queue)
