"""Reports on segments, the queue manager's and the application's own.

IBM MQ, topics "Reports and segmented messages" (q022880), "OriginalLength" (q097590).
"""

from __future__ import annotations

import pytest

from embedded_tests.fix_mqi import EMPTY, OK, failed, warning
from embedded_tests.tables import table
from mqembedded import constants as mq

SEGMENT, LAST = mq.MQMF_SEGMENT, mq.MQMF_SEGMENT | mq.MQMF_LAST_SEGMENT
GROUP = b"g" * 24


@pytest.fixture
def replies(make_queue):
    return make_queue()


@pytest.fixture
def reports(connection, replies):
    """A handle that gets reports."""
    return connection.open(replies, mq.MQOO_INPUT_SHARED)


@pytest.fixture
def put_segments(connection, queue, replies):
    """A function that puts a message of three segments; returns its GroupId."""

    def call(report):
        out = connection.open(queue, mq.MQOO_OUTPUT)
        for data, flags in [(b"a" * 150, SEGMENT), (b"b" * 20, SEGMENT), (b"c" * 30, LAST)]:
            answer = out.put(data, mq.MQPMO_LOGICAL_ORDER, MsgFlags=flags, Report=report, ReplyToQ=replies.encode())
            assert answer.code == OK
        return answer.md.GroupId

    return call


def described(answer):
    return answer.md.Feedback, answer.md.Offset, answer.md.MsgFlags, answer.md.OriginalLength


def test_every_segment_is_confirmed_by_a_segment(put_segments, connection, replies):
    group_id = put_segments(mq.MQRO_COA)
    found = connection.browse(replies)
    assert [described(answer) for answer in found] == [
        (mq.MQFB_COA, 0, SEGMENT, 150),
        (mq.MQFB_COA, 150, SEGMENT, 20),
        (mq.MQFB_COA, 170, LAST, 30),
    ]
    assert {answer.md.GroupId for answer in found} == {group_id}


@pytest.mark.parametrize(
    ("report", "data"),
    [
        (mq.MQRO_COA, bytes(200)),
        # 100 bytes of each segment at its offset (q022880)
        (mq.MQRO_COA_WITH_DATA, b"a" * 100 + bytes(50) + b"b" * 20 + b"c" * 30),
        (mq.MQRO_COA_WITH_FULL_DATA, b"a" * 150 + b"b" * 20 + b"c" * 30),
    ],
)
def test_reports_on_a_whole_message_can_be_put_together(put_segments, reports, report, data):
    put_segments(report)
    answer = reports.get(mq.MQGMO_COMPLETE_MSG)
    assert (answer.code, answer.data, answer.md.Feedback) == (OK, data, mq.MQFB_COA)
    assert reports.get().code == EMPTY


def test_only_reports_of_one_feedback_are_put_together(put_segments, connection, queue, reports, replies):
    put_segments(mq.MQRO_COA | mq.MQRO_COD)
    source = connection.open(queue, mq.MQOO_INPUT_SHARED)
    for _ in range(2):
        assert source.get().code == OK
    # Three COA and two COD reports
    assert reports.get(mq.MQGMO_COMPLETE_MSG).md.Feedback == mq.MQFB_COA
    assert reports.get(mq.MQGMO_COMPLETE_MSG).code == EMPTY
    assert reports.get(mq.MQGMO_ALL_SEGMENTS_AVAILABLE).code == EMPTY
    assert source.get().code == OK
    assert reports.get(mq.MQGMO_COMPLETE_MSG).md.Feedback == mq.MQFB_COD
    assert connection.depth(replies) == 0


def test_a_report_of_another_feedback_does_not_fill_a_gap(connection, queue, reports, replies):
    out, source = connection.open(queue, mq.MQOO_OUTPUT), connection.open(queue, mq.MQOO_INPUT_SHARED)
    for flags, report in [(SEGMENT, mq.MQRO_COA | mq.MQRO_COD), (LAST, mq.MQRO_COD)]:
        assert (
            out.put(b"m", mq.MQPMO_LOGICAL_ORDER, MsgFlags=flags, Report=report, ReplyToQ=replies.encode()).code == OK
        )
    assert [source.get().code for _ in range(2)] == [OK, OK]
    assert reports.get(mq.MQGMO_COMPLETE_MSG).md.Feedback == mq.MQFB_COD
    assert [described(answer) for answer in connection.browse(replies)] == [(mq.MQFB_COA, 0, SEGMENT, 1)]


