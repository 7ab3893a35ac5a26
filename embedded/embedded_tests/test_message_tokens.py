"""The message token, returned and as a criterion; expected values from IBM MQ, topics "MsgToken" (q096770), reason codes 2256
and 2331."""

from __future__ import annotations

import pytest

from embedded_tests.fix_mqi import EMPTY, OK, failed, shared_input
from mqembedded import constants as mq


@pytest.fixture
def source(connection, queue):
    """A handle to get and browse with, on a queue with messages one, two and three, each with itself as CorrelId."""
    out = connection.open(queue, mq.MQOO_OUTPUT)
    for data in (b"one", b"two", b"three"):
        assert out.put(data, CorrelId=data.ljust(24)).code == OK
    return shared_input(connection, queue)


def get(handle, options, token=bytes(16), match=mq.MQMO_MATCH_MSG_TOKEN, *, version=3, **fields):
    options |= mq.MQGMO_NO_PROPERTIES | (0 if options & mq.MQGMO_SYNCPOINT else mq.MQGMO_NO_SYNCPOINT)
    gmo = handle.mqi.gmo(Version=version, Options=options, MatchOptions=match)
    if version >= 3:
        gmo.MsgToken = token
    return handle.get(gmo=gmo, **fields)


def token_of(handle, options):
    return get(handle, options, match=mq.MQMO_NONE).gmo.MsgToken


def test_every_message_has_a_token_of_its_own_and_keeps_it(source):
    tokens = [token_of(source, mq.MQGMO_BROWSE_FIRST), *(token_of(source, mq.MQGMO_BROWSE_NEXT) for _ in range(2))]
    assert len(set(tokens)) == 3
    assert bytes(16) not in tokens
    assert token_of(source, mq.MQGMO_BROWSE_FIRST) == tokens[0]


def test_a_browsed_message_is_got_by_its_token(source, connection):
    token_of(source, mq.MQGMO_BROWSE_FIRST)
    two = token_of(source, mq.MQGMO_BROWSE_NEXT)
    answer = get(source, 0, two)
    assert (answer.code, answer.data) == (OK, b"two")
    assert get(source, 0, two).code == EMPTY
    assert [answer.data for answer in source.all()] == [b"one", b"three"]


def test_another_application_gets_it_by_its_token(source, connect, queue):
    token_of(source, mq.MQGMO_BROWSE_FIRST)
    two = token_of(source, mq.MQGMO_BROWSE_NEXT)
    assert get(connect().open(queue, mq.MQOO_INPUT_SHARED), 0, two).data == b"two"


def test_a_message_backed_out_keeps_its_token(source, connection):
    two = get(source, mq.MQGMO_SYNCPOINT, match=mq.MQMO_MATCH_CORREL_ID, CorrelId=b"two".ljust(24)).gmo.MsgToken
    assert get(source, 0, two).code == EMPTY
    assert connection.back_out() == OK
    assert get(source, 0, two).data == b"two"


def test_a_token_that_is_none_finds_nothing(source):
    assert get(source, 0, b"\xff" * 16).code == EMPTY
    assert get(source, 0).code == EMPTY


@pytest.mark.parametrize(("correl_id", "code"), [(b"one", OK), (b"two", EMPTY)])
def test_other_criteria_count_too(source, correl_id, code):
    one = token_of(source, mq.MQGMO_BROWSE_FIRST)
    match = mq.MQMO_MATCH_MSG_TOKEN | mq.MQMO_MATCH_CORREL_ID
    assert get(source, 0, one, match, CorrelId=correl_id.ljust(24)).code == code


def test_browse_next_finds_it_only_behind_the_cursor(source):
    one, two = token_of(source, mq.MQGMO_BROWSE_FIRST), token_of(source, mq.MQGMO_BROWSE_NEXT)
    assert get(source, mq.MQGMO_BROWSE_FIRST, one).data == b"one"
    assert get(source, mq.MQGMO_BROWSE_NEXT, one).code == EMPTY
    assert get(source, mq.MQGMO_BROWSE_NEXT, two).data == b"two"
    assert get(source, mq.MQGMO_BROWSE_FIRST, one).data == b"one"


def test_under_the_cursor_it_is_ignored(source):
    assert source.get(mq.MQGMO_BROWSE_FIRST).data == b"one"
    assert get(source, mq.MQGMO_BROWSE_MSG_UNDER_CURSOR | mq.MQGMO_WAIT, b"\xff" * 16).data == b"one"


def test_it_goes_with_no_wait(source):
    one = token_of(source, mq.MQGMO_BROWSE_FIRST)
    assert get(source, mq.MQGMO_WAIT, one).code == failed(mq.MQRC_MSG_TOKEN_ERROR)


def test_it_needs_an_mqgmo_that_has_one(source):
    assert get(source, 0, version=2).code == failed(mq.MQRC_WRONG_GMO_VERSION)


@pytest.mark.embedded
def test_no_token_comes_again_after_a_restart(own_queue_manager, connect, tmp_path):
    mqsc = tmp_path / "q.mqsc"
    mqsc.write_text("DEFINE QLOCAL(Q)\n")
    q_mgr = own_queue_manager(mqsc=[mqsc])
    handle = connect(q_mgr).open("Q", mq.MQOO_INPUT_SHARED | mq.MQOO_OUTPUT)
    tokens = []
    for _ in range(2):
        for _ in range(3):
            assert handle.put(b"m", Persistence=mq.MQPER_PERSISTENT).code == OK
            tokens.append(get(handle, 0, match=mq.MQMO_NONE).gmo.MsgToken)
        q_mgr.kill()
        q_mgr.start()
        handle = connect(q_mgr).open("Q", mq.MQOO_INPUT_SHARED | mq.MQOO_OUTPUT)
    assert len(set(tokens)) == 6
    assert all(get(handle, 0, token).code == EMPTY for token in tokens)
