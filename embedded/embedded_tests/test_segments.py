"""Logical messages in several segments: put together on MQGET, split on MQPUT.

IBM MQ, topics "MQGMO options" (MQGMO_COMPLETE_MSG, MQGMO_ALL_SEGMENTS_AVAILABLE), q097540 (MQMF_SEGMENTATION_ALLOWED) and
those of the reason codes.
"""

from __future__ import annotations

import pytest

from embedded_tests.fix_mqi import EMPTY, OK, failed, shared_input, warning
from embedded_tests.tables import table
from mqembedded import constants as mq

LO = mq.MQPMO_LOGICAL_ORDER
SEG, LAST_SEG = mq.MQMF_SEGMENT, mq.MQMF_LAST_SEGMENT
MIG, LAST_MIG, ALLOWED = mq.MQMF_MSG_IN_GROUP, mq.MQMF_LAST_MSG_IN_GROUP, mq.MQMF_SEGMENTATION_ALLOWED
COMPLETE = mq.MQGMO_COMPLETE_MSG
GROUP = b"a group identifier".ljust(24)


@pytest.fixture
def out(connection, queue):
    return connection.open(queue, mq.MQOO_OUTPUT)


@pytest.fixture
def into(connection, queue):
    return shared_input(connection, queue)


@pytest.fixture
def small(connection, make_queue):
    """A queue that takes messages of up to 10, 40 or so bytes; returns a function that makes it."""

    def make(max_msg_length: int) -> str:
        return make_queue(f"TEST.SEGMENTS.{max_msg_length}")

    return make


def put_segments(out, *pieces: bytes, group: int = 0, options: int = 0, **fields) -> None:
    for number, piece in enumerate(pieces, 1):
        flag = LAST_SEG if number == len(pieces) else SEG
        assert out.put(piece, LO | options, MsgFlags=group | flag, **fields).code == OK


def test_segments_come_one_by_one_unless_the_complete_message_is_asked_for(out, into):
    put_segments(out, b"first ", b"second ", b"third")
    assert [answer.data for answer in into.all(mq.MQGMO_BROWSE_NEXT)] == [b"first ", b"second ", b"third"]
    answer = into.get(COMPLETE)
    assert (answer.code, answer.data, answer.length) == (OK, b"first second third", 18)
    assert into.get().code == EMPTY


def test_a_reassembled_message_has_the_first_segment_s_descriptor_as_its_only_segment(out, into):
    first = out.put(b"first", LO, MsgFlags=SEG, Priority=4)
    out.put(b"last", LO, MsgFlags=LAST_SEG, Priority=4)
    answer = into.get(COMPLETE)
    assert answer.md.MsgId == first.md.MsgId
    assert answer.place == (first.md.GroupId, 1, 0)
    assert answer.md.MsgFlags == SEG | LAST_SEG
    assert answer.status == " L "
    assert answer.md.Priority == 4


def test_a_message_without_segments_is_complete(out, into):
    out.put(b"alone")
    answer = into.get(COMPLETE)
    assert (answer.code, answer.data, answer.md.MsgFlags, answer.status) == (OK, b"alone", 0, "   ")


@pytest.mark.parametrize("option", [COMPLETE, mq.MQGMO_ALL_SEGMENTS_AVAILABLE])
@pytest.mark.parametrize("order", [0, mq.MQGMO_LOGICAL_ORDER])
def test_an_incomplete_logical_message_is_passed_over_but_counts_in_curdepth(
    connection, queue, out, into, option, order
):
    # Given a logical message without its second segment, and a whole one behind it
    for offset, flag in ((0, SEG), (4, LAST_SEG)):
        out.put(b"ab", MsgFlags=flag, GroupId=GROUP, Offset=offset)
    put_segments(out, b"whole ", b"one")
    answer = into.get(option | order)
    assert answer.data == (b"whole one" if option == COMPLETE else b"whole ")
    if option != COMPLETE:
        assert into.get(order, match=mq.MQMO_MATCH_GROUP_ID, GroupId=answer.md.GroupId).data == b"one"
    assert into.get(option | order).code == EMPTY
    assert connection.depth(queue) == 2
    # When the missing one comes, it is there
    out.put(b"cd", MsgFlags=SEG, GroupId=GROUP, Offset=2)
    answer = into.get(option | order)
    assert answer.data == (b"abcdab" if option == COMPLETE else b"ab")


