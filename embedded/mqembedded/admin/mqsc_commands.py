"""Carries out MQSC commands: turns keywords and values into calls of the catalogue.

``mqsc.py`` reads the commands. ``catalogue.py`` and ``objects/others.py`` define and delete the objects.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from mqembedded import constants as mq
from mqembedded.admin import forcing, stopping
from mqembedded.admin.mqsc import Command, MQSCError
from mqembedded.catalogue import Catalogue
from mqembedded.objects.attributes import BY_KEYWORD, QUEUE_ATTRIBUTES, TYPE_NAMES, Attribute, Value
from mqembedded.objects.authority import OBJECT_TYPES, Q_MGR_PROFILE, Entity, RecordKey, is_valid
from mqembedded.objects.kinds import (
    ATTRIBUTES,
    Q_MGR_ATTRIBUTES,
    SUBSCRIPTION_ATTRIBUTES,
    WITHOUT_EFFECT,
    Kind,
    by_keyword,
)
from mqembedded.objects.others import BASE_TOPIC, CatalogueError, ObjectValue
from mqembedded.pubsub import administration
from mqembedded.pubsub.subscription import Subscriptions
from mqembedded.queue_manager import CCSID, QueueManager
from mqembedded.wire import pcf_constants as pcf

_log = logging.getLogger(__name__)

_TYPES = {name: kind for kind, name in TYPE_NAMES.items()}
_KINDS = {
    "CHANNEL": Kind.CHANNEL,
    "AUTHINFO": Kind.AUTH_INFO,
    "NAMELIST": Kind.NAMELIST,
    "PROCESS": Kind.PROCESS,
    "TOPIC": Kind.TOPIC,
}
# Keywords for an object's type. The parser has checked their values.
_SUBTYPES = {"CHLTYPE", "AUTHTYPE"}
_AUTHREC_PARAMETERS = {"PROFILE", "OBJTYPE", "PRINCIPAL", "GROUP", "AUTHADD", "AUTHRMV", "SERVCOMP"}
_DELETE_PARAMETERS = {"PURGE", "NOPURGE", "AUTHREC", "IGNSTATE"} | _SUBTYPES
_STOP_PARAMETERS = {"CHANNEL": {"MODE", "STATUS", "CONNAME", "IGNSTATE"}, "CONN": {"EXTCONN"}}
# Attributes that are read but not stored, by kind: secrets, and attributes that can have only this value here. Any other value is
# reported.
_NOT_KEPT: dict[str, dict[str, str]] = {
    "QMGR": {"CCSID": str(CCSID), "INITKEY": "", "KEYRPWD": ""},
    "SUB": {"PUBACCT": "", "PUBAPPID": "", "SELECTOR": ""},
    "TOPIC": {"TYPE": "LOCAL"},
}
# The most objects that a message names.
_MOST_NAMES = 5
_WHAT_IS_NOT_THERE = frozenset(
    {mq.MQRC_UNKNOWN_OBJECT_NAME, mq.MQRC_NO_SUBSCRIPTION, pcf.MQRCCF_CHANNEL_NOT_FOUND, pcf.MQRCCF_CHANNEL_NOT_ACTIVE}
)


def run(q_mgr: QueueManager, commands: Iterable[Command]) -> list[tuple[Command, str]]:
    """Carry out commands one after another; raise MQSCError at the first command that fails.

    Return (command, "") for each command without effect, and (command, keyword) for each attribute without effect.
    """
    without_effect = []
    for command in commands:
        try:
            ignored = _not_kept(command) if _run(q_mgr, command) else [""]
            without_effect += [(command, keyword) for keyword in ignored]
        except CatalogueError as error:
            # IGNSTATE(YES): the command also succeeds if there is nothing to do (IBM MQ, "DELETE queues").
            if command.parameters.get("IGNSTATE") != "YES" or error.reason not in _WHAT_IS_NOT_THERE:
                raise refused(command, str(error)) from error
    return without_effect


def told(without_effect: Iterable[tuple[Command, str]]) -> str:
    """Return a sentence that names the commands and attributes in the result of ``run``, or "" if there are none."""
    lines: dict[str, list[str]] = {}
    for command, keyword in without_effect:
        lines.setdefault(f"{command.verb} {command.kind} {keyword}".rstrip(), []).append(str(command.line))
    named = "; ".join(f"{what} (line{'s' * (len(each) > 1)} {', '.join(each)})" for what, each in lines.items())
    return f"for IBM MQ, and without effect here: {named}" if lines else ""


def attributes_without_effect(q_mgr: QueueManager) -> str:
    """Return a sentence that names the attributes without effect that differ from their defaults, or "" if there are none.

    The base topic is left out, because it always differs from the defaults of topics.
    """
    catalogue = q_mgr.catalogue
    holders: list[tuple[str, str, tuple[Attribute, ...], Mapping[int, object]]]
    holders = [("QMGR", "the queue manager", Q_MGR_ATTRIBUTES, catalogue.q_mgr_values)]
    holders += [("QUEUE", queue.name, QUEUE_ATTRIBUTES, queue.values) for queue in catalogue.all()]
    for kind in (Kind.CHANNEL, Kind.AUTH_INFO, Kind.TOPIC):
        for name, made in sorted(catalogue.objects.of(kind).items()):
            if name != BASE_TOPIC:
                holders.append((kind.value.upper(), name, ATTRIBUTES[kind], made))
    found: dict[str, list[str]] = {}
    for what, name, attributes, values in holders:
        for attribute in attributes:
            value = values.get(attribute.selector, attribute.default)
            if attribute.keyword in WITHOUT_EFFECT[what] and value != attribute.default:
                found.setdefault(attribute.in_words(value), []).append(name)
    return "; ".join(f"{words} of {_few(names)}" for words, names in found.items())


def _few(names: list[str]) -> str:
    more = len(names) - _MOST_NAMES
    return ", ".join(names[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


def exists(q_mgr: QueueManager, command: Command) -> bool:
    """Return whether the object that a command names exists."""
    if command.set_aside:
        return False
    if command.kind in _KINDS:
        return command.name in q_mgr.catalogue.objects.of(_KINDS[command.kind])
    if command.kind == "SUB":
        return q_mgr.parts.get(Subscriptions).named(command.name) is not None
    return q_mgr.catalogue.get(command.name) is not None


def _run(q_mgr: QueueManager, command: Command) -> bool:
    """Carry out a command, and return False if it has no effect here."""
    catalogue = q_mgr.catalogue
    subject = (command.kind, command.name)
    if command.set_aside:
        if command.verb == "DEFINE":
            q_mgr.set_aside.add(subject)
        return False
    if subject in q_mgr.set_aside and command.verb in ("DELETE", "START", "STOP") and not exists(q_mgr, command):
        return False
    if command.verb in ("DISPLAY", "PING"):
        _log.info("line %d: the output of %s %s is not shown", command.line, command.verb, command.kind)
    elif command.verb in ("START", "STOP"):
        _stop_or_start(q_mgr, command)
    elif command.kind == "CLUSTER":
        with q_mgr.lock:
            forcing.refresh_cluster(q_mgr)
    elif command.kind == "QMGR":
        parameters = {keyword: text for keyword, text in command.parameters.items() if keyword != "FORCE"}
        catalogue.alter_q_mgr(_known_values(command, Q_MGR_ATTRIBUTES, parameters))
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
    return True


def _stop_or_start(q_mgr: QueueManager, command: Command) -> None:
    """Carry out START CHANNEL, STOP CHANNEL or STOP CONN."""
    given = command.parameters
    _reject(command, given.keys() - (_STOP_PARAMETERS[command.kind] if command.verb == "STOP" else {"IGNSTATE"}))
    with q_mgr.lock:
        if command.kind == "CONN":
            # DISPLAY CONN shows the last 8 bytes of a ConnectionId as CONN, and the first 16 bytes as EXTCONN.
            last, first = command.name.upper(), given.get("EXTCONN", "").upper()
            stopping.stop_connection(
                q_mgr, lambda each: each.hex().upper() in (first + last, each[:16].hex().upper() + last)
            )
        elif command.verb == "START":
            stopping.start_channel(q_mgr, command.name)
        else:
            mode, status = _word(command, "MODE", stopping.MODES), _word(command, "STATUS", stopping.STATUSES)
            stopping.stop_channel(q_mgr, command.name, mode, status, given.get("CONNAME", ""))


def _word(command: Command, keyword: str, words: Mapping[str, int]) -> int | None:
    text = command.parameters.get(keyword)
    if text is None:
        return None
    if text not in words:
        raise refused(command, f"{keyword} takes one of {', '.join(words)}, not {text}")
    return words[text]


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
        _stays(command, existing.values, values)
        return
    catalogue.define(kind, command.name, values, like=like, replace=replace)


def _stays(command: Command, existing: Mapping[Any, object], given: Mapping[Any, object]) -> None:
    """Log that a definition has no effect because the object exists. The level is WARNING if the object is different.

    A start-up file is read at every start, so an existing object is not an error. IBM MQ also reports it and continues.
    """
    differs = any(existing.get(selector) != value for selector, value in given.items())
    level = logging.WARNING if differs else logging.INFO
    about = f"DEFINE {command.kind}({command.name})"
    _log.log(
        level, "line %d: AMQ8150E: %s: it exists, and REPLACE is not given, so it stays as it is", command.line, about
    )


def _object(catalogue: Catalogue, command: Command, kind: Kind) -> None:
    if command.verb == "DELETE":
        _reject(command, command.parameters.keys() - _DELETE_PARAMETERS)
        catalogue.objects.delete(kind, command.name)
        return
    parameters, like, replace = _options(command)
    names = parameters.pop("NAMES", None) if kind is Kind.NAMELIST else None
    values: dict[int, ObjectValue] = {**_known_values(command, ATTRIBUTES[kind], parameters)}
    if names is not None:
        values[pcf.MQCA_NAMES] = [name.strip() for name in names.split(",") if name.strip()]
    if command.verb == "ALTER":
        catalogue.objects.alter(kind, command.name, values)
    elif replace or (existing := catalogue.objects.of(kind).get(command.name)) is None:
        catalogue.objects.define(kind, command.name, values, like=like, replace=replace)
    else:
        _stays(command, existing, values)


def _subscription(subscriptions: Subscriptions, command: Command) -> None:
    parameters, _, replace = _options(command)
    correl_id = parameters.pop("DESTCORL", None)
    values: dict[int, administration.SubscriptionValue] = {
        **_known_values(command, SUBSCRIPTION_ATTRIBUTES, parameters)
    }
    if correl_id is not None:
        try:
            values[pcf.MQBACF_DESTINATION_CORREL_ID] = bytes.fromhex(correl_id)
        except ValueError as error:
            raise refused(command, "DESTCORL takes hexadecimal digits") from error
    existing = subscriptions.named(command.name)
    if command.verb == "DEFINE":
        if existing is not None and not replace:
            _stays(command, {}, {})
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
    """Carry out SET AUTHREC or DELETE AUTHREC."""
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
    """Return the key of the authority record that a command names. Raises MQSCError."""
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
    if not is_valid(profile):
        raise refused(command, f"PROFILE({profile}): ** is allowed only once, between dots")
    return RecordKey(object_type, profile, entities[0])


def _options(command: Command) -> tuple[dict[str, str], str | None, bool]:
    """Return the parameters that are attributes, the name in LIKE, and whether REPLACE is given."""
    parameters = {keyword: text for keyword, text in command.parameters.items() if keyword not in _SUBTYPES}
    replace = parameters.pop("REPLACE", None) is not None
    parameters.pop("NOREPLACE", None)
    return parameters, parameters.pop("LIKE", None), replace


def _known_values(
    command: Command, attributes: tuple[Attribute, ...], parameters: Mapping[str, str]
) -> dict[int, Value]:
    if "SELECTOR" in _not_kept(command):
        raise refused(command, "selection strings are not supported, so it would get every publication")
    not_kept = _NOT_KEPT.get(command.kind, {})
    kept = {keyword: text for keyword, text in parameters.items() if keyword not in not_kept}
    return _values(command, by_keyword(attributes).get, kept)


def _not_kept(command: Command) -> list[str]:
    """Return the attributes that are read but not stored, and that differ from their defaults."""
    defaults = _NOT_KEPT.get(command.kind, {})
    return [word for word, text in command.parameters.items() if word in defaults and text.strip() != defaults[word]]


def _values(
    command: Command, attribute_of: Callable[[str], Attribute | None], parameters: Mapping[str, str]
) -> dict[int, Value]:
    """Return the attributes that the parameters set, by selector."""
    values: dict[int, Value] = {}
    for keyword, text in parameters.items():
        attribute = attribute_of(keyword)
        if attribute is None:
            raise refused(command, f"{command.kind} has no attribute {keyword} here")
        try:
            # A keyword without a value is itself the value, such as SHARE or NOTRIGGER.
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
    return MQSCError(f"{command.verb} {command.kind}{named}: {why}", command.line)
