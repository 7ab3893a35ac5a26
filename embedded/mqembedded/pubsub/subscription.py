"""Subscriptions: their attributes, and all subscriptions of a queue manager.

The store keeps the attributes of durable subscriptions. ``Subscription.connection_id`` is the connection identifier of the
application that has the subscription open. A subscription's destination is a queue name. The queue of a managed subscription is
created with the subscription. After the subscription is removed, the queue is deleted as soon as it is unused. Callers hold
the queue manager's lock. ``subscribing.py`` has MQSUB.

Source: IBM MQ, "MQSD - Subscription descriptor", "DEFINE SUB". Unverified: the form of identifiers after their first four bytes.
"""

from __future__ import annotations

import dataclasses
import heapq
import itertools
import time
from dataclasses import dataclass
from typing import Any

from mqembedded import constants as mq
from mqembedded.catalogue import MANAGED, Catalogue
from mqembedded.messages.queue import Queue
from mqembedded.objects.attributes import MODEL
from mqembedded.objects.definition import Definition
from mqembedded.objects.others import CatalogueError
from mqembedded.pubsub.topic_index import TopicIndex
from mqembedded.pubsub.topic_string import Wildcards, has_wildcards, matcher
from mqembedded.store.store import Store
from mqembedded.wire import pcf_constants as pcf

MANAGED_DURABLE, MANAGED_NON_DURABLE = MANAGED + "DURABLE.", MANAGED + "NDURABLE."
_BYTES = ("sub_id", "correl_id", "accounting_token")


@dataclass(frozen=True, slots=True)
class SubscriptionAttributes:
    """The attributes of a subscription.

    ``options`` are the MQSO_* options that a subscription keeps. ``queue`` is the destination. ``correl_id`` is the CorrelId of
    the subscription's copies if it is not MQCI_NONE. ``expiry`` is in tenths of a second; ``expires_at_s`` is the time when the
    subscription expires.
    """

    name: str
    sub_id: bytes
    topic_string: str
    options: int
    queue: str
    correl_id: bytes
    user: str
    topic_name: str = ""
    user_data: str = ""
    expiry: int = mq.MQEI_UNLIMITED
    expires_at_s: float | None = None
    pub_priority: int = mq.MQPRI_PRIORITY_AS_PUBLISHED
    accounting_token: bytes = bytes(32)
    appl_identity_data: str = ""
    level: int = 1
    properties: int = pcf.MQPSPROP_MSGPROP
    type: int = pcf.MQSUBTYPE_API

    def is_(self, option: int) -> bool:
        """Return whether the subscription has any of these MQSO_* options."""
        return bool(self.options & option)

    @property
    def wildcards(self) -> Wildcards:
        """How wildcards in the topic string are interpreted."""
        return Wildcards.CHARACTER if self.is_(mq.MQSO_WILDCARD_CHAR) else Wildcards.TOPIC

    def as_kept(self) -> dict[str, Any]:
        """Return the attributes in their stored form, as text and numbers."""
        kept = dataclasses.asdict(self)
        return {**kept, **{name: kept[name].hex() for name in _BYTES}}

    @classmethod
    def from_kept(cls, kept: dict[str, Any]) -> SubscriptionAttributes:
        """Return the attributes that a stored form contains."""
        return cls(**{**kept, **{name: bytes.fromhex(kept[name]) for name in _BYTES}})


class Subscription:
    """A subscription. ``connection_id`` identifies the connection that has the subscription open, or is None."""

    __slots__ = ("attributes", "connection_id", "matches", "published", "removed")

    def __init__(self, attributes: SubscriptionAttributes) -> None:
        self.attributes = attributes
        self.matches = matcher(attributes.topic_string, attributes.wildcards)
        self.connection_id: bytes | None = None
        self.published = 0
        self.removed = False

    @property
    def significance(self) -> tuple[bool, int]:
        """Whether the topic string has no wildcards, and its length. In a subscription group, the highest value is chosen."""
        attributes = self.attributes
        return not has_wildcards(attributes.topic_string, attributes.wildcards), len(attributes.topic_string)


