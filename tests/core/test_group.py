"""The plan of each put and get, by table; and walks through whole groups with cuts at any place."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embedded_tests.tables import table
from mqgroups.core.group import (
    AT_START,
    GetPlan,
    GroupPosition,
    PutPlan,
    after_messages,
    follows,
    next_get,
    next_put,
)
from mqgroups.core.model import GROUP_ID_NONE, MAX_MSG_SEQ_NUMBER, MatchOption, MsgFlag

GROUP = bytes(range(24))
OTHER = bytes(range(1, 25))
MIDDLE = MsgFlag.MSG_IN_GROUP
LAST = MsgFlag.MSG_IN_GROUP | MsgFlag.LAST_MSG_IN_GROUP
RETAINED = GroupPosition(GROUP, 7, retained=True)
FROM_RECORD = GroupPosition(GROUP, 7, retained=False)


@table(
    ("position", "last", "plan"),
    [
        (AT_START, False, PutPlan(True, MIDDLE, GROUP_ID_NONE, 1)),
        (AT_START, True, PutPlan(True, LAST, GROUP_ID_NONE, 1)),
        (RETAINED, False, PutPlan(True, MIDDLE, GROUP_ID_NONE, 1)),
        (RETAINED, True, PutPlan(True, LAST, GROUP_ID_NONE, 1)),
        (FROM_RECORD, False, PutPlan(False, MIDDLE, GROUP, 8)),
        (FROM_RECORD, True, PutPlan(False, LAST, GROUP, 8)),
    ],
)
def test_next_put(position, last, plan):
    assert next_put(position, last=last) == plan


@table(
    ("position", "complete_groups_only", "plan"),
    [
        (AT_START, False, GetPlan(True, False, MatchOption.NONE, GROUP_ID_NONE, 1)),
        (AT_START, True, GetPlan(True, True, MatchOption.NONE, GROUP_ID_NONE, 1)),
        (RETAINED, False, GetPlan(True, False, MatchOption.NONE, GROUP_ID_NONE, 1)),
        (RETAINED, True, GetPlan(True, True, MatchOption.NONE, GROUP_ID_NONE, 1)),
        *(
            (
                FROM_RECORD,
                complete_groups_only,
                GetPlan(False, False, MatchOption.MATCH_GROUP_ID | MatchOption.MATCH_MSG_SEQ_NUMBER, GROUP, 8),
            )
            for complete_groups_only in (False, True)
        ),
    ],
)
def test_next_get_strips_all_msgs_available_from_a_restart(position, complete_groups_only, plan):
    assert next_get(position, complete_groups_only=complete_groups_only) == plan


@table("offset", [0, 4])
def test_a_restart_that_gets_segments_one_by_one_names_the_offset_also_of_a_messages_beginning(offset):
    # Without logical order the first one in physical order is returned (IBM MQ, topic q023060).
    match = MatchOption.MATCH_GROUP_ID | MatchOption.MATCH_MSG_SEQ_NUMBER | MatchOption.MATCH_OFFSET
    position = GroupPosition(GROUP, 7, offset, retained=False)
    assert next_get(position, segments=True) == GetPlan(False, False, match, GROUP, 8, offset)


@table(
    ("position", "group_id", "msg_seq_number", "answer"),
    [
        (AT_START, GROUP, 1, True),
        (AT_START, GROUP_ID_NONE, 1, True),
        (AT_START, GROUP, 2, False),
        (RETAINED, GROUP, 8, True),
        (RETAINED, GROUP, 7, False),
        (RETAINED, GROUP, 9, False),
        (RETAINED, OTHER, 8, False),
        (FROM_RECORD, GROUP, 8, True),
        (FROM_RECORD, OTHER, 8, False),
    ],
)
def test_follows(position, group_id, msg_seq_number, answer):
    assert follows(position, group_id, msg_seq_number) is answer


def test_a_group_cannot_have_more_messages_than_msg_seq_number_can_count():
    with pytest.raises(ValueError, match="999999999"):
        next_put(GroupPosition(GROUP, MAX_MSG_SEQ_NUMBER), last=True)


@dataclass
class Handle:
    """What a queue manager does with a plan, by Table 1 of IBM's text on logical ordering: one handle, one new group id."""

    group_id: bytes = GROUP_ID_NONE
    msg_seq_number: int = 0
    put: list[tuple[bytes, int, MsgFlag]] = field(default_factory=list)

    def perform(self, plan: PutPlan) -> bytes:
        if plan.logical_order:
            self.group_id = self.group_id if self.msg_seq_number else GROUP
            self.msg_seq_number += 1
        else:
            self.group_id, self.msg_seq_number = plan.group_id, plan.msg_seq_number
        self.put.append((self.group_id, self.msg_seq_number, plan.msg_flags))
        return self.group_id


@given(cuts=st.lists(st.booleans(), min_size=1, max_size=30))
def test_any_walk_with_restarts_ends_in_one_last_message_without_gap(cuts):
    # Each True is a restart after the message: a fresh handle, and the position as a record would have it.
    handle, position, queue = Handle(), AT_START, []
    for number, cut in enumerate(cuts, start=1):
        plan = next_put(position, last=number == len(cuts))
        position = after_messages(position, handle.perform(plan))
        queue.append(handle.put[-1])
        if cut:
            handle, position = Handle(), GroupPosition(position.group_id, position.msg_seq_number, retained=False)
    assert [seq for _, seq, _ in queue] == list(range(1, len(cuts) + 1))
    assert {group_id for group_id, _, _ in queue} == {GROUP}
    assert [flags for _, _, flags in queue] == [MIDDLE] * (len(cuts) - 1) + [LAST]


@given(n=st.integers(1, 40), cut=st.integers(0, 39))
def test_a_get_after_any_cut_asks_for_the_next_message(n, cut):
    position = AT_START
    for number in range(1, min(n, cut) + 1):
        assert follows(position, GROUP, number)
        position = after_messages(position, GROUP)
    if position.at_start:
        return
    plan = next_get(
        GroupPosition(position.group_id, position.msg_seq_number, retained=False), complete_groups_only=True
    )
    assert (plan.group_id, plan.msg_seq_number, plan.logical_order) == (GROUP, min(n, cut) + 1, False)


@given(n=st.integers(1, 1000))
def test_many_puts_at_once_are_as_many_single_ones(n):
    singly = AT_START
    for _ in range(n):
        singly = after_messages(singly, GROUP)
    assert after_messages(AT_START, GROUP, n) == singly
