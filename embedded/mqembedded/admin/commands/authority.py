"""Commands for authority records and channel authentication records. The channel records are stored but not enforced.

Source: IBM MQ, "Set Authority Record", "Delete Authority Record", "Inquire Authority Records", "DISPLAY AUTHREC", "Set Channel
Authentication Record". MQAUTHOPT_NAME_ALL_MATCHING makes an inquiry return all records whose profile matches the object of the
given name. Otherwise it returns the records whose profile name is this name. Other MQIACF_AUTH_OPTIONS have no effect.
"""

from __future__ import annotations

from collections.abc import Iterable

from mqembedded import constants as mq
from mqembedded.admin import mqsc_commands, pcf
from mqembedded.admin.commands.request import Request, Row, Shape, check_generic, integer, integers, text, texts
from mqembedded.admin.mqsc import Command, MQSCError
from mqembedded.admin.pcf import PCFError
from mqembedded.objects.authority import OBJECT_TYPES, Q_MGR_PROFILE, WORDS, Entity, RecordKey, fits, is_valid
from mqembedded.queue_manager import QueueManager
from mqembedded.wire import pcf_constants as cf

_OBJECT_TYPES = {
    mq.MQOT_Q: "QUEUE",
    mq.MQOT_NAMELIST: "NAMELIST",
    mq.MQOT_PROCESS: "PROCESS",
    mq.MQOT_Q_MGR: "QMGR",
    cf.MQOT_CHANNEL: "CHANNEL",
    cf.MQOT_AUTH_INFO: "AUTHINFO",
    mq.MQOT_TOPIC: "TOPIC",
    cf.MQOT_COMM_INFO: "COMMINFO",
    cf.MQOT_LISTENER: "LISTENER",
    cf.MQOT_SERVICE: "SERVICE",
    cf.MQOT_CLNTCONN_CHANNEL: "CLNTCONN",
    cf.MQOT_REMOTE_Q_MGR_NAME: "RQMNAME",
}
_NUMBERS = {word: number for number, word in _OBJECT_TYPES.items()}
_ENTITY_TYPES = {"PRINCIPAL": 1, "GROUP": 2}
_ENTITIES = {"PRINCIPAL": cf.MQCACF_PRINCIPAL_ENTITY_NAMES, "GROUP": cf.MQCACF_GROUP_ENTITY_NAMES}
_WORDS = {0: "NONE", -1: "ALL", -2: "ALLADM", -3: "ALLMQI", **dict(enumerate(WORDS, 1))}
_MQAUTH = {word: number for number, word in _WORDS.items()}
_ENTITY_NAME_LENGTH = 1024

SET_AUTH_REC = Shape(
    text(cf.MQCACF_AUTH_PROFILE_NAME) + integer(cf.MQIACF_OBJECT_TYPE),
    (
        *integers(cf.MQIACF_AUTH_ADD_AUTHS, cf.MQIACF_AUTH_REMOVE_AUTHS),
        *texts(cf.MQCACF_PRINCIPAL_ENTITY_NAMES, cf.MQCACF_GROUP_ENTITY_NAMES),
    ),
)
DELETE_AUTH_REC = SET_AUTH_REC
INQUIRE_AUTH_RECS = Shape(
    integer(cf.MQIACF_AUTH_OPTIONS) + text(cf.MQCACF_AUTH_PROFILE_NAME) + integer(cf.MQIACF_OBJECT_TYPE),
    (*text(cf.MQCACF_ENTITY_NAME), *integer(cf.MQIACF_ENTITY_TYPE)),
)
SET_CHLAUTH_REC = Shape(
    text(cf.MQCACH_CHANNEL_NAME) + integer(cf.MQIACF_CHLAUTH_TYPE),
    (
        *integer(cf.MQIACF_ACTION, cf.MQIACH_USER_SOURCE, cf.MQIACH_WARNING, cf.MQIA_CHECK_CLIENT_BINDING),
        *text(
            cf.MQCACH_CONNECTION_NAME,
            cf.MQCACH_CLIENT_USER_ID,
            cf.MQCACH_MCA_USER_ID,
            cf.MQCACH_SSL_PEER_NAME,
            cf.MQCA_REMOTE_Q_MGR_NAME,
            cf.MQCA_SSL_CERT_ISSUER_NAME,
            cf.MQCA_CHLAUTH_DESC,
            mq.MQCA_CUSTOM,
        ),
        *texts(cf.MQCACH_CONNECTION_NAME_LIST, cf.MQCACH_MCA_USER_ID_LIST),
    ),
)


