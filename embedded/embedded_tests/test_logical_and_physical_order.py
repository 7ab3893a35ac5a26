"""Figures 1 and 2 of IBM MQ, topic "Logical and physical ordering"."""

from __future__ import annotations

import pytest

from embedded_tests.fix_mqi import OK, failed
from embedded_tests.tables import table
from mqembedded import constants as mq

MIG, LAST_MIG, SEG, LAST_SEG = mq.MQMF_MSG_IN_GROUP, mq.MQMF_LAST_MSG_IN_GROUP, mq.MQMF_SEGMENT, mq.MQMF_LAST_SEGMENT

# What the messages say is what the figures call them.
FIGURE_1 = [b"A", b"Y1", b"Y2", b"Y3 segment 1", b"Y3 segment 2", b"Z1", b"Z2", b"B"]
FIGURE_2 = [b"A", b"Y1", b"Z2", b"Y2", b"Y3 segment 1", b"Y3 segment 2", b"Z1", b"B"]


@pytest.fixture
def figure_2(connect, queue):
    """The queue of Figure 2: one application puts Y in logical order, another Z with its second message first."""
    first, second = (connect().open(queue, mq.MQOO_OUTPUT) for _ in range(2))
    z = b"Z".ljust(24)

    def in_order(data, flags):
        assert first.put(data, mq.MQPMO_LOGICAL_ORDER, MsgFlags=flags).code == OK

    def explicitly(data, seq, flags):
        assert second.put(data, MsgFlags=flags, GroupId=z, MsgSeqNumber=seq).code == OK

    in_order(b"A", 0)
    in_order(b"Y1", MIG)
    explicitly(b"Z2", 2, LAST_MIG)
    in_order(b"Y2", MIG)
    in_order(b"Y3 segment 1", LAST_MIG | SEG)
    in_order(b"Y3 segment 2", LAST_MIG | LAST_SEG)
    explicitly(b"Z1", 1, MIG)
    in_order(b"B", 0)
    return queue


@pytest.mark.parametrize("options", [0, mq.MQGMO_SYNCPOINT])
def test_get_in_logical_order_gives_figure_1(connection, figure_2, options):
    source = connection.open(figure_2, mq.MQOO_INPUT_SHARED)
    assert [answer.data for answer in source.all(mq.MQGMO_LOGICAL_ORDER | options)] == FIGURE_1


def test_browsing_gives_figure_1_in_logical_order_and_figure_2_without_as_getting_does(connection, figure_2):
    assert [answer.data for answer in connection.browse(figure_2)] == FIGURE_2
    source = connection.open(figure_2, mq.MQOO_INPUT_SHARED | mq.MQOO_BROWSE)
    found = [source.get(mq.MQGMO_BROWSE_FIRST | mq.MQGMO_LOGICAL_ORDER)]
    found += source.all(mq.MQGMO_BROWSE_NEXT | mq.MQGMO_LOGICAL_ORDER)
    assert [answer.data for answer in found] == FIGURE_1
    assert [answer.data for answer in source.all()] == FIGURE_2


@table(("first", "next_one"), [(mq.MQGMO_LOGICAL_ORDER, 0), (0, mq.MQGMO_LOGICAL_ORDER)])
def test_browse_next_must_go_as_browse_first_went(connection, figure_2, first, next_one):
    browser = connection.open(figure_2, mq.MQOO_BROWSE)
    assert browser.get(mq.MQGMO_BROWSE_FIRST | first).code == OK
    assert browser.get(mq.MQGMO_BROWSE_NEXT | next_one).code == failed(mq.MQRC_INCONSISTENT_BROWSE)
    assert browser.get(mq.MQGMO_BROWSE_NEXT | first).data == b"Y1"
    # "When MQGMO_BROWSE_FIRST is specified, it is possible to switch"
    assert browser.get(mq.MQGMO_BROWSE_FIRST | next_one).data == b"A"
    assert browser.get(mq.MQGMO_BROWSE_NEXT | next_one).data == b"Y1"


def test_browse_first_forgets_the_group(connection, figure_2):
    browser = connection.open(figure_2, mq.MQOO_BROWSE)
    browse = mq.MQGMO_BROWSE_NEXT | mq.MQGMO_LOGICAL_ORDER
    assert [browser.get(browse).data for _ in range(3)] == [b"A", b"Y1", b"Y2"]
    assert browser.get(mq.MQGMO_BROWSE_FIRST | mq.MQGMO_LOGICAL_ORDER).data == b"A"
    assert browser.get(browse).data == b"Y1"


def test_two_getters_share_the_groups(connection, figure_2):
    """A group in the hands of one handle is not begun by another: its first message is gone."""
    one, other = (connection.open(figure_2, mq.MQOO_INPUT_SHARED) for _ in range(2))
    assert [one.get(mq.MQGMO_LOGICAL_ORDER).data for _ in range(2)] == [b"A", b"Y1"]
    assert [other.get(mq.MQGMO_LOGICAL_ORDER).data for _ in range(2)] == [b"Z1", b"Z2"]
    assert one.get(mq.MQGMO_LOGICAL_ORDER).data == b"Y2"
    assert other.get(mq.MQGMO_LOGICAL_ORDER).data == b"B"
