"""Objects other than queues (channels, namelists, processes, authentication information, topics), and ``CatalogueError``.

These objects have only names and attributes. ``catalogue.py`` has the queues. ``admin/`` reads and answers the commands.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from mqembedded import constants as mq
from mqembedded.objects.attributes import Value
from mqembedded.objects.authority import Authorities
from mqembedded.objects.kinds import (
    ATTRIBUTES,
    DEFAULT_AUTH_INFO,
    Q_MGR_ATTRIBUTES,
    Kind,
    by_selector,
    defaults,
)
from mqembedded.store.store import Store
from mqembedded.wire import pcf_constants as pcf

OBJECT_NAME = re.compile(r"[A-Za-z0-9._/%]{1,48}")
_CHANNEL_NAME = re.compile(r"[A-Za-z0-9._/%]{1,20}")
DEFAULT_CHANNELS = ("SYSTEM.DEF.SVRCONN", "SYSTEM.AUTO.SVRCONN", "DEV.APP.SVRCONN", "DEV.ADMIN.SVRCONN")

BASE_TOPIC = "SYSTEM.BASE.TOPIC"
_WITHOUT_TOPIC_STRING = frozenset({BASE_TOPIC, "SYSTEM.DEFAULT.TOPIC"})
_MOST_NAMES = 256

# The default objects, as ``DEFAULT_QUEUES`` has them for queues.
_DEFAULT_OBJECTS = {
    Kind.CHANNEL: "SYSTEM.DEF.SVRCONN",
    Kind.NAMELIST: "SYSTEM.DEFAULT.NAMELIST",
    Kind.PROCESS: "SYSTEM.DEFAULT.PROCESS",
    Kind.AUTH_INFO: DEFAULT_AUTH_INFO,
    Kind.TOPIC: "SYSTEM.DEFAULT.TOPIC",
}

ObjectValue = int | str | list[str]
ObjectValues = dict[int, ObjectValue]

# By kind: the reason codes for an object that does not exist, for one that already exists, and for an illegal name.
_REASONS = {
    Kind.CHANNEL: (
        pcf.MQRCCF_CHANNEL_NOT_FOUND,
        pcf.MQRCCF_CHANNEL_ALREADY_EXISTS,
        pcf.MQRCCF_CHANNEL_NAME_ERROR,
    ),
    Kind.NAMELIST: (mq.MQRC_UNKNOWN_OBJECT_NAME, pcf.MQRCCF_OBJECT_ALREADY_EXISTS, pcf.MQRCCF_OBJECT_NAME_ERROR),
    Kind.PROCESS: (mq.MQRC_UNKNOWN_OBJECT_NAME, pcf.MQRCCF_OBJECT_ALREADY_EXISTS, pcf.MQRCCF_OBJECT_NAME_ERROR),
    Kind.AUTH_INFO: (mq.MQRC_UNKNOWN_OBJECT_NAME, pcf.MQRCCF_OBJECT_ALREADY_EXISTS, pcf.MQRCCF_OBJECT_NAME_ERROR),
    Kind.TOPIC: (mq.MQRC_UNKNOWN_OBJECT_NAME, pcf.MQRCCF_OBJECT_ALREADY_EXISTS, pcf.MQRCCF_OBJECT_NAME_ERROR),
}


class CatalogueError(Exception):
    """The catalogue has refused a request.

    ``reason`` is the reason code of the MQI or PCF. ``selector`` names the wrong attribute, or is 0. The text explains the error.
    """

    def __init__(self, reason: int, why: str = "", selector: int = 0) -> None:
        super().__init__(why or pcf.pcf_reason_name(reason) or mq.reason_name(reason))
        self.reason = reason
        self.selector = selector


class Objects:
    """The objects of a queue manager that are not queues, by kind and name."""

    def __init__(self, store: Store, authorities: Authorities) -> None:
        self._store = store
        self._authorities = authorities
        self._objects: dict[Kind, dict[str, ObjectValues]] = {kind: {} for kind in Kind}
        for name in DEFAULT_CHANNELS:
            self._objects[Kind.CHANNEL][name] = _fresh(Kind.CHANNEL)
        self._objects[Kind.AUTH_INFO][DEFAULT_AUTH_INFO] = _fresh(Kind.AUTH_INFO)
        for kind, name, values in store.other_objects():
            self._objects[Kind(kind)][name] = {**_fresh(Kind(kind)), **values}
        # The names of topic objects, by topic string.
        self._topics = {str(made[mq.MQCA_TOPIC_STRING]): name for name, made in self._objects[Kind.TOPIC].items()}

    def of(self, kind: Kind) -> Mapping[str, ObjectValues]:
        """Return the objects of a kind, by name."""
        return self._objects[kind]

    def get(self, kind: Kind, name: str) -> ObjectValues:
        """Return an object's attributes; raise CatalogueError if there is no object with this name."""
        found = self._objects[kind].get(name)
        if found is None:
            raise CatalogueError(_REASONS[kind][0], f"there is no {kind.value} {name}")
        return found

    def topic_with(self, topic_string: str) -> str | None:
        """Return the name of the topic object with this topic string, or None."""
        return self._topics.get(topic_string)

    def define(
        self,
        kind: Kind,
        name: str,
        values: Mapping[int, ObjectValue],
        *,
        like: str | None = None,
        replace: bool = False,
    ) -> None:
        """Define an object. Raises CatalogueError.

        An attribute that ``values`` lacks comes from the object ``like`` or, without ``like``, from the kind's default object.
        """
        if not (_CHANNEL_NAME if kind is Kind.CHANNEL else OBJECT_NAME).fullmatch(name):
            raise CatalogueError(_REASONS[kind][2], f"{name!r} is not a legal name of a {kind.value}")
        if name in self._objects[kind] and not replace:
            raise CatalogueError(_REASONS[kind][1], f"{name} exists")
        if like is None and _DEFAULT_OBJECTS[kind] in self._objects[kind]:
            like = _DEFAULT_OBJECTS[kind]
        base = _fresh(kind) if like is None else self.get(kind, like)
        made = {**base, **_checked(kind, values)}
        if kind is Kind.TOPIC:
            self._check_topic_string(name, made)
        self._put(kind, name, made)

    def alter(self, kind: Kind, name: str, values: Mapping[int, ObjectValue]) -> None:
        """Change attributes of an object. Raises CatalogueError."""
        if kind is Kind.TOPIC and mq.MQCA_TOPIC_STRING in values:
            check_same_topic_string(self.get(kind, name), values)
        self._put(kind, name, {**self.get(kind, name), **_checked(kind, values)})

    def delete(self, kind: Kind, name: str) -> None:
        """Delete an object. Raises CatalogueError. Connections through a deleted channel continue."""
        self.get(kind, name)
        if kind is Kind.TOPIC and name == BASE_TOPIC:
            raise CatalogueError(mq.MQRC_OBJECT_IN_USE, f"{name} is the root of all topics")
        deleted = self._objects[kind].pop(name)
        if kind is Kind.TOPIC:
            self._topics.pop(str(deleted[mq.MQCA_TOPIC_STRING]), None)
        self._store.delete_other_object(kind.value, name)
        self._authorities.forget(kind.value.upper(), name)

    def _check_topic_string(self, name: str, made: ObjectValues) -> None:
        """Raise CatalogueError if a topic object cannot have its topic string, or if another topic object has it already."""
        topic_string = str(made[mq.MQCA_TOPIC_STRING])
        existing = self._objects[Kind.TOPIC].get(name)
        if existing is not None:
            check_same_topic_string(existing, made)
            return
        if name in _WITHOUT_TOPIC_STRING:
            return
        if not topic_string:
            raise CatalogueError(
                mq.MQRC_TOPIC_STRING_ERROR, "a topic object needs a topic string", mq.MQCA_TOPIC_STRING
            )
        same = self._topics.get(topic_string)
        if same is not None:
            raise CatalogueError(pcf.MQRCCF_TOPICSTR_ALREADY_EXISTS, f"{same} has this topic string")

    def _put(self, kind: Kind, name: str, values: ObjectValues) -> None:
        self._objects[kind][name] = values
        if kind is Kind.TOPIC:
            self._topics[str(values[mq.MQCA_TOPIC_STRING])] = name
        self._store.put_other_object(kind.value, name, values)