def test_all_segments_available_has_no_effect_inside_a_logical_message_in_logical_order(connect, queue, out, into):
    put_segments(out, b"one ", b"two ", b"three")
    options = mq.MQGMO_LOGICAL_ORDER | mq.MQGMO_ALL_SEGMENTS_AVAILABLE
    assert into.get(options).data == b"one "
    # Somebody takes the last one
    other = shared_input(connect(), queue)
    assert other.get(match=mq.MQMO_MATCH_OFFSET, Offset=8).data == b"three"
    assert into.get(options).data == b"two "
    assert into.get(options).code == EMPTY


def test_groups_of_segmented_messages_come_in_logical_order_message_by_message(out, into):
    out.put(b"1", LO, MsgFlags=MIG)
    put_segments(out, b"2a", b"2b", group=MIG)
    put_segments(out, b"3a", b"3b", b"3c", group=LAST_MIG)
    options = COMPLETE | mq.MQGMO_LOGICAL_ORDER
    answers = [into.get(options) for _ in range(3)]
    assert [(a.data, a.md.MsgSeqNumber, a.status) for a in answers] == [
        (b"1", 1, "G  "),
        (b"2a2b", 2, "GL "),
        (b"3a3b3c", 3, "LL "),
    ]
    assert into.get(options).code == EMPTY
    assert into.close() == OK


def test_a_buffer_too_small_for_the_whole_consumes_nothing(connection, queue, out, into):
    put_segments(out, b"x" * 30, b"y" * 30)
    answer = into.get(COMPLETE, length=40)
    assert (answer.code, answer.length, answer.data) == (
        warning(mq.MQRC_TRUNCATED_MSG_FAILED),
        60,
        b"x" * 30 + b"y" * 10,
    )
    assert connection.depth(queue) == 2
    assert into.get(COMPLETE, length=60).code == OK


def test_backing_out_puts_all_segments_back(connection, queue, out, into):
    put_segments(out, b"one ", b"two")
    assert into.get(COMPLETE | mq.MQGMO_SYNCPOINT).code == OK
    assert connection.browse(queue) == []
    assert connection.back_out() == OK
    found = connection.browse(queue)
    assert [(a.data, a.md.BackoutCount) for a in found] == [(b"one ", 1), (b"two", 1)]


@pytest.mark.parametrize(("persistence", "code"), [(mq.MQPER_PERSISTENT, None), (mq.MQPER_NOT_PERSISTENT, OK)])
def test_persistent_segments_need_the_unit_of_work_that_there_is(connection, out, into, persistence, code):
    put_segments(out, b"one ", b"two", Persistence=persistence)
    # Without any unit of work the queue manager makes one for the call
    assert into.get(COMPLETE).code == OK
    put_segments(out, b"one ", b"two", Persistence=persistence)
    # Given a unit of work of the user's, and a call outside it
    out.put(b"in the unit of work", mq.MQPMO_SYNCPOINT)
    answer = into.get(COMPLETE)
    assert answer.code == (code or failed(mq.MQRC_UOW_NOT_AVAILABLE))
    if code is None:
        assert into.get(COMPLETE | mq.MQGMO_SYNCPOINT).data == b"one two"
    # A message that needs no reassembly is no trouble
    out.put(b"alone", Persistence=persistence)
    assert into.get(COMPLETE).data == b"alone"
    connection.back_out()


