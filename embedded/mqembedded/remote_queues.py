"""Resolves names of queues on other queue managers to the transmission queue where messages wait for a channel.

The way to a queue manager is the transmission queue that a definition names, else the local queue with the queue manager's name,
else the cluster, else DEFXMITQ. Only the other queue manager can check that the queue exists.

Source: IBM MQ, "Name resolution", "Opening remote queues", "XmitQName", reason codes 2086, 2087, 2091, 2092, 2184, 2196 to
2199. ``cluster/routing.py`` resolves cluster queues.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from mqembedded import constants as mq
from mqembedded.answer import Failed
from mqembedded.catalogue import Catalogue
from mqembedded.messages.handle import INPUT
from mqembedded.messages.queue import Queue
from mqembedded.messages.route import Instances, Route, Target
from mqembedded.messages.transmission import Bound
from mqembedded.objects.attributes import ALIAS, MODEL, REMOTE, Value
from mqembedded.objects.definition import Definition
from mqembedded.objects.others import OBJECT_NAME

_NEEDS_LOCAL = INPUT | mq.MQOO_BROWSE | mq.MQOO_SET
CLUSTER_TRANSMISSION_QUEUE = "SYSTEM.CLUSTER.TRANSMIT.QUEUE"


@dataclass(frozen=True, slots=True)
class TransmissionQueue:
    """The way to a queue manager through a transmission queue that belongs to no cluster."""

    queue: Queue

    def choose(self, queue_name: str) -> str:  # noqa: ARG002 - as Instances has it
        """Raise Failed, because there are no instances of a cluster queue to choose from."""
        raise Failed(mq.MQRC_NO_DESTINATIONS_AVAILABLE)

    def target(self, queue_name: str, q_mgr_name: str, bound: Bound) -> Target:
        """Return the target of a message; raise Failed with MQRC_PUT_INHIBITED if the transmission queue refuses puts."""
        if self.queue.values[mq.MQIA_INHIBIT_PUT] == mq.MQQA_PUT_INHIBITED:
            raise Failed(mq.MQRC_PUT_INHIBITED)
        return Target(self.queue, queue_name, q_mgr_name, bound, "")


@dataclass(frozen=True, slots=True)
class Way:
    """The way to another queue manager: that queue manager's name, the transmission queue, and an object that returns targets."""

    q_mgr_name: str
    queue: Queue
    instances: Instances

    @property
    def is_of_cluster(self) -> bool:
        """Whether the messages go through the cluster."""
        return not isinstance(self.instances, TransmissionQueue)

    def route(self, name: str, options: int, definition: Definition | None = None) -> Route:
        """Return the route to a queue of the other queue manager. ``definition`` is the remote queue or alias that was opened.

        Raises:
            Failed: MQRC_OPTION_NOT_VALID_FOR_TYPE.
        """
        if options & _NEEDS_LOCAL or (options & mq.MQOO_INQUIRE and definition is None):
            raise Failed(mq.MQRC_OPTION_NOT_VALID_FOR_TYPE)
        values = self.queue.values
        if definition is not None:
            values = {**definition.values, mq.MQIA_Q_TYPE: definition.type}
        return Route(name, mq.MQBND_BIND_ON_OPEN, self.q_mgr_name, values, definition, self.queue, self.instances)


