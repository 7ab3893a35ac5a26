"""Marks of browsed messages; expected values from IBM MQ, topics "Avoiding repeated delivery of browsed messages" (q026530) and
"MsgMarkBrowseInterval" (q102570)."""

from __future__ import annotations

import time

import pytest

from embedded_tests.fix_mqi import EMPTY, OK, PATIENCE_MS, PATIENCE_S, failed, shared_input, warning
from embedded_tests.tables import table
from mqembedded import constants as mq

# What IBM MQ calls MQGMO_BROWSE_HANDLE and MQGMO_BROWSE_CO_OP.
BROWSE_HANDLE = mq.MQGMO_BROWSE_FIRST | mq.MQGMO_UNMARKED_BROWSE_MSG | mq.MQGMO_MARK_BROWSE_HANDLE
BROWSE_CO_OP = mq.MQGMO_BROWSE_FIRST | mq.MQGMO_UNMARKED_BROWSE_MSG | mq.MQGMO_MARK_BROWSE_CO_OP
UNMARKED_FIRST = mq.MQGMO_BROWSE_FIRST | mq.MQGMO_UNMARKED_BROWSE_MSG


@pytest.fixture
def queue_of_three(connection, queue):
    """A queue with messages one, two and three."""
    out = connection.open(queue, mq.MQOO_OUTPUT)
    for data in (b"one", b"two", b"three"):
        assert out.put(data).code == OK
    out.close()
    return queue


@pytest.fixture
def member(connect, queue_of_three):
    """A function that opens the queue to co-operate, over a connection of its own."""
    return lambda: connect().open(queue_of_three, mq.MQOO_BROWSE | mq.MQOO_INPUT_SHARED | mq.MQOO_CO_OP)


def browsed(handle, options):
    return [answer.data for answer in handle.all(options)]


# --- marks of one handle


def test_browse_first_of_the_unmarked_returns_each_message_in_turn(connection, queue_of_three):
    handle = connection.open(queue_of_three, mq.MQOO_BROWSE)
    assert browsed(handle, BROWSE_HANDLE) == [b"one", b"two", b"three"]
    assert handle.get(BROWSE_HANDLE).code == EMPTY
    assert connection.put1(queue_of_three, b"four").code == OK
    assert handle.get(BROWSE_HANDLE).data == b"four"


def test_a_message_that_arrives_before_the_cursor_is_not_skipped(connection, queue_of_three):
    handle = connection.open(queue_of_three, mq.MQOO_BROWSE)
    assert handle.get(BROWSE_HANDLE).data == b"one"
    assert connection.put1(queue_of_three, b"urgent", Priority=9).code == OK
    assert browsed(handle, BROWSE_HANDLE) == [b"urgent", b"two", b"three"]


def test_a_mark_is_the_handle_s_own(connect, connection, queue_of_three):
    mine, other = (open_by.open(queue_of_three, mq.MQOO_BROWSE) for open_by in (connection, connect()))
    assert browsed(mine, BROWSE_HANDLE) == [b"one", b"two", b"three"]
    assert browsed(other, BROWSE_HANDLE) == [b"one", b"two", b"three"]


def test_a_mark_hides_nothing_from_who_does_not_ask(connection, queue_of_three):
    handle = shared_input(connection, queue_of_three)
    browsed(handle, BROWSE_HANDLE)
    assert handle.get(mq.MQGMO_BROWSE_FIRST).data == b"one"
    assert handle.get().data == b"one"


def test_a_handle_takes_its_mark_off(connection, queue_of_three):
    handle = connection.open(queue_of_three, mq.MQOO_BROWSE)
    browsed(handle, BROWSE_HANDLE)
    assert handle.get(mq.MQGMO_BROWSE_FIRST).data == b"one"
    assert handle.get(mq.MQGMO_BROWSE_NEXT | mq.MQGMO_UNMARK_BROWSE_HANDLE).data == b"two"
    assert browsed(handle, BROWSE_HANDLE) == [b"two"]


def test_to_take_off_a_mark_that_is_not_there_is_no_error(connection, queue_of_three):
    handle = connection.open(queue_of_three, mq.MQOO_BROWSE)
    assert handle.get(mq.MQGMO_BROWSE_FIRST | mq.MQGMO_UNMARK_BROWSE_HANDLE).code == OK


