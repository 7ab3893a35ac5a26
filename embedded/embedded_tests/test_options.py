"""Options that contradict each other (2046), and what the embedded queue manager does not do (2298).

The first by IBM MQ, topics q103830 and csqzak10369; the second by ``embedded/README.md``.
"""

from __future__ import annotations

import pytest

from embedded_tests.fix_mqi import OK, failed
from embedded_tests.tables import table
from mqembedded import constants as c

OPTIONS_ERROR, NOT_SUPPORTED = failed(c.MQRC_OPTIONS_ERROR), failed(c.MQRC_FUNCTION_NOT_SUPPORTED)


# --- MQOPEN, MQCLOSE


@table(
    "options",
    [
        0,
        c.MQOO_FAIL_IF_QUIESCING,
        c.MQOO_INPUT_SHARED | c.MQOO_INPUT_EXCLUSIVE,
        c.MQOO_INPUT_SHARED | c.MQOO_INPUT_AS_Q_DEF,
        c.MQOO_INPUT_AS_Q_DEF | c.MQOO_INPUT_EXCLUSIVE,
        c.MQOO_INPUT_SHARED | c.MQOO_READ_AHEAD | c.MQOO_NO_READ_AHEAD,
        c.MQOO_OUTPUT | c.MQOO_BIND_ON_OPEN | c.MQOO_BIND_NOT_FIXED,
        c.MQOO_OUTPUT | c.MQOO_BIND_ON_OPEN | c.MQOO_BIND_ON_GROUP,
        c.MQOO_OUTPUT | c.MQOO_BIND_NOT_FIXED | c.MQOO_BIND_ON_GROUP,
        c.MQOO_OUTPUT | c.MQOO_SAVE_ALL_CONTEXT,
        c.MQOO_INPUT_SHARED | c.MQOO_CO_OP,
    ],
)
def test_mqopen_refuses(connection, queue, options):
    assert connection.open(queue, options).code == OPTIONS_ERROR


@table("options", [c.MQOO_SET_ALL_CONTEXT, c.MQOO_SET_IDENTITY_CONTEXT, c.MQOO_PASS_ALL_CONTEXT])
def test_mqopen_refuses_context_without_output(connection, queue, mq, options):
    """Two errors compete on the embedded queue manager, and which one is told is documented nowhere."""
    permitted = [OPTIONS_ERROR, NOT_SUPPORTED] if mq.is_embedded else [OPTIONS_ERROR]
    assert connection.open(queue, c.MQOO_INPUT_SHARED | options).code in permitted


@table(
    "options",
    [
        c.MQOO_INQUIRE,
        c.MQOO_SET,
        c.MQOO_BROWSE,
        c.MQOO_OUTPUT | c.MQOO_BIND_ON_GROUP | c.MQOO_FAIL_IF_QUIESCING,
        c.MQOO_OUTPUT | c.MQOO_BIND_NOT_FIXED,
        c.MQOO_INPUT_SHARED | c.MQOO_NO_READ_AHEAD,
        c.MQOO_INPUT_SHARED | c.MQOO_BROWSE | c.MQOO_OUTPUT | c.MQOO_INQUIRE | c.MQOO_SET,
    ],
)
def test_mqopen_accepts(connection, queue, options):
    assert connection.open(queue, options).code == OK


@table("options", [c.MQCO_DELETE | c.MQCO_DELETE_PURGE, 0x4000_0000])
def test_mqclose_refuses(connection, queue, options):
    handle = connection.open(queue, c.MQOO_OUTPUT)
    assert handle.close(options) == OPTIONS_ERROR
    assert handle.put(b"").code == OK


# --- MQPUT


PUT_ERRORS = [
    c.MQPMO_SYNCPOINT | c.MQPMO_NO_SYNCPOINT,
    c.MQPMO_NO_CONTEXT | c.MQPMO_DEFAULT_CONTEXT,
    c.MQPMO_NO_CONTEXT | c.MQPMO_SET_ALL_CONTEXT,
    c.MQPMO_ASYNC_RESPONSE | c.MQPMO_SYNC_RESPONSE,
]


