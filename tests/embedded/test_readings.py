"""Readings: every value of every reading does what its line in the table says, and changes nothing without being asked."""

from __future__ import annotations

from pathlib import Path

import pytest

import mqgroups.embedded
from mqgroups.embedded import READINGS, EmbeddedCluster, EmbeddedQueueManager, Fault, ReadingError
from mqgroups.embedded.readings import TABLE
from mqgroups.mqi.constants import (
    MQGMO_SYNCPOINT,
    MQOO_BROWSE,
    MQOO_INPUT_EXCLUSIVE,
    MQOO_OUTPUT,
    MQPER_PERSISTENT,
    MQPMO_SYNCPOINT,
    MQRC_CONNECTION_BROKEN,
    MQRC_Q_FULL,
)
from tests.cluster_sites import described
from tests.fix_mqi import EMPTY, OK, failed, shared_input, wait_until

# MAXDEPTH(3)
SMALL = "TEST.SMALL"
QUEUES = """
DEFINE QLOCAL(TEST.SMALL) MAXDEPTH(3) DEFPSIST(YES)
"""


@pytest.fixture
def following(own_queue_manager, tmp_path):
    """A function that starts a queue manager which follows a value of a reading."""
    mqsc = tmp_path / "queues.mqsc"
    mqsc.write_text(QUEUES)

    def start(name, value, **more):
        return own_queue_manager("QMR", mqsc=[mqsc], readings={name: value}, **more)

    return start


# --- choosing


def test_an_unknown_reading_is_refused_with_those_there_are():
    with pytest.raises(ReadingError, match="there is no reading 'depth'; there are 'curdepth', 'lost connection'"):
        EmbeddedQueueManager(readings={"depth": "counts uncommitted gets"})


def test_an_unknown_value_is_refused_with_those_there_are():
    expected = "'curdepth' has no value 'both'; it has 'excludes uncommitted gets', 'counts uncommitted gets'"
    with pytest.raises(ReadingError, match=expected):
        EmbeddedCluster(described(), readings={"curdepth": "both"})


def test_the_first_value_is_the_default(own_queue_manager, connect):
    assert READINGS["curdepth"][0] == "excludes uncommitted gets"
    connection = connect(to=own_queue_manager("QMR"))
    assert connection.put1("TEST.LOCAL", b"got").code == OK
    assert shared_input(connection, "TEST.LOCAL").get(MQGMO_SYNCPOINT).code == OK
    assert connection.depth("TEST.LOCAL") == 0


def test_a_gap_that_is_no_time_is_refused():
    with pytest.raises(ReadingError, match="0 seconds or more"):
        EmbeddedQueueManager(cleanup_gap_s=-1)


# --- each of them


@pytest.mark.parametrize(("value", "counted"), [("excludes uncommitted gets", 0), ("counts uncommitted gets", 1)])
def test_curdepth(following, connect, value, counted):
    connection = connect(to=following("curdepth", value))
    assert connection.put1(SMALL, b"got").code == OK
    assert shared_input(connection, SMALL).get(MQGMO_SYNCPOINT).code == OK
    assert connection.depth(SMALL) == counted
    for number in range(3 - counted):
        assert connection.put1(SMALL, b"put", MQPMO_SYNCPOINT).code == OK
        assert connection.depth(SMALL) == counted + number + 1
    assert connection.put1(SMALL, b"one more").code == failed(MQRC_Q_FULL)
    assert connection.commit() == OK
    assert connection.depth(SMALL) == 3 - counted


def test_what_is_backed_out_may_take_curdepth_beyond_maxdepth(following, connect):
    """Unit-of-work processing can cause CurrentQDepth to exceed MaxQDepth (topic "CurrentQDepth")."""
    connection = connect(to=following("curdepth", "excludes uncommitted gets"))
    assert connection.put1(SMALL, b"got").code == OK
    assert shared_input(connection, SMALL).get(MQGMO_SYNCPOINT).code == OK
    for _ in range(3):
        assert connection.put1(SMALL, b"put").code == OK
    assert connection.back_out() == OK
    assert connection.depth(SMALL) == 4
    assert connection.put1(SMALL, b"one more").code == failed(MQRC_Q_FULL)


@pytest.fixture
def lose(connect):
    """A function that loses a connection which has the small queue open exclusively and has got its one message."""

    def lose_once(q_mgr):
        connection, other = connect(to=q_mgr), connect(to=q_mgr)
        assert connection.put1(SMALL, b"m", Persistence=MQPER_PERSISTENT).code == OK
        source = connection.open(SMALL, MQOO_INPUT_EXCLUSIVE)
        assert source.get(MQGMO_SYNCPOINT).data == b"m"
        q_mgr.arm(Fault("drop", verb="MQPUT1"))
        assert connection.put1(SMALL, b"", MQPMO_SYNCPOINT).code == failed(MQRC_CONNECTION_BROKEN)
        opened = []

        def is_open():
            opened.append(other.open(SMALL, MQOO_INPUT_EXCLUSIVE | MQOO_BROWSE | MQOO_OUTPUT))
            return opened[-1].code == OK

        wait_until(is_open)
        return opened[-1]

    return lose_once


def test_a_lost_connection_backs_out_and_then_closes_handles(following, lose):
    q_mgr = following("lost connection", "backs out, then closes handles", cleanup_gap_s=3600)
    assert lose(q_mgr).get().data == b"m"


def test_a_lost_connection_closes_handles_and_then_backs_out(following, lose):
    q_mgr = following("lost connection", "closes handles, then backs out", cleanup_gap_s=0.5)
    source = lose(q_mgr)
    assert source.get().code == EMPTY
    assert source.get(wait_ms=30_000).data == b"m"


def test_stopping_ends_the_gap(following, lose, connect):
    q_mgr = following("lost connection", "closes handles, then backs out", cleanup_gap_s=3600)
    assert lose(q_mgr).get().code == EMPTY
    q_mgr.stop()
    q_mgr.start()
    assert [answer.data for answer in connect(to=q_mgr).browse(SMALL)] == [b"m"]


# --- what is written about them


def test_the_readme_has_the_table():
    text = (Path(mqgroups.embedded.__file__).parent / "README.md").read_text()
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in text.partition("## Readings\n")[2].partition("\n## ")[0].splitlines()
        if line.startswith("| ")
    ]
    assert rows[0] == ["reading", "values, the default first", "source", "what the library does"]
    assert [row[:3] for row in rows[1:]] == [
        [reading.name, "; ".join(value.name for value in reading.values), reading.source] for reading in TABLE
    ]
    assert all(row[3] for row in rows)
