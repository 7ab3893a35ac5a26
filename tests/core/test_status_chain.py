"""What lies on a status queue, and how the next record is put; against the table in the module and IBM's note (q026290)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqgroups.core.model import GROUP_ID_NONE, MsgFlag
from mqgroups.core.status_chain import (
    MOST_BYTES,
    MOST_SEGMENTS,
    ChainBroken,
    Kept,
    Lying,
    RecordPut,
    after_record_put,
    kept,
    next_record_put,
)

GROUP = b"G" * 24
MIDDLE, LAST = MsgFlag.SEGMENT, MsgFlag.SEGMENT | MsgFlag.LAST_SEGMENT
MESSAGE = Kept(b"m" * 24)
OPEN = Kept(b"s" * 24, GROUP, 3, 300)
LONG = Kept(b"s" * 24, GROUP, MOST_SEGMENTS - 1, 300)
HEAVY = Kept(b"s" * 24, GROUP, 2, MOST_BYTES)
ENDED = Kept(b"s" * 24, GROUP, 3, 300, ended=True)


@pytest.mark.parametrize(
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


def segment(offset, length, flags=MIDDLE, group_id=GROUP):
    return Lying(b"%024d" % offset, group_id, offset, length, flags)


PLAIN = Lying(b"p" * 24, GROUP_ID_NONE, 0, 500, MsgFlag.NONE)


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ([], None),
        ([PLAIN], (Kept(b"p" * 24), [0])),
        ([segment(0, 10)], (Kept(b"%024d" % 0, GROUP, 1, 10), [0])),
        ([segment(10, 5), segment(0, 10)], (Kept(b"%024d" % 10, GROUP, 2, 15), [1, 0])),
        ([segment(0, 10), segment(10, 5, LAST)], (Kept(b"%024d" % 10, GROUP, 2, 15, ended=True), [0, 1])),
    ],
)
def test_what_lies_there_is_a_record_or_a_chain(messages, expected):
    assert kept(messages) == expected


@pytest.mark.parametrize(
    ("messages", "several"),
    [
        ([PLAIN, PLAIN], True),
        ([PLAIN, segment(0, 10)], True),
        ([segment(0, 10), segment(0, 10, group_id=b"H" * 24)], True),
        ([segment(10, 5)], False),
        ([segment(0, 10), segment(15, 5)], False),
        ([segment(0, 10), segment(10, 5), segment(10, 5)], False),
    ],
    ids=["two records", "a record and a segment", "two chains", "no first segment", "a gap", "a segment twice"],
)
def test_what_is_neither_is_told(messages, several):
    with pytest.raises(ChainBroken) as caught:
        kept(messages)
    assert caught.value.several is several


@given(st.lists(st.tuples(st.booleans(), st.integers(1, MOST_BYTES // 4)), max_size=120))
def test_any_walk_leaves_one_readable_record_and_no_chain_grows_without_bound(steps):
    queue: list[Lying] = []
    now = None
    for number, (segmented, length) in enumerate(steps):
        put = next_record_put(now, segmented=segmented)
        if put.takes:
            assert now is not None
            assert not now.is_open
            queue, now = [], None
        msg_id = b"%024d" % number
        group_id = (put.group_id if any(put.group_id) else b"%024d" % -number) if put.msg_flags else GROUP_ID_NONE
        queue.append(Lying(msg_id, group_id, put.offset, length, put.msg_flags))
        now = after_record_put(now, put, msg_id, group_id, length)
        found = kept(queue)
        assert found is not None
        assert found[0] == now
        assert queue[found[1][-1]].msg_id == msg_id
        assert len(queue) <= MOST_SEGMENTS
