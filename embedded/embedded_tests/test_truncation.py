"""A buffer that is too small: 2079 with MQGMO_ACCEPT_TRUNCATED_MSG, 2080 without (GMATM)."""

from __future__ import annotations

import pytest

from embedded_tests.fix_mqi import OK, warning
from embedded_tests.tables import table
from mqembedded import constants as mq

ACCEPT, LO = mq.MQGMO_ACCEPT_TRUNCATED_MSG, mq.MQGMO_LOGICAL_ORDER
TOO_LONG, ACCEPTED = warning(mq.MQRC_TRUNCATED_MSG_FAILED), warning(mq.MQRC_TRUNCATED_MSG_ACCEPTED)


@pytest.fixture
def make_source(connection, make_queue):
    """A function that opens a queue with a group of two messages of ten bytes."""

    def make():
        queue = make_queue()
        out = connection.open(queue, mq.MQOO_OUTPUT)
        for data, flags in ((b"first  ten", mq.MQMF_MSG_IN_GROUP), (b"second ten", mq.MQMF_LAST_MSG_IN_GROUP)):
            assert out.put(data, mq.MQPMO_LOGICAL_ORDER, MsgFlags=flags, CorrelId=b"c" * 24).code == OK
        return connection.open(queue, mq.MQOO_INPUT_SHARED | mq.MQOO_BROWSE)

    return make


@pytest.fixture
def source(make_source):
    return make_source()


@table("options", [0, LO, mq.MQGMO_SYNCPOINT, mq.MQGMO_BROWSE_FIRST])
@table("length", [0, 1, 9], anew=["source"])
def test_not_accepted_fills_the_buffer_and_the_descriptor_and_removes_nothing(source, options, length):
    answer = source.get(options, length=length)
    assert answer.code == TOO_LONG
    assert (answer.data, answer.length) == (b"first  ten"[:length], 10)
    assert (answer.md.CorrelId, answer.md.MsgSeqNumber) == (b"c" * 24, 1)
    assert answer.status[0] == "G"
    whole = source.get(options, length=10)
    assert (whole.code, whole.data, whole.md.MsgId) == (OK, b"first  ten", answer.md.MsgId)


@table("options", [0, LO, mq.MQGMO_SYNCPOINT])
@table("length", [0, 1, 9], anew=["source"])
def test_accepted_fills_the_buffer_and_removes_the_message(source, connection, options, length):
    answer = source.get(options | ACCEPT, length=length)
    assert answer.code == ACCEPTED
    assert (answer.data, answer.length) == (b"first  ten"[:length], 10)
    assert connection.commit() == OK
    assert connection.depth(source.name) == 1


def test_not_accepted_leaves_the_group_state(source):
    assert source.get(LO, length=4).code == TOO_LONG
    # No group was entered, so a unit of work may begin one; and in it the next message waits as it is.
    assert source.get(LO | mq.MQGMO_SYNCPOINT, length=10).data == b"first  ten"
    assert source.get(LO | mq.MQGMO_SYNCPOINT, length=4).code == TOO_LONG
    assert source.get(LO | mq.MQGMO_SYNCPOINT, length=10).data == b"second ten"


def test_accepted_moves_the_group_state(source):
    assert source.get(LO | ACCEPT, length=4).code == ACCEPTED
    assert source.get(LO, length=10).data == b"second ten"


def test_not_accepted_in_syncpoint_is_no_part_of_the_unit_of_work(source, connection):
    assert source.get(mq.MQGMO_SYNCPOINT, length=4).code == TOO_LONG
    assert connection.back_out() == OK
    assert [answer.md.BackoutCount for answer in connection.browse(source.name)] == [0, 0]


def test_a_buffer_that_is_just_long_enough_is_enough(source):
    assert source.get(length=10).code == OK


def test_an_empty_message_fits_any_buffer(connection, queue):
    assert connection.put1(queue).code == OK
    answer = connection.open(queue, mq.MQOO_INPUT_SHARED).get(length=0)
    assert (answer.code, answer.length) == (OK, 0)
