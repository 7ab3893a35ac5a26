"""Commands for subscriptions and their status.

Source: IBM MQ, "Change, Copy, and Create Subscription", "Delete Subscription", "Inquire Subscription", "Inquire Subscription
Status". A command has a subscription's name or identifier. Unverified: if there is no such subscription, the reason is 2428.
"""

from __future__ import annotations

from mqembedded import constants as mq
from mqembedded.admin import pcf
from mqembedded.admin.commands.request import (
    Request,
    Row,
    Shape,
    byte_string,
    check_generic,
    integer,
    integers,
    matches,
    row,
    settable,
    text,
)
from mqembedded.admin.pcf import PCFError
from mqembedded.objects.kinds import SUBSCRIPTION_ATTRIBUTES
from mqembedded.pubsub import administration
from mqembedded.pubsub.administration import SubscriptionValue
from mqembedded.pubsub.retained import send_retained
from mqembedded.pubsub.subscription import Subscription, Subscriptions
from mqembedded.pubsub.topic_string import bytes_of, text_of
from mqembedded.queue_manager import QueueManager
from mqembedded.wire import pcf_constants as cf

_SETTABLE = settable(SUBSCRIPTION_ATTRIBUTES) + byte_string(cf.MQBACF_DESTINATION_CORREL_ID)
_CHOOSING = (*text(cf.MQCACF_SUB_NAME), *byte_string(cf.MQBACF_SUB_ID))
_LENGTHS = {cf.MQCACF_DESTINATION: mq.MQ_Q_NAME_LENGTH, mq.MQCA_TOPIC_NAME: mq.MQ_TOPIC_NAME_LENGTH}
_TYPES = (cf.MQSUBTYPE_API, cf.MQSUBTYPE_ADMIN, cf.MQSUBTYPE_ALL, cf.MQSUBTYPE_USER)
_DURABILITIES = (cf.MQSUB_DURABLE_YES, cf.MQSUB_DURABLE_NO, cf.MQSUB_DURABLE_ALL)

CREATE = Shape(text(cf.MQCACF_SUB_NAME), (*integer(cf.MQIACF_REPLACE), *_SETTABLE))
CHANGE = Shape((), (*_CHOOSING, *_SETTABLE))
DELETE = Shape((), _CHOOSING)
INQUIRE = Shape(
    (),
    (
        *_CHOOSING,
        *integer(cf.MQIACF_DURABLE_SUBSCRIPTION, cf.MQIACF_SUB_TYPE),
        *integers(cf.MQIACF_SUB_ATTRS),
    ),
    filters=True,
)
STATUS = Shape(
    (),
    (
        *_CHOOSING,
        *integer(cf.MQIACF_DURABLE_SUBSCRIPTION, cf.MQIACF_SUB_TYPE),
        *integers(cf.MQIACF_SUB_STATUS_ATTRS),
    ),
    filters=True,
)


def create(q_mgr: QueueManager, request: Request) -> list[Row]:
    """Carry out MQCMD_CREATE_SUBSCRIPTION. The new subscription gets retained publications, as with MQSUB."""
    if not {mq.MQCA_TOPIC_STRING, mq.MQCA_TOPIC_NAME} & request.parameters.keys():
        raise PCFError(cf.MQRCCF_PARM_MISSING, mq.MQCA_TOPIC_STRING)
    name = _text(request, cf.MQCACF_SUB_NAME)
    is_new = q_mgr.parts.get(Subscriptions).named(name) is None
    made = administration.define(q_mgr.parts.get(Subscriptions), name, _values(request), replace=request.replaces())
    if is_new and not made.attributes.is_(mq.MQSO_PUBLICATIONS_ON_REQUEST):
        send_retained(q_mgr, made)
    return []


def change(q_mgr: QueueManager, request: Request) -> list[Row]:
    """Carry out MQCMD_CHANGE_SUBSCRIPTION."""
    for subscription in _chosen(q_mgr, request, generic=False):
        administration.alter(q_mgr.parts.get(Subscriptions), subscription, _values(request))
    return []


def delete(q_mgr: QueueManager, request: Request) -> list[Row]:
    """Carry out MQCMD_DELETE_SUBSCRIPTION."""
    for subscription in _chosen(q_mgr, request, generic=False):
        administration.delete(q_mgr.parts.get(Subscriptions), subscription)
    return []


def inquire(q_mgr: QueueManager, request: Request) -> list[Row]:
    """Carry out MQCMD_INQUIRE_SUBSCRIPTION."""
    found = _of_kind(request, _chosen(q_mgr, request))
    return _rows(request, cf.MQIACF_SUB_ATTRS, [(one, administration.values_of(one)) for one in found])


