"""MQGMO_WAIT: what ends the wait (IBM MQ for IBM i, topic "GMOPT", GMWT)."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from embedded_tests.fix_mqi import EMPTY, OK, PATIENCE_MS, PATIENCE_S, child, failed, wait_until
from embedded_tests.tables import table
from mqembedded import constants as c

ROOT = Path(__file__).parents[1]


@table("wait_ms", [PATIENCE_MS, c.MQWI_UNLIMITED], ids=["interval", "unlimited"])
@table("options", [0, c.MQGMO_LOGICAL_ORDER, c.MQGMO_SYNCPOINT, c.MQGMO_BROWSE_FIRST, c.MQGMO_BROWSE_NEXT])
def test_an_arrival_ends_the_wait(connect, queue, waiting_get, options, wait_ms):
    source = connect().open(queue, c.MQOO_INPUT_SHARED | c.MQOO_BROWSE)
    waiting = waiting_get(source, options, wait_ms)
    assert connect().put1(queue, b"m").code == OK
    answer = waiting.result(PATIENCE_S)
    assert (answer.code, answer.data) == (OK, b"m")


@pytest.mark.embedded
def test_an_arrival_ends_the_wait_on_a_system_without_eventfd(
    own_queue_manager, connect, background, monkeypatch, tmp_path
):
    """Python has eventfd and posix_fallocate on Linux only; the queue manager's process starts without them."""
    (tmp_path / "sitecustomize.py").write_text("import os\ndel os.eventfd, os.posix_fallocate\n")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *sys.path]))
    queue_manager = own_queue_manager()
    source = connect(to=queue_manager).open("TEST.LOCAL", c.MQOO_INPUT_SHARED)
    putter = connect(to=queue_manager)
    for data in (b"1", b"2", b"3"):
        queue_manager.clear_faults()
        waiting = background(source.get, wait_ms=PATIENCE_MS)
        wait_until(lambda: queue_manager.calls().get("MQGET"))
        assert putter.put1("TEST.LOCAL", data).code == OK
        assert waiting.result(PATIENCE_S).data == data
    assert source.get(wait_ms=50).code == EMPTY


def test_what_is_there_is_got_at_once(connection, queue):
    connection.put1(queue, b"m")
    assert connection.open(queue, c.MQOO_INPUT_SHARED).get(wait_ms=PATIENCE_MS).data == b"m"


def test_it_is_the_commit_that_ends_the_wait(connect, queue, waiting_get):
    putter = connect()
    source = connect().open(queue, c.MQOO_INPUT_SHARED)
    assert putter.put1(queue, b"m", c.MQPMO_SYNCPOINT).code == OK
    waiting = waiting_get(source)
    assert not waiting.done()
    assert putter.commit() == OK
    assert waiting.result(PATIENCE_S).data == b"m"


def test_a_message_given_back_ends_the_wait(connect, queue, waiting_get):
    other = connect()
    other.put1(queue, b"m")
    assert other.open(queue, c.MQOO_INPUT_SHARED).get(c.MQGMO_SYNCPOINT).code == OK
    waiting = waiting_get(connect().open(queue, c.MQOO_INPUT_SHARED))
    assert other.back_out() == OK
    answer = waiting.result(PATIENCE_S)
    assert (answer.data, answer.md.BackoutCount) == (b"m", 1)


@table("options", [0, c.MQGMO_LOGICAL_ORDER, c.MQGMO_BROWSE_FIRST])
def test_the_interval_runs_out(connection, queue, options):
    source = connection.open(queue, c.MQOO_INPUT_SHARED | c.MQOO_BROWSE)
    started = time.monotonic()
    assert source.get(options, wait_ms=50).code == EMPTY
    assert time.monotonic() - started >= 0.05


def test_in_a_group_only_its_next_message_ends_the_wait(connect, queue, waiting_get):
    putter = connect()
    out = putter.open(queue, c.MQOO_OUTPUT)
    out.put(b"1", c.MQPMO_LOGICAL_ORDER, MsgFlags=c.MQMF_MSG_IN_GROUP)
    source = connect().open(queue, c.MQOO_INPUT_SHARED)
    assert source.get(c.MQGMO_LOGICAL_ORDER).data == b"1"
    waiting = waiting_get(source, c.MQGMO_LOGICAL_ORDER)
    assert putter.put1(queue, b"another").code == OK
    assert out.put(b"2", c.MQPMO_LOGICAL_ORDER, MsgFlags=c.MQMF_LAST_MSG_IN_GROUP).code == OK
    assert waiting.result(PATIENCE_S).data == b"2"