def _fresh(kind: Kind) -> ObjectValues:
    values: ObjectValues = dict(defaults(ATTRIBUTES[kind]))
    if kind is Kind.NAMELIST:
        values[pcf.MQCA_NAMES] = []
    return values


def _checked(kind: Kind, values: Mapping[int, ObjectValue]) -> Mapping[int, ObjectValue]:
    known = by_selector(ATTRIBUTES[kind])
    for selector, value in values.items():
        if kind is Kind.NAMELIST and selector == pcf.MQCA_NAMES:
            _check_names(value)
            continue
        attribute = known.get(selector)
        problem = attribute.problem(value) if attribute else f"a {kind.value} has no attribute {selector}"
        if problem:
            raise CatalogueError(pcf.MQRCCF_ATTR_VALUE_ERROR, problem, selector)
    return values


def _check_names(value: ObjectValue) -> None:
    assert isinstance(value, list)
    if len(value) > _MOST_NAMES:
        raise CatalogueError(pcf.MQRCCF_CFSL_COUNT_ERROR, f"a namelist has at most {_MOST_NAMES} names", pcf.MQCA_NAMES)
    if any(len(name) > mq.MQ_OBJECT_NAME_LENGTH for name in value):
        raise CatalogueError(pcf.MQRCCF_CFSL_STRING_LENGTH_ERR, "a name is too long", pcf.MQCA_NAMES)


def check_same_topic_string(topic: ObjectValues, values: Mapping[int, ObjectValue]) -> None:
    """Raise CatalogueError if a command would change the topic string of a topic object, which is not allowed."""
    if values[mq.MQCA_TOPIC_STRING] != topic[mq.MQCA_TOPIC_STRING]:
        why = f"TOPICSTR is {topic[mq.MQCA_TOPIC_STRING]} and cannot be altered"
        raise CatalogueError(pcf.MQRCCF_TOPICSTR_ALREADY_EXISTS, why, mq.MQCA_TOPIC_STRING)


def checked_q_mgr_values(values: Mapping[int, Value]) -> Mapping[int, Value]:
    """Check attributes of the queue manager and return them. Raises CatalogueError."""
    known = by_selector(Q_MGR_ATTRIBUTES)
    for selector, value in values.items():
        problem = (
            known[selector].problem(value) if selector in known else f"a queue manager has no attribute {selector}"
        )
        if problem:
            raise CatalogueError(pcf.MQRCCF_ATTR_VALUE_ERROR, problem, selector)
    return values
