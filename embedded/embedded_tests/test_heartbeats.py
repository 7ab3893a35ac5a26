"""Heartbeats of client channels: what both ends agree on, and when each knows that the other one is gone.

Source: IBM MQ, topics q108450 (HeartbeatInterval), q108940 (SharingConversations), q081890 (HBINT), q015650 ("Receive timeout").
"""

from __future__ import annotations

import pytest

from embedded_tests.fix_mqi import OK, PATIENCE_MS, failed, shared_input, wait_until
from embedded_tests.proxy import Proxy
from embedded_tests.tables import table
from mqembedded import Fault
from mqembedded import constants as mq
from mqembedded.heartbeats import Heartbeats, agreed

pytestmark = pytest.mark.embedded

BROKEN = failed(mq.MQRC_CONNECTION_BROKEN)
# The version of MQCD that pymqi makes has no SharingConversations; from version 9 on it has.
WITHOUT, WITH = 6, 9


@table(
    ("client", "channel", "both"),
    [
        ((1, 10), (300, 10), (300, 10)),
        ((300, 10), (5, 10), (300, 10)),
        ((1, 1), (5, 10), (5, 1)),
        ((0, 10), (5, 10), (0, 10)),
        ((1, 10), (0, 10), (0, 10)),
        ((1, 0), (5, 10), (5, 0)),
        ((1, 10), (5, 0), (5, 0)),
    ],
)
def test_the_larger_interval_counts_unless_one_is_0_and_the_fewer_conversations(client, channel, both):
    assert agreed(Heartbeats(*client), Heartbeats(*channel)) == Heartbeats(*both)


@table(("interval_s", "silence_s"), [(1, 2), (5, 10), (59, 118), (60, 120), (300, 360), (0, float("inf"))])
def test_a_silence_of_twice_the_interval_or_of_60_seconds_more_is_too_long(interval_s, silence_s):
    assert Heartbeats(interval_s, 10).silence_s == silence_s


@pytest.fixture(scope="module")
def q_mgr(module_queue_manager):
    return module_queue_manager(
        "DEFINE QLOCAL(Q) DEFPSIST(YES)\nALTER CHANNEL(DEV.APP.SVRCONN) CHLTYPE(SVRCONN) HBINT(1)", "QMH"
    )


@pytest.fixture
def proxy(q_mgr):
    with Proxy(q_mgr.port) as made:
        yield made


@pytest.fixture
def through(connect, q_mgr, proxy):
    """A function that connects through the proxy, with this version of MQCD, and a heartbeat interval of one second."""

    def connect_through(version):
        return connect(to=q_mgr, conn_name=proxy.conn_name, mqcd={"Version": version, "HeartbeatInterval": 1})

    return connect_through


def holders(connection):
    """How many handles can get from the queue."""
    handle = connection.open("Q", mq.MQOO_INQUIRE)
    _, count = handle.inquire(mq.MQIA_OPEN_INPUT_COUNT)
    handle.close()
    return count


def test_a_lost_line_is_noticed_at_both_ends(connect, q_mgr, proxy, through):
    # Given a client that is in no call, and has a queue open exclusively
    client, other = through(WITH), connect(to=q_mgr)
    assert client.open("Q", mq.MQOO_INPUT_EXCLUSIVE).code == OK
    # When its host is gone, the queue manager closes what it had open, and a call that waits for its answer ends
    proxy.lose_the_line()
    wait_until(lambda: not holders(other))
    assert client.commit() == BROKEN


def test_without_shared_conversations_only_a_waiting_get_has_heartbeats(connect, q_mgr, proxy, through, background):
    q_mgr.clear_faults()
    idle, waits, other = through(WITHOUT), through(WITHOUT), connect(to=q_mgr)
    assert idle.open("Q", mq.MQOO_INPUT_SHARED).code == OK
    waiting = background(shared_input(waits, "Q").get, mq.MQGMO_WAIT, wait_ms=PATIENCE_MS)
    wait_until(lambda: q_mgr.calls().get("MQGET", 0) == 1)
    # The wait is much longer than a silence may be: heartbeats end it, at both ends
    proxy.lose_the_line()
    assert waiting.result(10).code == BROKEN
    wait_until(lambda: holders(other) == 1)
    # The queue manager does not know that the other one is gone, until TCP says so
    assert idle.commit() == BROKEN
    assert holders(other) == 1
    proxy.__exit__(None, None, None)
    wait_until(lambda: not holders(other))


@table(("version", "code"), [(WITH, OK), (WITHOUT, BROKEN)])
def test_a_slow_commit_ends_a_connection_only_without_shared_conversations(q_mgr, through, version, code):
    client = through(version)
    q_mgr.arm(Fault("delay", verb="MQCMIT", delay_s=3))
    assert client.commit() == code


def test_a_long_wait_for_a_message_ends_no_connection(q_mgr, connect, through, background):
    client, other = through(WITH), connect(to=q_mgr)
    waiting = background(shared_input(client, "Q").get, mq.MQGMO_WAIT, wait_ms=3000)
    assert waiting.result(10).code == failed(mq.MQRC_NO_MSG_AVAILABLE)
    assert other.open("Q", mq.MQOO_OUTPUT).put(b"m").code == OK
    assert shared_input(client, "Q").get().data == b"m"


def test_a_slow_connect_is_answered_before_there_are_heartbeats(q_mgr, through):
    q_mgr.arm(Fault("delay", "after", verb="MQCONNX", delay_s=3))
    assert through(WITH).commit() == OK
