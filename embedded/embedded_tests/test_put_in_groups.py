"""MQPUT of messages in groups and of segments: Tables 1 and 2 of IBM MQ, topic "Logical and physical ordering"."""

from __future__ import annotations

import itertools

from embedded_tests.fix_mqi import OK, Code, failed, warning
from embedded_tests.tables import table
from mqembedded import constants as mq

NO, YES, EITHER = (False,), (True,), (False, True)
LO = mq.MQPMO_LOGICAL_ORDER
MIG, LAST_MIG, SEG, LAST_SEG = mq.MQMF_MSG_IN_GROUP, mq.MQMF_LAST_MSG_IN_GROUP, mq.MQMF_SEGMENT, mq.MQMF_LAST_SEGMENT
GIVEN = b"the field's own value".ljust(24)
DATA = b"seven b"  # of the segment that is there before the call
NEW, PREVIOUS = "new group id", "previous"

# The flags that each "Yes" and "No" of the columns MIG, SEG, SEG OK stands for.
IN_GROUP = {False: [mq.MQMF_NONE], True: [MIG, LAST_MIG]}
SEGMENT = {False: [mq.MQMF_NONE], True: [SEG, LAST_SEG]}
SEGMENTATION_OK = {False: mq.MQMF_NONE, True: mq.MQMF_SEGMENTATION_ALLOWED}

# Table 1, "Yes" in LOG ORD: MIG, SEG, SEG OK, current group, current logical message -> GroupId, MsgSeqNumber, Offset.
LOGICAL_ORDER_ROWS = [
    (NO, NO, NO, NO, NO, (mq.MQGI_NONE, 1, 0)),
    (NO, NO, YES, NO, NO, (NEW, 1, 0)),
    (NO, YES, EITHER, NO, NO, (NEW, 1, 0)),
    (NO, YES, EITHER, NO, YES, (PREVIOUS, 1, 7)),
    (YES, EITHER, EITHER, NO, NO, (NEW, 1, 0)),
    (YES, EITHER, EITHER, YES, NO, (PREVIOUS, 3, 0)),
    (YES, YES, EITHER, YES, YES, (PREVIOUS, 2, 7)),
]
# "Combinations of options and flags that are not shown in the table are not valid"; 2242 comes before 2241 (q042740).
LOGICAL_ORDER_REFUSALS = [
    (NO, NO, EITHER, NO, YES, mq.MQRC_INCOMPLETE_MSG),
    (NO, NO, EITHER, YES, NO, mq.MQRC_INCOMPLETE_GROUP),
    (NO, NO, EITHER, YES, YES, mq.MQRC_INCOMPLETE_MSG),
    (NO, YES, EITHER, YES, NO, mq.MQRC_INCOMPLETE_GROUP),
    (NO, YES, EITHER, YES, YES, mq.MQRC_INCOMPLETE_GROUP),
    (YES, NO, EITHER, NO, YES, mq.MQRC_INCOMPLETE_MSG),
    (YES, YES, EITHER, NO, YES, mq.MQRC_INCOMPLETE_MSG),
    (YES, NO, EITHER, YES, YES, mq.MQRC_INCOMPLETE_MSG),
]
# "No" in LOG ORD: MIG, SEG, SEG OK -> GroupId, MsgSeqNumber, Offset; the handle's state is "Either" in every row.
AS_GIVEN_ROWS = [
    (NO, NO, NO, ("none", 1, 0)),
    (NO, NO, YES, ("value", 1, 0)),
    (NO, YES, EITHER, ("value", 1, 70)),
    (YES, NO, EITHER, ("value", 5, 0)),
    (YES, YES, EITHER, ("value", 5, 70)),
]


def combinations(*columns):
    """Return the rows that the Either and the several flags of a row stand for."""
    return list(itertools.product(*columns))


def flags_of(mig, seg, seg_ok):
    """Return every value of MsgFlags that a row's first three columns stand for."""
    return [
        group | segment | SEGMENTATION_OK[allowed]
        for in_group, is_segment, allowed in combinations(mig, seg, seg_ok)
        for group in IN_GROUP[in_group]
        for segment in SEGMENT[is_segment]
    ]


