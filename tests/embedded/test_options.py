"""Options that contradict each other (2046), and what the embedded queue manager does not do (2298).

The first by IBM MQ, topics q103830 and csqzak10369; the second by ``mqgroups/embedded/README.md``.
"""

from __future__ import annotations

import pytest

from mqgroups.mqi.constants import (
    MQCO_DELETE,
    MQCO_DELETE_PURGE,
    MQGMO_ALL_MSGS_AVAILABLE,
    MQGMO_BROWSE_FIRST,
    MQGMO_BROWSE_MSG_UNDER_CURSOR,
    MQGMO_BROWSE_NEXT,
    MQGMO_COMPLETE_MSG,
    MQGMO_CONVERT,
    MQGMO_FAIL_IF_QUIESCING,
    MQGMO_LOCK,
    MQGMO_LOGICAL_ORDER,
    MQGMO_MARK_SKIP_BACKOUT,
    MQGMO_MSG_UNDER_CURSOR,
    MQGMO_NO_SYNCPOINT,
    MQGMO_NO_WAIT,
    MQGMO_SET_SIGNAL,
    MQGMO_SYNCPOINT,
    MQGMO_SYNCPOINT_IF_PERSISTENT,
    MQGMO_UNLOCK,
    MQGMO_WAIT,
    MQOO_BIND_NOT_FIXED,
    MQOO_BIND_ON_GROUP,
    MQOO_BIND_ON_OPEN,
    MQOO_BROWSE,
    MQOO_CO_OP,
    MQOO_FAIL_IF_QUIESCING,
    MQOO_INPUT_AS_Q_DEF,
    MQOO_INPUT_EXCLUSIVE,
    MQOO_INPUT_SHARED,
    MQOO_INQUIRE,
    MQOO_NO_READ_AHEAD,
    MQOO_OUTPUT,
    MQOO_PASS_ALL_CONTEXT,
    MQOO_READ_AHEAD,
    MQOO_SAVE_ALL_CONTEXT,
    MQOO_SET,
    MQOO_SET_ALL_CONTEXT,
    MQOO_SET_IDENTITY_CONTEXT,
    MQPMO_ALTERNATE_USER_AUTHORITY,
    MQPMO_ASYNC_RESPONSE,
    MQPMO_DEFAULT_CONTEXT,
    MQPMO_FAIL_IF_QUIESCING,
    MQPMO_LOGICAL_ORDER,
    MQPMO_NEW_CORREL_ID,
    MQPMO_NEW_MSG_ID,
    MQPMO_NO_CONTEXT,
    MQPMO_NO_SYNCPOINT,
    MQPMO_SET_ALL_CONTEXT,
    MQPMO_SYNC_RESPONSE,
    MQPMO_SYNCPOINT,
    MQRC_FUNCTION_NOT_SUPPORTED,
    MQRC_HMSG_ERROR,
    MQRC_OPTIONS_ERROR,
)
from tests.fix_mqi import OK, failed
from tests.tables import table

OPTIONS_ERROR, NOT_SUPPORTED = failed(MQRC_OPTIONS_ERROR), failed(MQRC_FUNCTION_NOT_SUPPORTED)


# --- MQOPEN, MQCLOSE


@table(
    "options",
    [
        0,
        MQOO_FAIL_IF_QUIESCING,
        MQOO_INPUT_SHARED | MQOO_INPUT_EXCLUSIVE,
        MQOO_INPUT_SHARED | MQOO_INPUT_AS_Q_DEF,
        MQOO_INPUT_AS_Q_DEF | MQOO_INPUT_EXCLUSIVE,
        MQOO_INPUT_SHARED | MQOO_READ_AHEAD | MQOO_NO_READ_AHEAD,
        MQOO_OUTPUT | MQOO_BIND_ON_OPEN | MQOO_BIND_NOT_FIXED,
        MQOO_OUTPUT | MQOO_BIND_ON_OPEN | MQOO_BIND_ON_GROUP,
        MQOO_OUTPUT | MQOO_BIND_NOT_FIXED | MQOO_BIND_ON_GROUP,
        MQOO_OUTPUT | MQOO_SAVE_ALL_CONTEXT,
        MQOO_INPUT_SHARED | MQOO_CO_OP,
    ],
)
def test_mqopen_refuses(connection, queue, options):
    assert connection.open(queue, options).code == OPTIONS_ERROR


