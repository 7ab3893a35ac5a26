"""Subscriptions of administrators: DEFINE SUB, ALTER SUB and DELETE SUB, for MQSC and PCF.

Attributes have PCF parameter identifiers (``objects.kinds.SUBSCRIPTION_ATTRIBUTES``). Their values are numbers or texts, except
that DESTCORL is a byte string. ``subscribing.py`` has MQSUB. ``admin/`` reads and answers the commands.

Source: IBM MQ, "DEFINE SUB", "ALTER SUB", "Change, Copy, and Create Subscription". Unverified: a change of an attribute that
cannot be altered fails with the reason code of MQSO_ALTER.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping

from mqembedded import constants as mq
from mqembedded.objects.attributes import Value
from mqembedded.objects.kinds import SUBSCRIPTION_ATTRIBUTES, by_selector, defaults
from mqembedded.objects.others import CatalogueError
from mqembedded.pubsub.subscription import Subscription, SubscriptionAttributes, Subscriptions
from mqembedded.pubsub.topic import full_topic_string, topic_at
from mqembedded.pubsub.topic_string import Wildcards, is_well_formed
from mqembedded.wire import pcf_constants as pcf

SubscriptionValue = Value | bytes
_KNOWN = by_selector(SUBSCRIPTION_ATTRIBUTES)
# Subscriptions of administrators belong to the queue manager's user, whichever user gives the command.
_USER = "mqm"
_NOT_ALTERABLE = {
    mq.MQCA_TOPIC_NAME: mq.MQRC_TOPIC_NOT_ALTERABLE,
    pcf.MQIACF_WILDCARD_SCHEMA: mq.MQRC_TOPIC_NOT_ALTERABLE,
    pcf.MQIACF_DESTINATION_CLASS: mq.MQRC_DEST_CLASS_NOT_ALTERABLE,
    pcf.MQIACF_SUB_LEVEL: mq.MQRC_SUBLEVEL_NOT_ALTERABLE,
}


def define(
    subscriptions: Subscriptions, name: str, values: Mapping[int, SubscriptionValue], *, replace: bool = False
) -> Subscription:
    """Define a durable subscription, or change the attributes of an existing subscription.

    Raises:
        CatalogueError: MQRC_SUB_ALREADY_EXISTS; MQRCCF_SUB_NAME_ERROR, MQRCCF_ATTR_VALUE_ERROR; MQRC_UNKNOWN_OBJECT_NAME,
            MQRC_TOPIC_STRING_ERROR, MQRCCF_DURABILITY_NOT_ALLOWED; MQRCCF_DEST_NAME_ERROR, MQRC_INVALID_DESTINATION.
    """
    existing = subscriptions.named(name)
    if existing is not None and replace:
        alter(subscriptions, existing, values)
        return existing
    if existing is not None:
        raise CatalogueError(mq.MQRC_SUB_ALREADY_EXISTS, f"subscription {name} exists")
    if not name:
        raise CatalogueError(pcf.MQRCCF_SUB_NAME_ERROR, "a subscription needs a name")
    _check(values)
    whole: dict[int, SubscriptionValue] = {**defaults(SUBSCRIPTION_ATTRIBUTES), **values}
    topic_name = str(whole[mq.MQCA_TOPIC_NAME])
    topic_string = full_topic_string(subscriptions.catalogue.objects, topic_name, str(whole[mq.MQCA_TOPIC_STRING]))
    topic = topic_at(subscriptions.catalogue.objects, topic_string)
    if topic.values[mq.MQIA_DURABLE_SUB] == pcf.MQSUB_DURABLE_INHIBITED:
        raise CatalogueError(pcf.MQRCCF_DURABILITY_NOT_ALLOWED, f"{topic.name} allows no durable subscriptions")
    is_managed = whole[pcf.MQIACF_DESTINATION_CLASS] == pcf.MQDC_MANAGED
    characters = whole[pcf.MQIACF_WILDCARD_SCHEMA] == pcf.MQWS_CHAR
    if not is_well_formed(topic_string, Wildcards.CHARACTER if characters else Wildcards.TOPIC):
        raise CatalogueError(mq.MQRC_TOPIC_STRING_ERROR, f"{topic_string!r} is not a topic string")
    queue = str(whole[pcf.MQCACF_DESTINATION])
    if is_managed:
        queue = subscriptions.managed_queue(str(topic.values[mq.MQCA_MODEL_DURABLE_Q]), durable=True).name
    elif not queue:
        raise CatalogueError(pcf.MQRCCF_DEST_NAME_ERROR, "DEST is needed")
    options = mq.MQSO_DURABLE | (mq.MQSO_MANAGED if is_managed else 0)
    options |= mq.MQSO_WILDCARD_CHAR if characters else mq.MQSO_WILDCARD_TOPIC
    sub_id = subscriptions.new_id()
    made = SubscriptionAttributes(
        name,
        sub_id,
        topic_string,
        options,
        queue,
        sub_id,
        _USER,
        topic_name=topic_name,
        level=_number(whole, pcf.MQIACF_SUB_LEVEL),
        type=pcf.MQSUBTYPE_ADMIN,
    )
    return subscriptions.add(_with(made, whole))


def alter(subscriptions: Subscriptions, subscription: Subscription, values: Mapping[int, SubscriptionValue]) -> None:
    """Change attributes of a subscription. Raises CatalogueError."""
    _check(values)
    now = values_of(subscription)
    for selector, reason in _NOT_ALTERABLE.items():
        if selector in values and values[selector] != now[selector]:
            raise CatalogueError(reason, f"{_KNOWN[selector].keyword} cannot be altered")
    if mq.MQCA_TOPIC_STRING in values:
        name, string = subscription.attributes.topic_name, str(values[mq.MQCA_TOPIC_STRING])
        if full_topic_string(subscriptions.catalogue.objects, name, string) != subscription.attributes.topic_string:
            raise CatalogueError(mq.MQRC_TOPIC_NOT_ALTERABLE, "TOPICSTR cannot be altered")
    subscriptions.change(subscription, _with(subscription.attributes, values))


def delete(subscriptions: Subscriptions, subscription: Subscription) -> None:
    """Delete a subscription; raise CatalogueError with MQRCCF_SUBSCRIPTION_IN_USE if an application has it open."""
    if subscription.connection_id is not None:
        raise CatalogueError(pcf.MQRCCF_SUBSCRIPTION_IN_USE, f"{subscription.attributes.name} is in use")
    subscriptions.remove(subscription)


def values_of(subscription: Subscription) -> dict[int, SubscriptionValue]:
    """Return all attributes of a subscription, by parameter identifier."""
    attributes = subscription.attributes

    def choice(option: int, yes: int, no: int) -> int:
        return yes if attributes.is_(option) else no

    return {
        mq.MQCA_TOPIC_STRING: attributes.topic_string,
        mq.MQCA_TOPIC_NAME: attributes.topic_name,
        pcf.MQCACF_DESTINATION: attributes.queue,
        pcf.MQCACF_DESTINATION_Q_MGR: "",
        pcf.MQIACF_DESTINATION_CLASS: choice(mq.MQSO_MANAGED, pcf.MQDC_MANAGED, pcf.MQDC_PROVIDED),
        pcf.MQBACF_DESTINATION_CORREL_ID: attributes.correl_id,
        pcf.MQIACF_DURABLE_SUBSCRIPTION: choice(mq.MQSO_DURABLE, pcf.MQSUB_DURABLE_YES, pcf.MQSUB_DURABLE_NO),
        pcf.MQIACF_EXPIRY: attributes.expiry,
        pcf.MQIACF_PUBSUB_PROPERTIES: attributes.properties,
        pcf.MQIACF_PUB_PRIORITY: attributes.pub_priority,
        pcf.MQBACF_ACCOUNTING_TOKEN: attributes.accounting_token,
        pcf.MQCACF_APPL_IDENTITY_DATA: attributes.appl_identity_data,
        pcf.MQIACF_REQUEST_ONLY: choice(
            mq.MQSO_PUBLICATIONS_ON_REQUEST, pcf.MQRU_PUBLISH_ON_REQUEST, pcf.MQRU_PUBLISH_ALL
        ),
        pcf.MQIACF_SUB_LEVEL: attributes.level,
        pcf.MQIACF_SUBSCRIPTION_SCOPE: choice(mq.MQSO_SCOPE_QMGR, pcf.MQTSCOPE_QMGR, pcf.MQTSCOPE_ALL),
        pcf.MQIACF_SUB_TYPE: attributes.type,
        pcf.MQCACF_SUB_USER_ID: attributes.user,
        pcf.MQCACF_SUB_USER_DATA: attributes.user_data,
        pcf.MQIACF_VARIABLE_USER_ID: choice(mq.MQSO_ANY_USERID, pcf.MQVU_ANY_USER, pcf.MQVU_FIXED_USER),
        pcf.MQIACF_WILDCARD_SCHEMA: choice(mq.MQSO_WILDCARD_CHAR, pcf.MQWS_CHAR, pcf.MQWS_TOPIC),
    }


def _check(values: Mapping[int, SubscriptionValue]) -> None:
    for selector, value in values.items():
        if selector == pcf.MQBACF_DESTINATION_CORREL_ID:
            assert isinstance(value, bytes)
            problem = "" if len(value) <= mq.MQ_CORREL_ID_LENGTH else "DESTCORL takes 24 bytes"
        else:
            problem = _KNOWN[selector].problem(value)
        if problem:
            raise CatalogueError(pcf.MQRCCF_ATTR_VALUE_ERROR, problem, selector)


def _number(values: Mapping[int, SubscriptionValue], selector: int) -> int:
    value = values[selector]
    assert isinstance(value, int)
    return value


def _with(attributes: SubscriptionAttributes, values: Mapping[int, SubscriptionValue]) -> SubscriptionAttributes:
    """Return a subscription's attributes with these new values. Values of attributes that cannot be altered are ignored."""
    changed = attributes
    for selector, value in values.items():
        if selector == pcf.MQBACF_DESTINATION_CORREL_ID:
            assert isinstance(value, bytes)
            correl_id = value.ljust(mq.MQ_CORREL_ID_LENGTH, b"\0")
            changed = dataclasses.replace(changed, correl_id=correl_id, options=changed.options | mq.MQSO_SET_CORREL_ID)
        elif selector == pcf.MQCACF_DESTINATION and value and not attributes.is_(mq.MQSO_MANAGED):
            changed = dataclasses.replace(changed, queue=str(value))
        elif selector == pcf.MQCACF_SUB_USER_ID and value:
            changed = dataclasses.replace(changed, user=str(value))
        elif selector == pcf.MQCACF_SUB_USER_DATA:
            changed = dataclasses.replace(changed, user_data=str(value))
        elif selector == pcf.MQIACF_EXPIRY:
            expiry = _number(values, selector)
            at_s = None if expiry == mq.MQEI_UNLIMITED else time.time() + expiry / 10
            changed = dataclasses.replace(changed, expiry=expiry, expires_at_s=at_s)
        elif selector == pcf.MQIACF_PUBSUB_PROPERTIES:
            changed = dataclasses.replace(changed, properties=_number(values, selector))
        elif selector == pcf.MQIACF_PUB_PRIORITY:
            changed = dataclasses.replace(changed, pub_priority=_number(values, selector))
        elif selector in _OPTIONS:
            option, chosen = _OPTIONS[selector]
            options = (changed.options & ~option) | (option if value == chosen else 0)
            changed = dataclasses.replace(changed, options=options)
    return changed


_OPTIONS = {
    pcf.MQIACF_REQUEST_ONLY: (mq.MQSO_PUBLICATIONS_ON_REQUEST, pcf.MQRU_PUBLISH_ON_REQUEST),
    pcf.MQIACF_SUBSCRIPTION_SCOPE: (mq.MQSO_SCOPE_QMGR, pcf.MQTSCOPE_QMGR),
    pcf.MQIACF_VARIABLE_USER_ID: (mq.MQSO_ANY_USERID, pcf.MQVU_ANY_USER),
}