def in_state(connection, queue, group, logical_message, flags=0):
    """Open the queue and bring the handle there: sequence number 2 is the last one put, by 7 bytes if it is a segment.

    ``flags`` are those of the put to come: the segments of a logical message agree on MQMF_LAST_MSG_IN_GROUP (q042750).
    """
    out = connection.open(queue, mq.MQOO_OUTPUT)
    previous = mq.MQGI_NONE
    if group:
        answer = out.put(DATA, LO, MsgFlags=MIG)
        last = flags & LAST_MIG if logical_message else 0
        answer = out.put(DATA, LO, MsgFlags=MIG | last | (SEG if logical_message else 0))
        assert (answer.code, answer.md.MsgSeqNumber) == (OK, 2)
        previous = answer.md.GroupId
    elif logical_message:
        answer = out.put(DATA, LO, MsgFlags=SEG)
        assert answer.code == OK
        previous = answer.md.GroupId
    return out, previous


def stored(connection, queue, answer):
    """Return the message that was put, as it is on the queue."""
    browser = connection.open(queue, mq.MQOO_BROWSE)
    found = browser.get(mq.MQGMO_BROWSE_FIRST, match=mq.MQMO_MATCH_MSG_ID, MsgId=answer.md.MsgId)
    assert found.code == OK
    browser.close()
    return found


def check_place(answer, on_queue, expected, known, previous):
    """Compare what MQPUT returned, and what is on the queue, with a row of the table."""
    group, seq, offset = expected
    found = answer.place
    assert on_queue.place == found
    if group == NEW:
        assert found[0] != mq.MQGI_NONE
        assert found[0] not in known
    else:
        assert found[0] == (previous if group == PREVIOUS else group)
    assert found[1:] == (seq, offset)


@table(("mig", "seg", "seg_ok", "group", "logical_message", "expected"), LOGICAL_ORDER_ROWS)
def test_table_1_in_logical_order(connection, queue, mig, seg, seg_ok, group, logical_message, expected):
    known = {GIVEN}
    for flags, has_group, has_message in combinations(flags_of(mig, seg, seg_ok), group, logical_message):
        out, previous = in_state(connection, queue, has_group, has_message, flags)
        known.add(previous)
        answer = out.put(b"data", LO, MsgFlags=flags, GroupId=GIVEN, MsgSeqNumber=77, Offset=70)
        assert answer.code == OK, f"MsgFlags {flags:#x}"
        check_place(answer, stored(connection, queue, answer), expected, known, previous)
        known.add(answer.md.GroupId)
        out.close()


@table(("mig", "seg", "seg_ok", "group", "logical_message", "reason"), LOGICAL_ORDER_REFUSALS)
def test_what_table_1_does_not_show_is_refused(connection, queue, mig, seg, seg_ok, group, logical_message, reason):
    for flags, has_group, has_message in combinations(flags_of(mig, seg, seg_ok), group, logical_message):
        out, previous = in_state(connection, queue, has_group, has_message, flags)
        depth = connection.depth(queue)
        assert out.put(b"data", LO, MsgFlags=flags).code == failed(reason), f"MsgFlags {flags:#x}"
        assert connection.depth(queue) == depth
        # "the queue manager retains the information ... and the application can terminate them"
        last = flags & LAST_MIG if has_group else 0
        ends = []
        if has_message:
            ends.append(LAST_SEG | (MIG | last if has_group else 0))
        if has_group and not (has_message and last):
            ends.append(LAST_MIG)
        for end in ends:
            answer = out.put(b"", LO, MsgFlags=end)
            assert (answer.code, answer.md.GroupId) == (OK, previous)
        assert out.put(b"not in a group", LO).code == OK
        out.close()


@table("given", [mq.MQGI_NONE, GIVEN], ids=["MQGI_NONE", "a group id"])
@table(("mig", "seg", "seg_ok", "expected"), AS_GIVEN_ROWS)
def test_table_1_without_logical_order(connection, queue, mig, seg, seg_ok, expected, given):
    known = {GIVEN}
    for flags, has_group, has_message in combinations(flags_of(mig, seg, seg_ok), EITHER, EITHER):
        out, previous = in_state(connection, queue, has_group, has_message, flags)
        known.add(previous)
        answer = out.put(b"data", MsgFlags=flags, GroupId=given, MsgSeqNumber=5, Offset=70)
        assert answer.code.comp < 2, f"MsgFlags {flags:#x}: {answer.code}"
        group = mq.MQGI_NONE if expected[0] == "none" else NEW if given == mq.MQGI_NONE else given
        check_place(answer, stored(connection, queue, answer), (group, *expected[1:]), known, previous)
        known.add(answer.md.GroupId)
        out.close()