class Ways:
    """The ways to other queue managers, as one queue manager knows them. Callers hold that queue manager's lock."""

    def __init__(self, here: str, catalogue: Catalogue, in_cluster: Callable[[str], Way | None]) -> None:
        """Set up the ways; ``in_cluster`` returns the way to a cluster member, and None for any other name."""
        self._here = here
        self._catalogue = catalogue
        self._in_cluster = in_cluster

    def to(self, q_mgr_name: str) -> Way | None:
        """Return the way to the queue manager that ObjectQMgrName names, directly or by an alias; None for this queue manager.

        Raises:
            Failed: there is no way to this queue manager.
        """
        if q_mgr_name in ("", self._here):
            return None
        if not OBJECT_NAME.fullmatch(q_mgr_name):
            raise Failed(mq.MQRC_UNKNOWN_OBJECT_Q_MGR)
        found = self._catalogue.get(q_mgr_name)
        if not isinstance(found, Definition) or found.type == ALIAS:
            return self._to(q_mgr_name)
        if found.type == MODEL or _name(found.values, mq.MQCA_REMOTE_Q_NAME):
            raise Failed(mq.MQRC_UNKNOWN_REMOTE_Q_MGR)
        meant = _name(found.values, mq.MQCA_REMOTE_Q_MGR_NAME)
        return None if meant in ("", self._here) else self._to(meant, found)

    def of(self, remote: Definition) -> Way:
        """Return the way to the queue manager that a remote queue definition names. Raises Failed."""
        meant = _name(remote.values, mq.MQCA_REMOTE_Q_MGR_NAME)
        if not _name(remote.values, mq.MQCA_REMOTE_Q_NAME):
            raise Failed(mq.MQRC_REMOTE_Q_NAME_ERROR)
        if meant in ("", self._here):
            raise Failed(mq.MQRC_UNKNOWN_REMOTE_Q_MGR)
        return self._to(meant, remote)

    def route(self, name: str, options: int) -> Route | None:
        """Return the route to the remote queue that a name means, perhaps by an alias; None for other names. Raises Failed."""
        named = self._catalogue.get(name)
        remote = named
        if isinstance(named, Definition) and named.type == ALIAS:
            remote = self._catalogue.get(_name(named.values, mq.MQCA_BASE_Q_NAME))
        if not isinstance(remote, Definition) or remote.type != REMOTE:
            return None
        assert isinstance(named, Definition)
        return self.of(remote).route(_name(remote.values, mq.MQCA_REMOTE_Q_NAME), options, named)

    def _to(self, q_mgr_name: str, definition: Definition | None = None) -> Way:
        """Return the way to a queue manager. ``definition`` is the remote queue or alias that names the queue manager."""
        if definition is not None and (name := _name(definition.values, mq.MQCA_XMIT_Q_NAME)):
            of_definition = (mq.MQRC_UNKNOWN_XMIT_Q, mq.MQRC_XMIT_Q_TYPE_ERROR, mq.MQRC_XMIT_Q_USAGE_ERROR)
            return self._by(q_mgr_name, name, *of_definition)
        found = self._catalogue.get(q_mgr_name)
        if isinstance(found, Queue) or (found is not None and definition is not None):
            return self._by(q_mgr_name, q_mgr_name, 0, mq.MQRC_XMIT_Q_TYPE_ERROR, mq.MQRC_XMIT_Q_USAGE_ERROR)
        if (way := self._in_cluster(q_mgr_name)) is not None:
            return way
        name = _name(self._catalogue.q_mgr_values, mq.MQCA_DEF_XMIT_Q_NAME)
        if not name:
            raise Failed(mq.MQRC_UNKNOWN_REMOTE_Q_MGR)
        if name == CLUSTER_TRANSMISSION_QUEUE:
            raise Failed(mq.MQRC_DEF_XMIT_Q_USAGE_ERROR)
        of_q_mgr = (mq.MQRC_UNKNOWN_DEF_XMIT_Q, mq.MQRC_DEF_XMIT_Q_TYPE_ERROR, mq.MQRC_DEF_XMIT_Q_USAGE_ERROR)
        return self._by(q_mgr_name, name, *of_q_mgr)

    def _by(self, q_mgr_name: str, name: str, unknown: int, other_type: int, other_usage: int) -> Way:
        """Return the way through the transmission queue ``name``. Raises Failed with one of the three given reason codes."""
        queue = self._catalogue.get(name)
        if queue is None:
            raise Failed(unknown)
        if not isinstance(queue, Queue):
            raise Failed(other_type)
        if queue.values[mq.MQIA_USAGE] != mq.MQUS_TRANSMISSION:
            raise Failed(other_usage)
        return Way(q_mgr_name, queue, TransmissionQueue(queue))


def _name(values: Mapping[int, Value], selector: int) -> str:
    """Return the name in an attribute of an object, or "" if the attribute is blank."""
    return str(values[selector]).strip()