def test_all_segments_are_available_where_each_has_a_report_of_any_type(connection, queue, reports, replies):
    """MQGMO_ALL_SEGMENTS_AVAILABLE: "the queue manager does not check the type of the report messages present, and so there may
    be a mixture of report types ... As a result, the success ... does not imply that MQGMO_COMPLETE_MSG will succeed"."""
    out, source = connection.open(queue, mq.MQOO_OUTPUT), connection.open(queue, mq.MQOO_INPUT_SHARED)
    for flags, report in [(SEGMENT, mq.MQRO_COA), (SEGMENT, mq.MQRO_COD), (LAST, mq.MQRO_COA)]:
        assert (
            out.put(b"m", mq.MQPMO_LOGICAL_ORDER, MsgFlags=flags, Report=report, ReplyToQ=replies.encode()).code == OK
        )
    for option in (mq.MQGMO_ALL_SEGMENTS_AVAILABLE, mq.MQGMO_ALL_MSGS_AVAILABLE, mq.MQGMO_COMPLETE_MSG):
        assert reports.get(option | mq.MQGMO_LOGICAL_ORDER).code == EMPTY
    for _ in range(3):
        assert source.get().code == OK
    assert reports.get(mq.MQGMO_COMPLETE_MSG).code == EMPTY
    found = reports.all(mq.MQGMO_ALL_SEGMENTS_AVAILABLE | mq.MQGMO_LOGICAL_ORDER)
    assert [(answer.md.Feedback, answer.md.Offset) for answer in found] == [
        (mq.MQFB_COA, 0),
        (mq.MQFB_COD, 1),
        (mq.MQFB_COA, 2),
    ]


def test_a_report_does_not_stand_in_for_a_segment_of_a_message(connection, queue):
    handle = connection.open(queue, mq.MQOO_INPUT_SHARED | mq.MQOO_OUTPUT)
    assert handle.put(b"a", GroupId=GROUP, MsgFlags=SEGMENT).code == OK
    fields = {"GroupId": GROUP, "Offset": 1, "MsgType": mq.MQMT_REPORT, "Feedback": mq.MQFB_COA, "OriginalLength": 1}
    assert handle.put(b"b", MsgFlags=LAST, **fields).code == OK
    for option in (mq.MQGMO_ALL_SEGMENTS_AVAILABLE, mq.MQGMO_COMPLETE_MSG):
        assert handle.get(option).code == EMPTY


def test_bytes_that_reports_do_not_have_are_nulls(connection, queue):
    """MQGMO_COMPLETE_MSG: "the missing bytes are replaced by nulls in the report message returned"."""
    handle = connection.open(queue, mq.MQOO_INPUT_SHARED | mq.MQOO_OUTPUT)
    for data, offset, length, flags in [(b"ab", 0, 5, SEGMENT), (b"", 5, 3, SEGMENT), (b"cde", 8, 4, LAST)]:
        fields = {"MsgType": mq.MQMT_REPORT, "Feedback": mq.MQFB_COD, "OriginalLength": length, "Offset": offset}
        assert handle.put(data, GroupId=GROUP, MsgFlags=flags, **fields).code == OK
    answer = handle.get(mq.MQGMO_COMPLETE_MSG, length=5)
    assert (answer.code, answer.data, answer.length) == (warning(mq.MQRC_TRUNCATED_MSG_FAILED), b"ab\0\0\0", 12)
    answer = handle.get(mq.MQGMO_COMPLETE_MSG)
    assert (answer.code, answer.data, answer.length) == (OK, b"ab" + bytes(6) + b"cde\0", 12)