class Subscriptions:
    """All subscriptions of a queue manager."""

    def __init__(self, store: Store, catalogue: Catalogue) -> None:
        self._store = store
        self.catalogue = catalogue
        self._by_id: dict[bytes, Subscription] = {}
        self._by_name: dict[str, Subscription] = {}
        self._by_topic: TopicIndex[Subscription] = TopicIndex()
        # Expiry times with the subscriptions' identifiers. Entries are ignored if the subscription is gone or was prolonged.
        self._expiring: list[tuple[float, bytes]] = []
        for kept in store.subscriptions():
            self._note(Subscription(_from_kept(kept)))
        # The count starts at the current time, as for messages, so that no identifier is repeated.
        self._serial = itertools.count(time.time_ns())
        wanted = {one.attributes.queue for one in self._by_id.values()}
        for queue in catalogue.queues():
            if queue.name.startswith(MANAGED_DURABLE) and queue.name not in wanted:
                # The queue manager ended while it made or removed this queue's subscription.
                catalogue.delete_dynamic(queue)

    def all(self) -> list[Subscription]:
        """Return the subscriptions that have not expired, ordered by name."""
        self._expire(time.time())
        return sorted(self._by_id.values(), key=_by_name)

    def named(self, name: str) -> Subscription | None:
        """Return the subscription with this name, or None. No subscription has the name ""."""
        self._expire(time.time())
        return self._by_name.get(name)

    def identified(self, sub_id: bytes) -> Subscription | None:
        """Return the subscription with this identifier, or None."""
        self._expire(time.time())
        return self._by_id.get(sub_id)

    def matching(self, topic_string: str) -> list[Subscription]:
        """Return the subscriptions that match a topic, ordered by name."""
        self._expire(time.time())
        found = (one for one in self._by_topic.candidates(topic_string) if one.matches(topic_string))
        return sorted(found, key=_by_name)

    def new_id(self) -> bytes:
        """Return a new subscription identifier, 24 bytes."""
        return b"AMQX" + bytes(12) + next(self._serial).to_bytes(8, "big")

    def managed_queue(self, model_name: str, *, durable: bool) -> Queue:
        """Create a managed subscription's queue from a topic's model queue.

        Raises:
            CatalogueError: MQRC_INVALID_DESTINATION if the model queue does not exist, or if it makes temporary queues and the
                subscription is durable (reason code 2522).
        """
        model = self.catalogue.get(model_name)
        if not isinstance(model, Definition) or model.type != MODEL:
            raise CatalogueError(mq.MQRC_INVALID_DESTINATION, f"there is no model queue {model_name}")
        if durable and model.values[mq.MQIA_DEFINITION_TYPE] == mq.MQQDT_TEMPORARY_DYNAMIC:
            raise CatalogueError(mq.MQRC_INVALID_DESTINATION, f"{model_name} makes temporary queues")
        prefix = MANAGED_DURABLE if durable else MANAGED_NON_DURABLE
        unique = f"{next(self._serial):X}"[-15:]
        return self.catalogue.create_dynamic(model, prefix + unique, "")

    def add(self, attributes: SubscriptionAttributes) -> Subscription:
        """Add a subscription, and store it if it is durable. Raises CatalogueError with MQRC_SUB_ALREADY_EXISTS."""
        if self.named(attributes.name) is not None:
            raise CatalogueError(mq.MQRC_SUB_ALREADY_EXISTS, f"subscription {attributes.name} exists")
        made = Subscription(attributes)
        self._keep(made)
        self._note(made)
        return made

    def _note(self, made: Subscription) -> None:
        attributes = made.attributes
        self._by_id[attributes.sub_id] = made
        if attributes.name:
            self._by_name[attributes.name] = made
        self._by_topic.add(attributes.topic_string, attributes.wildcards, made)
        self._note_expiry(attributes)

    def _note_expiry(self, attributes: SubscriptionAttributes) -> None:
        if attributes.expires_at_s is not None:
            heapq.heappush(self._expiring, (attributes.expires_at_s, attributes.sub_id))

    def change(self, subscription: Subscription, attributes: SubscriptionAttributes) -> None:
        """Replace a subscription's attributes. Name, identifier and topic string must stay the same."""
        subscription.attributes = attributes
        self._keep(subscription)
        self._note_expiry(attributes)

    def remove(self, subscription: Subscription) -> None:
        """Remove a subscription. Its managed queue is deleted as soon as no handle or unit of work uses the queue."""
        attributes = subscription.attributes
        if subscription.removed:
            return
        subscription.removed = True
        del self._by_id[attributes.sub_id]
        self._by_name.pop(attributes.name, None)
        self._by_topic.remove(attributes.topic_string, attributes.wildcards, subscription)
        if attributes.is_(mq.MQSO_DURABLE):
            self._store.delete_subscription(attributes.sub_id)
        if attributes.is_(mq.MQSO_MANAGED):
            self.catalogue.abandon(attributes.queue)

    def closed(self, subscription: Subscription) -> None:
        """Record that the application has closed the subscription. A subscription that is not durable is then removed."""
        subscription.connection_id = None
        if not subscription.attributes.is_(mq.MQSO_DURABLE):
            self.remove(subscription)

    def _keep(self, subscription: Subscription) -> None:
        attributes = subscription.attributes
        if attributes.is_(mq.MQSO_DURABLE):
            self._store.put_subscription(attributes.sub_id, attributes.as_kept())

    def _expire(self, now_s: float) -> None:
        while self._expiring and self._expiring[0][0] <= now_s:
            _, sub_id = heapq.heappop(self._expiring)
            found = self._by_id.get(sub_id)
            expires_at_s = found.attributes.expires_at_s if found is not None else None
            if found is not None and expires_at_s is not None and expires_at_s <= now_s:
                self.remove(found)


def _by_name(one: Subscription) -> tuple[str, bytes]:
    return one.attributes.name, one.attributes.sub_id


def _from_kept(kept: dict[str, Any]) -> SubscriptionAttributes:
    return SubscriptionAttributes.from_kept(kept)
