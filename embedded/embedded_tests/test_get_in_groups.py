"""MQGET of messages in groups and of segments: Tables 16 and 17 of IBM MQ for IBM i, topic "GMOPT" (MQGMO Options)."""

from __future__ import annotations

from embedded_tests.fix_mqi import EMPTY, OK, Code, failed, warning
from embedded_tests.tables import table
from mqembedded import constants as mq

LO, SYNC = mq.MQGMO_LOGICAL_ORDER, mq.MQGMO_SYNCPOINT
MIG, LAST_MIG, SEG, LAST_SEG = mq.MQMF_MSG_IN_GROUP, mq.MQMF_LAST_MSG_IN_GROUP, mq.MQMF_SEGMENT, mq.MQMF_LAST_SEGMENT
X, Y, Z = (name * 24 for name in (b"X", b"Y", b"Z"))


def fill(connection, queue, *messages):
    """Put messages as they are listed: (group id, sequence number, offset, flags, data), each with MsgId = data."""
    for group, seq, offset, flags, data in messages:
        fields = {"GroupId": group, "MsgSeqNumber": seq, "Offset": offset, "MsgFlags": flags}
        answer = connection.put1(queue, data, MsgId=data.ljust(24, b"\0"), CorrelId=data[:1].ljust(24, b"\0"), **fields)
        assert answer.code == OK


def plain(data):
    return (mq.MQGI_NONE, 1, 0, 0, data)


def taken(answers):
    return [answer.data for answer in answers]


# Two groups whose messages are mixed, the first messages late; Z stands before Y because its first message does.
MIXED = [
    (Y, 2, 0, MIG, b"y2"),
    (Z, 2, 0, LAST_MIG, b"z2"),
    (Z, 1, 0, MIG, b"z1"),
    plain(b"a"),
    (Y, 3, 0, LAST_MIG, b"y3"),
    (Y, 1, 0, MIG, b"y1"),
]
# The same with segments: x is a logical message by itself, y1 of group Y has three segments, y2 two.
SEGMENTED = [
    (Y, 2, 4, LAST_MIG | LAST_SEG, b"y2.4"),
    (X, 1, 3, LAST_SEG, b"x.3"),
    (Y, 1, 4, MIG | SEG, b"y1.4"),
    (Y, 1, 0, MIG | SEG, b"y1.0"),
    (Y, 2, 0, LAST_MIG | SEG, b"y2.0"),
    (X, 1, 0, SEG, b"x.0"),
    (Y, 1, 8, MIG | LAST_SEG, b"y1.8"),
    plain(b"a"),
]


# --- Table 16


@table("options", [0, mq.MQGMO_BROWSE_NEXT], ids=["removing", "browsing"])
def test_table_16_no_current_group_looks_for_1_and_0(connection, queue, options):
    fill(connection, queue, *MIXED)
    source = connection.open(queue, mq.MQOO_INPUT_SHARED | mq.MQOO_BROWSE)
    assert source.get(options | LO).data == b"z1"


@table("options", [0, mq.MQGMO_BROWSE_NEXT], ids=["removing", "browsing"])
def test_table_16_current_group_looks_for_the_next_sequence_number(connection, queue, options):
    fill(connection, queue, *MIXED)
    source = connection.open(queue, mq.MQOO_INPUT_SHARED | mq.MQOO_BROWSE)
    assert taken(source.all(options | LO)) == [b"z1", b"z2", b"a", b"y1", b"y2", b"y3"]


@table("options", [0, mq.MQGMO_BROWSE_NEXT], ids=["removing", "browsing"])
def test_table_16_current_logical_message_looks_for_the_next_offset(connection, queue, options):
    fill(connection, queue, *SEGMENTED)
    source = connection.open(queue, mq.MQOO_INPUT_SHARED | mq.MQOO_BROWSE)
    assert taken(source.all(options | LO)) == [b"y1.0", b"y1.4", b"y1.8", b"y2.0", b"y2.4", b"x.0", b"x.3", b"a"]


