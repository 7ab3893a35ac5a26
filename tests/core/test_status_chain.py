"""What lies on a status queue, and how the next record is put; against the table in the module and IBM's note (q026290)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embedded_tests.tables import table
from mqgroups.core.model import GROUP_ID_NONE, MsgFlag, Role
from mqgroups.core.status import RecordState, StatusRecord
from mqgroups.core.status_chain import (
    MOST_BYTES,
    MOST_SEGMENTS,
    ChainBroken,
    FoundMessage,
    LookAgain,
    Pair,
    QueueContents,
    RecordHidden,
    RecordPut,
    StoredRecord,
    after_record_put,
    contents_of,
    next_record_put,
    strangers,
)

GROUP = b"G" * 24
MIDDLE, LAST = MsgFlag.SEGMENT, MsgFlag.SEGMENT | MsgFlag.LAST_SEGMENT
MESSAGE = StoredRecord(b"m" * 24)
OPEN = StoredRecord(b"s" * 24, GROUP, 3, 300)
LONG = StoredRecord(b"s" * 24, GROUP, MOST_SEGMENTS - 1, 300)
HEAVY = StoredRecord(b"s" * 24, GROUP, 2, MOST_BYTES)
ENDED = StoredRecord(b"s" * 24, GROUP, 3, 300, ended=True)


@table(
    ("now", "segmented", "expected"),
    [
        (None, False, RecordPut(False)),
        (None, True, RecordPut(False, msg_flags=MIDDLE)),
        (MESSAGE, False, RecordPut(True)),
        (MESSAGE, True, RecordPut(True, msg_flags=MIDDLE)),
        (OPEN, True, RecordPut(False, GROUP, 300, MIDDLE)),
        (OPEN, False, RecordPut(False, GROUP, 300, LAST)),
        (LONG, True, RecordPut(False, GROUP, 300, LAST)),
        (HEAVY, True, RecordPut(False, GROUP, MOST_BYTES, LAST)),
        (ENDED, False, RecordPut(True)),
        (ENDED, True, RecordPut(True, msg_flags=MIDDLE)),
    ],
)
def test_the_next_record_is_put_by_the_table(now, segmented, expected):
    assert next_record_put(now, segmented=segmented) == expected


def record(state=RecordState.IN_GROUP, epoch=1, checkpoint=None):
    group_id = GROUP if state is RecordState.IN_GROUP else GROUP_ID_NONE
    return StatusRecord(Role.PUT, "N", state, "owner", epoch, 1, "Q", group_id, 1, "QM", checkpoint=checkpoint)


A, B = b"a" * 24, b"b" * 24


def segment(offset, length, flags=MIDDLE, group_id=GROUP, says=None, anchor=A):
    return FoundMessage(b"%024d" % offset, anchor, group_id, offset, length, flags, says or record())


def message(msg_id, says, anchor=A):
    return FoundMessage(msg_id * 24, anchor, GROUP_ID_NONE, 0, 500, MsgFlag.NONE, says)


PLAIN = message(b"p", record())
OTHER = message(b"q", record(), B)
IDLE = message(b"i", record(RecordState.IDLE, epoch=9), B)
COMPLETED = message(b"c", record(RecordState.COMPLETED), B)
WITH_CHECKPOINT = message(b"w", record(RecordState.COMPLETED, checkpoint=7))
ANCHOR = message(b"a", record(RecordState.ANCHOR), bytes(24))
SECOND_ANCHOR = message(b"b", record(RecordState.ANCHOR), bytes(24))


@table(
    ("messages", "expected"),
    [
        ([], None),
        ([PLAIN], StoredRecord(b"p" * 24)),
        ([segment(0, 10)], StoredRecord(b"%024d" % 0, GROUP, 1, 10)),
        ([segment(10, 5), segment(0, 10)], StoredRecord(b"%024d" % 10, GROUP, 2, 15)),
        ([segment(0, 10), segment(10, 5, LAST)], StoredRecord(b"%024d" % 10, GROUP, 2, 15, ended=True)),
    ],
)
def test_what_lies_there_is_a_record_or_a_chain(messages, expected):
    assert contents_of(messages, seen_twice=True)[0] == QueueContents(expected)
    for order in ([*messages, ANCHOR], [ANCHOR, *messages]):
        if messages:
            assert contents_of(order)[0] == QueueContents(expected, A)


def test_of_a_chain_the_last_segment_counts():
    last = record(epoch=3)
    assert contents_of([segment(10, 5, says=last), segment(0, 10), ANCHOR])[1] == last


@table("seen_twice", [False, True])
@table(
    "messages",
    [[ANCHOR], [ANCHOR, SECOND_ANCHOR, PLAIN], [SECOND_ANCHOR, ANCHOR, IDLE], [ANCHOR, IDLE]],
)
def test_an_anchor_without_its_record_says_that_one_is_hidden(messages, seen_twice):
    with pytest.raises(RecordHidden):
        contents_of(messages, seen_twice=seen_twice)


@table("messages", [[PLAIN], [ANCHOR, PLAIN, IDLE]])
def test_a_record_without_its_anchor_is_believed_when_it_is_seen_twice(messages):
    with pytest.raises(LookAgain):
        contents_of(messages)
    assert contents_of(messages, seen_twice=True)[1] == PLAIN.record


@table("speaking", [PLAIN, WITH_CHECKPOINT])
@table("silent", [IDLE, COMPLETED])
def test_a_record_that_says_nothing_is_a_leftover_beside_one_that_does(speaking, silent):
    expected = QueueContents(StoredRecord(speaking.msg_id), A, (Pair(StoredRecord(silent.msg_id), B),))
    assert contents_of([silent, ANCHOR, speaking, SECOND_ANCHOR]) == (expected, speaking.record)
    assert contents_of([speaking, ANCHOR, SECOND_ANCHOR, silent]) == (expected, speaking.record)


def test_of_two_records_that_say_nothing_ones_own_counts_and_else_the_later_epoch():
    mine = message(b"m", replace(record(RecordState.COMPLETED), owner_id="me"))
    messages = [IDLE, SECOND_ANCHOR, mine, ANCHOR]
    assert contents_of(messages)[1] == IDLE.record
    assert contents_of(messages, [("me", 1, 2), ("me", 1, 1)])[1] == mine.record


def test_a_record_that_speaks_counts_before_ones_own():
    mine = message(b"m", replace(record(RecordState.COMPLETED), owner_id="me"), B)
    assert contents_of([PLAIN, ANCHOR, mine, SECOND_ANCHOR], [("me", 1, 1)])[1] == PLAIN.record


@table(
    ("messages", "several"),
    [
        ([PLAIN, OTHER], True),
        ([PLAIN, PLAIN], True),
        ([PLAIN, WITH_CHECKPOINT], True),
        ([PLAIN, segment(0, 10)], True),
        ([segment(0, 10), segment(0, 10, group_id=b"H" * 24)], True),
        ([segment(10, 5)], False),
        ([segment(0, 10), segment(15, 5)], False),
        ([segment(0, 10), segment(10, 5), segment(10, 5)], False),
    ],
)
def test_what_is_neither_is_told(messages, several):
    with pytest.raises(ChainBroken) as caught:
        contents_of([*messages, ANCHOR], seen_twice=True)
    assert caught.value.several is several


@given(st.lists(st.tuples(st.booleans(), st.integers(1, MOST_BYTES // 4)), max_size=120))
def test_any_walk_leaves_one_readable_record_and_no_chain_grows_without_bound(steps):
    queue: list[FoundMessage] = []
    now = None
    for number, (segmented, length) in enumerate(steps):
        put = next_record_put(now, segmented=segmented)
        if put.takes:
            assert now is not None
            assert not now.is_open
            queue, now = [], None
        msg_id = b"%024d" % number
        group_id = (put.group_id if any(put.group_id) else b"%024d" % -number) if put.msg_flags else GROUP_ID_NONE
        queue.append(FoundMessage(msg_id, A, group_id, put.offset, length, put.msg_flags, record(epoch=number)))
        now = after_record_put(now, put, msg_id, group_id, length)
        assert contents_of([*queue, ANCHOR]) == (QueueContents(now, A), record(epoch=number))
        assert len(queue) <= MOST_SEGMENTS


def test_records_of_other_users_go_with_the_anchors_that_only_they_have():
    own, own_anchor = replace(PLAIN, user="loader"), replace(ANCHOR, user="before")
    forged = [replace(OTHER, user="x"), replace(SECOND_ANCHOR, user="x"), replace(IDLE, user="x", correl_id=A)]
    assert set(map(id, strangers([own, own_anchor, *forged], "loader"))) == set(map(id, forged))
