"""MQPUT and MQPUT1 to topics: one copy of a publication for each subscription, and publications that are retained.

A verb with a queue's handle goes on to ``putting.py``. Copies are messages like any other, in the publisher's unit of work. A
retained publication is a message on SYSTEM.RETAINED.PUB.QUEUE whose GroupId stands for its topic string: so it takes effect with
its unit of work and survives a restart if it is persistent. Not here: who subscribes (``subscription.py``, ``subscribing.py``).

Source: IBM MQ, topics "MQPMO options" (q098730), "MsgId" (q097550), "SubCorrelId" (q100150), "PubPriority" (q100110),
"Publish/subscribe message properties" (q026640), "Publications under syncpoint", "DEFINE TOPIC" (PMSGDLV, NPMSGDLV), reason
codes 2417, 2479, 2502, 2526, 2550. Unverified: a MsgId that the publisher sets goes into every copy; a persistent publication is
not persistent on a temporary dynamic queue; which of a group of subscriptions gets it; a retained publication that is not
persistent is gone after a restart; of two units of work that retain on one topic the later MQPUT counts.
"""

from __future__ import annotations

import copy
import hashlib
import time
from collections.abc import Iterable, Sequence

from mqgroups.embedded import pcf_constants as pcf
from mqgroups.embedded import putting
from mqgroups.embedded.context import IDENTITY, ORIGIN, check_context, set_context
from mqgroups.embedded.handle import Handle
from mqgroups.embedded.logical_order import IN_GROUP, IS_SEGMENT
from mqgroups.embedded.objects import CatalogueError
from mqgroups.embedded.opening import descriptor, open_topic, topic_string_of
from mqgroups.embedded.properties import Property
from mqgroups.embedded.property_control import kept, read
from mqgroups.embedded.property_names import path_of
from mqgroups.embedded.property_transfer import properties_to_put
from mqgroups.embedded.queue import Message, Queue
from mqgroups.embedded.queue_manager import CCSID, MAX_PRIORITY, Answer, Connection, Failed, QueueManager
from mqgroups.embedded.structures import (
    NO_GROUP,
    NO_ID,
    MessageDescriptor,
    PutMessageOptions,
    StructureError,
    blank_padded,
    take_extension,
)
from mqgroups.embedded.subscription import Subscription
from mqgroups.embedded.topic import Topic, topic_at
from mqgroups.embedded.topic_string import bytes_of
from mqgroups.mqi import constants as mq

RETAINED_QUEUE = "SYSTEM.RETAINED.PUB.QUEUE"
_TOPIC_STRING, _USER_DATA, _IS_RETAINED = map(path_of, ("MQTopicString", "MQSubUserData", "MQIsRetained"))
_NAMELESS = b" " * 48


def put(q_mgr: QueueManager, connection: Connection, hobj: int, md_raw: bytes, pmo_raw: bytes, data: bytes) -> Answer:
    """MQPUT, to a queue or a topic."""
    handle = connection.handles.get(hobj)
    if handle is None or not handle.topic_string:
        return putting.put(q_mgr, connection, hobj, md_raw, pmo_raw, data)
    md, pmo = putting.put_structures(md_raw, pmo_raw)
    if not handle.options & mq.MQOO_OUTPUT:
        raise Failed(mq.MQRC_NOT_OPEN_FOR_OUTPUT)
    if pmo.options & mq.MQPMO_ALTERNATE_USER_AUTHORITY:
        raise Failed(mq.MQRC_OPTIONS_ERROR)
    comp, reason = _publish(q_mgr, connection, handle, md, pmo, data, put1=False)
    return comp, reason, [md.pack(md.version), pmo.answered(_NAMELESS, q_mgr.name_bytes())]


def put1(
    q_mgr: QueueManager,
    connection: Connection,
    od_raw: bytes,
    md_raw: bytes,
    pmo_raw: bytes,
    data: bytes,
    object_string: bytes,
) -> Answer:
    """MQPUT1, to a queue or a topic."""
    od = descriptor(od_raw)
    with q_mgr.lock:
        topic_string = topic_string_of(q_mgr, od, object_string)
    if topic_string is None:
        comp, reason, answered = putting.put1(q_mgr, connection, od_raw, md_raw, pmo_raw, data)
        return comp, reason, [*answered, b""]
    md, pmo = putting.put_structures(md_raw, pmo_raw)
    if pmo.options & mq.MQPMO_LOGICAL_ORDER:
        raise Failed(mq.MQRC_OPTIONS_ERROR)
    handle = open_topic(q_mgr, od, topic_string, mq.MQOO_OUTPUT)
    comp, reason = _publish(q_mgr, connection, handle, md, pmo, data, put1=True)
    answered_od, resolved = od.answered_topic(bytes_of(topic_string))
    answered_pmo = pmo.answered(_NAMELESS, q_mgr.name_bytes())
    return comp, reason, [answered_od, md.pack(md.version), answered_pmo, resolved]