def test_a_mark_ends_with_its_handle(connection, queue_of_three):
    handle = connection.open(queue_of_three, mq.MQOO_BROWSE)
    browsed(handle, BROWSE_HANDLE)
    assert handle.close() == OK
    assert browsed(connection.open(queue_of_three, mq.MQOO_BROWSE), BROWSE_HANDLE) == [b"one", b"two", b"three"]


def test_a_message_got_and_backed_out_is_marked_no_more(connect, connection, queue_of_three):
    handle = connection.open(queue_of_three, mq.MQOO_BROWSE)
    browsed(handle, BROWSE_HANDLE)
    getter = connect()
    assert getter.open(queue_of_three, mq.MQOO_INPUT_SHARED).get(mq.MQGMO_SYNCPOINT).data == b"one"
    assert handle.get(UNMARKED_FIRST).code == EMPTY
    assert getter.back_out() == OK
    assert browsed(handle, BROWSE_HANDLE) == [b"one"]


def test_a_message_that_did_not_fit_is_not_marked(connection, queue_of_three):
    """Programs ask for it once more, with a longer buffer."""
    handle = connection.open(queue_of_three, mq.MQOO_BROWSE)
    assert handle.get(BROWSE_HANDLE, length=1).code == warning(mq.MQRC_TRUNCATED_MSG_FAILED)
    assert handle.get(BROWSE_HANDLE).data == b"one"


def test_under_the_cursor_a_message_is_marked_too(connection, queue_of_three):
    handle = connection.open(queue_of_three, mq.MQOO_BROWSE)
    assert handle.get(mq.MQGMO_BROWSE_FIRST).data == b"one"
    assert handle.get(mq.MQGMO_BROWSE_MSG_UNDER_CURSOR | mq.MQGMO_MARK_BROWSE_HANDLE).data == b"one"
    assert handle.get(mq.MQGMO_BROWSE_MSG_UNDER_CURSOR | mq.MQGMO_UNMARKED_BROWSE_MSG).code == failed(
        mq.MQRC_NO_MSG_UNDER_CURSOR
    )
    assert handle.get(UNMARKED_FIRST).data == b"two"


# --- marks of the handles that co-operate


def test_handles_that_co_operate_share_the_messages_out(member):
    first, second = member(), member()
    assert [handle.get(BROWSE_CO_OP).data for handle in (first, second, first)] == [b"one", b"two", b"three"]
    assert second.get(BROWSE_CO_OP).code == EMPTY


def test_who_does_not_co_operate_sees_messages_as_unmarked(member, connect, queue_of_three):
    assert browsed(member(), BROWSE_CO_OP) == [b"one", b"two", b"three"]
    assert browsed(connect().open(queue_of_three, mq.MQOO_BROWSE), BROWSE_HANDLE) == [b"one", b"two", b"three"]


def test_what_is_marked_for_all_is_not_marked_once_more(member):
    first, second = member(), member()
    assert first.get(BROWSE_CO_OP).data == b"one"
    assert second.get(mq.MQGMO_BROWSE_FIRST | mq.MQGMO_MARK_BROWSE_CO_OP).code == failed(
        mq.MQRC_MSG_MARKED_BROWSE_CO_OP
    )
    assert second.get(BROWSE_CO_OP).data == b"two"


def test_any_member_takes_the_mark_of_all_off(member):
    first, second = member(), member()
    assert browsed(first, BROWSE_CO_OP) == [b"one", b"two", b"three"]
    assert second.get(mq.MQGMO_BROWSE_FIRST | mq.MQGMO_UNMARK_BROWSE_CO_OP).data == b"one"
    assert browsed(first, BROWSE_CO_OP) == [b"one"]


def test_the_mark_of_all_leaves_a_handle_s_own_alone(member):
    first, second = member(), member()
    assert first.get(BROWSE_CO_OP | mq.MQGMO_MARK_BROWSE_HANDLE).data == b"one"
    assert second.get(mq.MQGMO_BROWSE_FIRST | mq.MQGMO_UNMARK_BROWSE_CO_OP).data == b"one"
    assert first.get(UNMARKED_FIRST).data == b"two"
    assert second.get(UNMARKED_FIRST).data == b"one"


def test_the_marks_of_all_end_with_the_last_of_them(member, connect, queue_of_three):
    first, second = member(), member()
    assert browsed(first, BROWSE_CO_OP) == [b"one", b"two", b"three"]
    assert first.close() == OK
    assert second.get(BROWSE_CO_OP).code == EMPTY
    assert second.close() == OK
    assert browsed(member(), BROWSE_CO_OP) == [b"one", b"two", b"three"]


