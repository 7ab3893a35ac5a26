"""The objects of a queue manager: local, model and alias queues, by name; defining, altering, deleting, resolving them.

It carries out MQSC commands and creates and deletes dynamic queues. Objects other than temporary dynamic queues are
kept by the store. Not here: handles, messages.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from mqgroups.embedded.attributes import (
    BY_KEYWORD,
    LOCAL,
    MODEL,
    TYPE_NAMES,
    Value,
    default_values,
)
from mqgroups.embedded.mqsc import Command, MQSCError
from mqgroups.embedded.queue import Queue
from mqgroups.embedded.store import Store, StoredObject
from mqgroups.mqi import constants as mq

_log = logging.getLogger(__name__)

_TYPES = {name: kind for kind, name in TYPE_NAMES.items()}
_NAME = re.compile(r"[A-Za-z0-9._/%]{1,48}")
# What the queue manager has without being asked: the models and defaults that programs expect to find.
SYSTEM_MQSC = """
DEFINE QMODEL(SYSTEM.DEFAULT.MODEL.QUEUE) DEFTYPE(TEMPDYN) NOSHARE DEFSOPT(EXCL)
DEFINE QLOCAL(SYSTEM.DEFAULT.LOCAL.QUEUE)
DEFINE QALIAS(SYSTEM.DEFAULT.ALIAS.QUEUE)
DEFINE QLOCAL(SYSTEM.DEAD.LETTER.QUEUE) MAXDEPTH(999999999)
"""
DEFAULT_CHANNELS = frozenset({"SYSTEM.DEF.SVRCONN", "SYSTEM.AUTO.SVRCONN", "DEV.APP.SVRCONN", "DEV.ADMIN.SVRCONN"})

_Q_MGR_KEYWORDS = {
    "MAXUMSGS": (mq.MQIA_MAX_UNCOMMITTED_MSGS, 1, 999_999_999),
    "MAXMSGL": (mq.MQIA_MAX_MSG_LENGTH, 32_768, 104_857_600),
    "MAXHANDS": (mq.MQIA_MAX_HANDLES, 1, 999_999_999),
    "DESCR": (mq.MQCA_Q_MGR_DESC, 0, 0),
    "DEADQ": (mq.MQCA_DEAD_LETTER_Q_NAME, 0, 0),
}


class CatalogueError(Exception):
    """A request that the catalogue refuses; ``reason`` is the MQI reason code."""

    def __init__(self, reason: int) -> None:
        super().__init__(mq.reason_name(reason))
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Definition:
    """A model or alias queue: attributes only."""

    name: str
    type: int
    values: dict[int, Value]


class Catalogue:
    """All objects of one queue manager. Called under the queue manager's lock."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._objects: dict[str, Queue | Definition] = {}
        self.channels: set[str] = set(DEFAULT_CHANNELS)
        self.q_mgr_values: dict[int, Value] = {
            mq.MQIA_MAX_UNCOMMITTED_MSGS: 10_000,
            mq.MQIA_MAX_MSG_LENGTH: 4_194_304,
            mq.MQIA_MAX_HANDLES: 256,
            mq.MQCA_Q_MGR_DESC: "",
            mq.MQCA_DEAD_LETTER_Q_NAME: "",
            **store.q_mgr_values,
        }
        for stored in store.objects():
            values = {**default_values(stored.type), **stored.values}
            self._objects[stored.name] = (
                Queue(stored.name, values, stored.definition_type)
                if stored.type == LOCAL
                else Definition(stored.name, stored.type, values)
            )

    def get(self, name: str) -> Queue | Definition | None:
        """Return the object of this name."""
        return self._objects.get(name)

    def queues(self) -> list[Queue]:
        """Return the local queues."""
        return [found for found in self._objects.values() if isinstance(found, Queue)]

    def resolve(self, name: str) -> tuple[Queue, Queue | Definition]:
        """Return the local queue that a name leads to, and the object of that name, which may be an alias of it.

        Raises:
            CatalogueError: MQRC_UNKNOWN_OBJECT_NAME, MQRC_UNKNOWN_ALIAS_BASE_Q, MQRC_ALIAS_BASE_Q_TYPE_ERROR.
        """
        named = self._objects.get(name)
        if isinstance(named, Queue):
            return named, named
        if named is None or named.type == MODEL:
            raise CatalogueError(mq.MQRC_UNKNOWN_OBJECT_NAME)
        base = self._objects.get(str(named.values[mq.MQCA_BASE_Q_NAME]))
        if base is None:
            raise CatalogueError(mq.MQRC_UNKNOWN_ALIAS_BASE_Q)
        if not isinstance(base, Queue):
            raise CatalogueError(mq.MQRC_ALIAS_BASE_Q_TYPE_ERROR)
        return base, named

    def create_dynamic(self, model: Definition, dynamic_q_name: str, unique: str) -> Queue:
        """Create a queue from a model. A name that ends in ``*`` gets ``unique`` in its place (MQOD, field
        DynamicQName).

        Raises:
            CatalogueError: MQRC_DYNAMIC_Q_NAME_ERROR, MQRC_OBJECT_ALREADY_EXISTS.
        """
        name = dynamic_q_name
        if name.endswith("*"):
            name = (name[:-1][:33] + unique)[:48]
        if not _NAME.fullmatch(name):
            raise CatalogueError(mq.MQRC_DYNAMIC_Q_NAME_ERROR)
        if name in self._objects:
            raise CatalogueError(mq.MQRC_OBJECT_ALREADY_EXISTS)
        definition_type = model.values[mq.MQIA_DEFINITION_TYPE]
        assert isinstance(definition_type, int)
        values = {selector: model.values[selector] for selector in default_values(LOCAL)}
        queue = Queue(name, values, definition_type)
        self._objects[name] = queue
        self._keep(queue)
        return queue

    def delete_dynamic(self, queue: Queue) -> None:
        """Delete a dynamic queue with all that is on it."""
        self._forget(queue.name)

    def changed(self, name: str, queue: Queue) -> None:
        """Keep the changed attributes of the object of this name, and let MQGETs that wait on its queue look again."""
        self._keep(self._objects[name])
        queue.wake()

    def run(self, commands: Iterable[Command]) -> None:
        """Carry out MQSC commands in order; raises MQSCError at the first that cannot be."""
        for command in commands:
            if command.set_aside:
                _log.info("line %d: %s %s is for IBM MQ alone", command.line, command.verb, command.kind)
            elif command.kind == "QMGR":
                self._alter_q_mgr(command)
            elif command.kind == "CHANNEL":
                self.channels.add(command.name)
            elif command.verb == "DEFINE":
                self._define(command)
            elif command.verb == "ALTER":
                self._alter(command)
            else:
                self._delete(command)

    def _define(self, command: Command) -> None:
        kind = _TYPES[command.kind]
        parameters = dict(command.parameters)
        replaces = "REPLACE" in parameters
        parameters.pop("REPLACE", None)
        parameters.pop("NOREPLACE", None)
        if not _NAME.fullmatch(command.name):
            raise _refused(command, f"{command.name!r} is no legal object name")
        existing = self._objects.get(command.name)
        if existing is not None and existing.type != kind:
            raise _refused(command, f"{command.name} exists as a {TYPE_NAMES[existing.type]}")
        if existing is not None and not replaces:
            # A start-up file is read at every start; IBM MQ reports this one and goes on too.
            _log.info("line %d: %s exists and is not replaced", command.line, command.name)
            return
        # Unlike ALTER, REPLACE sets every attribute: those that are not given to their defaults ("DEFINE QLOCAL").
        values = default_values(kind)
        if "LIKE" in parameters:
            like = self._objects.get(parameters.pop("LIKE"))
            if like is None or like.type != kind:
                raise _refused(command, f"there is no {command.kind} {command.parameters['LIKE']} to be like")
            values.update(like.values)
        values.update(_attributes(command, kind, parameters))
        if isinstance(existing, Queue):
            existing.values.update(values)
            self.changed(existing.name, existing)
            return
        made = Queue(command.name, values) if kind == LOCAL else Definition(command.name, kind, values)
        self._objects[command.name] = made
        self._keep(made)

    def _alter(self, command: Command) -> None:
        found = self._objects.get(command.name)
        if found is None or TYPE_NAMES[found.type] != command.kind:
            raise _refused(command, f"there is no {command.kind} of this name")
        values = _attributes(command, found.type, command.parameters)
        if isinstance(found, Queue):
            found.values.update(values)
            self.changed(found.name, found)
            return
        altered = replace(found, values={**found.values, **values})
        self._objects[command.name] = altered
        self._keep(altered)

    def _delete(self, command: Command) -> None:
        found = self._objects.get(command.name)
        if found is None or TYPE_NAMES[found.type] != command.kind:
            raise _refused(command, f"there is no {command.kind} of this name")
        if isinstance(found, Queue):
            if found.open_input_count or found.open_output_count:
                raise _refused(command, f"{command.name} is open")
            if found.depth and "PURGE" not in command.parameters:
                raise _refused(command, f"{command.name} holds {found.depth} messages (PURGE deletes them too)")
        self._forget(command.name)

    def _alter_q_mgr(self, command: Command) -> None:
        for keyword, text in command.parameters.items():
            known = _Q_MGR_KEYWORDS.get(keyword)
            if known is None:
                _log.info("line %d: ALTER QMGR %s is for IBM MQ alone", command.line, keyword)
                continue
            selector, low, high = known
            self.q_mgr_values[selector] = _number(command, keyword, text, low, high) if high else text
        self._store.put_q_mgr_values(self.q_mgr_values)

    def _keep(self, found: Queue | Definition) -> None:
        definition_type = found.definition_type if isinstance(found, Queue) else 0
        if definition_type != mq.MQQDT_TEMPORARY_DYNAMIC:
            self._store.put_object(StoredObject(found.name, found.type, definition_type, found.values))

    def _forget(self, name: str) -> None:
        found = self._objects.pop(name)
        if isinstance(found, Queue):
            found.deleted = True
            found.wake()
        self._store.delete_object(name)