@table("options", [*PUT_ERRORS, c.MQPMO_ALTERNATE_USER_AUTHORITY])
def test_mqput_refuses(connection, queue, options):
    assert connection.open(queue, c.MQOO_OUTPUT).put(b"", options).code == OPTIONS_ERROR
    assert connection.depth(queue) == 0


@table("options", [*PUT_ERRORS, c.MQPMO_LOGICAL_ORDER])
def test_mqput1_refuses(connection, queue, options):
    assert connection.put1(queue, b"", options).code == OPTIONS_ERROR
    assert connection.depth(queue) == 0


@table(
    "options",
    [
        c.MQPMO_NO_CONTEXT,
        c.MQPMO_DEFAULT_CONTEXT,
        c.MQPMO_SYNC_RESPONSE,
        c.MQPMO_FAIL_IF_QUIESCING,
        c.MQPMO_NEW_MSG_ID,
        0,
    ],
)
@table("more", [0, c.MQPMO_LOGICAL_ORDER])
def test_mqput_accepts(connection, queue, options, more):
    assert connection.open(queue, c.MQOO_OUTPUT).put(b"", options | more).code == OK


def test_new_identifiers_are_made_when_asked_for(connection, queue):
    """Table 1, notes: MsgId is new with MQPMO_NEW_MSG_ID or MQMI_NONE, CorrelId with MQPMO_NEW_CORREL_ID only."""
    out = connection.open(queue, c.MQOO_OUTPUT)
    given = {"MsgId": b"m" * 24, "CorrelId": b"c" * 24}
    kept = out.put(b"", **given).md
    assert (kept.MsgId, kept.CorrelId) == (b"m" * 24, b"c" * 24)
    new = out.put(b"", c.MQPMO_NEW_MSG_ID | c.MQPMO_NEW_CORREL_ID, **given).md
    assert b"m" * 24 != new.MsgId != bytes(24)
    assert b"c" * 24 != new.CorrelId != bytes(24)
    made = out.put(b"").md
    assert bytes(24) != made.MsgId != new.MsgId
    assert made.CorrelId == bytes(24)


# --- MQGET


