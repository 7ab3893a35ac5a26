"""Commands about authorities: they are read, kept, and not enforced.

The embedded queue manager knows users and passwords and nothing of who may do what; a program that sets authorities must run
on it all the same. Source: IBM MQ, topics "Set Authority Record" and "Set Channel Authentication Record".
"""

from __future__ import annotations

from mqgroups.embedded import pcf_constants as cf
from mqgroups.embedded.commands.request import Request, Row, Shape, check_generic, integer, integers, text, texts
from mqgroups.embedded.pcf import PCFError
from mqgroups.embedded.queue_manager import QueueManager
from mqgroups.mqi import constants as mq

SET_AUTH_REC = Shape(
    text(cf.MQCACF_AUTH_PROFILE_NAME) + integer(cf.MQIACF_OBJECT_TYPE),
    (
        *integers(cf.MQIACF_AUTH_ADD_AUTHS, cf.MQIACF_AUTH_REMOVE_AUTHS),
        *texts(cf.MQCACF_PRINCIPAL_ENTITY_NAMES, cf.MQCACF_GROUP_ENTITY_NAMES),
    ),
)
DELETE_AUTH_REC = SET_AUTH_REC
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
    """MQCMD_SET_AUTH_REC and MQCMD_DELETE_AUTH_REC."""
    profile = request.text(cf.MQCACF_AUTH_PROFILE_NAME, cf.MQ_AUTH_PROFILE_NAME_LENGTH)
    if not profile:
        raise PCFError(cf.MQRCCF_PROFILE_NAME_ERROR, cf.MQCACF_AUTH_PROFILE_NAME)
    entities = (cf.MQCACF_PRINCIPAL_ENTITY_NAMES, cf.MQCACF_GROUP_ENTITY_NAMES)
    if not any(entity in request.parameters for entity in entities):
        raise PCFError(cf.MQRCCF_ENTITY_NAME_MISSING)
    q_mgr.authority_records[("AUTHREC", profile)] = _kept(request)
    return []


def set_chlauth_rec(q_mgr: QueueManager, request: Request) -> list[Row]:
    """MQCMD_SET_CHLAUTH_REC."""
    profile = request.text(cf.MQCACH_CHANNEL_NAME, mq.MQ_CHANNEL_NAME_LENGTH)
    check_generic(profile, cf.MQRCCF_PROFILE_NAME_ERROR)
    q_mgr.authority_records[("CHLAUTH", profile)] = _kept(request)
    return []


def _kept(request: Request) -> dict[int, object]:
    return {identifier: parameter.value for identifier, parameter in request.parameters.items()}
