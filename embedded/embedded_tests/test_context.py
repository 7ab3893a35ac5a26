"""Message context; expected values from IBM MQ, topics "Controlling context information" and "MQPMO options"."""

from __future__ import annotations

from pathlib import Path

import pytest

from embedded_tests.fix_mqi import OK, failed, shared_input
from embedded_tests.tables import table
from mqembedded import constants as mq

OTHER_USERS = Path(__file__).with_name("other_users.mqsc")
SET = {
    "UserIdentifier": b"somebody".ljust(12),
    "AccountingToken": b"a token".ljust(32, b"\1"),
    "ApplIdentityData": b"identity".ljust(32),
    "PutApplType": 65536,
    "PutApplName": b"an application".ljust(28),
    "PutDate": b"20010203",
    "PutTime": b"04050607",
    "ApplOriginData": b"orig",
}
IDENTITY = ("UserIdentifier", "AccountingToken", "ApplIdentityData")
ORIGIN = ("PutApplType", "PutApplName", "PutDate", "PutTime", "ApplOriginData")


def context(md, fields=IDENTITY + ORIGIN) -> dict[str, object]:
    return {field: getattr(md, field) for field in fields}


def put(handle, options, from_handle=None, **fields):
    pmo = handle.mqi.pmo(Options=options | mq.MQPMO_NO_SYNCPOINT, Context=from_handle.hobj if from_handle else 0)
    return handle.put(b"x", pmo=pmo, **fields)


@pytest.fixture
def setter(connection, queue):
    return connection.open(queue, mq.MQOO_OUTPUT | mq.MQOO_SET_ALL_CONTEXT)


@pytest.fixture
def saver(connection, queue):
    return connection.open(queue, mq.MQOO_INPUT_SHARED | mq.MQOO_SAVE_ALL_CONTEXT)


@pytest.fixture
def target(make_queue):
    return make_queue()


@table("option", [0, mq.MQPMO_DEFAULT_CONTEXT])
def test_by_default_the_queue_manager_says_who_puts_what_when(connection, queue, option):
    out = connection.open(queue, mq.MQOO_OUTPUT)
    returned = put(out, option, **SET).md
    md = shared_input(connection, queue).get().md
    assert md.UserIdentifier.rstrip() == b"app"
    assert (md.ApplIdentityData, md.ApplOriginData) == (b" " * 32, b" " * 4)
    assert md.PutApplType == mq.MQAT_UNIX
    assert md.PutDate.startswith(b"20")
    assert md.PutDate != SET["PutDate"]
    # "These are output fields on a successful MQPUT"
    assert context(returned) == context(md)


def test_a_message_may_have_no_context(connection, queue):
    put(connection.open(queue, mq.MQOO_OUTPUT), mq.MQPMO_NO_CONTEXT, **SET)
    md = shared_input(connection, queue).get().md
    assert context(md) == {
        "UserIdentifier": b" " * 12,
        "AccountingToken": bytes(32),
        "ApplIdentityData": b" " * 32,
        "PutApplType": mq.MQAT_NO_CONTEXT,
        "PutApplName": b" " * 28,
        "PutDate": b" " * 8,
        "PutTime": b" " * 8,
        "ApplOriginData": b" " * 4,
    }


def test_all_of_it_can_be_set(connection, queue, setter):
    assert put(setter, mq.MQPMO_SET_ALL_CONTEXT, **SET).code == OK
    assert context(shared_input(connection, queue).get().md) == SET


TEXT = {field: len(value) for field, value in SET.items() if isinstance(value, bytes) and field != "AccountingToken"}


@table(("field", "length"), [*TEXT.items(), ("Format", 8), ("ReplyToQ", 48), ("ReplyToQMgr", 48)])
def test_what_follows_a_nul_in_text_that_is_set_becomes_blanks(connection, queue, field, length):
    """Topics q097700, q097430, q097620, q097440, q097520, PutDate, PutTime, ReplyToQ; AccountingToken is no text."""
    setter = connection.open(queue, mq.MQOO_OUTPUT | mq.MQOO_SET_ALL_CONTEXT)
    assert put(setter, mq.MQPMO_SET_ALL_CONTEXT, **{**SET, field: b"ab\0".ljust(length, b"x")}).code == OK
    md = shared_input(connection, queue).get().md
    assert (context(md) | {field: getattr(md, field)}) == {**SET, field: b"ab".ljust(length)}


def test_the_identity_can_be_set_and_the_origin_is_the_queue_manager_s(connection, queue, setter):
    assert put(setter, mq.MQPMO_SET_IDENTITY_CONTEXT, **SET).code == OK
    md = shared_input(connection, queue).get().md
    assert context(md, IDENTITY) == {field: SET[field] for field in IDENTITY}
    assert (md.PutApplType, md.ApplOriginData) == (mq.MQAT_UNIX, b" " * 4)