@pytest.mark.parametrize(
    ("report", "data"),
    [
        (mq.MQRO_COD, b""),
        (mq.MQRO_COD_WITH_DATA, b"a" * 100),
        (mq.MQRO_COD_WITH_FULL_DATA, b"a" * 150 + b"b" * 20 + b"c" * 30),
    ],
)
def test_segments_that_are_got_together_are_confirmed_together(put_segments, connection, queue, replies, report, data):
    put_segments(report)
    assert connection.open(queue, mq.MQOO_INPUT_SHARED).get(mq.MQGMO_COMPLETE_MSG).length == 200
    (answer,) = connection.browse(replies)
    assert (described(answer), answer.data) == ((mq.MQFB_COD, 0, LAST, 200), data)


def test_segments_that_the_queue_manager_makes_are_confirmed_one_by_one(connection, make_queue, replies):
    out = connection.open(make_queue("TEST.SEGMENTS.40"), mq.MQOO_OUTPUT)
    fields = {
        "MsgFlags": mq.MQMF_SEGMENTATION_ALLOWED,
        "Report": mq.MQRO_COA_WITH_FULL_DATA,
        "ReplyToQ": replies.encode(),
    }
    assert out.put(b"1" * 32 + b"2" * 32 + b"3" * 6, **fields).code == OK
    assert [(m.data, m.md.Offset, m.md.OriginalLength) for m in connection.browse(replies)] == [
        (b"1" * 32, 0, 32),
        (b"2" * 32, 32, 32),
        (b"3" * 6, 64, 6),
    ]


# --- the application's own reports on segments


@table(
    ("flags", "original_length", "permitted"),
    [
        (SEGMENT, 5, True),
        (SEGMENT, 4, True),
        (SEGMENT, 3, False),
        (SEGMENT, 0, False),
        (SEGMENT, -1, False),
        (LAST, 4, True),
        (LAST, 3, False),
        (LAST, -1, False),
    ],
)
def test_original_length_of_a_report_on_a_segment(connection, queue, flags, original_length, permitted):
    out = connection.open(queue, mq.MQOO_OUTPUT)
    answer = out.put(b"data", MsgType=mq.MQMT_REPORT, MsgFlags=flags, GroupId=GROUP, OriginalLength=original_length)
    assert answer.code == (OK if permitted else failed(mq.MQRC_ORIGINAL_LENGTH_ERROR))
    assert [found.md.OriginalLength for found in connection.browse(queue)] == ([original_length] if permitted else [])


@table(("flags", "original_length", "permitted"), [(SEGMENT, 1, True), (SEGMENT, 0, False), (LAST, 0, True)])
def test_a_report_on_a_segment_may_be_without_data(connection, queue, flags, original_length, permitted):
    out = connection.open(queue, mq.MQOO_OUTPUT)
    answer = out.put(b"", MsgType=mq.MQMT_REPORT, MsgFlags=flags, GroupId=GROUP, OriginalLength=original_length)
    assert answer.code == (OK if permitted else failed(mq.MQRC_ORIGINAL_LENGTH_ERROR))


def test_original_length_of_other_messages_is_the_queue_manager_s(connection, queue):
    out = connection.open(queue, mq.MQOO_OUTPUT)
    assert out.put(b"data", MsgFlags=SEGMENT, GroupId=GROUP, OriginalLength=1).md.OriginalLength == 4
    assert out.put(b"data", MsgType=mq.MQMT_REPORT, OriginalLength=1).md.OriginalLength == -1


def test_original_length_moves_the_offset_in_logical_order(connection, queue):
    out, source = connection.open(queue, mq.MQOO_OUTPUT), connection.open(queue, mq.MQOO_INPUT_SHARED)
    sent = [(b"ab", SEGMENT, 100), (b"", SEGMENT, 50), (b"c", LAST, 30)]
    for data, flags, original_length in sent:
        fields = {"MsgType": mq.MQMT_REPORT, "MsgFlags": flags, "OriginalLength": original_length}
        assert out.put(data, mq.MQPMO_LOGICAL_ORDER, **fields).code == OK
    got = [source.get(mq.MQGMO_LOGICAL_ORDER) for _ in sent]
    assert [(answer.data, answer.md.Offset) for answer in got] == [(b"ab", 0), (b"", 100), (b"c", 150)]
