"""Reads MQMD and MQPMO for MQPUT and MQPUT1, and checks MQPMO options (IBM MQ, "Rules for validating MQI options")."""

from __future__ import annotations

from functools import lru_cache

from mqembedded import constants as mq
from mqembedded.answer import Failed
from mqembedded.calls.context import PASSES, SETS
from mqembedded.calls.opening import at_most_one
from mqembedded.platform import Platform
from mqembedded.wire.structures import MessageDescriptor, PutMessageOptions, StructureError

_SYNCPOINTS = mq.MQPMO_SYNCPOINT | mq.MQPMO_NO_SYNCPOINT
_RESPONSES = mq.MQPMO_ASYNC_RESPONSE | mq.MQPMO_SYNC_RESPONSE
_CONTEXTS = PASSES | SETS | mq.MQPMO_DEFAULT_CONTEXT | mq.MQPMO_NO_CONTEXT
_NOT_YET = mq.MQPMO_MD_FOR_OUTPUT_ONLY
# Options for topics. MQPUT to a queue ignores them (unverified).
_PUBLISHING = (
    mq.MQPMO_RETAIN
    | mq.MQPMO_WARN_IF_NO_SUBS_MATCHED
    | mq.MQPMO_SCOPE_QMGR
    | mq.MQPMO_SUPPRESS_REPLYTO
    | mq.MQPMO_NOT_OWN_SUBS
)
_KNOWN = (
    _SYNCPOINTS
    | _RESPONSES
    | _CONTEXTS
    | _NOT_YET
    | _PUBLISHING
    # AlternateUserId does not affect the context (IBM MQ, "AlternateUserId", "UserIdentifier").
    | mq.MQPMO_ALTERNATE_USER_AUTHORITY
    | mq.MQPMO_NEW_MSG_ID
    | mq.MQPMO_NEW_CORREL_ID
    | mq.MQPMO_FAIL_IF_QUIESCING
    | mq.MQPMO_LOGICAL_ORDER
    | mq.MQPMO_RESOLVE_LOCAL_Q
)


def put_structures(md_raw: bytes, pmo_raw: bytes, platform: Platform) -> tuple[MessageDescriptor, PutMessageOptions]:
    """Read MQMD and MQPMO. Raises Failed with MQRC_MD_ERROR or MQRC_PMO_ERROR."""
    try:
        md = MessageDescriptor(md_raw)
    except StructureError as error:
        raise Failed(mq.MQRC_MD_ERROR) from error
    try:
        pmo = PutMessageOptions.read(pmo_raw)
    except StructureError as error:
        raise Failed(mq.MQRC_PMO_ERROR) from error
    if not platform.takes_pmo(pmo.version):
        raise Failed(mq.MQRC_PMO_ERROR)
    return md, pmo


def check_put_options(pmo: PutMessageOptions) -> None:
    """Raise Failed for MQPMO options that IBM MQ refuses or this queue manager does not support."""
    _check(pmo.options, pmo.recs_present)


@lru_cache
def _check(options: int, recs_present: int) -> None:
    if (
        options & ~_KNOWN
        or not at_most_one(options, _SYNCPOINTS)
        or not at_most_one(options, _RESPONSES)
        or not at_most_one(options, _CONTEXTS)
    ):
        raise Failed(mq.MQRC_OPTIONS_ERROR)
    if options & _NOT_YET or recs_present:
        raise Failed(mq.MQRC_FUNCTION_NOT_SUPPORTED)