def _publish(
    q_mgr: QueueManager,
    connection: Connection,
    handle: Handle,
    md: MessageDescriptor,
    pmo: PutMessageOptions,
    data: bytes,
    *,
    put1: bool,
) -> tuple[int, int]:
    """Publish; ``md`` becomes what MQPUT returns. Returns completion and reason code."""
    putting.check_put_options(pmo)
    in_unit_of_work = q_mgr.platform.puts_in_syncpoint(pmo.options)
    with q_mgr.lock:
        check_context(connection, handle, pmo, put1=put1)
        q_mgr.fail_if_quiescing(pmo.options & mq.MQPMO_FAIL_IF_QUIESCING)
        topic = topic_at(q_mgr.catalogue.objects, handle.topic_string)
        if topic.values[mq.MQIA_INHIBIT_PUB] == pcf.MQTA_PUB_INHIBITED:
            raise Failed(mq.MQRC_PUT_INHIBITED)
        if len(data) > connection.max_msg_length:
            raise Failed(mq.MQRC_DATA_LENGTH_ERROR)
        reason, publication, body = _publication(q_mgr, connection, topic, md, pmo, data)
        properties = read(properties_to_put(q_mgr, connection, publication, pmo, body))
        retained = []
        if pmo.options & mq.MQPMO_RETAIN:
            retained = [_to_retain(q_mgr, topic.string, publication, body, properties)]
        chosen = _subscribers(q_mgr, connection, topic, pmo)
        if not chosen and pmo.options & mq.MQPMO_WARN_IF_NO_SUBS_MATCHED:
            reason = mq.MQRC_NO_SUBS_MATCHED
        copies = _copies(q_mgr, topic, chosen, publication, body, properties)
        messages = retained + [message for _, message in copies]
        unit = q_mgr.unit_of_work(connection, len(messages)) if in_unit_of_work and messages else None
        for subscription, _ in copies:
            subscription.published += 1
        for message in messages:
            message.queue.count_puts(1)
            if unit is not None:
                message.queue.uncommitted += 1
                unit.add_put([message])
    if unit is None:
        _make_visible(q_mgr, messages)
    return mq.MQCC_WARNING if reason else mq.MQCC_OK, reason


def _publication(
    q_mgr: QueueManager,
    connection: Connection,
    topic: Topic,
    md: MessageDescriptor,
    pmo: PutMessageOptions,
    data: bytes,
) -> tuple[int, MessageDescriptor, bytes]:
    """Return a warning or 0, the descriptor and the data of the publication that all copies are made of."""
    publication, body = copy.copy(md), data
    if md.version == 1 and blank_padded(md.format, 8) == mq.MQFMT_MD_EXTENSION:
        try:
            body = take_extension(publication, data)
        except StructureError as error:
            raise Failed(mq.MQRC_MDE_ERROR) from error
    persistence, priority = topic.values[mq.MQIA_TOPIC_DEF_PERSISTENCE], topic.values[mq.MQIA_DEF_PRIORITY]
    warning = putting.resolve_descriptor(publication, persistence, priority)
    if publication.msg_flags & (IN_GROUP | IS_SEGMENT):
        raise Failed(mq.MQRC_MSG_NOT_ALLOWED_IN_GROUP)
    set_context(q_mgr, connection, publication, pmo)
    if pmo.options & mq.MQPMO_NEW_MSG_ID:
        md.msg_id = publication.msg_id = q_mgr.new_identifier()
    if pmo.options & mq.MQPMO_NEW_CORREL_ID:
        md.correl_id = publication.correl_id = q_mgr.new_identifier()
    for field in ("persistence", "priority", *IDENTITY, *ORIGIN):
        setattr(md, field, getattr(publication, field))
    if pmo.options & mq.MQPMO_SUPPRESS_REPLYTO:
        publication.reply_to_q = publication.reply_to_q_mgr = _NAMELESS
    publication.backout_count = 0
    publication.group_id, publication.msg_seq_number, publication.offset = NO_GROUP, 1, 0
    publication.msg_flags, publication.original_length = mq.MQMF_NONE, mq.MQOL_UNDEFINED
    if publication.coded_char_set_id in (mq.MQCCSI_Q_MGR, mq.MQCCSI_INHERIT, mq.MQCCSI_APPL):
        publication.coded_char_set_id = CCSID
    return warning, publication, body


