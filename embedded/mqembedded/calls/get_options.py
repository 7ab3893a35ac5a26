"""Checks MQGMO options: groups of options, and the combinations that are allowed (IBM MQ, "MQGMO options")."""

from __future__ import annotations

from functools import lru_cache

from mqembedded import constants as mq
from mqembedded.answer import Failed
from mqembedded.calls.opening import at_most_one
from mqembedded.messages.handle import INPUT
from mqembedded.platform import NEEDS_GROUP_INDEX
from mqembedded.properties.control import PROPERTY_OPTIONS

MOVES_CURSOR = mq.MQGMO_BROWSE_FIRST | mq.MQGMO_BROWSE_NEXT
BROWSES = MOVES_CURSOR | mq.MQGMO_BROWSE_MSG_UNDER_CURSOR
UNDER_CURSOR = mq.MQGMO_BROWSE_MSG_UNDER_CURSOR | mq.MQGMO_MSG_UNDER_CURSOR
_SYNCPOINTS = mq.MQGMO_SYNCPOINT | mq.MQGMO_SYNCPOINT_IF_PERSISTENT | mq.MQGMO_NO_SYNCPOINT
_UNMARKS = mq.MQGMO_UNMARK_BROWSE_HANDLE | mq.MQGMO_UNMARK_BROWSE_CO_OP
_OF_HANDLE = mq.MQGMO_MARK_BROWSE_HANDLE | mq.MQGMO_UNMARK_BROWSE_HANDLE
_FOR_CO_OP = mq.MQGMO_MARK_BROWSE_CO_OP | mq.MQGMO_UNMARK_BROWSE_CO_OP
_ABOUT_MARKS = _OF_HANDLE | _FOR_CO_OP | mq.MQGMO_UNMARKED_BROWSE_MSG
# A call can mark only a single physical message.
_NOT_WITH_MARKS = (
    mq.MQGMO_ALL_MSGS_AVAILABLE
    | mq.MQGMO_ALL_SEGMENTS_AVAILABLE
    | mq.MQGMO_COMPLETE_MSG
    | mq.MQGMO_LOGICAL_ORDER
    | mq.MQGMO_LOCK
    | mq.MQGMO_UNLOCK
)
# Only z/OS has these two options (IBM MQ, "MQGMO options").
_NOT_HERE = mq.MQGMO_SET_SIGNAL | mq.MQGMO_MARK_SKIP_BACKOUT
_KNOWN = (
    mq.MQGMO_WAIT
    | mq.MQGMO_LOCK
    | mq.MQGMO_UNLOCK
    | mq.MQGMO_COMPLETE_MSG
    | mq.MQGMO_FAIL_IF_QUIESCING
    | _SYNCPOINTS
    | BROWSES
    | PROPERTY_OPTIONS
    | mq.MQGMO_MSG_UNDER_CURSOR
    | mq.MQGMO_ACCEPT_TRUNCATED_MSG
    | mq.MQGMO_CONVERT
    | mq.MQGMO_LOGICAL_ORDER
    | mq.MQGMO_ALL_MSGS_AVAILABLE
    | mq.MQGMO_ALL_SEGMENTS_AVAILABLE
    | _ABOUT_MARKS
    | _NOT_HERE
)
WHOLE_LOGICAL_MESSAGE = mq.MQGMO_COMPLETE_MSG | mq.MQGMO_ALL_MSGS_AVAILABLE | mq.MQGMO_ALL_SEGMENTS_AVAILABLE
_MATCHES = (
    mq.MQMO_MATCH_MSG_ID
    | mq.MQMO_MATCH_CORREL_ID
    | mq.MQMO_MATCH_GROUP_ID
    | mq.MQMO_MATCH_MSG_SEQ_NUMBER
    | mq.MQMO_MATCH_OFFSET
    | mq.MQMO_MATCH_MSG_TOKEN
)


