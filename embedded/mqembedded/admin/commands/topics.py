"""Commands for topic objects, and for the status of topics.

Source: IBM MQ, "Change, Copy, and Create Topic", "Delete Topic", "Inquire Topic", "Inquire Topic Names", "Inquire Topic
Status", "Clear Topic String". A status inquiry is for one topic string. Unverified: it fails with 3308 if the string is unknown.
"""

from __future__ import annotations

from collections.abc import Iterator

from mqembedded import constants as mq
from mqembedded.admin import pcf
from mqembedded.admin.commands.request import (
    Request,
    Row,
    Shape,
    check_generic,
    integer,
    integers,
    matches,
    row,
    settable,
    text,
)
from mqembedded.admin.pcf import PCFError
from mqembedded.objects.kinds import TOPIC_ATTRIBUTES, Kind
from mqembedded.objects.others import ObjectValues
from mqembedded.pubsub.retained import clear_retained, retained_on
from mqembedded.pubsub.subscription import Subscriptions
from mqembedded.pubsub.topic import topic_at
from mqembedded.pubsub.topic_string import bytes_of, text_of
from mqembedded.queue_manager import QueueManager
from mqembedded.wire import pcf_constants as cf

_OPTIONAL = settable(TOPIC_ATTRIBUTES)
_TYPE = integer(cf.MQIA_TOPIC_TYPE)
# Topic strings are not padded.
_LENGTHS = {a.selector: a.length for a in TOPIC_ATTRIBUTES if a.length and a.selector != mq.MQCA_TOPIC_STRING}
_SELECTORS = frozenset({mq.MQCA_TOPIC_NAME, cf.MQIA_TOPIC_TYPE} | {a.selector for a in TOPIC_ATTRIBUTES})

CREATE = Shape(text(mq.MQCA_TOPIC_NAME), (*_TYPE, *integer(cf.MQIACF_REPLACE), *_OPTIONAL))
CHANGE = Shape(text(mq.MQCA_TOPIC_NAME), (*_TYPE, *_OPTIONAL))
COPY = Shape(
    text(cf.MQCACF_FROM_TOPIC_NAME, cf.MQCACF_TO_TOPIC_NAME), (*_TYPE, *integer(cf.MQIACF_REPLACE), *_OPTIONAL)
)
DELETE = Shape(text(mq.MQCA_TOPIC_NAME), integer(cf.MQIACF_REMOVE_AUTHREC))
INQUIRE = Shape(text(mq.MQCA_TOPIC_NAME), (*_TYPE, *integers(cf.MQIACF_TOPIC_ATTRS)), filters=True)
NAMES = Shape(text(mq.MQCA_TOPIC_NAME))
STATUS = Shape(
    text(mq.MQCA_TOPIC_STRING), (*integer(cf.MQIACF_TOPIC_STATUS_TYPE), *integers(cf.MQIACF_TOPIC_STATUS_ATTRS))
)
CLEAR = Shape(text(mq.MQCA_TOPIC_STRING) + integer(cf.MQIACF_CLEAR_TYPE), integer(cf.MQIACF_CLEAR_SCOPE))


def create(q_mgr: QueueManager, request: Request) -> list[Row]:
    """Carry out MQCMD_CREATE_TOPIC."""
    _type(request)
    if mq.MQCA_TOPIC_STRING not in request.parameters:
        raise PCFError(cf.MQRCCF_PARM_MISSING, mq.MQCA_TOPIC_STRING)
    name = request.text(mq.MQCA_TOPIC_NAME, mq.MQ_TOPIC_NAME_LENGTH)
    q_mgr.catalogue.objects.define(Kind.TOPIC, name, _values(request), replace=request.replaces())
    return []


def change(q_mgr: QueueManager, request: Request) -> list[Row]:
    """Carry out MQCMD_CHANGE_TOPIC."""
    _type(request)
    name = request.text(mq.MQCA_TOPIC_NAME, mq.MQ_TOPIC_NAME_LENGTH)
    q_mgr.catalogue.objects.alter(Kind.TOPIC, name, _values(request))
    return []


def copy(q_mgr: QueueManager, request: Request) -> list[Row]:
    """Carry out MQCMD_COPY_TOPIC."""
    _type(request)
    like = request.text(cf.MQCACF_FROM_TOPIC_NAME, mq.MQ_TOPIC_NAME_LENGTH)
    name = request.text(cf.MQCACF_TO_TOPIC_NAME, mq.MQ_TOPIC_NAME_LENGTH)
    q_mgr.catalogue.objects.define(Kind.TOPIC, name, _values(request), like=like, replace=request.replaces())
    return []


def delete(q_mgr: QueueManager, request: Request) -> list[Row]:
    """Carry out MQCMD_DELETE_TOPIC."""
    q_mgr.catalogue.objects.delete(Kind.TOPIC, request.text(mq.MQCA_TOPIC_NAME, mq.MQ_TOPIC_NAME_LENGTH))
    return []