def test_a_message_that_is_unmarked_ends_a_wait(member, waiting_get):
    first, second = member(), member()
    assert browsed(first, BROWSE_CO_OP) == [b"one", b"two", b"three"]
    waiting = waiting_get(second, BROWSE_CO_OP)
    assert first.get(mq.MQGMO_BROWSE_MSG_UNDER_CURSOR | mq.MQGMO_UNMARK_BROWSE_CO_OP).data == b"three"
    assert waiting.result(PATIENCE_S).data == b"three"


# --- the interval


@pytest.mark.embedded
def test_the_interval_is_an_attribute_of_the_queue_manager(connection, mqi):
    handle = connection.open("", mq.MQOO_INQUIRE, od=mqi.od(ObjectType=mq.MQOT_Q_MGR))
    assert handle.inquire(mq.MQIA_MSG_MARK_BROWSE_INTERVAL) == (OK, 5000)


@pytest.mark.embedded
def test_marks_of_all_end_by_the_interval_and_those_of_handles_do_not(own_queue_manager, connect, tmp_path):
    mqsc = tmp_path / "interval.mqsc"
    mqsc.write_text("ALTER QMGR MARKINT(50)\nDEFINE QLOCAL(Q)\n")
    q_mgr = own_queue_manager(mqsc=[mqsc])
    first, second = (connect(q_mgr).open("Q", mq.MQOO_BROWSE | mq.MQOO_OUTPUT | mq.MQOO_CO_OP) for _ in range(2))
    assert first.put(b"m").code == OK
    started = time.monotonic()
    assert first.get(BROWSE_CO_OP | mq.MQGMO_MARK_BROWSE_HANDLE).data == b"m"
    # Nothing happens to the queue: it is the time alone that ends this wait.
    assert second.get(BROWSE_CO_OP, wait_ms=PATIENCE_MS).data == b"m"
    assert time.monotonic() - started >= 0.05
    assert first.get(UNMARKED_FIRST).code == EMPTY


@pytest.mark.embedded
def test_without_a_limit_they_stay(own_queue_manager, connect, tmp_path):
    mqsc = tmp_path / "interval.mqsc"
    mqsc.write_text("ALTER QMGR MARKINT(NOLIMIT)\nDEFINE QLOCAL(Q)\n")
    q_mgr = own_queue_manager(mqsc=[mqsc])
    first, second = (connect(q_mgr).open("Q", mq.MQOO_BROWSE | mq.MQOO_OUTPUT | mq.MQOO_CO_OP) for _ in range(2))
    assert first.put(b"m").code == OK
    assert first.get(BROWSE_CO_OP).data == b"m"
    assert second.get(BROWSE_CO_OP, wait_ms=50).code == EMPTY


# --- what does not go together


@table(
    "options",
    [
        mq.MQGMO_MARK_BROWSE_HANDLE,
        mq.MQGMO_UNMARKED_BROWSE_MSG,
        mq.MQGMO_UNMARK_BROWSE_HANDLE | mq.MQGMO_SYNCPOINT,
        BROWSE_HANDLE | mq.MQGMO_LOCK,
        BROWSE_HANDLE | mq.MQGMO_LOGICAL_ORDER,
        BROWSE_HANDLE | mq.MQGMO_COMPLETE_MSG,
        BROWSE_HANDLE | mq.MQGMO_ALL_MSGS_AVAILABLE,
        BROWSE_HANDLE | mq.MQGMO_ALL_SEGMENTS_AVAILABLE,
        BROWSE_HANDLE | mq.MQGMO_UNMARK_BROWSE_HANDLE,
        mq.MQGMO_BROWSE_FIRST | mq.MQGMO_MARK_BROWSE_CO_OP | mq.MQGMO_UNMARK_BROWSE_CO_OP,
        UNMARKED_FIRST | mq.MQGMO_UNMARK_BROWSE_CO_OP,
    ],
)
def test_mqget_refuses(member, options):
    assert member().get(options).code == failed(mq.MQRC_OPTIONS_ERROR)


@table("option", [mq.MQGMO_MARK_BROWSE_CO_OP, mq.MQGMO_UNMARK_BROWSE_CO_OP])
def test_the_mark_of_all_is_for_handles_that_co_operate(connection, queue_of_three, option):
    handle = connection.open(queue_of_three, mq.MQOO_BROWSE)
    assert handle.get(mq.MQGMO_BROWSE_FIRST | option).code == failed(mq.MQRC_OPTIONS_ERROR)
