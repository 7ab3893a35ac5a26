"""MQGMO_LOCK and MQGMO_UNLOCK; expected values from IBM MQ, topic "MQGMO options", "Lock options"."""

from __future__ import annotations

import pytest

from embedded_tests.fix_mqi import EMPTY, OK, PATIENCE_MS, failed, shared_input, warning
from embedded_tests.tables import table
from mqembedded import constants as mq

LOCK_FIRST, LOCK_NEXT = mq.MQGMO_BROWSE_FIRST | mq.MQGMO_LOCK, mq.MQGMO_BROWSE_NEXT | mq.MQGMO_LOCK
LOCK_UNDER_CURSOR = mq.MQGMO_BROWSE_MSG_UNDER_CURSOR | mq.MQGMO_LOCK


@pytest.fixture
def mine(connection, queue):
    """A handle to lock with, on a queue with messages one, two and three."""
    out = connection.open(queue, mq.MQOO_OUTPUT)
    for data in (b"one", b"two", b"three"):
        out.put(data)
    out.close()
    return shared_input(connection, queue)


@pytest.fixture
def other(connect, queue):
    """Another application's handle for the same queue."""
    return shared_input(connect(), queue)


def seen(handle) -> list[bytes]:
    """Return what a browse from the start sees."""
    first = handle.get(mq.MQGMO_BROWSE_FIRST)
    return [first.data, *(answer.data for answer in handle.all(mq.MQGMO_BROWSE_NEXT))] if first.code == OK else []


def unlock(handle):
    gmo = handle.mqi.gmo(Options=mq.MQGMO_UNLOCK)
    return handle.get(gmo=gmo).code


def test_a_locked_message_is_invisible_to_other_handles(connect, mine, other, queue):
    assert mine.get(LOCK_FIRST).data == b"one"
    assert seen(other) == [b"two", b"three"]
    assert other.get().data == b"two"
    same_connection = shared_input(mine.connection, queue)
    assert seen(same_connection) == [b"three"]


def test_only_one_message_is_locked_at_a_time(mine, other):
    mine.get(LOCK_FIRST)
    assert mine.get(LOCK_NEXT).data == b"two"
    assert seen(other) == [b"one", b"three"]


def test_the_message_under_the_cursor_can_be_removed_while_it_is_locked(mine, other):
    mine.get(LOCK_NEXT)
    assert mine.get(mq.MQGMO_MSG_UNDER_CURSOR).data == b"one"
    assert unlock(mine) == warning(mq.MQRC_NO_MSG_LOCKED)


def test_another_get_of_the_same_handle_can_remove_it_too(mine):
    locked = mine.get(LOCK_FIRST)
    assert mine.get(match=mq.MQMO_MATCH_MSG_ID, MsgId=locked.md.MsgId).data == b"one"


@table("options", [mq.MQGMO_BROWSE_FIRST, mq.MQGMO_BROWSE_NEXT])
def test_the_next_browse_without_lock_unlocks(mine, other, options):
    mine.get(LOCK_FIRST)
    assert mine.get(options).code == OK
    assert seen(other) == [b"one", b"two", b"three"]


def test_browsing_under_the_cursor_without_lock_returns_the_message_and_unlocks_it(mine, other):
    mine.get(LOCK_FIRST)
    assert mine.get(mq.MQGMO_BROWSE_MSG_UNDER_CURSOR).data == b"one"
    assert seen(other) == [b"one", b"two", b"three"]


def test_browsing_under_the_cursor_with_lock_keeps_or_takes_the_lock(mine, other):
    mine.get(mq.MQGMO_BROWSE_FIRST)
    assert mine.get(LOCK_UNDER_CURSOR).data == b"one"
    assert seen(other) == [b"two", b"three"]
    assert mine.get(LOCK_UNDER_CURSOR).data == b"one"
    assert seen(other) == [b"two", b"three"]


def test_unlock_says_whether_there_was_anything_to_unlock(mine, other):
    assert unlock(mine) == warning(mq.MQRC_NO_MSG_LOCKED)
    mine.get(LOCK_FIRST)
    assert unlock(mine) == OK
    assert seen(other) == [b"one", b"two", b"three"]
    assert unlock(mine) == warning(mq.MQRC_NO_MSG_LOCKED)


def test_unlock_returns_nothing(mine):
    mine.get(LOCK_FIRST)
    before = mine.mqi.md(MsgId=b"as it was".ljust(24))
    answer = mine.get(md=before, gmo=mine.mqi.gmo(Options=mq.MQGMO_UNLOCK))
    assert (answer.code, answer.md.MsgId, answer.data, answer.length) == (OK, b"as it was".ljust(24), b"", 0)