@table("options", [MQOO_SET_ALL_CONTEXT, MQOO_SET_IDENTITY_CONTEXT, MQOO_PASS_ALL_CONTEXT])
def test_mqopen_refuses_context_without_output(connection, queue, mq, options):
    """Two errors compete on the embedded queue manager, and which one is told is documented nowhere."""
    permitted = [OPTIONS_ERROR, NOT_SUPPORTED] if mq.is_embedded else [OPTIONS_ERROR]
    assert connection.open(queue, MQOO_INPUT_SHARED | options).code in permitted


@table(
    "options",
    [
        MQOO_INQUIRE,
        MQOO_SET,
        MQOO_BROWSE,
        MQOO_OUTPUT | MQOO_BIND_ON_GROUP | MQOO_FAIL_IF_QUIESCING,
        MQOO_OUTPUT | MQOO_BIND_NOT_FIXED,
        MQOO_INPUT_SHARED | MQOO_NO_READ_AHEAD,
        MQOO_INPUT_SHARED | MQOO_BROWSE | MQOO_OUTPUT | MQOO_INQUIRE | MQOO_SET,
    ],
)
def test_mqopen_accepts(connection, queue, options):
    assert connection.open(queue, options).code == OK


@table("options", [MQCO_DELETE | MQCO_DELETE_PURGE, 0x4000_0000])
def test_mqclose_refuses(connection, queue, options):
    handle = connection.open(queue, MQOO_OUTPUT)
    assert handle.close(options) == OPTIONS_ERROR
    assert handle.put(b"").code == OK


# --- MQPUT


PUT_ERRORS = [
    MQPMO_SYNCPOINT | MQPMO_NO_SYNCPOINT,
    MQPMO_NO_CONTEXT | MQPMO_DEFAULT_CONTEXT,
    MQPMO_NO_CONTEXT | MQPMO_SET_ALL_CONTEXT,
    MQPMO_ASYNC_RESPONSE | MQPMO_SYNC_RESPONSE,
]


@table("options", [*PUT_ERRORS, MQPMO_ALTERNATE_USER_AUTHORITY])
def test_mqput_refuses(connection, queue, options):
    assert connection.open(queue, MQOO_OUTPUT).put(b"", options).code == OPTIONS_ERROR
    assert connection.depth(queue) == 0


@table("options", [*PUT_ERRORS, MQPMO_LOGICAL_ORDER])
def test_mqput1_refuses(connection, queue, options):
    assert connection.put1(queue, b"", options).code == OPTIONS_ERROR
    assert connection.depth(queue) == 0


@table(
    "options",
    [MQPMO_NO_CONTEXT, MQPMO_DEFAULT_CONTEXT, MQPMO_SYNC_RESPONSE, MQPMO_FAIL_IF_QUIESCING, MQPMO_NEW_MSG_ID, 0],
)
@table("more", [0, MQPMO_LOGICAL_ORDER])
def test_mqput_accepts(connection, queue, options, more):
    assert connection.open(queue, MQOO_OUTPUT).put(b"", options | more).code == OK


def test_new_identifiers_are_made_when_asked_for(connection, queue):
    """Table 1, notes: MsgId is new with MQPMO_NEW_MSG_ID or MQMI_NONE, CorrelId with MQPMO_NEW_CORREL_ID only."""
    out = connection.open(queue, MQOO_OUTPUT)
    given = {"MsgId": b"m" * 24, "CorrelId": b"c" * 24}
    kept = out.put(b"", **given).md
    assert (kept.MsgId, kept.CorrelId) == (b"m" * 24, b"c" * 24)
    new = out.put(b"", MQPMO_NEW_MSG_ID | MQPMO_NEW_CORREL_ID, **given).md
    assert b"m" * 24 != new.MsgId != bytes(24)
    assert b"c" * 24 != new.CorrelId != bytes(24)
    made = out.put(b"").md
    assert bytes(24) != made.MsgId != new.MsgId
    assert made.CorrelId == bytes(24)


# --- MQGET


