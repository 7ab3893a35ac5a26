"""Commands about authorities: they are read, kept, and not enforced.

The embedded queue manager knows users and passwords and nothing of who may do what; a program that sets authorities must run
on it all the same. Source: IBM MQ, topics "Set Authority Record" and "Set Channel Authentication Record".
"""

from __future__ import annotations

from mqgroups.embedded import pcf_constants as cf
from mqgroups.embedded.commands.request import Request, Row, Shape, integer, integers, text, texts
from mqgroups.embedded.pcf import PCFError
from mqgroups.embedded.queue_manager import QueueManager

SET_AUTH_REC = Shape(
    text(cf.MQCACF_AUTH_PROFILE_NAME) + integer(cf.MQIACF_OBJECT_TYPE),
    (
        *integers(cf.MQIACF_AUTH_ADD_AUTHS, cf.MQIACF_AUTH_REMOVE_AUTHS),
        *texts(cf.MQCACF_PRINCIPAL_ENTITY_NAMES, cf.MQCACF_GROUP_ENTITY_NAMES),
    ),
)
DELETE_AUTH_REC = SET_AUTH_REC


def set_auth_rec(q_mgr: QueueManager, request: Request) -> list[Row]:
    """MQCMD_SET_AUTH_REC and MQCMD_DELETE_AUTH_REC."""
    if not request.text(cf.MQCACF_AUTH_PROFILE_NAME, cf.MQ_AUTH_PROFILE_NAME_LENGTH):
        raise PCFError(cf.MQRCCF_PROFILE_NAME_ERROR, cf.MQCACF_AUTH_PROFILE_NAME)
    entities = (cf.MQCACF_PRINCIPAL_ENTITY_NAMES, cf.MQCACF_GROUP_ENTITY_NAMES)
    if not any(entity in request.parameters for entity in entities):
        raise PCFError(cf.MQRCCF_ENTITY_NAME_MISSING)
    q_mgr.authority_records.append({name: parameter.value for name, parameter in request.parameters.items()})
    return []