@table("fields", [{"MsgId": b"?" * 24, "CorrelId": b"?" * 24}, {"GroupId": X, "MsgSeqNumber": 9}])
def test_table_16_in_a_group_the_descriptor_s_fields_do_not_count(connection, queue, fields):
    fill(connection, queue, *MIXED)
    source = connection.open(queue, mq.MQOO_INPUT_SHARED)
    assert source.get(LO).data == b"z1"
    assert source.get(LO, **fields).data == b"z2"


@table(
    ("match", "fields", "expected"),
    [
        (mq.MQMO_MATCH_MSG_ID, {"MsgId": b"y1".ljust(24, b"\0")}, b"y1"),
        (mq.MQMO_MATCH_CORREL_ID, {"CorrelId": b"y".ljust(24, b"\0")}, b"y1"),
        (mq.MQMO_MATCH_GROUP_ID, {"GroupId": Y}, b"y1"),
        (mq.MQMO_MATCH_MSG_ID | mq.MQMO_MATCH_GROUP_ID, {"MsgId": b"y1".ljust(24, b"\0"), "GroupId": Y}, b"y1"),
        (mq.MQMO_MATCH_MSG_ID, {"MsgId": b"y2".ljust(24, b"\0")}, None),
        (mq.MQMO_MATCH_GROUP_ID, {"GroupId": X}, None),
    ],
)
def test_table_16_match_options_choose_where_to_begin(connection, queue, match, fields, expected):
    fill(connection, queue, *MIXED)
    answer = connection.open(queue, mq.MQOO_INPUT_SHARED).get(LO, match=match, **fields)
    assert (answer.code, answer.data) == ((OK, expected) if expected else (EMPTY, b""))


@table("before", ["nothing", "current group", "current logical message", "both"])
@table(
    ("match", "fields", "expected"),
    [
        (mq.MQMO_MATCH_MSG_ID, {"MsgId": b"y2.0".ljust(24, b"\0")}, b"y2.0"),
        (mq.MQMO_MATCH_CORREL_ID, {"CorrelId": b"p".ljust(24, b"\0")}, b"p"),
        (mq.MQMO_MATCH_GROUP_ID, {"GroupId": Y}, b"y2.4"),
        (mq.MQMO_MATCH_MSG_SEQ_NUMBER, {"MsgSeqNumber": 2}, b"y2.4"),
        (mq.MQMO_MATCH_OFFSET, {"Offset": 3}, b"x.3"),
        (mq.MQMO_MATCH_GROUP_ID | mq.MQMO_MATCH_MSG_SEQ_NUMBER, {"GroupId": Y, "MsgSeqNumber": 1}, b"y1.4"),
        (0, {}, b"y2.4"),
    ],
)
def test_table_16_without_logical_order_the_match_options_say_it_all(
    connection, queue, before, match, fields, expected
):
    heads = {
        "nothing": plain(b"h"),
        "current group": (Z, 1, 0, MIG, b"h"),
        "current logical message": (Z, 1, 0, SEG, b"h"),
        "both": (Z, 1, 0, MIG | SEG, b"h"),
    }
    fill(connection, queue, heads[before], *SEGMENTED, plain(b"p"))
    source = connection.open(queue, mq.MQOO_INPUT_SHARED)
    assert source.get(LO).data == b"h"
    assert source.get(match=match, **fields).data == expected


# --- statuses


