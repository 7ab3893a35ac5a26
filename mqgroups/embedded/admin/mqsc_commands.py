"""Carrying out MQSC commands: from keywords and values to the catalogue's methods.

Not here: the syntax (``mqsc.py``), the meaning of defining or deleting an object (``catalogue.py``, ``objects/others.py``).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping

from mqgroups.embedded.admin import forcing
from mqgroups.embedded.admin.mqsc import Command, MQSCError
from mqgroups.embedded.catalogue import Catalogue
from mqgroups.embedded.objects.attributes import BY_KEYWORD, TYPE_NAMES, Attribute, Value
from mqgroups.embedded.objects.authority import OBJECT_TYPES, Q_MGR_PROFILE, Entity, RecordKey
from mqgroups.embedded.objects.kinds import (
    ATTRIBUTES,
    Q_MGR_ATTRIBUTES,
    SUBSCRIPTION_ATTRIBUTES,
    Kind,
    by_keyword,
)
from mqgroups.embedded.objects.others import CatalogueError, ObjectValue
from mqgroups.embedded.pubsub import administration
from mqgroups.embedded.pubsub.subscription import Subscriptions
from mqgroups.embedded.queue_manager import QueueManager
from mqgroups.embedded.wire import pcf_constants as pcf
from mqgroups.mqi import constants as mq

_log = logging.getLogger(__name__)

_TYPES = {name: kind for kind, name in TYPE_NAMES.items()}
_KINDS = {
    "CHANNEL": Kind.CHANNEL,
    "AUTHINFO": Kind.AUTH_INFO,
    "NAMELIST": Kind.NAMELIST,
    "PROCESS": Kind.PROCESS,
    "TOPIC": Kind.TOPIC,
}
# Keywords for the type of an object. The parser has checked them.
_SUBTYPES = {"CHLTYPE", "AUTHTYPE"}
_AUTHREC_PARAMETERS = {"PROFILE", "OBJTYPE", "PRINCIPAL", "GROUP", "AUTHADD", "AUTHRMV", "SERVCOMP"}
# AUTHREC is about authority records, and IGNSTATE about a queue that does not exist.
_DELETE_PARAMETERS = {"PURGE", "NOPURGE", "AUTHREC", "IGNSTATE"}


def run(q_mgr: QueueManager, commands: Iterable[Command]) -> None:
    """Carry out commands in order; raises MQSCError at the first one that fails."""
    for command in commands:
        try:
            _run(q_mgr, command)
        except CatalogueError as error:
            raise refused(command, str(error)) from error


def exists(catalogue: Catalogue, command: Command) -> bool:
    """Whether the object that a command names exists."""
    if command.kind in _KINDS:
        return command.name in catalogue.objects.of(_KINDS[command.kind])
    return catalogue.get(command.name) is not None


def _run(q_mgr: QueueManager, command: Command) -> None:
    catalogue = q_mgr.catalogue
    if command.set_aside:
        _log.info("line %d: %s %s(%s) applies to IBM MQ only", command.line, command.verb, command.kind, command.name)
    elif command.verb == "DISPLAY":
        _log.info("line %d: nobody reads the output of DISPLAY %s", command.line, command.kind)
    elif command.kind == "CLUSTER":
        with q_mgr.lock:
            forcing.refresh_cluster(q_mgr)
    elif command.kind == "QMGR":
        catalogue.alter_q_mgr(_known_values(command, by_keyword(Q_MGR_ATTRIBUTES), command.parameters))
    elif command.kind == "SUB":
        _subscription(q_mgr.parts.get(Subscriptions), command)
    elif command.kind == "AUTHREC":
        _authority(catalogue, command)
    elif command.kind in _KINDS:
        _object(catalogue, command, _KINDS[command.kind])
    elif command.verb == "CLEAR":
        catalogue.clear(command.name)
    elif command.verb == "DELETE":
        _reject(command, command.parameters.keys() - _DELETE_PARAMETERS)
        catalogue.delete(_TYPES[command.kind], command.name, purge="PURGE" in command.parameters)
    else:
        _queue(q_mgr, command)


def _queue(q_mgr: QueueManager, command: Command) -> None:
    catalogue, kind = q_mgr.catalogue, _TYPES[command.kind]
    parameters, like, replace = _options(command)
    force = parameters.pop("FORCE", None) is not None
    values = _values(command, lambda keyword: catalogue.attribute(kind, BY_KEYWORD.get(keyword)), parameters)
    if command.verb == "ALTER":
        with q_mgr.lock:
            forcing.alter(q_mgr, kind, command.name, values, force=force)
        return
    existing = catalogue.get(command.name)
    if existing is not None and existing.type == kind and not replace:
        # A start-up file is read at every start. IBM MQ also reports this, and continues.
        _log.info("line %d: %s exists and is not replaced", command.line, command.name)
        return
    catalogue.define(kind, command.name, values, like=like, replace=replace)


def _object(catalogue: Catalogue, command: Command, kind: Kind) -> None:
    if command.verb == "DELETE":
        _reject(command, command.parameters.keys() - _DELETE_PARAMETERS)
        catalogue.objects.delete(kind, command.name)
        return
    parameters, like, replace = _options(command)
    names = parameters.pop("NAMES", None) if kind is Kind.NAMELIST else None
    values: dict[int, ObjectValue] = {**_known_values(command, by_keyword(ATTRIBUTES[kind]), parameters)}
    if names is not None:
        values[pcf.MQCA_NAMES] = [name.strip() for name in names.split(",") if name.strip()]
    if command.verb == "ALTER":
        catalogue.objects.alter(kind, command.name, values)
    elif replace or command.name not in catalogue.objects.of(kind):
        catalogue.objects.define(kind, command.name, values, like=like, replace=replace)


def _subscription(subscriptions: Subscriptions, command: Command) -> None:
    parameters, _, replace = _options(command)
    correl_id = parameters.pop("DESTCORL", None)
    values: dict[int, administration.SubscriptionValue] = {
        **_known_values(command, by_keyword(SUBSCRIPTION_ATTRIBUTES), parameters)
    }
    if correl_id is not None:
        try:
            values[pcf.MQBACF_DESTINATION_CORREL_ID] = bytes.fromhex(correl_id)
        except ValueError as error:
            raise refused(command, "DESTCORL takes hexadecimal digits") from error
    existing = subscriptions.named(command.name)
    if command.verb == "DEFINE":
        if existing is not None and not replace:
            _log.info("line %d: %s exists and is not replaced", command.line, command.name)
            return
        administration.define(subscriptions, command.name, values, replace=replace)
        return
    if existing is None:
        raise CatalogueError(mq.MQRC_NO_SUBSCRIPTION, f"there is no subscription {command.name}")
    if command.verb == "ALTER":
        administration.alter(subscriptions, existing, values)
    else:
        administration.delete(subscriptions, existing)


def _authority(catalogue: Catalogue, command: Command) -> None:
    """SET AUTHREC and DELETE AUTHREC."""
    _reject(command, command.parameters.keys() - _AUTHREC_PARAMETERS)
    key = record_key(command)
    if command.verb == "DELETE":
        if not catalogue.authorities.delete(key):
            raise CatalogueError(pcf.MQRCCF_NONE_FOUND, f"there is no record of {key.entity.name} for {key.profile}")
        return
    words = [command.parameters.get(parameter, "").split(",") for parameter in ("AUTHADD", "AUTHRMV")]
    if words == [[""], [""]]:
        raise refused(command, "AUTHADD or AUTHRMV is needed")
    try:
        catalogue.authorities.change(key, *([word for word in each if word] for each in words))
    except ValueError as error:
        raise refused(command, str(error)) from error


def record_key(command: Command) -> RecordKey:
    """Return the key of the authority record that a command is about; raises MQSCError."""
    given = command.parameters
    object_type = given.get("OBJTYPE", "")
    if object_type not in OBJECT_TYPES:
        raise refused(command, f"OBJTYPE({object_type}) is not one of {', '.join(OBJECT_TYPES)}")
    entities = [Entity(kind, given[kind]) for kind in ("PRINCIPAL", "GROUP") if given.get(kind)]
    if len(entities) != 1:
        raise refused(command, "one of PRINCIPAL and GROUP is needed")
    profile = Q_MGR_PROFILE if object_type == "QMGR" else given.get("PROFILE", "")
    if not profile:
        raise refused(command, "PROFILE is needed")
    return RecordKey(object_type, profile, entities[0])


def _options(command: Command) -> tuple[dict[str, str], str | None, bool]:
    """Return the parameters that are attributes, the name in LIKE, and whether REPLACE is given."""
    parameters = {keyword: text for keyword, text in command.parameters.items() if keyword not in _SUBTYPES}
    replace = parameters.pop("REPLACE", None) is not None
    parameters.pop("NOREPLACE", None)
    return parameters, parameters.pop("LIKE", None), replace


def _known_values(
    command: Command, attributes: Mapping[str, Attribute], parameters: Mapping[str, str]
) -> dict[int, Value]:
    """Return the known attributes. Others are ignored: IBM MQ needs them, and the same file must serve both."""
    for keyword in parameters.keys() - attributes.keys():
        _log.info("line %d: %s %s %s applies to IBM MQ only", command.line, command.verb, command.kind, keyword)
    known = {keyword: text for keyword, text in parameters.items() if keyword in attributes}
    return _values(command, attributes.get, known)


def _values(
    command: Command, attribute_of: Callable[[str], Attribute | None], parameters: Mapping[str, str]
) -> dict[int, Value]:
    """Return the attributes that parameters set, by selector."""
    values: dict[int, Value] = {}
    for keyword, text in parameters.items():
        attribute = attribute_of(keyword)
        if attribute is None:
            raise refused(command, f"{command.kind} has no attribute {keyword} here")
        try:
            # A keyword without a value is itself the value: SHARE, NOTRIGGER.
            values[attribute.selector] = attribute.value_of(text if text or attribute.length else keyword)
        except ValueError as error:
            raise refused(command, str(error)) from error
    return values


def _reject(command: Command, keywords: Iterable[str]) -> None:
    for keyword in keywords:
        raise refused(command, f"{command.verb} {command.kind} has no parameter {keyword} here")


def refused(command: Command, why: str) -> MQSCError:
    """Return the error for a command that cannot be carried out."""
    named = f"({command.name})" if command.name else ""
    return MQSCError(f"line {command.line}: {command.verb} {command.kind}{named}: {why}")