@table(
    ("fields", "reason"),
    [
        ({"CodedCharSetId": 819}, mq.MQRC_INCONSISTENT_CCSIDS),
        ({"Encoding": mq.MQENC_NORMAL}, mq.MQRC_INCONSISTENT_ENCODINGS),
    ],
)
def test_segments_that_differ_are_put_together_as_far_as_they_are_alike(out, into, fields, reason):
    out.put(b"one ", LO, MsgFlags=SEG)
    out.put(b"two ", LO, MsgFlags=SEG)
    out.put(b"three ", LO, MsgFlags=SEG, **fields)
    out.put(b"four", LO, MsgFlags=LAST_SEG, **fields)
    answer = into.get(COMPLETE | mq.MQGMO_LOGICAL_ORDER)
    assert (answer.code, answer.data) == (warning(reason), b"one two ")
    # "To retrieve the remaining segments, reissue the MQGET without COMPLETE_MSG ... LOGICAL_ORDER can be used"
    assert into.get(mq.MQGMO_LOGICAL_ORDER).data == b"three "
    assert into.get(mq.MQGMO_LOGICAL_ORDER).data == b"four"


def test_under_the_cursor_must_be_a_first_segment(out, into):
    put_segments(out, b"one ", b"two")
    into.get(mq.MQGMO_BROWSE_FIRST)
    assert into.get(mq.MQGMO_BROWSE_MSG_UNDER_CURSOR | COMPLETE).data == b"one two"
    into.get(mq.MQGMO_BROWSE_NEXT)
    assert into.get(mq.MQGMO_BROWSE_MSG_UNDER_CURSOR | COMPLETE).code == failed(mq.MQRC_INVALID_MSG_UNDER_CURSOR)
    assert into.get(mq.MQGMO_MSG_UNDER_CURSOR | COMPLETE).code == failed(mq.MQRC_INVALID_MSG_UNDER_CURSOR)
    into.get(mq.MQGMO_BROWSE_FIRST)
    assert into.get(mq.MQGMO_MSG_UNDER_CURSOR | COMPLETE).data == b"one two"


def test_match_offset_does_not_go_with_complete_messages(into):
    answer = into.get(COMPLETE, match=mq.MQMO_MATCH_OFFSET | mq.MQMO_MATCH_GROUP_ID)
    assert answer.code == failed(mq.MQRC_MATCH_OPTIONS_ERROR)


# --- segmentation by the queue manager


def test_a_message_too_long_for_the_queue_is_split_if_that_is_allowed(connection, small):
    queue = small(40)
    out, into = connection.open(queue, mq.MQOO_OUTPUT), shared_input(connection, queue)
    data = bytes(range(100))
    assert out.put(data, LO).code == failed(mq.MQRC_MSG_TOO_BIG_FOR_Q)
    put = out.put(data, LO, MsgFlags=ALLOWED)
    assert put.code == OK
    # "The caller's flags are not altered", and segments end at multiples of 16 bytes
    assert put.md.MsgFlags == ALLOWED
    found = connection.browse(queue)
    assert [(a.md.Offset, a.data) for a in found] == [
        (0, data[:32]),
        (32, data[32:64]),
        (64, data[64:96]),
        (96, data[96:]),
    ]
    assert [a.md.MsgFlags for a in found] == [ALLOWED | SEG] * 3 + [ALLOWED | SEG | LAST_SEG]
    assert {(a.md.GroupId, a.md.MsgSeqNumber) for a in found} == {(put.md.GroupId, 1)}
    assert len({a.md.MsgId for a in found}) == 4
    answer = into.get(COMPLETE)
    assert (answer.code, answer.data, answer.status) == (OK, data, " LA")


def test_a_group_goes_on_behind_a_message_that_was_split(connection, small):
    queue = small(40)
    out, into = connection.open(queue, mq.MQOO_OUTPUT), shared_input(connection, queue)
    out.put(b"1" * 50, LO, MsgFlags=MIG | ALLOWED)
    out.put(b"2" * 10, LO, MsgFlags=LAST_MIG | ALLOWED)
    options = COMPLETE | mq.MQGMO_LOGICAL_ORDER
    answers = [into.get(options) for _ in range(2)]
    assert [(a.data, a.md.MsgSeqNumber, a.status) for a in answers] == [
        (b"1" * 50, 1, "GLA"),
        (b"2" * 10, 2, "L A"),
    ]
    assert out.close() == OK