def _make_visible(q_mgr: QueueManager, messages: Sequence[Message]) -> None:
    try:
        q_mgr.write_now(messages, ())
    except Failed:
        with q_mgr.lock:
            for message in messages:
                message.queue.depth -= 1
        raise
    with q_mgr.lock:
        for message in messages:
            message.queue.make_available((message,))
            q_mgr.catalogue.discard(message.queue)


# --- copies


def _subscribers(
    q_mgr: QueueManager, connection: Connection, topic: Topic, pmo: PutMessageOptions
) -> list[Subscription]:
    """Return the subscriptions that a publication is for."""
    found = [
        one
        for one in q_mgr.catalogue.subscriptions.matching(topic.string)
        if not one.attributes.is_(mq.MQSO_PUBLICATIONS_ON_REQUEST) and one.attributes.level <= pmo.pub_level
    ]
    if pmo.options & mq.MQPMO_NOT_OWN_SUBS:
        found = [one for one in found if one.connection_id != connection.connection_id]
    # Those of the highest level intercept what the others would get (topic "SubLevel").
    highest = max((one.attributes.level for one in found), default=0)
    found = [one for one in found if one.attributes.level == highest]
    grouped: dict[tuple[str, bytes], Subscription] = {}
    for one in sorted(found, key=lambda one: one.significance):
        if one.attributes.is_(mq.MQSO_GROUP_SUB):
            grouped[(one.attributes.queue, one.attributes.correl_id)] = one
    return [one for one in found if not one.attributes.is_(mq.MQSO_GROUP_SUB) or one in grouped.values()]


def _copies(
    q_mgr: QueueManager,
    topic: Topic,
    chosen: Iterable[Subscription],
    publication: MessageDescriptor,
    body: bytes,
    properties: Sequence[Property],
) -> list[tuple[Subscription, Message]]:
    """Make the copies that can be delivered; raises Failed with MQRC_PUBLICATION_FAILURE if one is missing that the topic's
    PMSGDLV or NPMSGDLV asks for."""
    persistent = publication.persistence == mq.MQPER_PERSISTENT
    needed = topic.integer(mq.MQIA_PM_DELIVERY if persistent else mq.MQIA_NPM_DELIVERY)
    copies: list[tuple[Subscription, Message]] = []
    delivered: dict[Queue, int] = {}
    for subscription in chosen:
        queue = _destination(q_mgr, subscription, len(body), delivered)
        if queue is not None:
            delivered[queue] = delivered.get(queue, 0) + 1
            message = _copy(q_mgr, subscription, queue, topic.string, publication, body, properties)
            copies.append((subscription, message))
        elif needed == pcf.MQDLV_ALL or (needed == pcf.MQDLV_ALL_DUR and subscription.attributes.is_(mq.MQSO_DURABLE)):
            raise Failed(mq.MQRC_PUBLICATION_FAILURE)
    return copies


def _destination(
    q_mgr: QueueManager, subscription: Subscription, length: int, delivered: dict[Queue, int]
) -> Queue | None:
    """Return the queue of a subscription, None if it cannot take a message of this length."""
    try:
        queue, named = q_mgr.catalogue.resolve(subscription.attributes.queue)
    except CatalogueError:
        return None
    if mq.MQQA_PUT_INHIBITED in (queue.values[mq.MQIA_INHIBIT_PUT], named.values[mq.MQIA_INHIBIT_PUT]):
        return None
    is_full = queue.depth + delivered.get(queue, 0) >= queue.integer(mq.MQIA_MAX_Q_DEPTH)
    return None if is_full or length > queue.integer(mq.MQIA_MAX_MSG_LENGTH) else queue


def _copy(
    q_mgr: QueueManager,
    subscription: Subscription,
    queue: Queue,
    topic_string: str,
    publication: MessageDescriptor,
    body: bytes,
    properties: Sequence[Property],
) -> Message:
    """Return one subscription's copy of a publication."""
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
    # On behalf of whom the message is: the subscriber; which application put it: the publisher.
    md.user_identifier = attributes.user.encode("latin-1", "replace")[:12].ljust(12)
    md.accounting_token = attributes.accounting_token
    md.appl_identity_data = attributes.appl_identity_data.encode("latin-1", "replace")[:32].ljust(32)
    if queue.definition_type == mq.MQQDT_TEMPORARY_DYNAMIC:
        md.persistence = mq.MQPER_NOT_PERSISTENT
    if attributes.properties != pcf.MQPSPROP_NONE:
        properties = [*properties, Property(_TOPIC_STRING, mq.MQTYPE_STRING, topic_string)]
        if attributes.user_data:
            properties.append(Property(_USER_DATA, mq.MQTYPE_STRING, attributes.user_data))
    return _message(q_mgr, queue, md, body, properties)