@pytest.mark.parametrize(
    ("open_option", "option", "passed"),
    [
        (mq.MQOO_PASS_ALL_CONTEXT, mq.MQPMO_PASS_ALL_CONTEXT, IDENTITY + ORIGIN),
        (mq.MQOO_PASS_ALL_CONTEXT, mq.MQPMO_PASS_IDENTITY_CONTEXT, IDENTITY),
        (mq.MQOO_PASS_IDENTITY_CONTEXT, mq.MQPMO_PASS_IDENTITY_CONTEXT, IDENTITY),
        (mq.MQOO_SET_IDENTITY_CONTEXT, mq.MQPMO_PASS_ALL_CONTEXT, IDENTITY + ORIGIN),
        (mq.MQOO_SET_ALL_CONTEXT, mq.MQPMO_PASS_IDENTITY_CONTEXT, IDENTITY),
    ],
)
def test_the_context_of_the_message_got_last_can_be_passed_on(
    connection, target, setter, saver, open_option, option, passed
):
    put(setter, mq.MQPMO_SET_ALL_CONTEXT, **SET)
    assert saver.get().code == OK
    out = connection.open(target, mq.MQOO_OUTPUT | open_option)
    assert put(out, option, saver).code == OK
    md = shared_input(connection, target).get().md
    assert context(md, passed) == {field: SET[field] for field in passed}
    if passed == IDENTITY:
        assert md.PutDate != SET["PutDate"]


@table(
    ("option", "reason"),
    [
        (mq.MQPMO_PASS_IDENTITY_CONTEXT, mq.MQRC_NOT_OPEN_FOR_PASS_IDENT),
        (mq.MQPMO_PASS_ALL_CONTEXT, mq.MQRC_NOT_OPEN_FOR_PASS_ALL),
        (mq.MQPMO_SET_IDENTITY_CONTEXT, mq.MQRC_NOT_OPEN_FOR_SET_IDENT),
        (mq.MQPMO_SET_ALL_CONTEXT, mq.MQRC_NOT_OPEN_FOR_SET_ALL),
    ],
)
def test_passing_and_setting_need_a_handle_that_was_opened_for_it(connection, queue, option, reason):
    assert put(connection.open(queue, mq.MQOO_OUTPUT), option).code == failed(reason)


def test_there_is_no_context_to_pass_before_the_first_get(connection, target, saver):
    out = connection.open(target, mq.MQOO_OUTPUT | mq.MQOO_PASS_ALL_CONTEXT)
    assert put(out, mq.MQPMO_PASS_ALL_CONTEXT, saver).code == failed(mq.MQRC_CONTEXT_NOT_AVAILABLE)


def test_the_context_handle_must_have_been_opened_to_save_it(connection, queue, target):
    out = connection.open(target, mq.MQOO_OUTPUT | mq.MQOO_PASS_ALL_CONTEXT)
    plain = connection.open(queue, mq.MQOO_INPUT_SHARED)
    for handle in (plain, out, None):
        assert put(out, mq.MQPMO_PASS_ALL_CONTEXT, handle).code == failed(mq.MQRC_CONTEXT_HANDLE_ERROR)


def test_an_alternate_user_is_not_whom_the_message_is_from(own_queue_manager, connect, mqi):
    """AlternateUserId is for the authority to open only (topics q098140, q097700)."""
    connection = connect(to=own_queue_manager(mqsc=[OTHER_USERS]))
    od = {"ObjectName": b"TEST.LOCAL", "AlternateUserId": b"somebody".ljust(12)}
    own = connection.put1("TEST.LOCAL", b"m").md.UserIdentifier
    out = connection.open("", mq.MQOO_OUTPUT | mq.MQOO_ALTERNATE_USER_AUTHORITY, od=mqi.od(**od))
    assert (out.code, out.put(b"m").md.UserIdentifier) == (OK, own)
    answer = connection.put1("", b"m", mq.MQPMO_ALTERNATE_USER_AUTHORITY, od=mqi.od(**od))
    assert (answer.code, answer.md.UserIdentifier) == (OK, own)
    assert b"somebody".ljust(12) != own


def test_mqput1_opens_for_what_it_needs(connection, queue):
    assert connection.put1(queue, b"x", mq.MQPMO_SET_ALL_CONTEXT, **SET).code == OK
    assert context(shared_input(connection, queue).get().md) == SET


@table(
    "options",
    [
        mq.MQOO_INPUT_SHARED | mq.MQOO_PASS_ALL_CONTEXT,
        mq.MQOO_INPUT_SHARED | mq.MQOO_SET_IDENTITY_CONTEXT,
        mq.MQOO_OUTPUT | mq.MQOO_SAVE_ALL_CONTEXT,
    ],
)
def test_open_options_that_do_not_fit(connection, queue, options):
    assert connection.open(queue, options).code == failed(mq.MQRC_OPTIONS_ERROR)


@table("other", [mq.MQPMO_NO_CONTEXT, mq.MQPMO_DEFAULT_CONTEXT, mq.MQPMO_PASS_ALL_CONTEXT])
def test_only_one_context_option_at_a_time(setter, other):
    assert put(setter, mq.MQPMO_SET_ALL_CONTEXT | other).code == failed(mq.MQRC_OPTIONS_ERROR)
