"""Units of work: what is visible when, what MQBACK gives back, how a connection ends them.

IBM MQ, topics q026790 (visibility), q023090 and q097450 (backout count), q040970 (MAXUMSGS), q106120 (MQDISC).
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from embedded_tests.fix_mqi import EMPTY, OK, child, failed, wait_until
from embedded_tests.tables import table
from mqembedded import constants as c

ROOT = Path(__file__).parents[1]


def put(connection, queue, *texts, options=0, **fields):
    out = connection.open(queue, c.MQOO_OUTPUT)
    for data in texts:
        assert out.put(data, options, **fields).code == OK
    out.close()


def visible(connection, queue):
    return [answer.data for answer in connection.browse(queue)]


@table("persistence", [c.MQPER_NOT_PERSISTENT, c.MQPER_PERSISTENT])
def test_an_uncommitted_put_is_invisible_to_all_even_to_its_connection(connect, queue, persistence):
    connection, other = connect(), connect()
    put(connection, queue, b"m", options=c.MQPMO_SYNCPOINT, Persistence=persistence)
    for one in (connection, other):
        assert one.open(queue, c.MQOO_INPUT_SHARED).get().code == EMPTY
        assert visible(one, queue) == []
        assert one.depth(queue) == 1
    assert connection.commit() == OK
    assert visible(connection, queue) == visible(other, queue) == [b"m"]


@table("persistence", [c.MQPER_NOT_PERSISTENT, c.MQPER_PERSISTENT])
def test_a_message_got_in_syncpoint_is_invisible_to_all(connect, queue, persistence):
    connection, other = connect(), connect()
    put(connection, queue, b"m", Persistence=persistence)
    assert connection.open(queue, c.MQOO_INPUT_SHARED).get(c.MQGMO_SYNCPOINT).code == OK
    for one in (connection, other):
        assert one.open(queue, c.MQOO_INPUT_SHARED).get().code == EMPTY
        assert visible(one, queue) == []
        assert one.depth(queue) == 0
    assert connection.commit() == OK
    assert other.depth(queue) == 0


@table("persistence", [c.MQPER_NOT_PERSISTENT, c.MQPER_PERSISTENT])
def test_mqback_undoes_puts_and_gets(connect, queue, persistence):
    connection = connect()
    put(connection, queue, b"1", b"2", Persistence=persistence)
    put(connection, queue, b"3", options=c.MQPMO_SYNCPOINT, Persistence=persistence)
    assert connection.open(queue, c.MQOO_INPUT_SHARED).get(c.MQGMO_SYNCPOINT).data == b"1"
    assert connection.back_out() == OK
    assert visible(connection, queue) == [b"1", b"2"]
    assert connection.depth(queue) == 2


def test_outside_syncpoint_neither_is_undone(connection, queue):
    put(connection, queue, b"1", b"2")
    assert connection.open(queue, c.MQOO_INPUT_SHARED).get().data == b"1"
    assert connection.back_out() == OK
    assert visible(connection, queue) == [b"2"]


def test_commit_and_back_out_with_nothing_to_do_are_ok(connection):
    assert connection.commit() == OK
    assert connection.back_out() == OK


def test_a_backed_out_message_returns_to_its_place(connection, queue):
    put(connection, queue, b"1", b"2", b"3")
    source = connection.open(queue, c.MQOO_INPUT_SHARED)
    assert [source.get(c.MQGMO_SYNCPOINT).data for _ in range(2)] == [b"1", b"2"]
    put(connection, queue, b"4")
    assert connection.back_out() == OK
    assert visible(connection, queue) == [b"1", b"2", b"3", b"4"]


def test_the_place_in_the_queue_is_that_of_the_put_not_of_the_commit(connect, queue):
    connection, other = connect(), connect()
    put(connection, queue, b"1", options=c.MQPMO_SYNCPOINT)
    put(other, queue, b"2")
    assert connection.commit() == OK
    assert visible(other, queue) == [b"1", b"2"]


def test_each_backout_adds_one_to_the_count_of_every_message_got(connection, queue):
    put(connection, queue, b"1", b"2", b"3")
    source = connection.open(queue, c.MQOO_INPUT_SHARED)
    for count in range(3):
        answers = [source.get(c.MQGMO_SYNCPOINT) for _ in range(2)]
        assert [answer.md.BackoutCount for answer in answers] == [count, count]
        assert connection.back_out() == OK
    assert [answer.md.BackoutCount for answer in connection.browse(queue)] == [3, 3, 0]


def test_neither_browsing_nor_committing_counts_as_backout(connection, queue):
    put(connection, queue, b"1")
    browser = connection.open(queue, c.MQOO_BROWSE)
    assert browser.get(c.MQGMO_BROWSE_FIRST).code == OK
    assert connection.back_out() == OK
    assert browser.get(c.MQGMO_BROWSE_FIRST).md.BackoutCount == 0


def test_a_message_put_and_got_between_others_units_of_work(connect, queue):
    """What one connection commits is another's to get, while both have units of work open."""
    one, other = connect(), connect()
    put(one, queue, b"1", options=c.MQPMO_SYNCPOINT)
    put(other, queue, b"2", options=c.MQPMO_SYNCPOINT)
    assert one.commit() == OK
    source = other.open(queue, c.MQOO_INPUT_SHARED)
    assert source.get(c.MQGMO_SYNCPOINT).data == b"1"
    assert source.get(c.MQGMO_SYNCPOINT).code == EMPTY
    assert other.commit() == OK
    assert visible(one, queue) == [b"2"]


