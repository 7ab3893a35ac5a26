"""MQSTAT as the library calls it, through both bindings: pymqi has none, so the client library's own is called.

IBM MQ, "MQSTAT", "MQSTS", "Using asynchronous put in a client application".
"""

from __future__ import annotations

import _ctypes

import pytest

from embedded_tests.fix_mqi import OK, Code, failed
from mqgroups.mqi import binding as chooser
from mqgroups.mqi import constants as mq
from mqgroups.mqi import structures as st
from mqgroups.mqi._pymqi import _mqstat

ASYNC = mq.MQPMO_ASYNC_RESPONSE | mq.MQPMO_SYNCPOINT
ROOM = 3  # of TEST.ASYNC.MODEL


@pytest.fixture
def stat(mqi, connection):
    """A function that calls MQSTAT as the library does; returns the code and the MQSTS."""

    def call(hconn=None, kind=mq.MQSTAT_TYPE_ASYNC_ERROR, sts=None):
        sent = st.sts() if sts is None else sts
        sts, comp, reason = chooser._load(mqi.name).MQSTAT(hconn or connection.hconn, kind, sent)
        assert len(sts) == len(sent) == st.STS_LENGTH
        return Code(comp, reason), sts

    return call


def told(sts):
    """Return the codes, the numbers of warnings and failures, and the queue."""
    offsets = (st.STS_COMP_CODE, st.STS_REASON, st.STS_PUT_WARNING_COUNT, st.STS_PUT_FAILURE_COUNT)
    return *(st.long_at(sts, offset) for offset in offsets), st.name_at(sts, st.STS_OBJECT_NAME)


NOTHING = (mq.MQCC_OK, mq.MQRC_NONE, 0, 0, "")


def test_without_asynchronous_puts_there_is_nothing_to_tell(stat):
    code, sts = stat()
    assert (code, told(sts)) == (OK, NOTHING)
    assert sts[:8] == b"STAT" + (1).to_bytes(4, "little")


def test_the_first_failure_is_told_with_its_queue_and_once(connection, stat, make_queue):
    queue = make_queue("TEST.ASYNC.MODEL")
    out = connection.open(queue, mq.MQOO_OUTPUT)
    assert {out.put(b"m", ASYNC).code for _ in range(ROOM + 2)} == {OK}
    assert connection.back_out() == OK
    code, sts = stat()
    assert (code, told(sts)) == (OK, (mq.MQCC_FAILED, mq.MQRC_Q_FULL, 0, 2, queue))
    code, sts = stat()
    assert (code, told(sts)) == (OK, NOTHING)


def test_what_succeeded_is_no_failure(connection, stat, queue):
    out = connection.open(queue, mq.MQOO_OUTPUT)
    assert {out.put(b"m", ASYNC).code for _ in range(3)} == {OK}
    code, sts = stat()
    assert (code, told(sts)[:4]) == (OK, NOTHING[:4])
    assert connection.back_out() == OK


def test_a_handle_that_is_none_is_told_by_the_codes(stat):
    assert stat(hconn=4711)[0] == failed(mq.MQRC_HCONN_ERROR)


def test_a_type_and_a_structure_that_are_none_are_told_by_the_codes(stat):
    assert stat(kind=9)[0] == failed(mq.MQRC_STAT_TYPE_ERROR)
    assert stat(sts=b"STS " + st.sts()[4:])[0] == failed(mq.MQRC_STS_ERROR)


def test_what_is_sent_is_not_written_into(mqi, connection):
    sent = st.sts()
    before = bytes(bytearray(sent))
    filled = chooser._load("pymqi").MQSTAT(connection.hconn, mq.MQSTAT_TYPE_ASYNC_ERROR, sent)[0]
    assert sent == before
    assert filled is not sent


def test_a_client_library_without_mqstat_is_noticed(monkeypatch):
    binding = chooser._load("pymqi")
    assert binding.has_mqstat
    monkeypatch.setattr(type(binding), "MQSTAT", property(lambda _: _mqstat(_ctypes.__file__)))
    assert not binding.has_mqstat
