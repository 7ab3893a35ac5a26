"""What lies there of a group, and what follows from it: the same in whatever order it was browsed."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embedded_tests.tables import table
from mqgroups.core.model import MsgFlag, Role
from mqgroups.operate.rules.inspection import Browsed, BrowsedInstance, GroupInspection, MessagePlace, MessageRun
from mqgroups.operate.rules.salvage import DOUBTS, CannotSalvage, Obstacle, interrupted_at, movable

G = b"G" * 24
MIG = MsgFlag.MSG_IN_GROUP
LAST = MIG | MsgFlag.LAST_MSG_IN_GROUP
SEG = MsgFlag.SEGMENT
LAST_SEG = SEG | MsgFlag.LAST_SEGMENT


def message(number, flags=MIG, offset=0, length=10, **more):
    """Return a physical message as it is browsed."""
    values = {"persistence": 1, "backout_count": 0, "put_appl_name": "app", "put_time": "2026010112000000"}
    return Browsed(G, number, offset, length, flags, **{**values, **more})


def inspected(messages, group_id=G):
    """Return the inspection of a group after these messages."""
    group = GroupInspection(group_id)
    for each in messages:
        group.add(each)
    return group


def on_queue(
    *groups: GroupInspection, q_mgr_name: Any = "QM1", **more: Any
) -> tuple[tuple[GroupInspection, ...], BrowsedInstance]:
    """Return these groups, and what was seen of their queue."""
    return groups, BrowsedInstance(q_mgr_name, "Q", "Q", **{"hidden": 0, "open_input": 0, "open_output": 0, **more})


def position_of(role, messages):
    """Return where an owner of a group stands of which these messages are there."""
    found = interrupted_at(role, *on_queue(inspected(messages)), group_id=None)
    assert found is not None
    return found[1]


WALK = [
    message(1), message(2, MIG | SEG), message(2, MIG | SEG, 10), message(2, MIG | LAST_SEG, 20),
    message(3), message(4, LAST | SEG), message(4, LAST | LAST_SEG, 10, 0),
]  # fmt: skip


@given(st.permutations(WALK))
def test_a_group_is_whole_in_whatever_order_its_messages_are_browsed(messages):
    group = inspected(messages)
    assert group.runs == (MessageRun(MessagePlace(1), MessagePlace(5)),)
    assert (group.messages, group.last, group.has_head, group.has_end, group.is_consistent) == (7, 4, True, True, True)


@given(st.permutations([*WALK, WALK[2]]), st.integers(0, 8))
def test_a_group_that_is_pickled_in_the_middle_counts_the_same(messages, many):
    group, through = GroupInspection(G), GroupInspection(G)
    for number, each in enumerate(messages):
        if number == many:
            through = pickle.loads(pickle.dumps(through))
        group.add(each)
        through.add(each)
        assert through.is_complete == group.is_complete
    assert through == group


@given(st.permutations(WALK), st.integers(0, 7))
def test_what_is_there_and_what_is_missing_make_up_the_group(messages, many):
    group = inspected(messages[:many])
    covered = sum(end > first for first, end in group.runs)
    assert covered == len(group.runs) == len(group.gaps) + bool(many)
    for run in group.runs:
        assert any(MessagePlace(each.msg_seq_number, each.offset) == run.first for each in messages[:many])
    for gap in group.gaps:
        assert any(MessagePlace(each.msg_seq_number, each.offset) == gap.first for each in messages[many:])


@given(st.permutations([*WALK, WALK[2]]))
def test_a_message_that_is_there_twice_is_seen_in_any_order(messages):
    group = inspected(messages)
    assert (group.overlapping, group.is_consistent) == (1, False)


def test_a_segment_that_reaches_into_the_next_is_no_part_of_the_group():
    assert inspected([message(1, MIG | SEG, 5), message(1, MIG | SEG, 0, 8)]).overlapping == 1


def test_times_and_putters_are_gathered():
    group = inspected(
        [
            message(1, put_appl_name="b", put_time="2026010112000002", backout_count=2),
            message(2, put_appl_name="a", put_time=""),
            message(3, put_appl_name="b", put_time="2026010112000001"),
        ]
    )
    assert (group.put_by, group.first_put, group.last_put) == (("b", "a"), "2026010112000001", "2026010112000002")
    assert group.backout_count == 2
    many = inspected([message(number, put_appl_name=str(number)) for number in range(1, 100)])
    assert many.put_by == tuple("1 2 3 4 5 6 7 8 9 10".split())


@table(
    ("messages", "msg_seq_number", "offset", "in_last_message"),
    [
        (WALK[:1], 1, 0, False),
        (WALK[:2], 1, 10, False),
        (WALK[:3], 1, 20, False),
        (WALK[:4], 2, 0, False),
        (WALK[:5], 3, 0, False),
        (WALK[:6], 3, 10, True),
    ],
)
def test_a_producer_stands_behind_the_last_message(messages, msg_seq_number, offset, in_last_message):
    position = position_of(Role.PUT, messages)
    assert (position.group_id, position.msg_seq_number, position.offset) == (G, msg_seq_number, offset)
    assert (position.in_last_message, position.retained) == (in_last_message, False)


@table(
    ("messages", "msg_seq_number", "offset"),
    [(WALK[1:], 1, 0), (WALK[2:], 1, 10), (WALK[4:], 2, 0), (WALK[6:], 3, 10)],
)
def test_a_consumer_stands_before_the_first_message(messages, msg_seq_number, offset):
    position = position_of(Role.GET, messages)
    assert (position.msg_seq_number, position.offset, position.in_last_message) == (msg_seq_number, offset, False)


def test_the_queue_manager_that_made_a_group_id_is_its_first_twelve_characters():
    ours = inspected(WALK[:1], b"AMQ QUEUE.MANAGE12345678")
    assert interrupted_at(Role.PUT, *on_queue(ours, q_mgr_name="QUEUE.MANAGER.ONE"), group_id=None)
    with pytest.raises(CannotSalvage) as caught:
        interrupted_at(Role.PUT, *on_queue(ours, q_mgr_name="QUEUE"), group_id=None)
    assert caught.value.because is Obstacle.OTHER_Q_MGR


@table(
    ("role", "use", "doubted"),
    [
        (Role.PUT, {"hidden": 1}, True),
        (Role.PUT, {"hidden": None, "unseen": ["2035"]}, True),
        (Role.PUT, {"open_output": 1}, True),
        (Role.PUT, {"open_input": 1}, False),
        (Role.GET, {"hidden": 1}, True),
        (Role.GET, {"hidden": None, "unseen": ["2035"]}, True),
        (Role.GET, {"open_input": 1}, True),
        (Role.GET, {"open_output": 1}, False),
        (Role.GET, {"open_input": None}, True),
    ],
)
def test_only_who_could_change_where_an_owner_stands_is_in_the_way(role, use, doubted):
    group = inspected(WALK[:2] if role is Role.PUT else WALK[2:])
    seen = on_queue(group, **use)
    accepted = interrupted_at(role, *seen, group_id=None, accepted=DOUBTS)
    assert accepted is not None
    if not doubted:
        assert interrupted_at(role, *seen, group_id=None) == accepted
        return
    with pytest.raises(CannotSalvage) as caught:
        interrupted_at(role, *seen, group_id=None)
    assert caught.value.because is Obstacle.IN_USE


@table("use", ["hidden", "open_input", "open_output"])
def test_a_group_is_moved_when_nobody_is_at_work(use):
    group = inspected(WALK[3:])
    assert movable(G, *on_queue(group)) == group
    with pytest.raises(CannotSalvage):
        movable(G, *on_queue(group, **{use: 1}))
    assert movable(G, *on_queue(group, **{use: 1}), accepted={Obstacle.IN_USE}) == group


def test_what_is_no_doubt_is_not_accepted():
    gap = on_queue(inspected([message(1), message(3)]))
    with pytest.raises(CannotSalvage) as caught:
        interrupted_at(Role.PUT, *gap, group_id=None, accepted=frozenset(Obstacle))
    assert caught.value.because is Obstacle.GAP


def test_a_queue_without_interrupted_groups_has_none():
    whole = on_queue(inspected(WALK))
    for role in Role:
        assert interrupted_at(role, *whole, group_id=None, accepted=DOUBTS) is None