def set_auth_rec(q_mgr: QueueManager, request: Request) -> list[Row]:
    """Carry out MQCMD_SET_AUTH_REC."""
    keys = _keys(request)
    add, remove = (_words(request, each) for each in (cf.MQIACF_AUTH_ADD_AUTHS, cf.MQIACF_AUTH_REMOVE_AUTHS))
    try:
        for key in keys:
            q_mgr.catalogue.authorities.change(key, add, remove)
    except ValueError as error:
        raise PCFError(cf.MQRCCF_AUTH_VALUE_ERROR) from error
    return []


def delete_auth_rec(q_mgr: QueueManager, request: Request) -> list[Row]:
    """Carry out MQCMD_DELETE_AUTH_REC."""
    if not [key for key in _keys(request) if q_mgr.catalogue.authorities.delete(key)]:
        raise PCFError(cf.MQRCCF_NONE_FOUND)
    return []


def inquire_auth_recs(q_mgr: QueueManager, request: Request) -> list[Row]:
    """Carry out MQCMD_INQUIRE_AUTH_RECS."""
    options = request.parameters[cf.MQIACF_AUTH_OPTIONS].value
    assert isinstance(options, int)
    profile = request.text(cf.MQCACF_AUTH_PROFILE_NAME, cf.MQ_AUTH_PROFILE_NAME_LENGTH)
    object_type = _object_type(request, (mq.MQOT_ALL,))
    entity = request.text(cf.MQCACF_ENTITY_NAME, _ENTITY_NAME_LENGTH)
    entity_type = request.integer(cf.MQIACF_ENTITY_TYPE, _ENTITY_TYPES.values(), 0)
    matching = bool(options & cf.MQAUTHOPT_NAME_ALL_MATCHING)
    rows = []
    for key, authorities in q_mgr.catalogue.authorities.records():
        if (
            object_type not in ("", key.object_type)
            or (profile and profile != key.profile and not (matching and fits(key.profile, profile)))
            or (entity and entity != key.entity.name)
            or entity_type not in (0, _ENTITY_TYPES[key.entity.type])
        ):
            continue
        rows.append(
            [
                pcf.string(cf.MQCACF_AUTH_PROFILE_NAME, key.profile, cf.MQ_AUTH_PROFILE_NAME_LENGTH),
                pcf.integer(cf.MQIACF_OBJECT_TYPE, _NUMBERS[key.object_type]),
                pcf.string(cf.MQCACF_ENTITY_NAME, key.entity.name),
                pcf.integer(cf.MQIACF_ENTITY_TYPE, _ENTITY_TYPES[key.entity.type]),
                pcf.integers(cf.MQIACF_AUTHORIZATION_LIST, sorted(_MQAUTH[word] for word in authorities) or [0]),
            ]
        )
    if not rows:
        raise PCFError(cf.MQRCCF_NONE_FOUND)
    return rows


