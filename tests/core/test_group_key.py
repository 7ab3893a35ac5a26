"""Whether a group that begins is like the one that was completed before it."""

from __future__ import annotations

from dataclasses import replace

from embedded_tests.tables import table
from mqgroups.core.group_key import Likeness, likeness, may_be_same
from mqgroups.core.status import RecordState
from tests.core.test_restart import RECORD

GROUP, OTHER, NONE = b"G" * 24, b"O" * 24, bytes(24)
FIRST = b"1" * 24
COMPLETED = replace(RECORD, state=RecordState.COMPLETED, group_id=GROUP, first_msg_id=FIRST)
UNGROUPED = replace(COMPLETED, group_id=NONE)


@table(
    ("completed", "group_id", "first_msg_id", "found"),
    [
        (None, GROUP, FIRST, Likeness.NONE),
        (COMPLETED, GROUP, FIRST, Likeness.KEY),
        (COMPLETED, GROUP, OTHER, Likeness.GROUP_ID),
        (COMPLETED, OTHER, FIRST, Likeness.NONE),
        (UNGROUPED, NONE, FIRST, Likeness.KEY),
        (UNGROUPED, NONE, OTHER, Likeness.NONE),
        # It is not committed, so it comes again.
        (replace(COMPLETED, state=RecordState.IN_GROUP), GROUP, FIRST, Likeness.NONE),
    ],
)
def test_only_a_completed_group_can_be_repeated(completed, group_id, first_msg_id, found):
    assert likeness(completed, group_id, first_msg_id) is found


@table(
    ("key", "other", "same"),
    [
        (GROUP + FIRST, GROUP + FIRST, True),
        (GROUP + FIRST, GROUP + OTHER, False),
        (GROUP + FIRST, OTHER + FIRST, False),
        # The record was rebuilt.
        (GROUP + FIRST, GROUP + NONE, True),
        (GROUP + NONE, OTHER + NONE, False),
    ],
)
def test_two_keys_are_those_of_the_same_group_if_one_of_them_has_no_msg_id(key, other, same):
    assert may_be_same(key, other) is same
    assert may_be_same(other, key) is same