@table(("mig", "seg", "seg_ok", "expected"), AS_GIVEN_ROWS)
def test_put1_gives_what_table_1_says_without_logical_order(connection, queue, mig, seg, seg_ok, expected):
    for flags in flags_of(mig, seg, seg_ok):
        answer = connection.put1(queue, b"data", MsgFlags=flags, GroupId=GIVEN, MsgSeqNumber=5, Offset=70)
        assert answer.code == OK
        assert answer.place == (mq.MQGI_NONE if expected[0] == "none" else GIVEN, *expected[1:])


@table(
    ("flags", "kept"),
    [
        (MIG, 0x08),
        (LAST_MIG, 0x18),
        (SEG, 0x02),
        (LAST_SEG, 0x06),
        (LAST_MIG | LAST_SEG, 0x1E),
        (LAST_MIG | mq.MQMF_SEGMENTATION_ALLOWED, 0x19),
    ],
)
def test_the_stored_flags_say_more_than_the_callers(connection, queue, flags, kept):
    answer = connection.open(queue, mq.MQOO_OUTPUT).put(b"data", LO, MsgFlags=flags)
    assert answer.md.MsgFlags == flags
    assert stored(connection, queue, answer).md.MsgFlags == kept


def test_group_ids_are_unique_over_handles_and_connections(connect, queue):
    handles = [connect().open(queue, mq.MQOO_OUTPUT) for _ in range(3)] + [connect().open(queue, mq.MQOO_OUTPUT)] * 3
    ids = [handle.put(b"", LO, MsgFlags=LAST_MIG).md.GroupId for handle in handles]
    assert len(set(ids)) == len(ids)


# --- Table 2: the outcome when a call is not consistent with the group and segment information


def start(out, options, kind, more=0):
    """Leave something unterminated on the handle, by a put with or without logical order; returns its GroupId."""
    flags = {"group": MIG, "message": SEG, "both": MIG | SEG}[kind]
    answer = out.put(DATA, options | more, MsgFlags=flags, Persistence=mq.MQPER_NOT_PERSISTENT)
    assert answer.code == OK
    return answer.md.GroupId


# What was left, and how the call is not consistent with it: MsgFlags, more MQMD fields, more options, reason.
# {} as GroupId stands for the group's own.
INCONSISTENT = [
    ("group", mq.MQMF_NONE, {}, 0, mq.MQRC_INCOMPLETE_GROUP),
    ("group", SEG, {"GroupId": GIVEN}, 0, mq.MQRC_INCOMPLETE_GROUP),
    ("message", mq.MQMF_NONE, {}, 0, mq.MQRC_INCOMPLETE_MSG),
    ("message", MIG, {"GroupId": GIVEN}, 0, mq.MQRC_INCOMPLETE_MSG),
    ("both", mq.MQMF_NONE, {}, 0, mq.MQRC_INCOMPLETE_MSG),
    ("group", MIG, {"MsgSeqNumber": 2, "Persistence": mq.MQPER_PERSISTENT}, 0, mq.MQRC_INCONSISTENT_PERSISTENCE),
    ("message", SEG, {"Offset": 7, "Persistence": mq.MQPER_PERSISTENT}, 0, mq.MQRC_INCONSISTENT_PERSISTENCE),
    ("group", MIG, {"MsgSeqNumber": 2}, mq.MQPMO_SYNCPOINT, mq.MQRC_INCONSISTENT_UOW),
    ("message", LAST_SEG, {"Offset": 7}, mq.MQPMO_SYNCPOINT, mq.MQRC_INCONSISTENT_UOW),
]


def put_inconsistently(out, group_id, options, flags, fields):
    fields = {"Persistence": mq.MQPER_NOT_PERSISTENT, "GroupId": group_id if flags else mq.MQGI_NONE, **fields}
    return out.put(b"data", options, MsgFlags=flags, **fields)


@table(("previous", "current", "comp"), [(LO, LO, 2), (0, LO, 2), (LO, 0, 1), (0, 0, 0)], ids=["LL", "-L", "L-", "--"])
@table(("left", "flags", "fields", "more", "reason"), INCONSISTENT)
def test_table_2_put(connection, queue, left, flags, fields, more, reason, previous, current, comp):
    out = connection.open(queue, mq.MQOO_OUTPUT)
    group_id = start(out, previous, left)
    answer = put_inconsistently(out, group_id, current | more, flags, fields)
    assert answer.code == Code(comp, reason if comp else 0)
    connection.commit()
    assert connection.depth(queue) == (1 if comp == 2 else 2)