def display_authrec(q_mgr: QueueManager, command: Command) -> list[str]:
    """Carry out DISPLAY AUTHREC, and return a text for each record. Raises MQSCError.

    MATCH is PROFILE (the default), EXACT or MEMBERSHIP. MEMBERSHIP also shows the authorities of a principal's groups.
    """
    given = command.parameters
    known = {"PROFILE", "OBJTYPE", "PRINCIPAL", "GROUP", "MATCH", "ALL"}
    if unknown := given.keys() - known:
        raise MQSCError(f"AMQ8405E: DISPLAY AUTHREC: parameter {min(unknown)} is not supported")
    match = given.get("MATCH", "PROFILE")
    if match not in ("PROFILE", "EXACT", "MEMBERSHIP"):
        raise MQSCError(f"AMQ8405E: DISPLAY AUTHREC: MATCH({match}) is not supported")
    if given.get("OBJTYPE", "QUEUE") not in OBJECT_TYPES:
        raise mqsc_commands.refused(command, f"OBJTYPE({given['OBJTYPE']}) is not one of {', '.join(OBJECT_TYPES)}")
    wanted: Iterable[Entity] = [Entity(kind, given[kind]) for kind in ("PRINCIPAL", "GROUP") if given.get(kind)]
    if match == "MEMBERSHIP":
        wanted = {each for entity in wanted for each in (entity, *q_mgr.catalogue.authorities.entities_of(entity.name))}
    said = []
    for key, authorities in q_mgr.catalogue.authorities.records():
        profile = given.get("PROFILE", key.profile)
        if (
            given.get("OBJTYPE", key.object_type) == key.object_type
            and (not wanted or key.entity in wanted)
            and (key.profile == profile or (match != "EXACT" and fits(key.profile, profile)))
        ):
            said.append(_shown(key, authorities))
    if not said:
        raise MQSCError("AMQ8147E: DISPLAY AUTHREC: there is no such record")
    return said


def _shown(key: RecordKey, authorities: frozenset[str]) -> str:
    return (
        "AMQ8864I: Details of an authority record.\n"
        f"   PROFILE({key.profile})\n   ENTITY({key.entity.name})\n   ENTTYPE({key.entity.type})\n"
        f"   OBJTYPE({key.object_type})\n   AUTHLIST({','.join(sorted(authorities)) or 'NONE'})"
    )


def _keys(request: Request) -> list[RecordKey]:
    profile = request.text(cf.MQCACF_AUTH_PROFILE_NAME, cf.MQ_AUTH_PROFILE_NAME_LENGTH)
    object_type = _object_type(request)
    if object_type == "QMGR":
        profile = Q_MGR_PROFILE
    if not (profile and is_valid(profile)):
        raise PCFError(cf.MQRCCF_PROFILE_NAME_ERROR, cf.MQCACF_AUTH_PROFILE_NAME)
    entities = []
    for kind, identifier in _ENTITIES.items():
        if identifier in request.parameters:
            names = request.parameters[identifier].value
            assert isinstance(names, tuple)
            entities += [Entity(kind, str(name).rstrip()) for name in names]
    if not entities:
        raise PCFError(cf.MQRCCF_ENTITY_NAME_MISSING)
    return [RecordKey(object_type, profile, entity) for entity in entities]


def _object_type(request: Request, more: tuple[int, ...] = ()) -> str:
    number = request.integer(cf.MQIACF_OBJECT_TYPE, (*_OBJECT_TYPES, *more), reason=cf.MQRCCF_OBJECT_TYPE_MISSING)
    return _OBJECT_TYPES.get(number, "")


def _words(request: Request, identifier: int) -> list[str]:
    parameter = request.parameters.get(identifier)
    if parameter is None:
        return []
    assert isinstance(parameter.value, tuple)
    words = [_WORDS.get(number) if isinstance(number, int) else None for number in parameter.value]
    if None in words:
        raise PCFError(cf.MQRCCF_AUTH_VALUE_ERROR, identifier)
    return [word for word in words if word]


def set_chlauth_rec(q_mgr: QueueManager, request: Request) -> list[Row]:
    """Carry out MQCMD_SET_CHLAUTH_REC."""
    profile = request.text(cf.MQCACH_CHANNEL_NAME, mq.MQ_CHANNEL_NAME_LENGTH)
    check_generic(profile, cf.MQRCCF_PROFILE_NAME_ERROR)
    q_mgr.channel_records[profile] = {
        identifier: parameter.value for identifier, parameter in request.parameters.items()
    }
    return []
