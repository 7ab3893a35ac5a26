"""The reader finds what it is there to find: a campaign that cannot fail shows nothing."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from mqgroups.mqi import constants as mq
from tests.faults.pattern import Pattern, wrong_with_groups, wrong_with_handled, wrong_with_whole_groups
from tests.faults.reader import (
    Seen,
    got_so_far,
    is_anchor,
    looks_whole,
    places_of,
    put_so_far,
    says_nothing,
    wrong_with_group,
)
from tests.faults.report import TakenOut
from tests.faults.result import Result

GROUP = b"G" * 24
OTHER = b"H" * 24
IN_GROUP = mq.MQMF_MSG_IN_GROUP
LAST = mq.MQMF_LAST_MSG_IN_GROUP
SEGMENT = mq.MQMF_SEGMENT
LAST_SEGMENT = mq.MQMF_LAST_SEGMENT
PAYLOADS = [b"001-segments", b"002", b"003"]


def seen(number, offset, flags, data, group_id=GROUP):
    return Seen(group_id, number, offset, flags, mq.MQPER_PERSISTENT, data)


WHOLE = [
    seen(1, 0, IN_GROUP | SEGMENT, b"001-"),
    seen(1, 4, IN_GROUP | SEGMENT, b"segm"),
    seen(1, 8, IN_GROUP | SEGMENT | LAST_SEGMENT, b"ents"),
    seen(2, 0, IN_GROUP, b"002"),
    seen(3, 0, LAST, b"003"),
]


def test_a_whole_group_is_one():
    assert wrong_with_group(WHOLE, PAYLOADS) == ""


@pytest.mark.parametrize(
    ("group", "says"),
    [
        ([], "no group"),
        (WHOLE[1:], "message 1 offset 4 where 1 offset 0 belongs"),
        (WHOLE[:1] + WHOLE[2:], "message 1 offset 8 where 1 offset 4 belongs"),
        (WHOLE[:3] + WHOLE[4:], "message 3 offset 0 where 2 offset 0 belongs"),
        (WHOLE[:2], "message 1 has no last segment"),
        (WHOLE[:4], "2 messages of 3"),
        (WHOLE[:4] + WHOLE[3:], "message 2 offset 0 where 3 offset 0 belongs"),
        ([*WHOLE, WHOLE[4]], "message 3 offset 0 where 4 offset 0 belongs"),
        ([*WHOLE[:4], seen(3, 0, IN_GROUP, b"003")], "message 3 of 3: last is False"),
        ([*WHOLE[:3], seen(2, 0, LAST, b"002"), WHOLE[4]], "message 2 of 3: last is True"),
        ([*WHOLE[:4], seen(3, 0, LAST, b"00?")], "or other data"),
        ([*WHOLE[:4], seen(3, 0, LAST, b"003", OTHER)], "several GroupIds"),
        ([*WHOLE[:4], replace(WHOLE[4], persistence=0)], "several persistences"),
    ],
)
def test_what_is_wrong_with_a_group_is_found(group, says):
    assert says in wrong_with_group(group, PAYLOADS)


def test_where_the_messages_of_groups_are_is_seen():
    at_one = [replace(one, at="QM1") for one in WHOLE]
    at_two = [*at_one[:4], replace(at_one[4], at="QM3")]
    other = [replace(one, at="QM2", group_id=OTHER) for one in WHOLE]
    assert wrong_with_group(at_one, PAYLOADS) == ""
    assert "split: [(1, 'QM1'), (1, 'QM1'), (1, 'QM1'), (2, 'QM1'), (3, 'QM3')]" in wrong_with_group(at_two, PAYLOADS)
    found = Result()
    found.note_places(places_of(at_two + other))
    found.note_places(places_of(at_one))
    assert (found.places, found.groups, found.split) == ({"QM1 QM3": 1, "QM2": 1, "QM1": 1}, 3, 1)


@pytest.mark.parametrize(
    ("safeties", "places", "stopped", "noticed"),
    [
        (("pin",), {"QM1": 5}, 3, True),
        (("pin",), {"QM1": 5}, 0, False),
        (("pin", "comparison"), {"QM1": 4, "QM1 QM2": 1}, 0, True),
        (("pin", "comparison"), {"QM1": 4, "QM2": 1}, 3, False),
    ],
)
def test_a_campaign_without_a_safety_has_to_find_what_that_lets_happen(safeties, places, stopped, noticed):
    total = Result(runs=5, places=places, errors={"QueueManagerChanged": stopped}, wrong=["case 1: x", "case 1: y"])
    taken_out = TakenOut(safeties, total)
    assert taken_out.noticed == noticed
    assert not TakenOut(safeties, replace(total, wrong=[])).noticed
    assert "1 of 5 cases failed" in str(taken_out)
    assert ("NOT NOTICED" in str(taken_out)) != noticed


@pytest.mark.parametrize(
    ("group", "whole"),
    [
        ([], False),
        (WHOLE, True),
        (WHOLE[::-1], True),
        (WHOLE[:4], False),
        (WHOLE[:2], False),
        (WHOLE[1:], False),
        (WHOLE[:3] + WHOLE[4:], False),
        ([*WHOLE, seen(4, 0, LAST, b"004")], False),
        ([*WHOLE[:4], seen(3, 0, LAST | SEGMENT, b"003")], False),
    ],
)
def test_what_a_queue_manager_takes_for_a_whole_group_looks_whole(group, whole):
    assert looks_whole(group) == whole


@pytest.mark.parametrize(
    ("group", "says"),
    [
        (WHOLE, ""),
        (WHOLE[:4], ""),
        ([*WHOLE, WHOLE[4]], "doubled: [(1, 0), (1, 4), (1, 8), (2, 0), (3, 0), (3, 0)]"),
        ([*WHOLE[:3], seen(2, 0, LAST, b"002")], "a group looks whole and is not: message 2 of 3: last is True"),
        ([*WHOLE[:4], seen(3, 0, LAST, b"00?")], "a group looks whole and is not: 3 messages of 3, or other data"),
    ],
)
def test_what_must_never_be_there_is_found(group, says):
    wrong = wrong_with_whole_groups([*group, seen(2, 0, IN_GROUP, b"", OTHER)], PAYLOADS)
    assert wrong.startswith(says) if says else wrong == ""


def test_violations_are_counted_by_kind():
    result = Result(
        wrong=[
            "put/classic/plain drop-after@12: 2 messages of 3, or other data: [b'001', b'002']",
            "put/classic/plain drop-after@14: 1 messages of 3, or other data: [b'001']",
            "foreign put/classic/plain MQCMIT-after@3 killed: not done: errors []",
        ]
    )
    assert result.kinds() == {"… messages of …, or other data": 2, "not done": 1}


def test_an_anchor_is_no_record():
    assert is_anchor(b'{"state":"anchor","epoch":7}')
    assert not is_anchor(b'{"state":"in group","epoch":7}')


@pytest.mark.parametrize(
    ("lines", "says"),
    [([b"47 001"], ""), ([], ""), ([b"47 002"], "handled [b'002']"), ([b"47 001", b"47 001"], "handled")],
)
def test_what_was_handled_on_the_way_may_end_early_and_no_more(lines, says):
    wrong = wrong_with_handled(lines, Pattern("get", "classic", False, 2, 2), complete=False)
    assert says in wrong if says else wrong == ""


def test_a_group_too_many_or_too_few_is_found():
    payloads = Pattern("put", "classic", True, 2, 2).payloads()
    group = [
        seen(1, 0, IN_GROUP | SEGMENT, b"001-"),
        seen(1, 4, IN_GROUP | SEGMENT | LAST_SEGMENT, b"segments"),
        seen(2, 0, LAST | SEGMENT | LAST_SEGMENT, b"002-segments"),
    ]
    other = [replace(one, group_id=OTHER) for one in group]
    assert wrong_with_groups(group + other, payloads, 2) == ""
    assert "2 groups, 1 were to be put" in wrong_with_groups(group + other, payloads, 1)
    assert "1 groups, 2 were to be put" in wrong_with_groups(group, payloads, 2)
    assert wrong_with_groups(group + other[1:], payloads, 2) == "message 1 offset 4 where 1 offset 0 belongs"


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ([b"47 001", b"47 002"], ""),
        ([b"47 001"], "handled [b'001'], expected"),
        ([b"47 001", b"47 001", b"47 002"], "handled [b'001', b'001', b'002']"),
        ([b"47 002", b"47 001"], "handled [b'002', b'001']"),
        ([b"47 001", b"47 002", b"48 001", b"48 002"], "2 groups handled, 1 put"),
        ([], "0 groups handled, 1 put"),
    ],
)
def test_what_is_wrong_with_what_was_handled_is_found(lines, says):
    wrong = wrong_with_handled(lines, Pattern("get", "classic", False, 2, 2))
    assert says in wrong if says else wrong == ""


@pytest.mark.parametrize(
    ("count", "put", "got"), [(0, (0, 0), (3, 0)), (1, (0, 4), (2, 0)), (3, (1, 0), (0, 8)), (5, (3, 0), (0, 0))]
)
def test_how_far_a_group_has_come_is_seen_on_the_queue(count, put, got):
    """The first so many messages were put; or they are left, the last of the group first."""
    beside = [seen(7, 0, IN_GROUP, b"", OTHER)]
    assert put_so_far(WHOLE[:count] + beside, GROUP) == put
    assert got_so_far(beside + WHOLE[len(WHOLE) - count :], GROUP, 3) == got


def on_status_queue(state, msg_id, correl_id=b"", offset=0, flags=0, checkpoint=None, suspect=None):
    data = json.dumps({"state": state, "checkpoint": checkpoint, "suspect": suspect}).encode()
    return replace(seen(1, offset, flags, data), msg_id=msg_id, correl_id=correl_id)


ANCHOR = on_status_queue("anchor", b"a")
COMPLETED = on_status_queue("completed", b"r", b"a")
FIRST = on_status_queue("in group", b"s", b"a", 0, SEGMENT)
CHAIN = [FIRST, on_status_queue("completed", b"t", b"a", len(FIRST.data), SEGMENT | LAST_SEGMENT)]


@pytest.mark.parametrize(
    "lying", [[ANCHOR, COMPLETED], [COMPLETED, ANCHOR], [on_status_queue("idle", b"r", b"a"), ANCHOR], [ANCHOR, *CHAIN]]
)
def test_a_record_that_nobody_would_miss_says_nothing(lying):
    assert says_nothing(lying)


@pytest.mark.parametrize(
    "lying",
    [
        [],
        [ANCHOR],
        [COMPLETED],
        [ANCHOR, COMPLETED, replace(COMPLETED, msg_id=b"s")],
        [ANCHOR, replace(ANCHOR, msg_id=b"b"), COMPLETED],
        [ANCHOR, replace(COMPLETED, correl_id=b"b")],
        [ANCHOR, on_status_queue("in group", b"r", b"a")],
        [ANCHOR, on_status_queue("completed", b"r", b"a", checkpoint={"json": 3})],
        [ANCHOR, on_status_queue("idle", b"r", b"a", suspect={"msg_id": "00"})],
        [ANCHOR, CHAIN[0]],
        [ANCHOR, CHAIN[1]],
        [ANCHOR, CHAIN[0], replace(CHAIN[1], group_id=OTHER)],
        [ANCHOR, CHAIN[0], replace(CHAIN[1], msg_flags=SEGMENT)],
    ],
)
def test_anything_else_on_a_status_queue_does(lying):
    assert not says_nothing(lying)
