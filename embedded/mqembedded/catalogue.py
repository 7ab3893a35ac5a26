"""The catalogue, which defines, alters, clears, deletes and finds a queue manager's queues of every type.

MQSC and PCF commands call the same methods. The catalogue also creates and deletes dynamic queues, and holds the queue manager's
own attributes. The store keeps all objects except temporary dynamic queues. ``admin/`` reads and answers the commands.
``objects/others.py`` has the objects that are not queues.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping

from mqembedded import constants as mq
from mqembedded.messages.queue import Queue
from mqembedded.objects.attributes import (
    BY_SELECTOR,
    DEFAULT_QUEUES,
    LOCAL,
    MODEL,
    REMOTE,
    TYPE_NAMES,
    Attribute,
    Value,
    supplied_values,
)
from mqembedded.objects.authority import Authorities
from mqembedded.objects.definition import Definition
from mqembedded.objects.kinds import Q_MGR_ATTRIBUTES, defaults
from mqembedded.objects.others import OBJECT_NAME, CatalogueError, Objects, checked_q_mgr_values
from mqembedded.platform import Platform
from mqembedded.readings import CURDEPTH_COUNTS_GETS, PRINCIPALS_ARE_GROUPS, Readings
from mqembedded.store.rows import StoredObject
from mqembedded.store.store import Store
from mqembedded.wire import pcf_constants as pcf

# Queues with this prefix belong to managed subscriptions, and MQCLOSE does not delete them.
MANAGED = "SYSTEM.MANAGED."
# The asterisk of a DynamicQName leaves room for characters that make the name unique (IBM MQ, "DynamicQName").
_LAST_ASTERISK = 33


class Catalogue:
    """All objects of a queue manager, and the queue manager's own attributes. Callers hold the queue manager's lock."""

    def __init__(self, store: Store, platform: Platform = Platform.UNIX, readings: Readings | None = None) -> None:
        self._store = store
        self._platform = platform
        readings = readings or Readings()
        self._depth_counts_gets = readings[CURDEPTH_COUNTS_GETS]
        self._objects: dict[str, Queue | Definition] = {}
        # Called after a queue was defined, altered or deleted. A cluster then informs its members.
        self.on_change: Callable[[], None] | None = None
        self.authorities = Authorities(store, of_groups=readings[PRINCIPALS_ARE_GROUPS])
        self.objects = Objects(store, self.authorities)
        self.q_mgr_values: dict[int, Value] = {**defaults(Q_MGR_ATTRIBUTES), **store.q_mgr_values}
        for stored in store.objects():
            values = {**supplied_values(stored.type), **stored.values}
            self._objects[stored.name] = (
                self._queue(stored.name, values, stored.definition_type)
                if stored.type == LOCAL
                else Definition(stored.name, stored.type, values)
            )

    def _queue(self, name: str, values: dict[int, Value], definition_type: int = mq.MQQDT_PREDEFINED) -> Queue:
        return Queue(name, values, definition_type, depth_counts_gets=self._depth_counts_gets)

    def get(self, name: str) -> Queue | Definition | None:
        """Return the queue with this name, or None."""
        return self._objects.get(name)

    def all(self) -> list[Queue | Definition]:
        """Return all queues, of every type, ordered by name."""
        return [self._objects[name] for name in sorted(self._objects)]

    def queues(self) -> list[Queue]:
        """Return the local queues."""
        return [found for found in self._objects.values() if isinstance(found, Queue)]

    def resolve(self, name: str) -> tuple[Queue, Queue | Definition]:
        """Return the local queue that a name leads to, and the object that has the name: the queue itself or an alias.

        Raises:
            CatalogueError: MQRC_UNKNOWN_OBJECT_NAME, MQRC_UNKNOWN_ALIAS_BASE_Q, MQRC_ALIAS_BASE_Q_TYPE_ERROR,
                MQRC_UNKNOWN_REMOTE_Q_MGR.
        """
        named = self._objects.get(name)
        if isinstance(named, Queue):
            return named, named
        if named is None or named.type == MODEL:
            raise CatalogueError(mq.MQRC_UNKNOWN_OBJECT_NAME)
        base = named if named.type == REMOTE else self._objects.get(str(named.values[mq.MQCA_BASE_Q_NAME]))
        if base is None:
            raise CatalogueError(mq.MQRC_UNKNOWN_ALIAS_BASE_Q)
        if base.type == REMOTE:
            # Messages for a remote queue go to a transmission queue (``remote_queues.py``).
            raise CatalogueError(mq.MQRC_UNKNOWN_REMOTE_Q_MGR)
        if not isinstance(base, Queue):
            raise CatalogueError(mq.MQRC_ALIAS_BASE_Q_TYPE_ERROR)
        return base, named

    def create_dynamic(self, model: Definition, dynamic_q_name: str, unique: str) -> Queue:
        """Create a queue from a model. If the name ends with an asterisk in positions 1 to 33, ``unique`` replaces the asterisk.

        Source: IBM MQ, "DynamicQName", reason code 2011.

        Raises:
            CatalogueError: MQRC_DYNAMIC_Q_NAME_ERROR, MQRC_OBJECT_ALREADY_EXISTS.
        """
        name = dynamic_q_name
        if name.endswith("*") and len(name) <= _LAST_ASTERISK:
            name = name[:-1] + unique
        if not OBJECT_NAME.fullmatch(name):
            raise CatalogueError(mq.MQRC_DYNAMIC_Q_NAME_ERROR)
        if name in self._objects:
            raise CatalogueError(mq.MQRC_OBJECT_ALREADY_EXISTS)
        definition_type = model.values[mq.MQIA_DEFINITION_TYPE]
        assert isinstance(definition_type, int)
        own = supplied_values(LOCAL)
        # A model queue has no workload attributes, so the new queue gets the defaults.
        values = {selector: model.values.get(selector, default) for selector, default in own.items()}
        queue = self._queue(name, values, definition_type)
        self._objects[name] = queue
        self._keep(queue)
        return queue

    def abandon(self, name: str) -> None:
        """Delete a managed subscription's queue at once, or as soon as no handle, unit of work or call uses the queue."""
        queue = self._objects.get(name)
        if isinstance(queue, Queue):
            queue.abandoned = True
            self.discard(queue)

    def discard(self, queue: Queue) -> None:
        """Delete a queue if ``abandon`` was called for it, and no handle, unit of work or call uses the queue."""
        if queue.abandoned and not (queue.deleted or queue.open_count or queue.uncommitted or queue.in_transit):
            self.delete_dynamic(queue)

    def delete_dynamic(self, queue: Queue) -> None:
        """Delete a dynamic queue with all its messages."""
        self._forget(queue.name)

    def changed(self, name: str, queue: Queue) -> None:
        """Store the changed attributes of the object ``name``, and wake the MQGETs that wait on ``queue``."""
        self._keep(self._objects[name])
        queue.wake()

    # --- commands, of MQSC and PCF

    def define(
        self, kind: int, name: str, values: Mapping[int, Value], *, like: str | None = None, replace: bool = False
    ) -> None:
        """Define a queue. Missing attributes come from the queue ``like``, or from the type's default object.

        With ``replace``, an existing queue keeps its messages, but none of its attributes (IBM MQ, "DEFINE QLOCAL").

        Raises:
            CatalogueError: MQRCCF_OBJECT_NAME_ERROR, MQRCCF_OBJECT_WRONG_TYPE, MQRCCF_OBJECT_ALREADY_EXISTS,
                MQRC_UNKNOWN_OBJECT_NAME or MQRCCF_LIKE_OBJECT_WRONG_TYPE (``like`` is wrong), MQRCCF_ATTR_VALUE_ERROR.
        """
        if not OBJECT_NAME.fullmatch(name):
            raise CatalogueError(pcf.MQRCCF_OBJECT_NAME_ERROR, f"{name!r} is not a legal object name")
        existing = self._objects.get(name)
        if existing is not None and existing.type != kind:
            raise CatalogueError(pcf.MQRCCF_OBJECT_WRONG_TYPE, f"{name} exists as a {TYPE_NAMES[existing.type]}")
        if existing is not None and not replace:
            raise CatalogueError(pcf.MQRCCF_OBJECT_ALREADY_EXISTS, f"{name} exists")
        merged = supplied_values(kind)
        if like is None and DEFAULT_QUEUES[kind] in self._objects:
            like = DEFAULT_QUEUES[kind]
        if like is not None:
            model = self._objects.get(like)
            if model is None or model.type != kind:
                reason = mq.MQRC_UNKNOWN_OBJECT_NAME if model is None else pcf.MQRCCF_LIKE_OBJECT_WRONG_TYPE
                raise CatalogueError(reason, f"LIKE: there is no {TYPE_NAMES[kind]} {like}")
            merged.update(model.values)
        merged.update(self._checked(kind, values))
        if isinstance(existing, Queue):
            existing.values.update(merged)
            self.changed(existing.name, existing)
            return
        made = self._queue(name, merged) if kind == LOCAL else Definition(name, kind, merged)
        self._objects[name] = made
        self._keep(made)

    def alter(self, kind: int, name: str, values: Mapping[int, Value]) -> None:
        """Change attributes of a queue. Raises CatalogueError."""
        found = self._of_type(kind, name)
        checked = self._checked(kind, values)
        if isinstance(found, Queue):
            found.values.update(checked)
            self.changed(found.name, found)
            return
        altered = dataclasses.replace(found, values={**found.values, **checked})
        self._objects[name] = altered
        self._keep(altered)

    def delete(self, kind: int | None, name: str, *, purge: bool = False) -> None:
        """Delete a queue of type ``kind`` (None means any type). ``purge`` also deletes a queue that has messages.

        Raises:
            CatalogueError: MQRC_UNKNOWN_OBJECT_NAME, MQRCCF_OBJECT_WRONG_TYPE, MQRC_OBJECT_IN_USE, MQRC_Q_NOT_EMPTY.
        """
        found = self._of_type(kind, name)
        if isinstance(found, Queue):
            _check_idle(found)
            if found.uncommitted or (found.held and not purge):
                why = f"{name} holds {found.held} messages (PURGE deletes them too)"
                raise CatalogueError(mq.MQRC_Q_NOT_EMPTY, why)
        self._forget(name)

    def clear(self, name: str) -> None:
        """Delete all messages of a local queue.

        Raises:
            CatalogueError: MQRC_UNKNOWN_OBJECT_NAME, MQRCCF_Q_WRONG_TYPE, MQRC_OBJECT_IN_USE, MQRC_Q_NOT_EMPTY (there are
                uncommitted messages).
        """
        found = self._of_type(None, name)
        if not isinstance(found, Queue):
            raise CatalogueError(pcf.MQRCCF_Q_WRONG_TYPE, f"{name} is a {TYPE_NAMES[found.type]} and holds no messages")
        _check_idle(found)
        if found.uncommitted:
            raise CatalogueError(mq.MQRC_Q_NOT_EMPTY, f"{name} holds {found.uncommitted} uncommitted messages")
        messages = list(found.available.values())
        self._store.commit((), messages)
        for message in messages:
            found.withdraw(message)
        found.held -= len(messages)

    def alter_q_mgr(self, values: Mapping[int, Value]) -> None:
        """Change attributes of the queue manager. Raises CatalogueError."""
        self.q_mgr_values.update(checked_q_mgr_values(values))
        self._store.put_q_mgr_values(self.q_mgr_values)

    def attribute(self, kind: int, attribute: Attribute | None) -> Attribute | None:
        """Return the attribute if queues of type ``kind`` have it on this platform, else None."""
        if attribute is None or kind not in attribute.types:
            return None
        return None if attribute.zos_only and self._platform is not Platform.ZOS else attribute

    def _of_type(self, kind: int | None, name: str) -> Queue | Definition:
        found = self._objects.get(name)
        if found is None:
            raise CatalogueError(mq.MQRC_UNKNOWN_OBJECT_NAME, f"there is no queue {name}")
        if kind is not None and found.type != kind:
            raise CatalogueError(pcf.MQRCCF_OBJECT_WRONG_TYPE, f"{name} is a {TYPE_NAMES[found.type]}")
        return found

    def _checked(self, kind: int, values: Mapping[int, Value]) -> Mapping[int, Value]:
        for selector, value in values.items():
            attribute = self.attribute(kind, BY_SELECTOR.get(selector))
            problem = attribute.problem(value) if attribute else f"{TYPE_NAMES[kind]} has no attribute {selector}"
            if problem:
                raise CatalogueError(pcf.MQRCCF_ATTR_VALUE_ERROR, problem, selector)
        return values

    def _keep(self, found: Queue | Definition) -> None:
        definition_type = found.definition_type if isinstance(found, Queue) else 0
        if definition_type != mq.MQQDT_TEMPORARY_DYNAMIC:
            self._store.put_object(StoredObject(found.name, found.type, definition_type, found.values))
            self._tell()

    def _forget(self, name: str) -> None:
        found = self._objects.pop(name)
        if isinstance(found, Queue):
            found.deleted = True
            found.wake()
        self._store.delete_object(name)
        self.authorities.forget("QUEUE", name)
        self._tell()

    def _tell(self) -> None:
        if self.on_change is not None:
            self.on_change()


def _check_idle(queue: Queue) -> None:
    """Raise CatalogueError with MQRC_OBJECT_IN_USE if a queue is open, or a put or get on it is in progress."""
    if queue.open_count or queue.in_transit:
        raise CatalogueError(mq.MQRC_OBJECT_IN_USE, f"{queue.name} is open")
