"""Retained publications: for each topic, the last publication that its publisher asked to retain.

A retained publication is a message on SYSTEM.RETAINED.PUB.QUEUE, with a GroupId that is made from the topic string. So the
publication takes effect with its unit of work, and survives a restart if it is persistent. Callers hold the queue manager's lock.

Source: IBM MQ, "MQPMO options", "MQSUBRQ", reason codes 2479, 2526. Unverified: a publication that is not persistent is gone
after a restart; if two units of work retain publications on the same topic, the publication of the later MQPUT counts.
"""

from __future__ import annotations

import copy
import hashlib
import time
from collections.abc import Sequence

from mqembedded import constants as mq
from mqembedded.answer import Failed
from mqembedded.messages.queue import Message, Queue
from mqembedded.properties.control import read
from mqembedded.properties.sets import Property
from mqembedded.pubsub.publication import (
    IS_RETAINED,
    TOPIC_STRING,
    copy_for,
    destination,
    make_visible,
    message_of,
)
from mqembedded.pubsub.subscription import Subscription
from mqembedded.pubsub.topic_string import Wildcards, bytes_of, has_wildcards
from mqembedded.queue_manager import QueueManager
from mqembedded.wire import pcf_constants as pcf
from mqembedded.wire.structures import NO_GROUP, MessageDescriptor

RETAINED_QUEUE = "SYSTEM.RETAINED.PUB.QUEUE"


def to_retain(
    q_mgr: QueueManager,
    topic_string: str,
    publication: MessageDescriptor,
    body: bytes,
    properties: Sequence[Property],
) -> Message:
    """Return the message that retains a publication on SYSTEM.RETAINED.PUB.QUEUE. Raises Failed with MQRC_PUT_NOT_RETAINED."""
    queue = _retained_queue(q_mgr)
    if (
        queue is None
        or queue.values[mq.MQIA_INHIBIT_PUT] == mq.MQQA_PUT_INHIBITED
        or queue.depth >= queue.integer(mq.MQIA_MAX_Q_DEPTH)
        or len(body) > queue.integer(mq.MQIA_MAX_MSG_LENGTH)
    ):
        raise Failed(mq.MQRC_PUT_NOT_RETAINED)
    _latest(q_mgr, queue, _key_of(topic_string))
    md = copy.copy(publication)
    md.group_id = _key_of(topic_string)
    return message_of(q_mgr, queue, md, body, [*properties, Property(TOPIC_STRING, mq.MQTYPE_STRING, topic_string)])


def _key_of(topic_string: str) -> bytes:
    """Return the GroupId for a topic string."""
    return hashlib.sha256(bytes_of(topic_string)).digest()[:24]


def _retained_queue(q_mgr: QueueManager) -> Queue | None:
    queue = q_mgr.catalogue.get(RETAINED_QUEUE)
    return queue if isinstance(queue, Queue) else None


def _latest(q_mgr: QueueManager, queue: Queue, key: bytes) -> Message | None:
    """Return a topic's retained publication, or None. Delete the topic's older publications, so that they never come back."""
    expired = queue.expire(time.time())
    group = queue.groups.get(key)
    found = sorted(group.members.values(), key=lambda message: message.position) if group is not None else []
    replaced = found[:-1]
    q_mgr.write_now((), [*expired, *replaced])
    for message in replaced:
        queue.withdraw(message)
        queue.held -= 1
    return found[-1] if found else None


def retained_on(q_mgr: QueueManager, topic_string: str) -> Message | None:
    """Return a topic's retained publication, or None."""
    queue = _retained_queue(q_mgr)
    return _latest(q_mgr, queue, _key_of(topic_string)) if queue is not None else None


def _retained_for(q_mgr: QueueManager, subscription: Subscription) -> list[tuple[str, Message]]:
    """Return the topic strings that match a subscription, in ascending order, each with its retained publication."""
    attributes = subscription.attributes
    queue = _retained_queue(q_mgr)
    if queue is None:
        return []
    if attributes.wildcards is Wildcards.TOPIC and not has_wildcards(attributes.topic_string, attributes.wildcards):
        message = retained_on(q_mgr, attributes.topic_string)
        return [(attributes.topic_string, message)] if message is not None else []
    found = {}
    for key in {message.group_id for message in queue.available.values()}:
        message = _latest(q_mgr, queue, key)
        if message is not None:
            found[_topic_string_of(message)] = message
    return sorted((topic, message) for topic, message in found.items() if subscription.matches(topic))


def _topic_string_of(message: Message) -> str:
    return next(str(one.value) for one in reversed(read(message.properties)) if one.path == TOPIC_STRING)


def clear_retained(q_mgr: QueueManager, topic_string: str) -> None:
    """Delete a topic's retained publication, if there is one."""
    message = retained_on(q_mgr, topic_string)
    if message is not None:
        q_mgr.write_now((), [message])
        message.queue.withdraw(message)
        message.queue.held -= 1


def send_retained(q_mgr: QueueManager, subscription: Subscription) -> int:
    """Put the retained publications that match a subscription on its queue, outside any unit of work. Return their number.

    Raises Failed with MQRC_RETAINED_NOT_DELIVERED.
    """
    sent: list[Message] = []
    delivered: dict[Queue, int] = {}
    for topic_string, message in _retained_for(q_mgr, subscription):
        queue = destination(q_mgr, subscription, len(message.data), delivered)
        if queue is None:
            raise Failed(mq.MQRC_RETAINED_NOT_DELIVERED)
        delivered[queue] = delivered.get(queue, 0) + 1
        publication = MessageDescriptor(message.md)
        publication.group_id = NO_GROUP
        properties = [one for one in read(message.properties) if one.path != TOPIC_STRING]
        if subscription.attributes.properties != pcf.MQPSPROP_NONE:
            properties.append(Property(IS_RETAINED, mq.MQTYPE_BOOLEAN, True))
        sent.append(copy_for(q_mgr, subscription, queue, topic_string, publication, message.data, properties))
    for message in sent:
        message.queue.count_puts(1)
    make_visible(q_mgr, sent)
    return len(sent)