def _message(
    q_mgr: QueueManager, queue: Queue, md: MessageDescriptor, body: bytes, properties: Sequence[Property]
) -> Message:
    message = Message(
        queue,
        q_mgr.new_position(),
        queue.delivery_priority(min(md.priority, MAX_PRIORITY)),
        md.pack(2),
        body,
        group_fields=(md.group_id, 1, 0, mq.MQMF_NONE),
        persistent=md.persistence == mq.MQPER_PERSISTENT,
        expires_at_s=None if md.expiry == mq.MQEI_UNLIMITED else time.time() + md.expiry / 10,
    )
    message.properties = kept(properties)
    return message


# --- retained publications


def _to_retain(
    q_mgr: QueueManager,
    topic_string: str,
    publication: MessageDescriptor,
    body: bytes,
    properties: Sequence[Property],
) -> Message:
    """Return the message that keeps a publication; raises Failed with MQRC_PUT_NOT_RETAINED."""
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
    return _message(q_mgr, queue, md, body, [*properties, Property(_TOPIC_STRING, mq.MQTYPE_STRING, topic_string)])


def _key_of(topic_string: str) -> bytes:
    """Return what stands for a topic string in a GroupId."""
    return hashlib.sha256(bytes_of(topic_string)).digest()[:24]


def _retained_queue(q_mgr: QueueManager) -> Queue | None:
    queue = q_mgr.catalogue.get(RETAINED_QUEUE)
    return queue if isinstance(queue, Queue) else None


def _latest(q_mgr: QueueManager, queue: Queue, key: bytes) -> Message | None:
    """Return the retained publication of a topic; those it replaced are deleted, under the lock: they must not come back."""
    expired = queue.expire(time.time())
    group = queue.group(key)
    found = sorted(group.members.values(), key=lambda message: message.position) if group is not None else []
    replaced = found[:-1]
    q_mgr.write_now((), [*expired, *replaced])
    for message in replaced:
        queue.withdraw(message)
        queue.depth -= 1
    return found[-1] if found else None


def retained_topics(q_mgr: QueueManager) -> dict[str, Message]:
    """Return the retained publications by topic string."""
    queue = _retained_queue(q_mgr)
    if queue is None:
        return {}
    found = {}
    for key in {message.group_id for message in queue.available.values()}:
        message = _latest(q_mgr, queue, key)
        if message is not None:
            found[_topic_string_of(message)] = message
    return found


def _topic_string_of(message: Message) -> str:
    return next(str(one.value) for one in reversed(read(message.properties)) if one.path == _TOPIC_STRING)


def clear_retained(q_mgr: QueueManager, topic_string: str) -> None:
    """Delete the retained publication of a topic, if there is one."""
    message = retained_topics(q_mgr).get(topic_string)
    if message is not None:
        q_mgr.write_now((), [message])
        message.queue.withdraw(message)
        message.queue.depth -= 1


def send_retained(q_mgr: QueueManager, subscription: Subscription) -> int:
    """Put the retained publications that match on a subscription's queue, outside any unit of work; returns how many.

    Raises:
        Failed: MQRC_RETAINED_NOT_DELIVERED.
    """
    sent: list[Message] = []
    delivered: dict[Queue, int] = {}
    for topic_string, message in sorted(retained_topics(q_mgr).items()):
        if not subscription.matches(topic_string):
            continue
        queue = _destination(q_mgr, subscription, len(message.data), delivered)
        if queue is None:
            raise Failed(mq.MQRC_RETAINED_NOT_DELIVERED)
        delivered[queue] = delivered.get(queue, 0) + 1
        publication = MessageDescriptor(message.md)
        publication.group_id = NO_GROUP
        properties = [one for one in read(message.properties) if one.path != _TOPIC_STRING]
        if subscription.attributes.properties != pcf.MQPSPROP_NONE:
            properties.append(Property(_IS_RETAINED, mq.MQTYPE_BOOLEAN, True))
        sent.append(_copy(q_mgr, subscription, queue, topic_string, publication, message.data, properties))
    for message in sent:
        message.queue.count_puts(1)
    _make_visible(q_mgr, sent)
    return len(sent)