def inquire(q_mgr: QueueManager, request: Request) -> list[Row]:
    """Carry out MQCMD_INQUIRE_TOPIC."""
    _type(request)
    wanted = request.selectors(cf.MQIACF_TOPIC_ATTRS)
    if wanted is not None and request.filter is not None:
        wanted |= {request.filter.identifier}
    rows = []
    for name, found in _chosen(q_mgr, request):
        shown = bytes_of(str(found[mq.MQCA_TOPIC_STRING])).decode("latin-1")
        values = {**found, mq.MQCA_TOPIC_STRING: shown, cf.MQIA_TOPIC_TYPE: cf.MQTOPT_LOCAL}
        if request.passes({**values, mq.MQCA_TOPIC_NAME: name}, _SELECTORS):
            always = [pcf.string(mq.MQCA_TOPIC_NAME, name, mq.MQ_TOPIC_NAME_LENGTH)]
            rows.append(row(always, values, wanted, _LENGTHS))
    if not rows:
        raise PCFError(mq.MQRC_UNKNOWN_OBJECT_NAME)
    return rows


def names(q_mgr: QueueManager, request: Request) -> list[Row]:
    """Carry out MQCMD_INQUIRE_TOPIC_NAMES."""
    found = [name for name, _ in _chosen(q_mgr, request)]
    return [[pcf.strings(cf.MQCACF_TOPIC_NAMES, found, mq.MQ_TOPIC_NAME_LENGTH)]]


def status(q_mgr: QueueManager, request: Request) -> list[Row]:
    """Carry out MQCMD_INQUIRE_TOPIC_STATUS: return a topic's attributes, its subscribers, or the handles that publish to it."""
    kinds = (cf.MQIACF_TOPIC_STATUS, cf.MQIACF_TOPIC_SUB, cf.MQIACF_TOPIC_PUB)
    kind = request.integer(cf.MQIACF_TOPIC_STATUS_TYPE, kinds, cf.MQIACF_TOPIC_STATUS)
    wanted = request.selectors(cf.MQIACF_TOPIC_STATUS_ATTRS)
    string = _topic_string(request)
    subscribers = [one for one in q_mgr.parts.get(Subscriptions).all() if one.attributes.topic_string == string]
    publishers = [
        (connection, handle)
        for connection in q_mgr.connections.values()
        for handle in connection.handles.values()
        if handle.topic_string == string
    ]
    retained = retained_on(q_mgr, string) is not None
    topic = topic_at(q_mgr.catalogue.objects, string)
    has_object = q_mgr.catalogue.objects.get(Kind.TOPIC, topic.name)[mq.MQCA_TOPIC_STRING] == string
    if not (subscribers or publishers or retained or has_object):
        raise PCFError(cf.MQRCCF_TOPIC_STRING_NOT_FOUND)
    always = [
        pcf.string(mq.MQCA_TOPIC_STRING, bytes_of(string).decode("latin-1")),
        pcf.integer(cf.MQIACF_TOPIC_STATUS_TYPE, kind),
    ]
    if kind == cf.MQIACF_TOPIC_SUB:
        found: list[dict[int, object]] = [
            {
                cf.MQBACF_SUB_ID: one.attributes.sub_id,
                cf.MQCACF_SUB_USER_ID: one.attributes.user,
                cf.MQIACF_DURABLE_SUBSCRIPTION: cf.MQSUB_DURABLE_YES
                if one.attributes.is_(mq.MQSO_DURABLE)
                else cf.MQSUB_DURABLE_NO,
                cf.MQIACF_SUB_TYPE: one.attributes.type,
                cf.MQIACF_MESSAGE_COUNT: one.published,
            }
            for one in subscribers
        ]
    elif kind == cf.MQIACF_TOPIC_PUB:
        found = [{cf.MQBACF_CONNECTION_ID: connection.connection_id} for connection, _ in publishers]
    else:
        found = [
            {
                **topic.values,
                mq.MQCA_TOPIC_NAME: topic.name if has_object else "",
                cf.MQIA_SUB_COUNT: len(subscribers),
                cf.MQIA_PUB_COUNT: len(publishers),
                cf.MQIACF_RETAINED_PUBLICATION: int(retained),
            }
        ]
    return [row(always, values, wanted, _LENGTHS) for values in found]


def clear(q_mgr: QueueManager, request: Request) -> list[Row]:
    """Carry out MQCMD_CLEAR_TOPIC_STRING, which deletes the retained publication."""
    request.integer(cf.MQIACF_CLEAR_TYPE, (cf.MQCLRT_RETAINED,))
    clear_retained(q_mgr, _topic_string(request))
    return []


def _type(request: Request) -> None:
    allowed = (cf.MQTOPT_LOCAL, cf.MQTOPT_ALL)
    request.integer(cf.MQIA_TOPIC_TYPE, allowed, reason=cf.MQRCCF_TOPIC_TYPE_ERROR)


def _topic_string(request: Request) -> str:
    return text_of(request.text(mq.MQCA_TOPIC_STRING, mq.MQ_TOPIC_STR_LENGTH).encode("latin-1"))


def _values(request: Request) -> ObjectValues:
    names = (mq.MQCA_TOPIC_NAME, cf.MQCACF_FROM_TOPIC_NAME, cf.MQCACF_TO_TOPIC_NAME)
    values = request.values(*names, cf.MQIA_TOPIC_TYPE, cf.MQIACF_REPLACE)
    if mq.MQCA_TOPIC_STRING in values:
        values[mq.MQCA_TOPIC_STRING] = _topic_string(request)
    return values


def _chosen(q_mgr: QueueManager, request: Request) -> Iterator[tuple[str, ObjectValues]]:
    generic = request.text(mq.MQCA_TOPIC_NAME, mq.MQ_TOPIC_NAME_LENGTH)
    check_generic(generic)
    for name, found in sorted(q_mgr.catalogue.objects.of(Kind.TOPIC).items()):
        if matches(name, generic):
            yield name, found