@table(
    "options",
    [
        MQGMO_SYNCPOINT | MQGMO_NO_SYNCPOINT,
        MQGMO_SYNCPOINT | MQGMO_SYNCPOINT_IF_PERSISTENT,
        MQGMO_NO_SYNCPOINT | MQGMO_SYNCPOINT_IF_PERSISTENT,
        MQGMO_BROWSE_FIRST | MQGMO_BROWSE_NEXT,
        MQGMO_BROWSE_FIRST | MQGMO_BROWSE_MSG_UNDER_CURSOR,
        MQGMO_BROWSE_FIRST | MQGMO_MSG_UNDER_CURSOR,
        MQGMO_BROWSE_NEXT | MQGMO_BROWSE_MSG_UNDER_CURSOR,
        MQGMO_BROWSE_NEXT | MQGMO_MSG_UNDER_CURSOR,
        MQGMO_BROWSE_MSG_UNDER_CURSOR | MQGMO_MSG_UNDER_CURSOR,
        MQGMO_SYNCPOINT | MQGMO_BROWSE_FIRST,
        MQGMO_SYNCPOINT | MQGMO_BROWSE_NEXT,
        MQGMO_SYNCPOINT | MQGMO_BROWSE_MSG_UNDER_CURSOR,
        MQGMO_SYNCPOINT | MQGMO_LOCK | MQGMO_BROWSE_FIRST,
        MQGMO_SYNCPOINT | MQGMO_UNLOCK,
        MQGMO_SYNCPOINT_IF_PERSISTENT | MQGMO_BROWSE_FIRST,
        MQGMO_SYNCPOINT_IF_PERSISTENT | MQGMO_BROWSE_NEXT,
        MQGMO_SYNCPOINT_IF_PERSISTENT | MQGMO_BROWSE_MSG_UNDER_CURSOR,
        MQGMO_SYNCPOINT_IF_PERSISTENT | MQGMO_COMPLETE_MSG,
        MQGMO_SYNCPOINT_IF_PERSISTENT | MQGMO_UNLOCK,
        MQGMO_LOCK,
        MQGMO_LOCK | MQGMO_MSG_UNDER_CURSOR,
        MQGMO_UNLOCK | MQGMO_BROWSE_FIRST,
        MQGMO_UNLOCK | MQGMO_LOGICAL_ORDER,
        MQGMO_UNLOCK | MQGMO_WAIT,
        MQGMO_WAIT | MQGMO_SET_SIGNAL,
        MQGMO_MARK_SKIP_BACKOUT,
        MQGMO_MARK_SKIP_BACKOUT | MQGMO_NO_SYNCPOINT,
    ],
)
def test_mqget_refuses(connection, queue, mqi, options):
    connection.put1(queue, b"m")
    source = connection.open(queue, MQOO_INPUT_SHARED | MQOO_BROWSE)
    assert source.get(gmo=mqi.gmo(Options=options)).code == OPTIONS_ERROR
    assert source.get().data == b"m"


@table(
    "options",
    [
        MQGMO_NO_WAIT,
        MQGMO_FAIL_IF_QUIESCING,
        MQGMO_SYNCPOINT,
        MQGMO_SYNCPOINT_IF_PERSISTENT,
        MQGMO_NO_SYNCPOINT | MQGMO_BROWSE_FIRST,
        MQGMO_BROWSE_NEXT | MQGMO_LOGICAL_ORDER | MQGMO_ALL_MSGS_AVAILABLE,
        MQGMO_CONVERT,
    ],
)
def test_mqget_accepts(connection, queue, mqi, options):
    connection.put1(queue, b"m")
    source = connection.open(queue, MQOO_INPUT_SHARED | MQOO_BROWSE)
    assert source.get(gmo=mqi.gmo(Options=options)).code == OK


# --- what is not there is refused, and nothing changes


@pytest.mark.embedded
def test_mqget_knows_no_signals(connection, queue, mqi):
    connection.put1(queue, b"m")
    source = connection.open(queue, MQOO_INPUT_SHARED | MQOO_BROWSE)
    assert source.get(gmo=mqi.gmo(Options=MQGMO_SET_SIGNAL)).code == NOT_SUPPORTED
    assert [answer.data for answer in connection.browse(queue)] == [b"m"]
    assert source.close() == OK


@pytest.mark.embedded
@pytest.mark.embedded
def test_a_message_handle_that_is_none_is_refused(connection, queue, mqi):
    out = connection.open(queue, MQOO_OUTPUT | MQOO_INPUT_SHARED)
    answer = out.put(b"m", pmo=mqi.pmo(Version=3, Options=MQPMO_NO_SYNCPOINT, OriginalMsgHandle=7))
    assert answer.code == failed(MQRC_HMSG_ERROR)
    assert connection.depth(queue) == 0
    assert out.put(b"m").code == OK
    assert out.get(gmo=mqi.gmo(Version=4, Options=MQGMO_NO_SYNCPOINT, MsgHandle=7)).code == failed(MQRC_HMSG_ERROR)
    assert out.get().data == b"m"
