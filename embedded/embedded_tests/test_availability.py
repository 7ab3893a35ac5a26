"""MQGMO_ALL_MSGS_AVAILABLE and MQGMO_ALL_SEGMENTS_AVAILABLE (IBM MQ for IBM i, topic "GMOPT", GMAMSA and GMASGA)."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from embedded_tests.fix_mqi import EMPTY, OK, PATIENCE_MS, PATIENCE_S
from embedded_tests.tables import table
from mqembedded import constants as mq

LO, ALL, SEGMENTS = mq.MQGMO_LOGICAL_ORDER, mq.MQGMO_ALL_MSGS_AVAILABLE, mq.MQGMO_ALL_SEGMENTS_AVAILABLE
MIG, LAST_MIG, SEG, LAST_SEG = mq.MQMF_MSG_IN_GROUP, mq.MQMF_LAST_MSG_IN_GROUP, mq.MQMF_SEGMENT, mq.MQMF_LAST_SEGMENT
X, Y, Z = (name * 24 for name in (b"X", b"Y", b"Z"))


def fill(connection, queue, *messages, options=0):
    for group, seq, offset, flags, data in messages:
        fields = {"GroupId": group, "MsgSeqNumber": seq, "Offset": offset, "MsgFlags": flags}
        assert connection.put1(queue, data, options, **fields).code == OK


INCOMPLETE = {
    "the last is missing": [(Y, 1, 0, MIG, b"y1"), (Y, 2, 0, MIG, b"y2")],
    "one in the middle is missing": [(Y, 1, 0, MIG, b"y1"), (Y, 3, 0, LAST_MIG, b"y3")],
    "the first is missing": [(Y, 2, 0, MIG, b"y2"), (Y, 3, 0, LAST_MIG, b"y3")],
    "a duplicate is no substitute": [(Y, 1, 0, MIG, b"y1"), (Y, 1, 0, MIG, b"y1"), (Y, 3, 0, LAST_MIG, b"y3")],
    "one beyond the last is no substitute": [(Y, 1, 0, MIG, b"y1"), (Y, 3, 0, LAST_MIG, b"y3"), (Y, 4, 0, MIG, b"y4")],
    "a segment is missing": [(Y, 1, 0, MIG | SEG, b"y1"), (Y, 2, 0, LAST_MIG, b"y2")],
}
COMPLETE = [(Z, 2, 0, LAST_MIG, b"z2"), (Z, 1, 0, MIG, b"z1")]
PLAIN = (mq.MQGI_NONE, 1, 0, 0, b"a")


@table("order", [0, LO], ids=["without logical order", "in logical order"])
@table("messages", INCOMPLETE.values())
def test_incomplete_groups_are_passed_over(connection, queue, messages, order):
    fill(connection, queue, *messages, PLAIN, *COMPLETE)
    source = connection.open(queue, mq.MQOO_INPUT_SHARED)
    assert source.get(ALL | order).data == b"a"
    assert source.get(ALL | order).data == (b"z1" if order else b"z2")
    # "those messages still contribute to the value of the CurrentQDepth"
    assert connection.depth(queue) == len(messages) + 1


def test_in_logical_order_the_option_may_stay_on(connection, queue):
    """ "If there is a current group or logical message, ALL_MSGS_AVAILABLE is ignored"."""
    fill(connection, queue, *INCOMPLETE["the last is missing"], *COMPLETE, PLAIN)
    source = connection.open(queue, mq.MQOO_INPUT_SHARED)
    assert [answer.data for answer in source.all(ALL | LO)] == [b"z1", b"z2", b"a"]


def test_without_logical_order_the_option_must_be_turned_off(connection, queue):
    """ "the option must be turned off after the first message in the group has been removed"."""
    fill(connection, queue, (Z, 1, 0, MIG, b"z1"), (Z, 2, 0, LAST_MIG, b"z2"))
    source = connection.open(queue, mq.MQOO_INPUT_SHARED)
    assert source.get(ALL).data == b"z1"
    assert source.get(ALL).code == EMPTY
    match = mq.MQMO_MATCH_GROUP_ID | mq.MQMO_MATCH_MSG_SEQ_NUMBER
    assert source.get(ALL, match=match, GroupId=Z, MsgSeqNumber=2).code == EMPTY
    assert source.get(match=match, GroupId=Z, MsgSeqNumber=2).data == b"z2"


def test_the_option_left_on_in_a_group_ends_with_the_group(connection, queue):
    fill(connection, queue, *COMPLETE, *INCOMPLETE["the last is missing"])
    source = connection.open(queue, mq.MQOO_INPUT_SHARED)
    assert [answer.data for answer in source.all(ALL | LO)] == [b"z1", b"z2"]
    assert [answer.data for answer in source.all(LO)] == [b"y1", b"y2"]


def test_a_message_of_the_group_that_is_not_committed_is_not_there(connect, queue):
    connection, other = connect(), connect()
    fill(connection, queue, (Z, 1, 0, MIG, b"z1"))
    fill(other, queue, (Z, 2, 0, LAST_MIG, b"z2"), options=mq.MQPMO_SYNCPOINT)
    source = connection.open(queue, mq.MQOO_INPUT_SHARED)
    assert source.get(ALL | LO).code == EMPTY
    assert other.commit() == OK
    assert source.get(ALL | LO).data == b"z1"


def test_a_message_of_the_group_that_another_unit_of_work_got_is_not_there(connect, queue):
    connection, other = connect(), connect()
    fill(connection, queue, *COMPLETE)
    assert other.open(queue, mq.MQOO_INPUT_SHARED).get(mq.MQGMO_SYNCPOINT).data == b"z2"
    source = connection.open(queue, mq.MQOO_INPUT_SHARED)
    assert source.get(ALL | LO).code == EMPTY
    assert other.back_out() == OK
    assert source.get(ALL | LO).data == b"z1"


def test_the_last_message_of_the_group_ends_the_wait(connect, queue, background):
    connection, other = connect(), connect()
    fill(connection, queue, (Z, 1, 0, MIG, b"z1"))
    source = connection.open(queue, mq.MQOO_INPUT_SHARED)
    waiting = background(source.get, ALL | LO, wait_ms=PATIENCE_MS)
    fill(other, queue, (Z, 2, 0, LAST_MIG, b"z2"))
    assert waiting.result(PATIENCE_S).data == b"z1"


def test_a_browse_passes_over_incomplete_groups_and_never_returns_to_them(connection, queue):
    """IBM MQ, topic q026500."""
    fill(connection, queue, (Y, 1, 0, MIG, b"y1"), PLAIN)
    browser = connection.open(queue, mq.MQOO_BROWSE)
    assert browser.get(ALL | LO | mq.MQGMO_BROWSE_NEXT).data == b"a"
    fill(connection, queue, (Y, 2, 0, LAST_MIG, b"y2"))
    assert browser.get(ALL | LO | mq.MQGMO_BROWSE_NEXT).code == EMPTY
    assert browser.get(ALL | LO | mq.MQGMO_BROWSE_FIRST).data == b"y1"


def test_a_segmented_group_is_available_when_all_of_it_is_there(connection, queue):
    whole = [
        (Y, 2, 0, LAST_MIG | SEG, b"y"),
        (Y, 1, 0, MIG, b"y1"),
        (Y, 2, 1, LAST_MIG | LAST_SEG, b"2"),
    ]
    fill(connection, queue, *whole[:2])
    source = connection.open(queue, mq.MQOO_INPUT_SHARED)
    assert source.get(ALL | LO).code == EMPTY
    fill(connection, queue, whole[2])
    assert [answer.data for answer in source.all(ALL | LO)] == [b"y1", b"y", b"2"]


@st.composite
def pieces(draw):
    """Physical messages of one group in any order, some left out, some twice; and whether the group is all there."""
    last = draw(st.integers(1, 4))
    whole = []
    for seq in range(1, last + 1):
        flag = LAST_MIG if seq == last else MIG
        if draw(st.booleans()):
            whole += [(seq, 0, flag | SEG), (seq, 1, flag | SEG), (seq, 2, flag | LAST_SEG)]
        else:
            whole.append((seq, 0, flag))
    left_out = draw(st.sets(st.sampled_from(whole), max_size=1))
    more = draw(st.lists(st.sampled_from([*whole, (last + 1, 0, MIG), (last + 2, 0, MIG)]), max_size=3))
    there = [piece for piece in whole + more if piece not in left_out]
    return draw(st.permutations(there)), draw(st.sets(st.integers(0, 9), max_size=2)), not left_out


@given(case=pieces())
@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_group_is_available_exactly_when_all_of_it_is_there(connection, queue, case):
    there, taken, complete = case
    fill(connection, queue, *((Y, seq, offset, flags, b"1") for seq, offset, flags in there))
    source = connection.open(queue, mq.MQOO_INPUT_SHARED | mq.MQOO_BROWSE)
    # Whatever was taken away and given back does not count.
    ids = [answer.md.MsgId for answer in connection.browse(queue)]
    for index in taken & set(range(len(ids))):
        assert source.get(mq.MQGMO_SYNCPOINT, match=mq.MQMO_MATCH_MSG_ID, MsgId=ids[index]).code == OK
    assert connection.back_out() == OK
    for order in (0, LO):
        assert source.get(ALL | order | mq.MQGMO_BROWSE_FIRST).code == (OK if complete else EMPTY)
    source.all()
    source.close()


# --- all segments


def test_segments_are_available_when_all_of_their_logical_message_are(connection, queue):
    out = connection.open(queue, mq.MQOO_OUTPUT)
    for offset, flags, data in ((0, SEG, b"12"), (4, LAST_SEG, b"56")):
        assert out.put(data, MsgFlags=flags, GroupId=X, Offset=offset).code == OK
    source = connection.open(queue, mq.MQOO_INPUT_SHARED)
    for options in (SEGMENTS, SEGMENTS | LO, ALL, ALL | LO):
        assert source.get(options).code == EMPTY
    assert out.put(b"34", MsgFlags=SEG, GroupId=X, Offset=2).code == OK
    assert [answer.data for answer in source.all(SEGMENTS | LO)] == [b"12", b"34", b"56"]


def test_all_segments_does_not_ask_for_all_messages(connection, queue):
    fill(connection, queue, (Y, 1, 0, MIG | SEG, b"y"), (Y, 1, 1, MIG | LAST_SEG, b"1"), (Y, 2, 0, MIG | SEG, b"y"))
    source = connection.open(queue, mq.MQOO_INPUT_SHARED)
    assert [source.get(SEGMENTS | LO).data for _ in range(2)] == [b"y", b"1"]
    assert source.get(SEGMENTS | LO).code == EMPTY
    assert source.get(LO).place == (Y, 2, 0)


def test_without_logical_order_all_segments_must_be_turned_off(connection, queue):
    fill(connection, queue, (X, 1, 0, SEG, b"x"), (X, 1, 1, LAST_SEG, b"y"))
    source = connection.open(queue, mq.MQOO_INPUT_SHARED)
    assert source.get(SEGMENTS).data == b"x"
    assert source.get(SEGMENTS).code == EMPTY
    assert source.get().data == b"y"