def test_closing_the_handle_unlocks(mine, other):
    mine.get(LOCK_FIRST)
    mine.close()
    assert seen(other) == [b"one", b"two", b"three"]


def test_a_truncated_browse_locks_and_unlocks_nothing(mine, other):
    mine.get(LOCK_FIRST)
    assert mine.get(LOCK_NEXT, length=1).code == warning(mq.MQRC_TRUNCATED_MSG_FAILED)
    assert seen(other) == [b"two", b"three"]
    assert mine.get(mq.MQGMO_BROWSE_NEXT, length=1).code == warning(mq.MQRC_TRUNCATED_MSG_FAILED)
    assert seen(other) == [b"two", b"three"]


def test_a_browse_that_finds_nothing_unlocks(mine, other):
    mine.get(LOCK_NEXT)
    mine.get(LOCK_NEXT)
    mine.get(LOCK_NEXT)
    assert seen(other) == [b"one", b"two"]
    assert mine.get(LOCK_NEXT).code == failed(mq.MQRC_NO_MSG_AVAILABLE)
    assert seen(other) == [b"one", b"two", b"three"]


def test_a_browse_that_waits_unlocks_before_it_waits(mine, other, background):
    for _ in range(3):
        mine.get(LOCK_NEXT)
    waiting = background(mine.get, LOCK_NEXT | mq.MQGMO_WAIT, wait_ms=PATIENCE_MS)
    # Three is the one that was locked: somebody who waits for it gets it as soon as the other waits too
    assert other.get(match=mq.MQMO_MATCH_MSG_ID, MsgId=seen_id(other, b"three"), wait_ms=PATIENCE_MS).data == b"three"
    out = other.connection.open(other.name, mq.MQOO_OUTPUT)
    out.put(b"four")
    assert waiting.result(30).data == b"four"


def seen_id(handle, data: bytes) -> bytes:
    """Return the MsgId of a message, once it can be seen."""
    while True:
        answer = handle.get(mq.MQGMO_BROWSE_FIRST)
        while answer.code == OK:
            if answer.data == data:
                return answer.md.MsgId
            answer = handle.get(mq.MQGMO_BROWSE_NEXT)


def test_unlocking_wakes_who_waits(mine, other, background):
    locked = mine.get(LOCK_FIRST)
    waiting = background(other.get, match=mq.MQMO_MATCH_MSG_ID, MsgId=locked.md.MsgId, wait_ms=PATIENCE_MS)
    assert unlock(mine) == OK
    assert waiting.result(30).data == b"one"


def test_a_locked_message_that_is_removed_and_backed_out_is_not_locked_any_more(mine, other):
    mine.get(LOCK_FIRST)
    assert mine.get(mq.MQGMO_MSG_UNDER_CURSOR | mq.MQGMO_SYNCPOINT).data == b"one"
    assert mine.connection.back_out() == OK
    assert seen(other) == [b"one", b"two", b"three"]


def test_the_cursor_of_another_handle_does_not_see_what_is_locked(mine, other):
    other.get(mq.MQGMO_BROWSE_FIRST)
    mine.get(LOCK_FIRST)
    assert other.get(mq.MQGMO_BROWSE_MSG_UNDER_CURSOR).code == failed(mq.MQRC_NO_MSG_UNDER_CURSOR)


def test_locking_a_complete_message_locks_all_its_segments(connection, queue, other):
    out = connection.open(queue, mq.MQOO_OUTPUT)
    out.put(b"a", mq.MQPMO_LOGICAL_ORDER, MsgFlags=mq.MQMF_SEGMENT)
    out.put(b"b", mq.MQPMO_LOGICAL_ORDER, MsgFlags=mq.MQMF_LAST_SEGMENT)
    mine = shared_input(connection, queue)
    assert mine.get(LOCK_FIRST | mq.MQGMO_COMPLETE_MSG).data == b"ab"
    assert seen(other) == []
    assert unlock(mine) == OK
    # "If COMPLETE_MSG is not specified ... the locked segment prevents others using COMPLETE_MSG"
    assert mine.get(LOCK_FIRST).data == b"a"
    assert other.get(mq.MQGMO_COMPLETE_MSG).code == EMPTY
    assert other.get(mq.MQGMO_BROWSE_FIRST).data == b"b"
