"""A topic: a topic string, and the attributes that it gets from topic objects.

The nearest topic object at or above a topic string in the topic tree gives the attributes. If an attribute of that object is "as
parent", its value comes from the next object above, up to SYSTEM.BASE.TOPIC. ``publishing.py`` publishes.

Source: IBM MQ, "DEFINE TOPIC", "Combining topic strings", reason codes 2085, 2425.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mqembedded import constants as mq
from mqembedded.objects.attributes import Value
from mqembedded.objects.kinds import Kind
from mqembedded.objects.others import BASE_TOPIC, CatalogueError, Objects
from mqembedded.pubsub.topic_string import SEPARATOR, combined

# The value that means "as parent", by attribute selector.
_AS_PARENT: dict[int, Value] = {
    mq.MQIA_INHIBIT_PUB: 0,
    mq.MQIA_INHIBIT_SUB: 0,
    mq.MQIA_DURABLE_SUB: 0,
    mq.MQIA_DEF_PRIORITY: mq.MQPRI_PRIORITY_AS_PARENT,
    mq.MQIA_TOPIC_DEF_PERSISTENCE: mq.MQPER_PERSISTENCE_AS_PARENT,
    mq.MQIA_DEF_PUT_RESPONSE_TYPE: 0,
    mq.MQCA_MODEL_DURABLE_Q: "",
    mq.MQCA_MODEL_NON_DURABLE_Q: "",
    mq.MQIA_PM_DELIVERY: 0,
    mq.MQIA_NPM_DELIVERY: 0,
}


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic string with its attributes. ``name`` is the name of the nearest topic object at or above it."""

    string: str
    name: str
    values: dict[int, Value]

    def integer(self, selector: int) -> int:
        """Return the value of an integer attribute."""
        value = self.values[selector]
        assert isinstance(value, int)
        return value


def full_topic_string(objects: Objects, name: str, given: str) -> str:
    """Return the full topic string for a topic object's name and the application's string.

    Raises:
        CatalogueError: MQRC_UNKNOWN_OBJECT_NAME, MQRC_TOPIC_STRING_ERROR.
    """
    of_object = str(objects.get(Kind.TOPIC, name)[mq.MQCA_TOPIC_STRING]) if name else ""
    whole = combined(of_object, given)
    if not whole:
        raise CatalogueError(mq.MQRC_TOPIC_STRING_ERROR if name else mq.MQRC_UNKNOWN_OBJECT_NAME)
    return whole


def topic_at(objects: Objects, string: str) -> Topic:
    """Return the topic with this topic string, and with the attributes that topic objects give it."""
    above = list(objects_at_and_above(objects, string))
    values: dict[int, Value] = {}
    for selector, as_parent in _AS_PARENT.items():
        found = [
            value for _, value in ((name, _value(objects, name, selector)) for name in above) if value != as_parent
        ]
        values[selector] = found[0] if found else as_parent
    return Topic(string, above[0], values)


def _value(objects: Objects, name: str, selector: int) -> Value:
    value = objects.get(Kind.TOPIC, name)[selector]
    assert isinstance(value, int | str)
    return value


def objects_at_and_above(objects: Objects, string: str) -> Iterator[str]:
    """Yield the names of the topic objects at and above a topic string, the nearest first."""
    levels = string.split(SEPARATOR)
    for length in range(len(levels), 0, -1):
        name = objects.topic_with(SEPARATOR.join(levels[:length]))
        # If a topic string begins with a separator, its first level is an empty node below the root.
        if name is not None and any(levels[:length]):
            yield name
    yield BASE_TOPIC