@table(
    ("message", "status"),
    [
        (plain(b"m"), "   "),
        ((Y, 1, 0, MIG, b"m"), "G  "),
        ((Y, 1, 0, LAST_MIG, b"m"), "L  "),
        ((Y, 1, 0, SEG, b"m"), " S "),
        ((Y, 1, 0, LAST_SEG, b"m"), " L "),
        ((Y, 1, 0, MIG | SEG, b"m"), "GS "),
        ((Y, 1, 0, LAST_MIG | LAST_SEG, b"m"), "LL "),
        ((Y, 1, 0, mq.MQMF_SEGMENTATION_ALLOWED, b"m"), "  A"),
    ],
)
@table("options", [0, LO, mq.MQGMO_BROWSE_FIRST])
def test_group_status_segment_status_and_segmentation(connection, queue, message, status, options):
    fill(connection, queue, message)
    answer = connection.open(queue, mq.MQOO_INPUT_SHARED | mq.MQOO_BROWSE).get(options)
    assert answer.code == OK
    # Segmentation of a segment is not the subject here: the sender of segments allowed it or not.
    length = 3 if not message[3] & (SEG | LAST_SEG) else 2
    assert answer.status[:length] == status[:length]


# --- Table 17: the outcome when a call is not consistent with the group and segment information

LEFT = {
    "group": [(Y, 1, 0, MIG, b"y1"), (Y, 2, 0, LAST_MIG, b"y2")],
    "message": [(Y, 1, 0, SEG, b"y"), (Y, 1, 1, LAST_SEG, b"e")],
}


@table(("previous", "comp"), [(LO, 1), (0, 0)], ids=["after logical order", "after none"])
@table(
    ("left", "wanted", "reason"),
    [
        ("group", plain(b"a"), mq.MQRC_INCOMPLETE_GROUP),
        ("group", (Z, 1, 0, MIG, b"z1"), mq.MQRC_INCOMPLETE_GROUP),
        ("message", plain(b"a"), mq.MQRC_INCOMPLETE_MSG),
        ("message", (Z, 1, 0, SEG, b"z"), mq.MQRC_INCOMPLETE_MSG),
    ],
)
def test_table_17_get_without_logical_order(connection, queue, previous, comp, left, wanted, reason):
    fill(connection, queue, *LEFT[left], wanted)
    source = connection.open(queue, mq.MQOO_INPUT_SHARED)
    assert source.get(previous).code == OK
    answer = source.get(match=mq.MQMO_MATCH_MSG_ID, MsgId=wanted[4].ljust(24, b"\0"))
    assert answer.code == Code(comp, reason if comp else 0)
    assert (answer.data, answer.md.MsgId) == (wanted[4], wanted[4].ljust(24, b"\0"))
    assert connection.depth(queue) == 1


@table(("previous", "current", "comp"), [(LO, LO, 2), (0, LO, 2), (LO, 0, 1), (0, 0, 0)], ids=["LL", "-L", "L-", "--"])
@table(("first", "second"), [(0, SYNC), (SYNC, 0)], ids=["into syncpoint", "out of syncpoint"])
@table("left", ["group", "message"])
def test_table_17_get_in_another_unit_of_work_scope(connection, queue, left, first, second, previous, current, comp):
    fill(connection, queue, *LEFT[left])
    source = connection.open(queue, mq.MQOO_INPUT_SHARED)
    assert source.get(previous | first).code == OK
    answer = source.get(current | second)
    assert answer.code == Code(comp, mq.MQRC_INCONSISTENT_UOW if comp else 0)
    assert answer.data == (b"" if comp == 2 else LEFT[left][1][4])
    connection.commit()
    assert connection.depth(queue) == (1 if comp == 2 else 0)


def test_a_group_goes_on_in_the_next_unit_of_work(connection, queue):
    fill(connection, queue, *MIXED)
    source = connection.open(queue, mq.MQOO_INPUT_SHARED)
    assert source.get(LO | SYNC).data == b"z1"
    assert connection.commit() == OK
    assert source.get(LO | SYNC).data == b"z2"


@table(("left", "reason"), [("group", mq.MQRC_INCOMPLETE_GROUP), ("message", mq.MQRC_INCOMPLETE_MSG)])
def test_table_17_close(connection, queue, left, reason):
    for options, expected in ((LO, warning(reason)), (0, OK)):
        fill(connection, queue, *LEFT[left])
        source = connection.open(queue, mq.MQOO_INPUT_SHARED)
        assert source.get(options).code == OK
        assert source.close() == expected
        assert len(connection.open(queue, mq.MQOO_INPUT_SHARED).all()) == 1