@table("first", [LO, 0], ids=["in logical order", "without"])
def test_a_group_begun_in_syncpoint_cannot_leave_it(connection, queue, first):
    out = connection.open(queue, mq.MQOO_OUTPUT)
    group_id = start(out, first, "group", mq.MQPMO_SYNCPOINT)
    assert out.put(b"", LO, MsgFlags=MIG).code == failed(mq.MQRC_INCONSISTENT_UOW)
    answer = out.put(b"", MsgFlags=MIG, GroupId=group_id, MsgSeqNumber=2)
    assert answer.code == (warning(mq.MQRC_INCONSISTENT_UOW) if first else OK)


def test_a_group_goes_on_in_the_next_unit_of_work(connection, queue):
    out = connection.open(queue, mq.MQOO_OUTPUT)
    start(out, LO, "group", mq.MQPMO_SYNCPOINT)
    for seq in (2, 3):
        assert connection.commit() == OK
        answer = out.put(b"", LO | mq.MQPMO_SYNCPOINT, MsgFlags=MIG)
        assert (answer.code, answer.md.MsgSeqNumber) == (OK, seq)


@table(
    ("left", "reason"),
    [("group", mq.MQRC_INCOMPLETE_GROUP), ("message", mq.MQRC_INCOMPLETE_MSG), ("both", mq.MQRC_INCOMPLETE_MSG)],
)
def test_table_2_close(connection, queue, left, reason):
    out = connection.open(queue, mq.MQOO_OUTPUT)
    start(out, LO, left)
    assert out.close() == warning(reason)
    assert out.close() != OK  # the handle is gone all the same
    out = connection.open(queue, mq.MQOO_OUTPUT)
    start(out, 0, left)
    assert out.close() == OK


def test_close_of_a_terminated_group_is_ok(connection, queue):
    out = connection.open(queue, mq.MQOO_OUTPUT)
    start(out, LO, "both")
    assert out.put(b"", LO, MsgFlags=MIG | LAST_SEG, Persistence=0).code == OK
    assert out.put(b"", LO, MsgFlags=LAST_MIG, Persistence=0).code == OK
    assert out.close() == OK


def test_a_call_without_logical_order_may_go_on_with_the_group(connection, queue):
    out = connection.open(queue, mq.MQOO_OUTPUT)
    group_id = start(out, LO, "group")
    answer = out.put(b"", MsgFlags=MIG, GroupId=group_id, MsgSeqNumber=2, Persistence=mq.MQPER_NOT_PERSISTENT)
    assert answer.code == OK
    assert out.put(b"", LO, MsgFlags=LAST_MIG, Persistence=0).place == (group_id, 3, 0)


def test_put1_is_not_checked(connection, queue):
    out = connection.open(queue, mq.MQOO_OUTPUT)
    group_id = start(out, LO, "both")
    assert connection.put1(queue, b"").code == OK
    assert out.put(DATA, LO, MsgFlags=MIG | SEG, Persistence=0).place == (group_id, 1, 7)


def test_a_put_without_logical_order_replaces_the_state(connection, queue):
    """The restart: name GroupId and MsgSeqNumber once, then go on in logical order."""
    out = connection.open(queue, mq.MQOO_OUTPUT)
    assert out.put(b"", MsgFlags=MIG, GroupId=GIVEN, MsgSeqNumber=41).code == OK
    assert out.put(b"", LO, MsgFlags=MIG).place == (GIVEN, 42, 0)
    assert out.put(b"", LO, MsgFlags=LAST_MIG).place == (GIVEN, 43, 0)
    assert out.put(b"", LO, MsgFlags=LAST_MIG).place[0] != GIVEN


def test_a_put_without_logical_order_restarts_inside_a_logical_message(connection, queue):
    out = connection.open(queue, mq.MQOO_OUTPUT)
    assert out.put(b"1234", MsgFlags=MIG | SEG, GroupId=GIVEN, MsgSeqNumber=3, Offset=100).code == OK
    assert out.put(b"56", LO, MsgFlags=MIG | LAST_SEG).place == (GIVEN, 3, 104)
    assert out.put(b"", LO, MsgFlags=LAST_MIG).place == (GIVEN, 4, 0)


def test_segments_agree_on_the_last_message_flag(connection, queue):
    """MQRC_INCOMPLETE_MSG: "LAST_MSG_IN_GROUP flag differs from the previous segment" (q042750)."""
    out = connection.open(queue, mq.MQOO_OUTPUT)
    start(out, LO, "both")
    assert out.put(b"data", LO, MsgFlags=LAST_MIG | LAST_SEG, Persistence=0).code == failed(mq.MQRC_INCOMPLETE_MSG)


