"""MQPUT and MQPUT1 to topics, which make a copy of the publication for each subscription.

``calls/putting.py`` carries out puts to queues. Copies are ordinary messages in the publisher's unit of work. The fields of a
copy are in ``publication.py``, retained publications in ``retained.py``, subscriptions in ``subscription.py``.

Source: IBM MQ, "MQPMO options", "MsgId", "SubLevel", "Publications under syncpoint", "DEFINE TOPIC" (PMSGDLV, NPMSGDLV), reason
codes 2417, 2502, 2550. Unverified: which subscription of a subscription group gets the publication.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence

from mqembedded import constants as mq
from mqembedded.answer import Answer, Failed
from mqembedded.calls import putting
from mqembedded.calls.context import IDENTITY, ORIGIN, check_context, set_context
from mqembedded.calls.md_fields import resolve_descriptor
from mqembedded.calls.opening import descriptor
from mqembedded.calls.permission import options_of_put1
from mqembedded.calls.property_transfer import properties_ahead
from mqembedded.calls.put_options import check_put_options, put_structures
from mqembedded.calls.put_response import failed_untold
from mqembedded.connection import Connection
from mqembedded.messages.handle import Handle
from mqembedded.messages.logical_order import IN_GROUP, IS_SEGMENT
from mqembedded.messages.queue import Message, Queue
from mqembedded.properties.control import read
from mqembedded.properties.sets import Property
from mqembedded.pubsub.opening import open_topic, topic_string_of
from mqembedded.pubsub.permission import check_open_topic
from mqembedded.pubsub.publication import copy_for, destination, make_visible
from mqembedded.pubsub.retained import to_retain
from mqembedded.pubsub.subscription import Subscription, Subscriptions
from mqembedded.pubsub.topic import Topic, topic_at
from mqembedded.pubsub.topic_string import bytes_of
from mqembedded.queue_manager import CCSID, QueueManager
from mqembedded.wire import pcf_constants as pcf
from mqembedded.wire.structures import (
    NO_GROUP,
    MessageDescriptor,
    PutMessageOptions,
    StructureError,
    blank_padded,
    take_extension,
)

_NAMELESS = b" " * 48


def put(q_mgr: QueueManager, connection: Connection, hobj: int, md_raw: bytes, pmo_raw: bytes, data: bytes) -> Answer:
    """Carry out MQPUT to a queue or a topic."""
    handle = connection.handles.get(hobj)
    if handle is None or not handle.topic_string:
        return putting.put(q_mgr, connection, hobj, md_raw, pmo_raw, data)
    md, pmo = put_structures(md_raw, pmo_raw, q_mgr.platform)
    if not handle.options & mq.MQOO_OUTPUT:
        raise Failed(mq.MQRC_NOT_OPEN_FOR_OUTPUT)
    if pmo.options & mq.MQPMO_ALTERNATE_USER_AUTHORITY:
        raise Failed(mq.MQRC_OPTIONS_ERROR)
    comp, reason = _publish(q_mgr, connection, handle, md, pmo, data, put1=False)
    return comp, reason, [md.pack(md.version), pmo.answered(_NAMELESS, q_mgr.name_bytes())]


def put_untold(
    q_mgr: QueueManager, connection: Connection, hobj: int, md_raw: bytes, pmo_raw: bytes, data: bytes
) -> Answer:
    """Carry out ASYNC_PUT, an MQPUT whose client does not wait for the answer. MQSTAT returns the outcome."""
    try:
        put(q_mgr, connection, hobj, md_raw, pmo_raw, data)
    except Failed as failed:
        return failed_untold(q_mgr, connection, hobj, md_raw, pmo_raw, failed.reason)
    return mq.MQCC_OK, mq.MQRC_NONE, []


def put1(
    q_mgr: QueueManager,
    connection: Connection,
    od_raw: bytes,
    md_raw: bytes,
    pmo_raw: bytes,
    data: bytes,
    object_string: bytes,
) -> Answer:
    """Carry out MQPUT1 to a queue or a topic."""
    od = descriptor(od_raw)
    with q_mgr.lock:
        topic_string = topic_string_of(q_mgr, od, object_string)
    if topic_string is None:
        comp, reason, answered = putting.put1(q_mgr, connection, od_raw, md_raw, pmo_raw, data)
        return comp, reason, [*answered, b""]
    md, pmo = put_structures(md_raw, pmo_raw, q_mgr.platform)
    if pmo.options & mq.MQPMO_LOGICAL_ORDER:
        raise Failed(mq.MQRC_OPTIONS_ERROR)
    with q_mgr.lock:
        check_open_topic(q_mgr, connection, od, options_of_put1(pmo.options), topic_string)
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
    """Publish a message, and return completion code and reason code. ``md`` becomes the descriptor that MQPUT returns."""
    check_put_options(pmo)
    in_unit_of_work = q_mgr.platform.puts_in_syncpoint(pmo.options)
    read_properties = properties_ahead(q_mgr, connection, md, pmo, data)
    with q_mgr.lock:
        check_context(connection, handle, pmo, put1=put1)
        q_mgr.fail_if_quiescing(connection, pmo.options & mq.MQPMO_FAIL_IF_QUIESCING)
        topic = topic_at(q_mgr.catalogue.objects, handle.topic_string)
        if topic.values[mq.MQIA_INHIBIT_PUB] == pcf.MQTA_PUB_INHIBITED:
            raise Failed(mq.MQRC_PUT_INHIBITED)
        if len(data) > connection.max_msg_length:
            raise Failed(mq.MQRC_DATA_LENGTH_ERROR)
        reason, publication, body = _publication(q_mgr, connection, topic, md, pmo, data)
        properties = read(read_properties())
        retained = []
        if pmo.options & mq.MQPMO_RETAIN:
            retained = [to_retain(q_mgr, topic.string, publication, body, properties)]
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
                message.queue.uncommitted_puts += 1
                unit.add_put([message])
    if unit is None:
        make_visible(q_mgr, messages)
    return mq.MQCC_WARNING if reason else mq.MQCC_OK, reason


def _publication(
    q_mgr: QueueManager,
    connection: Connection,
    topic: Topic,
    md: MessageDescriptor,
    pmo: PutMessageOptions,
    data: bytes,
) -> tuple[int, MessageDescriptor, bytes]:
    """Return a warning's reason code or 0, and the descriptor and data from which the copies of the publication are made."""
    publication, body = copy.copy(md), data
    if md.version == 1 and blank_padded(md.format, 8) == mq.MQFMT_MD_EXTENSION:
        try:
            body = take_extension(publication, data)
        except StructureError as error:
            raise Failed(mq.MQRC_MDE_ERROR) from error
    persistence, priority = topic.values[mq.MQIA_TOPIC_DEF_PERSISTENCE], topic.values[mq.MQIA_DEF_PRIORITY]
    warning = resolve_descriptor(publication, persistence, priority)
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