@table(
    "options",
    [
        c.MQGMO_SYNCPOINT | c.MQGMO_NO_SYNCPOINT,
        c.MQGMO_SYNCPOINT | c.MQGMO_SYNCPOINT_IF_PERSISTENT,
        c.MQGMO_NO_SYNCPOINT | c.MQGMO_SYNCPOINT_IF_PERSISTENT,
        c.MQGMO_BROWSE_FIRST | c.MQGMO_BROWSE_NEXT,
        c.MQGMO_BROWSE_FIRST | c.MQGMO_BROWSE_MSG_UNDER_CURSOR,
        c.MQGMO_BROWSE_FIRST | c.MQGMO_MSG_UNDER_CURSOR,
        c.MQGMO_BROWSE_NEXT | c.MQGMO_BROWSE_MSG_UNDER_CURSOR,
        c.MQGMO_BROWSE_NEXT | c.MQGMO_MSG_UNDER_CURSOR,
        c.MQGMO_BROWSE_MSG_UNDER_CURSOR | c.MQGMO_MSG_UNDER_CURSOR,
        c.MQGMO_SYNCPOINT | c.MQGMO_BROWSE_FIRST,
        c.MQGMO_SYNCPOINT | c.MQGMO_BROWSE_NEXT,
        c.MQGMO_SYNCPOINT | c.MQGMO_BROWSE_MSG_UNDER_CURSOR,
        c.MQGMO_SYNCPOINT | c.MQGMO_LOCK | c.MQGMO_BROWSE_FIRST,
        c.MQGMO_SYNCPOINT | c.MQGMO_UNLOCK,
        c.MQGMO_SYNCPOINT_IF_PERSISTENT | c.MQGMO_BROWSE_FIRST,
        c.MQGMO_SYNCPOINT_IF_PERSISTENT | c.MQGMO_BROWSE_NEXT,
        c.MQGMO_SYNCPOINT_IF_PERSISTENT | c.MQGMO_BROWSE_MSG_UNDER_CURSOR,
        c.MQGMO_SYNCPOINT_IF_PERSISTENT | c.MQGMO_COMPLETE_MSG,
        c.MQGMO_SYNCPOINT_IF_PERSISTENT | c.MQGMO_UNLOCK,
        c.MQGMO_LOCK,
        c.MQGMO_LOCK | c.MQGMO_MSG_UNDER_CURSOR,
        c.MQGMO_UNLOCK | c.MQGMO_BROWSE_FIRST,
        c.MQGMO_UNLOCK | c.MQGMO_LOGICAL_ORDER,
        c.MQGMO_UNLOCK | c.MQGMO_WAIT,
        c.MQGMO_UNLOCK | c.MQGMO_LOCK,
        c.MQGMO_WAIT | c.MQGMO_SET_SIGNAL,
        c.MQGMO_MARK_SKIP_BACKOUT,
        c.MQGMO_MARK_SKIP_BACKOUT | c.MQGMO_NO_SYNCPOINT,
    ],
)
def test_mqget_refuses(connection, queue, mqi, options):
    connection.put1(queue, b"m")
    source = connection.open(queue, c.MQOO_INPUT_SHARED | c.MQOO_BROWSE)
    assert source.get(gmo=mqi.gmo(Options=options)).code == OPTIONS_ERROR
    assert source.get().data == b"m"


@table(
    "options",
    [
        c.MQGMO_NO_WAIT,
        c.MQGMO_FAIL_IF_QUIESCING,
        c.MQGMO_SYNCPOINT,
        c.MQGMO_SYNCPOINT_IF_PERSISTENT,
        c.MQGMO_NO_SYNCPOINT | c.MQGMO_BROWSE_FIRST,
        c.MQGMO_BROWSE_NEXT | c.MQGMO_LOGICAL_ORDER | c.MQGMO_ALL_MSGS_AVAILABLE,
        c.MQGMO_CONVERT,
    ],
)
def test_mqget_accepts(connection, queue, mqi, options):
    connection.put1(queue, b"m")
    source = connection.open(queue, c.MQOO_INPUT_SHARED | c.MQOO_BROWSE)
    assert source.get(gmo=mqi.gmo(Options=options)).code == OK


# --- what is not there is refused, and nothing changes


@pytest.mark.embedded
def test_mqget_knows_no_signals(connection, queue, mqi):
    connection.put1(queue, b"m")
    source = connection.open(queue, c.MQOO_INPUT_SHARED | c.MQOO_BROWSE)
    assert source.get(gmo=mqi.gmo(Options=c.MQGMO_SET_SIGNAL)).code == NOT_SUPPORTED
    assert [answer.data for answer in connection.browse(queue)] == [b"m"]
    assert source.close() == OK


@pytest.mark.embedded
@pytest.mark.embedded
def test_a_message_handle_that_is_none_is_refused(connection, queue, mqi):
    out = connection.open(queue, c.MQOO_OUTPUT | c.MQOO_INPUT_SHARED)
    answer = out.put(b"m", pmo=mqi.pmo(Version=3, Options=c.MQPMO_NO_SYNCPOINT, OriginalMsgHandle=7))
    assert answer.code == failed(c.MQRC_HMSG_ERROR)
    assert connection.depth(queue) == 0
    assert out.put(b"m").code == OK
    assert out.get(gmo=mqi.gmo(Version=4, Options=c.MQGMO_NO_SYNCPOINT, MsgHandle=7)).code == failed(c.MQRC_HMSG_ERROR)
    assert out.get().data == b"m"