def status(q_mgr: QueueManager, request: Request) -> list[Row]:
    """Carry out MQCMD_INQUIRE_SUB_STATUS."""
    found = _of_kind(request, _chosen(q_mgr, request))
    statuses = [
        (
            one,
            {
                cf.MQBACF_CONNECTION_ID: one.connection_id or bytes(mq.MQ_CONNECTION_ID_LENGTH),
                cf.MQIACF_MESSAGE_COUNT: one.published,
                **{selector: value for selector, value in administration.values_of(one).items() if selector in _STATUS},
            },
        )
        for one in found
    ]
    return _rows(request, cf.MQIACF_SUB_STATUS_ATTRS, statuses)


_STATUS = frozenset({cf.MQIACF_DURABLE_SUBSCRIPTION, cf.MQIACF_SUB_TYPE, cf.MQCACF_SUB_USER_ID, mq.MQCA_TOPIC_STRING})


def _rows(
    request: Request, attributes: int, found: list[tuple[Subscription, dict[int, SubscriptionValue]]]
) -> list[Row]:
    wanted = request.selectors(attributes)
    if wanted is not None and request.filter is not None:
        wanted |= {request.filter.identifier}
    rows = []
    for subscription, values in found:
        shown = {selector: _shown(value) for selector, value in values.items()}
        if request.passes(shown, shown):
            always = [
                pcf.string(cf.MQCACF_SUB_NAME, _as_carried(subscription.attributes.name)),
                pcf.byte_string(cf.MQBACF_SUB_ID, subscription.attributes.sub_id),
            ]
            rows.append(row(always, shown, wanted, _LENGTHS))
    if not rows:
        raise PCFError(mq.MQRC_NO_SUBSCRIPTION)
    return rows


def _chosen(q_mgr: QueueManager, request: Request, *, generic: bool = True) -> list[Subscription]:
    """Return the subscriptions with the identifier or (perhaps generic) name in the request; raise PCFError if there are none."""
    subscriptions = q_mgr.parts.get(Subscriptions)
    sub_id = request.parameters.get(cf.MQBACF_SUB_ID)
    if sub_id is None and cf.MQCACF_SUB_NAME not in request.parameters:
        raise PCFError(cf.MQRCCF_PARM_COUNT_TOO_SMALL)
    found = subscriptions.all()
    if sub_id is not None:
        found = [one for one in found if one.attributes.sub_id == sub_id.value]
    if cf.MQCACF_SUB_NAME in request.parameters:
        name = _text(request, cf.MQCACF_SUB_NAME)
        if generic:
            check_generic(name, cf.MQRCCF_SUB_NAME_ERROR)
        found = [one for one in found if (matches if generic else str.__eq__)(one.attributes.name, name)]
    if not found:
        raise PCFError(mq.MQRC_NO_SUBSCRIPTION)
    return found


def _of_kind(request: Request, found: list[Subscription]) -> list[Subscription]:
    durable = request.integer(cf.MQIACF_DURABLE_SUBSCRIPTION, _DURABILITIES, cf.MQSUB_DURABLE_ALL)
    kind = request.integer(cf.MQIACF_SUB_TYPE, _TYPES, cf.MQSUBTYPE_USER)
    wanted = {cf.MQSUB_DURABLE_YES: {True}, cf.MQSUB_DURABLE_NO: {False}}.get(durable, {True, False})
    kinds = {kind} if kind > 0 else {cf.MQSUBTYPE_API, cf.MQSUBTYPE_ADMIN}
    return [one for one in found if one.attributes.is_(mq.MQSO_DURABLE) in wanted and one.attributes.type in kinds]


def _text(request: Request, identifier: int) -> str:
    return text_of(request.text(identifier, cf.MQ_SUB_NAME_LENGTH).encode("latin-1"))


def _shown(value: SubscriptionValue) -> SubscriptionValue:
    return _as_carried(value) if isinstance(value, str) else value


def _as_carried(text: str) -> str:
    """Return a text as PCF messages carry it, with a character for each byte."""
    return bytes_of(text).decode("latin-1")


def _values(request: Request) -> dict[int, SubscriptionValue]:
    values: dict[int, SubscriptionValue] = {}
    for identifier, parameter in request.parameters.items():
        if identifier in (cf.MQCACF_SUB_NAME, cf.MQBACF_SUB_ID, cf.MQIACF_REPLACE):
            continue
        value = parameter.value
        assert isinstance(value, int | str | bytes)
        values[identifier] = text_of(value.encode("latin-1")) if isinstance(value, str) else value
    return values