def _attributes(command: Command, kind: int, parameters: dict[str, str]) -> dict[int, Value]:
    """Return the attributes that parameters set, by selector."""
    values: dict[int, Value] = {}
    for keyword, text in parameters.items():
        attribute = BY_KEYWORD.get(keyword)
        if attribute is None or kind not in attribute.types:
            raise _refused(command, f"{command.kind} has no attribute {keyword} here")
        word = text or keyword
        if attribute.length:
            if len(text) > attribute.length:
                raise _refused(command, f"{keyword} takes {attribute.length} characters, {len(text)} are given")
            values[attribute.selector] = text
        elif attribute.keywords:
            if word not in attribute.keywords:
                raise _refused(command, f"{keyword} takes one of {', '.join(attribute.keywords)}, not {word}")
            values[attribute.selector] = attribute.keywords[word]
        else:
            values[attribute.selector] = _number(command, keyword, text, attribute.low, attribute.high)
    return values


def _number(command: Command, keyword: str, text: str, low: int, high: int) -> int:
    if not text.isdigit() or not low <= int(text) <= high:
        raise _refused(command, f"{keyword} takes a number from {low} to {high}, not {text!r}")
    return int(text)


def _refused(command: Command, why: str) -> MQSCError:
    return MQSCError(f"line {command.line}: {command.verb} {command.kind}({command.name}): {why}")