def test_a_failed_put_leaves_the_state_as_it_was(connection, queue):
    out = connection.open(queue, mq.MQOO_OUTPUT)
    group_id = start(out, LO, "group")
    assert out.put(b"", LO).code == failed(mq.MQRC_INCOMPLETE_GROUP)
    assert out.put(b"", LO, MsgFlags=MIG, Persistence=1).code == failed(mq.MQRC_INCONSISTENT_PERSISTENCE)
    assert out.put(b"", LO, MsgFlags=LAST_MIG, Persistence=0).place == (group_id, 2, 0)


def test_two_messages_may_have_one_sequence_number(connection, queue):
    for _ in range(2):
        assert connection.put1(queue, b"twice", MsgFlags=MIG, GroupId=GIVEN, MsgSeqNumber=4).code == OK
    assert [found.place for found in connection.browse(queue)] == [(GIVEN, 4, 0)] * 2


@table(("version", "options", "expected"), [(1, LO, failed(mq.MQRC_WRONG_MD_VERSION)), (1, 0, OK)])
def test_logical_order_needs_a_version_2_descriptor(connection, queue, mqi, version, options, expected):
    out = connection.open(queue, mq.MQOO_OUTPUT)
    assert out.put(b"", options, md=mqi.md(Version=version)).code == expected


@table(
    ("fields", "reason"),
    [
        ({"MsgFlags": MIG, "MsgSeqNumber": 0}, mq.MQRC_MSG_SEQ_NUMBER_ERROR),
        ({"MsgFlags": MIG, "MsgSeqNumber": 1_000_000_000}, mq.MQRC_MSG_SEQ_NUMBER_ERROR),
        ({"MsgFlags": SEG, "Offset": -1}, mq.MQRC_OFFSET_ERROR),
        ({"MsgFlags": SEG, "Offset": 1_000_000_000}, mq.MQRC_OFFSET_ERROR),
        ({"MsgFlags": 0x20}, mq.MQRC_MSG_FLAGS_ERROR),
        ({"MsgFlags": 0x0800}, mq.MQRC_MSG_FLAGS_ERROR),
    ],
)
def test_fields_out_of_range(connection, queue, fields, reason):
    out = connection.open(queue, mq.MQOO_OUTPUT)
    assert out.put(b"data", **fields).code == failed(reason)
    assert connection.depth(queue) == 0


@table("flag", [0x00100000, 0x40000000])
def test_flags_of_the_accept_mask_are_accepted(connection, queue, flag):
    assert connection.open(queue, mq.MQOO_OUTPUT).put(b"", MsgFlags=flag).code == OK


def test_a_sequence_number_that_would_become_too_large_is_refused(connection, queue):
    out = connection.open(queue, mq.MQOO_OUTPUT)
    assert out.put(b"", MsgFlags=MIG, GroupId=GIVEN, MsgSeqNumber=999_999_999).code == OK
    assert out.put(b"", LO, MsgFlags=MIG).code == failed(mq.MQRC_MSG_SEQ_NUMBER_ERROR)


def test_an_offset_that_would_become_too_large_is_refused(connection, queue):
    out = connection.open(queue, mq.MQOO_OUTPUT)
    assert out.put(b"12", MsgFlags=SEG, GroupId=GIVEN, Offset=999_999_999).code == OK
    assert out.put(b"", LO, MsgFlags=LAST_SEG).code == failed(mq.MQRC_OFFSET_ERROR)


def test_only_the_last_segment_may_be_empty(connection, queue):
    out = connection.open(queue, mq.MQOO_OUTPUT)
    assert out.put(b"", LO, MsgFlags=SEG).code == failed(mq.MQRC_SEGMENT_LENGTH_ZERO)
    assert out.put(b"first", LO, MsgFlags=SEG).code == OK
    assert out.put(b"", LO, MsgFlags=SEG).code == failed(mq.MQRC_SEGMENT_LENGTH_ZERO)
    assert out.put(b"", LO, MsgFlags=LAST_SEG).code == OK


@table("option", [mq.MQCNO_RECONNECT, mq.MQCNO_RECONNECT_Q_MGR])
def test_logical_order_is_incompatible_with_a_connection_that_is_made_again_by_the_client(connect, queue, option):
    """IBM MQ, topic q045460; messages without it can be put."""
    out = connect(options=option | mq.MQCNO_HANDLE_SHARE_BLOCK).open(queue, mq.MQOO_OUTPUT)
    assert out.put(b"", LO, MsgFlags=MIG).code == failed(mq.MQRC_RECONNECT_INCOMPATIBLE)
    assert out.put(b"", MsgFlags=MIG, MsgSeqNumber=1).code == OK