@lru_cache
def check_get(
    options: int,
    match_options: int,
    versions: tuple[int, int],
    open_options: int,
    *,
    has_number: bool,
    has_index: bool,
) -> None:
    """Raise Failed for options that MQGET refuses regardless of the messages. Combinations without an error are cached.

    Args:
        options: the Options field of MQGMO.
        match_options: the MatchOptions field of MQGMO.
        versions: the versions of MQGMO and MQMD.
        open_options: the options with which MQOPEN opened the handle.
        has_number: false if the call asks for a MsgSeqNumber that no message can have.
        has_index: whether the queue has the index by GroupId that z/OS requires; true on other platforms.
    """
    check_get_options(options)
    matches = match_options if not options & UNDER_CURSOR else 0
    gmo_version, md_version = versions
    if match_options & ~_MATCHES:
        raise Failed(mq.MQRC_MATCH_OPTIONS_ERROR)
    if match_options & mq.MQMO_MATCH_OFFSET and options & mq.MQGMO_COMPLETE_MSG:
        # IBM documents "Any of the MQMO options but this", but not the reason code, so it is unverified.
        raise Failed(mq.MQRC_MATCH_OPTIONS_ERROR)
    if not has_number:
        raise Failed(mq.MQRC_MSG_SEQ_NUMBER_ERROR)
    # IBM MQ, "MsgToken", documents when the message token can be a criterion.
    if matches & mq.MQMO_MATCH_MSG_TOKEN and gmo_version < 3:
        raise Failed(mq.MQRC_WRONG_GMO_VERSION)
    if matches & mq.MQMO_MATCH_MSG_TOKEN and options & mq.MQGMO_WAIT:
        raise Failed(mq.MQRC_MSG_TOKEN_ERROR)
    if options & _FOR_CO_OP and not open_options & mq.MQOO_CO_OP:
        raise Failed(mq.MQRC_OPTIONS_ERROR)
    if not has_index and options & NEEDS_GROUP_INDEX:
        raise Failed(mq.MQRC_Q_INDEX_TYPE_ERROR)
    if options & mq.MQGMO_LOGICAL_ORDER and gmo_version < 2:
        raise Failed(mq.MQRC_WRONG_GMO_VERSION)
    if options & mq.MQGMO_LOGICAL_ORDER and md_version < 2:
        raise Failed(mq.MQRC_WRONG_MD_VERSION)
    if options & (BROWSES | mq.MQGMO_MSG_UNDER_CURSOR) and not open_options & mq.MQOO_BROWSE:
        raise Failed(mq.MQRC_NOT_OPEN_FOR_BROWSE)
    if not options & BROWSES and not open_options & INPUT:
        raise Failed(mq.MQRC_NOT_OPEN_FOR_INPUT)


def check_get_options(options: int) -> None:
    """Raise Failed with MQRC_OPTIONS_ERROR for a combination that MQGET refuses (IBM MQ, "Rules for validating MQI options")."""
    syncpoint = options & (mq.MQGMO_SYNCPOINT | mq.MQGMO_SYNCPOINT_IF_PERSISTENT)
    if (
        options & ~_KNOWN
        or not at_most_one(options, _SYNCPOINTS)
        or not at_most_one(options, BROWSES | mq.MQGMO_MSG_UNDER_CURSOR)
        or (syncpoint and options & (BROWSES | mq.MQGMO_UNLOCK))
        or (options & mq.MQGMO_SYNCPOINT and options & mq.MQGMO_LOCK)
        or (options & mq.MQGMO_SYNCPOINT_IF_PERSISTENT and options & mq.MQGMO_COMPLETE_MSG)
        or (options & mq.MQGMO_LOCK and not options & BROWSES)
        or (options & mq.MQGMO_UNLOCK and options & ~(mq.MQGMO_UNLOCK | mq.MQGMO_NO_SYNCPOINT))
        or (options & mq.MQGMO_WAIT and options & mq.MQGMO_SET_SIGNAL)
        or (options & mq.MQGMO_MARK_SKIP_BACKOUT and not options & mq.MQGMO_SYNCPOINT)
        or not at_most_one(options, PROPERTY_OPTIONS)
        or _contradict_marks(options)
    ):
        raise Failed(mq.MQRC_OPTIONS_ERROR)
    if options & _NOT_HERE:
        raise Failed(mq.MQRC_FUNCTION_NOT_SUPPORTED)


def _contradict_marks(options: int) -> bool:
    """Return whether mark options are combined with options that exclude them.

    Unverified: the list of combinations, which was written from memory of "MQGMO options", and their reason code.
    """
    return bool(
        (options & _ABOUT_MARKS and (not options & BROWSES or options & _NOT_WITH_MARKS))
        or not at_most_one(options, _FOR_CO_OP)
        or not at_most_one(options, _OF_HANDLE)
        or (options & _UNMARKS and options & mq.MQGMO_UNMARKED_BROWSE_MSG)
    )