@table("left", ["group", "message"])
def test_close_of_a_queue_opened_for_browse_only_is_ok(connection, queue, left):
    fill(connection, queue, *LEFT[left])
    source = connection.open(queue, mq.MQOO_BROWSE)
    assert source.get(mq.MQGMO_BROWSE_FIRST | LO).code == OK
    assert source.close() == OK


def test_browsing_is_never_checked(connection, queue):
    fill(connection, queue, *LEFT["group"], plain(b"a"))
    source = connection.open(queue, mq.MQOO_BROWSE)
    assert source.get(mq.MQGMO_BROWSE_FIRST | LO).data == b"y1"
    answer = source.get(mq.MQGMO_BROWSE_FIRST, match=mq.MQMO_MATCH_MSG_ID, MsgId=b"a".ljust(24, b"\0"))
    assert (answer.code, answer.data) == (OK, b"a")


def test_close_after_the_last_message_of_a_group_is_ok(connection, queue):
    fill(connection, queue, *LEFT["group"])
    source = connection.open(queue, mq.MQOO_INPUT_SHARED)
    source.all(LO)
    assert source.close() == OK


def test_the_last_message_of_a_group_ends_it_with_its_last_segment(connection, queue):
    fill(connection, queue, (Y, 1, 0, LAST_MIG | SEG, b"y"), (Y, 1, 1, LAST_MIG | LAST_SEG, b"e"), plain(b"a"))
    source = connection.open(queue, mq.MQOO_INPUT_SHARED)
    assert source.get(LO).data == b"y"
    assert source.get(LO | SYNC).code == failed(mq.MQRC_INCONSISTENT_UOW)
    assert source.get(LO).data == b"e"
    assert source.get(LO | SYNC).data == b"a"


def test_a_get_without_logical_order_replaces_the_state(connection, queue):
    """The restart: name GroupId and MsgSeqNumber once, then go on in logical order."""
    fill(connection, queue, plain(b"a"), (Y, 4, 0, MIG, b"y4"), (Y, 3, 0, MIG, b"y3"), (Y, 5, 0, LAST_MIG, b"y5"))
    source = connection.open(queue, mq.MQOO_INPUT_SHARED)
    match = mq.MQMO_MATCH_GROUP_ID | mq.MQMO_MATCH_MSG_SEQ_NUMBER
    assert source.get(SYNC, match=match, GroupId=Y, MsgSeqNumber=3).data == b"y3"
    assert taken(source.all(LO | SYNC)) == [b"y4", b"y5", b"a"]


def test_a_get_without_logical_order_restarts_inside_a_logical_message(connection, queue):
    fill(connection, queue, *SEGMENTED)
    source = connection.open(queue, mq.MQOO_INPUT_SHARED)
    match = mq.MQMO_MATCH_GROUP_ID | mq.MQMO_MATCH_MSG_SEQ_NUMBER | mq.MQMO_MATCH_OFFSET
    assert source.get(match=match, GroupId=Y, MsgSeqNumber=1, Offset=4).data == b"y1.4"
    assert source.get(LO).data == b"y1.8"
    assert source.get(LO).data == b"y2.0"


def test_a_group_is_left_for_another_only_without_logical_order(connection, queue):
    fill(connection, queue, (Y, 1, 0, MIG, b"y1"), plain(b"a"))
    source = connection.open(queue, mq.MQOO_INPUT_SHARED)
    assert source.get(LO).data == b"y1"
    # The next of the group is not there; what is there is not looked at.
    assert source.get(LO).code == EMPTY
    assert source.get().code == warning(mq.MQRC_INCOMPLETE_GROUP)
    assert source.get(LO).code == EMPTY