def test_closing_a_handle_does_not_end_the_unit_of_work(connection, queue):
    put(connection, queue, b"1", options=c.MQPMO_SYNCPOINT)  # opened and closed
    assert visible(connection, queue) == []
    assert connection.commit() == OK
    source = connection.open(queue, c.MQOO_INPUT_SHARED)
    assert source.get(c.MQGMO_SYNCPOINT).code == OK
    source.close()
    assert connection.back_out() == OK
    assert visible(connection, queue) == [b"1"]


@table(("persistence", "after"), [(c.MQPER_PERSISTENT, [b"m"]), (c.MQPER_NOT_PERSISTENT, [])])
def test_syncpoint_if_persistent(connection, queue, persistence, after):
    put(connection, queue, b"m", Persistence=persistence)
    assert connection.open(queue, c.MQOO_INPUT_SHARED).get(c.MQGMO_SYNCPOINT_IF_PERSISTENT).code == OK
    assert connection.back_out() == OK
    assert visible(connection, queue) == after


def test_without_an_option_a_put_and_a_get_are_outside_syncpoint(connection, queue, mqi):
    """On Multiplatforms, that is; on z/OS the default is the other way round (q026800)."""
    assert connection.open(queue, c.MQOO_OUTPUT).put(b"m", pmo=mqi.pmo(Options=0)).code == OK
    assert connection.open(queue, c.MQOO_INPUT_SHARED).get(gmo=mqi.gmo(Options=0)).code == OK
    assert connection.back_out() == OK
    assert connection.depth(queue) == 0


def test_mqdisc_commits(connect, queue):
    connection, other = connect(), connect()
    put(other, queue, b"got")
    assert connection.open(queue, c.MQOO_INPUT_SHARED).get(c.MQGMO_SYNCPOINT).data == b"got"
    put(connection, queue, b"put", options=c.MQPMO_SYNCPOINT)
    assert connection.disconnect() == OK
    assert visible(other, queue) == [b"put"]
    assert other.depth(queue) == 1
    assert connection.commit() == failed(c.MQRC_HCONN_ERROR)


DYING = """
assert connection.open(queue, c.MQOO_INPUT_SHARED).get(c.MQGMO_SYNCPOINT).code == OK
assert connection.put1(queue, b"never", c.MQPMO_SYNCPOINT).code == OK
os._exit(0)
"""


@pytest.mark.embedded
def test_a_process_that_ends_without_mqdisc_is_backed_out(connection, mq, mqi, queue):
    put(connection, queue, b"1", b"2")
    subprocess.run(child(DYING, mqi, mq, queue), check=True, cwd=ROOT)
    # While the unit of work is open the depth is 2 as well: one message is got and one is put.
    wait_until(lambda: len(connection.browse(queue)) == 2)
    found = connection.browse(queue)
    assert [(answer.data, answer.md.BackoutCount) for answer in found] == [(b"1", 1), (b"2", 0)]
    assert connection.depth(queue) == 2


# --- MAXUMSGS


def test_a_unit_of_work_of_each_connection_holds_maxumsgs_puts_and_gets(own_queue_manager, tmp_path, connect):
    commands = tmp_path / "small.mqsc"
    commands.write_text("ALTER QMGR MAXUMSGS(5)\n")
    queue_manager = own_queue_manager(mqsc=[commands])
    connection, other = connect(to=queue_manager), connect(to=queue_manager)
    put(connection, "TEST.LOCAL", b"1", b"2", b"3")
    out = connection.open("TEST.LOCAL", c.MQOO_OUTPUT)
    source = connection.open("TEST.LOCAL", c.MQOO_INPUT_SHARED)
    assert [out.put(b"x", c.MQPMO_SYNCPOINT).code for _ in range(3)] == [OK] * 3
    assert [source.get(c.MQGMO_SYNCPOINT).code for _ in range(2)] == [OK] * 2
    assert out.put(b"x", c.MQPMO_SYNCPOINT).code == failed(c.MQRC_SYNCPOINT_LIMIT_REACHED)
    assert source.get(c.MQGMO_SYNCPOINT).code == failed(c.MQRC_SYNCPOINT_LIMIT_REACHED)
    # What is outside of it goes on, in another one too, and what is in it can be committed.
    put(other, "TEST.BASE", *[b"x"] * 5, options=c.MQPMO_SYNCPOINT)
    assert out.put(b"outside").code == OK
    assert source.get(c.MQGMO_NO_SYNCPOINT).data == b"3"
    assert connection.commit() == OK
    assert connection.depth("TEST.LOCAL") == 4
    assert out.put(b"x", c.MQPMO_SYNCPOINT).code == OK