def test_one_message_ends_the_wait_of_one_getter(connect, queue, waiting_get):
    sources = [connect().open(queue, c.MQOO_INPUT_SHARED) for _ in range(3)]
    waiting = [waiting_get(source) for source in sources]
    putter = connect()
    for number in range(3):
        assert putter.put1(queue, b"%d" % number).code == OK
    assert sorted(future.result(PATIENCE_S).data for future in waiting) == [b"0", b"1", b"2"]


def test_all_browsers_are_activated(connect, queue, waiting_get):
    waiting = [waiting_get(connect().open(queue, c.MQOO_BROWSE), c.MQGMO_BROWSE_FIRST) for _ in range(3)]
    assert connect().put1(queue, b"m").code == OK
    assert [future.result(PATIENCE_S).data for future in waiting] == [b"m"] * 3


@table("there", [False, True], ids=["empty", "a message is there that does not match"])
def test_get_inhibited_cancels_the_wait(connect, queue, waiting_get, there):
    other = connect()
    if there:
        other.put1(queue, b"m")
    waiting = waiting_get(
        connect().open(queue, c.MQOO_INPUT_SHARED), match=c.MQMO_MATCH_CORREL_ID, CorrelId=b"nobody".ljust(24)
    )
    control = other.open(queue, c.MQOO_SET)
    assert control.set(c.MQIA_INHIBIT_GET, c.MQQA_GET_INHIBITED) == OK
    assert waiting.result(PATIENCE_S).code == failed(c.MQRC_GET_INHIBITED)
    assert control.set(c.MQIA_INHIBIT_GET, c.MQQA_GET_ALLOWED) == OK


@table("interval", [-2, -100])
def test_an_interval_below_unlimited_is_refused(connection, queue, interval):
    source = connection.open(queue, c.MQOO_INPUT_SHARED)
    assert source.get(wait_ms=interval).code == failed(c.MQRC_WAIT_INTERVAL_ERROR)


def test_wait_is_ignored_under_the_cursor(connection, queue):
    """ "GMWT is ignored if specified with GMBRWC or GMMUC; no error is raised"."""
    source = connection.open(queue, c.MQOO_INPUT_SHARED | c.MQOO_BROWSE)
    for options in (c.MQGMO_BROWSE_MSG_UNDER_CURSOR, c.MQGMO_MSG_UNDER_CURSOR):
        assert source.get(options, wait_ms=c.MQWI_UNLIMITED).code == failed(c.MQRC_NO_MSG_UNDER_CURSOR)
    connection.put1(queue, b"m")
    assert source.get(c.MQGMO_BROWSE_FIRST).code == OK
    assert source.get(c.MQGMO_BROWSE_MSG_UNDER_CURSOR | c.MQGMO_WAIT).data == b"m"
    assert source.get(c.MQGMO_MSG_UNDER_CURSOR | c.MQGMO_WAIT).data == b"m"


KILLED = """
source = connection.open(queue, c.MQOO_INPUT_EXCLUSIVE)
assert source.get(c.MQGMO_SYNCPOINT).code == OK
assert connection.put1(more[0], b"never", c.MQPMO_SYNCPOINT).code == OK
print("waiting", flush=True)
source.get(c.MQGMO_SYNCPOINT, wait_ms=c.MQWI_UNLIMITED)
"""


@pytest.mark.embedded
def test_a_client_killed_while_it_waits_is_backed_out_at_once(mq, mqi, connect, make_queue, waiting_get):
    queue, other = make_queue(), make_queue()
    connection = connect()
    assert connection.put1(queue, b"m").code == OK
    before = mq.queue_manager.calls().get("MQGET", 0)
    command = child(KILLED, mqi, mq, queue, other)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as client:
        assert client.stdout is not None
        try:
            assert client.stdout.readline() == "waiting\n"
            wait_until(lambda: mq.queue_manager.calls().get("MQGET", 0) == before + 2)
            assert connection.browse(queue) == []
        finally:
            client.kill()
    # The exclusive open lasts as long as the dead client's connection, and its unit of work ends with it.
    wait_until(lambda: (source := connection.open(queue, c.MQOO_INPUT_EXCLUSIVE)).code == OK and source.close() == OK)
    source = connection.open(queue, c.MQOO_INPUT_EXCLUSIVE)
    answer = source.get()
    assert (answer.data, answer.md.BackoutCount) == (b"m", 1)
    assert connection.depth(other) == 0
