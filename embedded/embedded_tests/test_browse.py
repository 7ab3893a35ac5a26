"""Browsing: the cursor, and getting what is under it (IBM MQ for IBM i, topic "GMOPT", browse options)."""

from __future__ import annotations

import pytest

from embedded_tests.fix_mqi import EMPTY, OK, failed, warning
from embedded_tests.tables import table
from mqembedded import constants as mq

FIRST, NEXT = mq.MQGMO_BROWSE_FIRST, mq.MQGMO_BROWSE_NEXT
UNDER, TAKE = mq.MQGMO_BROWSE_MSG_UNDER_CURSOR, mq.MQGMO_MSG_UNDER_CURSOR
NOTHING_THERE = failed(mq.MQRC_NO_MSG_UNDER_CURSOR)


def put(connection, queue, *texts, **fields):
    for data in texts:
        assert connection.put1(queue, data, **fields).code == OK


@pytest.fixture
def handle(connection, queue):
    """A handle for browse and input on a queue of 1, 2, 3."""
    put(connection, queue, b"1", b"2", b"3")
    return connection.open(queue, mq.MQOO_BROWSE | mq.MQOO_INPUT_SHARED)


@pytest.fixture
def taker(connection, queue):
    """Another handle, to take messages away."""
    return connection.open(queue, mq.MQOO_INPUT_SHARED)


def test_browsing_leaves_messages_where_they_are(handle, connection, queue):
    assert [handle.get(options).data for options in (FIRST, NEXT, NEXT)] == [b"1", b"2", b"3"]
    assert handle.get(NEXT).code == EMPTY
    assert connection.depth(queue) == 3


def test_browse_first_starts_again(handle):
    assert [handle.get(NEXT).data for _ in range(2)] == [b"1", b"2"]
    assert handle.get(FIRST).data == b"1"
    assert handle.get(NEXT).data == b"2"


def test_a_browse_that_finds_nothing_does_not_move_the_cursor(handle, connection, queue):
    assert [handle.get(NEXT).data for _ in range(3)] == [b"1", b"2", b"3"]
    assert handle.get(NEXT).code == EMPTY
    assert handle.get(UNDER).data == b"3"
    put(connection, queue, b"4")
    assert handle.get(NEXT).data == b"4"


def test_browse_next_with_a_selection_passes_over_the_rest(handle, connection, queue):
    put(connection, queue, b"c", CorrelId=b"c" * 24)
    put(connection, queue, b"4")
    assert handle.get(NEXT, match=mq.MQMO_MATCH_CORREL_ID, CorrelId=b"c" * 24).data == b"c"
    assert handle.get(NEXT).data == b"4"


def test_each_handle_has_its_own_cursor(handle, connection, queue):
    other = connection.open(queue, mq.MQOO_BROWSE)
    assert [handle.get(NEXT).data for _ in range(2)] == [b"1", b"2"]
    assert other.get(NEXT).data == b"1"
    assert handle.get(NEXT).data == b"3"


def test_the_cursor_is_not_moved_by_a_get_that_removes(handle):
    assert handle.get(NEXT).data == b"1"
    assert handle.get().data == b"1"
    assert handle.get(NEXT).data == b"2"
    assert handle.get().data == b"2"
    assert handle.get(NEXT).data == b"3"


@pytest.mark.parametrize("removed", [b"1", b"2", b"3"])
def test_a_removed_message_leaves_the_cursor_at_its_position(handle, taker, connection, queue, removed):
    while handle.get(NEXT).data != removed:
        pass
    found = next(answer for answer in connection.browse(queue) if answer.data == removed)
    assert taker.get(match=mq.MQMO_MATCH_MSG_ID, MsgId=found.md.MsgId).data == removed
    assert handle.get(UNDER).code == NOTHING_THERE
    assert handle.get(TAKE).code == NOTHING_THERE
    following = {b"1": b"2", b"2": b"3", b"3": b""}[removed]
    assert handle.get(NEXT).data == following


def test_a_message_backed_out_behind_the_cursor_is_under_it_again(handle, taker, connection):
    assert handle.get(NEXT).data == b"1"
    assert taker.get(mq.MQGMO_SYNCPOINT).data == b"1"
    assert handle.get(UNDER).code == NOTHING_THERE
    assert connection.back_out() == OK
    assert handle.get(UNDER).data == b"1"
    assert handle.get(NEXT).data == b"2"


def test_a_higher_priority_message_is_found_by_browse_first_only(connection, queue):
    put(connection, queue, b"5a", b"5b", Priority=5)
    browser = connection.open(queue, mq.MQOO_BROWSE)
    assert browser.get(NEXT).data == b"5a"
    put(connection, queue, b"9", Priority=9)
    put(connection, queue, b"1", Priority=1)
    assert [answer.data for answer in browser.all(NEXT)] == [b"5b", b"1"]
    assert browser.get(FIRST).data == b"9"