def test_a_failed_get_leaves_the_state_as_it_was(connection, queue):
    fill(connection, queue, *LEFT["group"])
    source = connection.open(queue, mq.MQOO_INPUT_SHARED)
    assert source.get(LO).code == OK
    assert source.get(match=mq.MQMO_MATCH_GROUP_ID, GroupId=Z).code == EMPTY
    assert source.get(LO | SYNC).code == failed(mq.MQRC_INCONSISTENT_UOW)
    assert source.get(LO).data == b"y2"


def test_another_handle_may_take_the_next_of_the_group(connection, queue):
    """ "the group is not locked to the application that retrieves the first message"."""
    fill(connection, queue, (Y, 1, 0, MIG, b"y1"), (Y, 2, 0, MIG, b"y2"), (Y, 3, 0, LAST_MIG, b"y3"))
    source, other = (connection.open(queue, mq.MQOO_INPUT_SHARED) for _ in range(2))
    assert source.get(LO).data == b"y1"
    assert other.get().data == b"y2"
    assert source.get(LO).code == EMPTY
    assert other.get(LO).data == b"y3"


@table("browse", [0, mq.MQGMO_BROWSE_NEXT], ids=["removing", "browsing"])
def test_a_group_whose_first_item_is_missing_is_never_entered(connection, queue, browse):
    fill(connection, queue, (Y, 2, 0, MIG, b"y2"), (Y, 3, 0, LAST_MIG, b"y3"), (Z, 1, 4, SEG, b"z"), plain(b"a"))
    source = connection.open(queue, mq.MQOO_INPUT_SHARED | mq.MQOO_BROWSE)
    assert taken(source.all(browse | LO)) == [b"a"]
    assert connection.depth(queue) == (4 if browse else 3)


def test_inside_a_group_it_goes_on_although_the_first_message_is_gone(connection, queue):
    fill(connection, queue, *LEFT["group"])
    browser = connection.open(queue, mq.MQOO_BROWSE)
    assert browser.get(mq.MQGMO_BROWSE_FIRST | LO).data == b"y1"
    assert connection.open(queue, mq.MQOO_INPUT_SHARED).get().data == b"y1"
    assert browser.get(mq.MQGMO_BROWSE_NEXT | LO).data == b"y2"


def test_one_of_two_messages_with_one_sequence_number_is_got_in_logical_order(connection, queue):
    fill(connection, queue, (Y, 1, 0, MIG, b"y1"), (Y, 1, 0, MIG, b"again"), (Y, 2, 0, LAST_MIG, b"y2"))
    source = connection.open(queue, mq.MQOO_INPUT_SHARED)
    assert [source.get(LO).data for _ in range(2)] == [b"y1", b"y2"]
    assert connection.depth(queue) == 1


@table("given_back", [False, True], ids=["as put", "after one was backed out"])
def test_of_two_messages_with_one_sequence_number_the_first_on_the_queue_comes(connection, queue, given_back):
    fill(connection, queue, (Y, 1, 0, MIG, b"y1"), (Y, 2, 0, MIG, b"first"), (Y, 2, 0, MIG, b"second"))
    source = connection.open(queue, mq.MQOO_INPUT_SHARED)
    if given_back:
        assert source.get(SYNC, match=mq.MQMO_MATCH_MSG_SEQ_NUMBER, MsgSeqNumber=2).data == b"first"
        assert connection.back_out() == OK
    assert [source.get(LO).data for _ in range(2)] == [b"y1", b"first"]


@table("browse", [0, mq.MQGMO_BROWSE_FIRST])
def test_logical_order_needs_structures_of_version_2(connection, queue, mqi, browse):
    fill(connection, queue, plain(b"a"))
    source = connection.open(queue, mq.MQOO_INPUT_SHARED | mq.MQOO_BROWSE)
    answer = source.get(gmo=mqi.gmo(Version=1, Options=LO | browse))
    assert answer.code == failed(mq.MQRC_WRONG_GMO_VERSION)
    assert source.get(LO | browse, md=mqi.md(Version=1)).code == failed(mq.MQRC_WRONG_MD_VERSION)
    assert source.get(LO | browse).code == OK