# --- copies


def _subscribers(
    q_mgr: QueueManager, connection: Connection, topic: Topic, pmo: PutMessageOptions
) -> list[Subscription]:
    """Return the subscriptions that get a publication."""
    found = [
        one
        for one in q_mgr.parts.get(Subscriptions).matching(topic.string)
        if not one.attributes.is_(mq.MQSO_PUBLICATIONS_ON_REQUEST) and one.attributes.level <= pmo.pub_level
    ]
    if pmo.options & mq.MQPMO_NOT_OWN_SUBS:
        found = [one for one in found if one.connection_id != connection.connection_id]
    # The subscriptions of the highest level intercept the publication. Other subscriptions do not get it (IBM MQ, "SubLevel").
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
    """Return the copies that can be delivered, each with its subscription.

    Raises:
        Failed: MQRC_PUBLICATION_FAILURE if the topic's PMSGDLV or NPMSGDLV requires a copy that cannot be delivered.
    """
    persistent = publication.persistence == mq.MQPER_PERSISTENT
    needed = topic.integer(mq.MQIA_PM_DELIVERY if persistent else mq.MQIA_NPM_DELIVERY)
    copies: list[tuple[Subscription, Message]] = []
    delivered: dict[Queue, int] = {}
    for subscription in chosen:
        queue = destination(q_mgr, subscription, len(body), delivered)
        if queue is not None:
            delivered[queue] = delivered.get(queue, 0) + 1
            message = copy_for(q_mgr, subscription, queue, topic.string, publication, body, properties)
            copies.append((subscription, message))
        elif needed == pcf.MQDLV_ALL or (needed == pcf.MQDLV_ALL_DUR and subscription.attributes.is_(mq.MQSO_DURABLE)):
            raise Failed(mq.MQRC_PUBLICATION_FAILURE)
    return copies