def test_a_message_of_the_cursors_priority_arrives_before_the_cursor_goes_on(connection, queue):
    put(connection, queue, b"5a", Priority=5)
    browser = connection.open(queue, mq.MQOO_BROWSE)
    assert browser.get(NEXT).data == b"5a"
    put(connection, queue, b"5b", Priority=5)
    assert browser.get(NEXT).data == b"5b"


def test_an_earlier_put_that_commits_later_is_behind_the_cursor(connect, queue):
    """Its place is that of the put, so the sweep has passed it."""
    late, connection = connect(), connect()
    out = late.open(queue, mq.MQOO_OUTPUT)
    assert out.put(b"early", mq.MQPMO_SYNCPOINT).code == OK
    put(connection, queue, b"1", b"2")
    browser = connection.open(queue, mq.MQOO_BROWSE)
    assert browser.get(NEXT).data == b"1"
    assert late.commit() == OK
    assert [answer.data for answer in browser.all(NEXT)] == [b"2"]
    assert browser.get(FIRST).data == b"early"


# --- under the cursor


def test_what_is_under_the_cursor_is_browsed_again_and_taken(handle, connection, queue):
    assert handle.get(FIRST).data == b"1"
    assert handle.get(NEXT).data == b"2"
    assert [handle.get(UNDER).data for _ in range(2)] == [b"2", b"2"]
    assert handle.get(TAKE).data == b"2"
    assert [answer.data for answer in connection.browse(queue)] == [b"1", b"3"]
    assert handle.get(UNDER).code == NOTHING_THERE
    assert handle.get(NEXT).data == b"3"


def test_taken_in_syncpoint_it_comes_back(handle, connection):
    assert handle.get(FIRST).data == b"1"
    assert handle.get(TAKE | mq.MQGMO_SYNCPOINT).data == b"1"
    assert handle.get(UNDER).code == NOTHING_THERE
    assert connection.back_out() == OK
    answer = handle.get(TAKE)
    assert (answer.data, answer.md.BackoutCount) == (b"1", 1)


@table("options", [UNDER, TAKE])
def test_before_the_first_browse_nothing_is_under_the_cursor(handle, options):
    assert handle.get(options).code == NOTHING_THERE


# --- how the queue must be open


@table("options", [FIRST, NEXT, UNDER])
def test_browsing_needs_a_queue_open_for_browse(taker, connection, options):
    put(connection, taker.name, b"1")
    assert taker.get(options).code == failed(mq.MQRC_NOT_OPEN_FOR_BROWSE)


def test_taking_what_is_under_the_cursor_needs_browse_and_input(taker, connection, queue):
    put(connection, queue, b"1")
    assert taker.get(TAKE).code == failed(mq.MQRC_NOT_OPEN_FOR_BROWSE)
    browser = connection.open(queue, mq.MQOO_BROWSE)
    assert browser.get(FIRST).code == OK
    assert browser.get(TAKE).code == failed(mq.MQRC_NOT_OPEN_FOR_INPUT)


def test_getting_needs_a_queue_open_for_input(connection, queue):
    for options in (mq.MQOO_BROWSE, mq.MQOO_OUTPUT):
        assert connection.open(queue, options).get().code == failed(mq.MQRC_NOT_OPEN_FOR_INPUT)


# --- truncation


@table("options", [FIRST, NEXT])
def test_a_truncated_message_that_is_not_accepted_leaves_the_cursor(connection, queue, options):
    put(connection, queue, b"1", b"a long one", b"3")
    browser = connection.open(queue, mq.MQOO_BROWSE)
    assert browser.get(FIRST).data == b"1"
    if options == FIRST:
        put(connection, queue, b"the longest one", Priority=9)
    for _ in range(2):
        answer = browser.get(options, length=4)
        assert answer.code == warning(mq.MQRC_TRUNCATED_MSG_FAILED)
        assert browser.get(UNDER).data == b"1"
    assert browser.get(NEXT).data == b"a long one"


def test_a_truncated_message_that_is_accepted_moves_the_cursor(connection, queue):
    put(connection, queue, b"a long one", b"2")
    browser = connection.open(queue, mq.MQOO_BROWSE)
    answer = browser.get(NEXT | mq.MQGMO_ACCEPT_TRUNCATED_MSG, length=4)
    assert (answer.code, answer.data) == (warning(mq.MQRC_TRUNCATED_MSG_ACCEPTED), b"a lo")
    assert browser.get(UNDER).data == b"a long one"
    assert browser.get(NEXT).data == b"2"