def test_a_segment_of_the_application_s_own_may_be_split_further(connection, small):
    queue = small(40)
    out, into = connection.open(queue, mq.MQOO_OUTPUT), shared_input(connection, queue)
    assert out.put(b"1" * 50, LO, MsgFlags=SEG | ALLOWED).code == OK
    assert out.put(b"2" * 50, LO, MsgFlags=LAST_SEG | ALLOWED).code == OK
    assert [a.md.Offset for a in connection.browse(queue)] == [0, 32, 50, 82]
    assert into.get(COMPLETE).data == b"1" * 50 + b"2" * 50


@table(("format_name", "code"), [(mq.MQFMT_STRING, OK), (mq.MQFMT_DEAD_LETTER_HEADER, None)])
def test_headers_of_mq_are_not_split(connection, small, format_name, code):
    out = connection.open(small(40), mq.MQOO_OUTPUT)
    answer = out.put(b"x" * 50, MsgFlags=ALLOWED, Format=format_name)
    assert answer.code == (code or failed(mq.MQRC_MSG_TOO_BIG_FOR_Q))


def test_a_queue_too_small_for_a_segment_takes_nothing(connection, small):
    out = connection.open(small(10), mq.MQOO_OUTPUT)
    assert out.put(b"x" * 50, MsgFlags=ALLOWED).code == failed(mq.MQRC_MSG_TOO_BIG_FOR_Q)


def test_segments_may_take_the_depth_beyond_maxdepth(connection, small):
    """Segmentation can cause CurrentQDepth to exceed MaxQDepth (topic "CurrentQDepth")."""
    queue = small(16)  # MAXDEPTH(5)
    out = connection.open(queue, mq.MQOO_OUTPUT)
    assert out.put(b"x" * 16 * 6, MsgFlags=ALLOWED).code == OK
    assert connection.depth(queue) == 6
    assert out.put(b"x", MsgFlags=ALLOWED).code == failed(mq.MQRC_Q_FULL)


def test_splitting_outside_the_unit_of_work_that_there_is_cannot_be(connection, small):
    out = connection.open(small(40), mq.MQOO_OUTPUT)
    assert out.put(b"x" * 50, MsgFlags=ALLOWED).code == OK
    assert out.put(b"short", mq.MQPMO_SYNCPOINT).code == OK
    assert out.put(b"x" * 50, MsgFlags=ALLOWED).code == failed(mq.MQRC_UOW_NOT_AVAILABLE)
    assert out.put(b"x" * 50, mq.MQPMO_SYNCPOINT, MsgFlags=ALLOWED).code == OK
    assert connection.commit() == OK


def test_a_put_counts_once_in_its_unit_of_work_however_many_segments_it_makes(mqi, own_queue_manager, tmp_path):
    # IBM MQ, topic q040970
    mqsc = tmp_path / "limit.mqsc"
    mqsc.write_text("ALTER QMGR MAXUMSGS(2)\nDEFINE QLOCAL(SPLIT) MAXMSGL(16)\n")
    q_mgr = own_queue_manager(mqsc=[mqsc])
    code, connection = mqi.connect(q_mgr.q_mgr_name, q_mgr.channel, q_mgr.conn_name)
    assert code == OK
    out = connection.open("SPLIT", mq.MQOO_OUTPUT)
    assert out.put(b"x" * 100, mq.MQPMO_SYNCPOINT, MsgFlags=ALLOWED).code == OK
    assert out.put(b"x" * 100, mq.MQPMO_SYNCPOINT, MsgFlags=ALLOWED).code == OK
    answer = out.put(b"x" * 100, mq.MQPMO_SYNCPOINT, MsgFlags=ALLOWED)
    assert answer.code == failed(mq.MQRC_SYNCPOINT_LIMIT_REACHED)
    connection.back_out()
    connection.disconnect()
