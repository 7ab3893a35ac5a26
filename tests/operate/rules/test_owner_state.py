"""The state of an owner, from the messages on its status queue."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from embedded_tests.tables import table
from mqgroups.core.model import GROUP_ID_NONE, MsgFlag, Role
from mqgroups.core.status import RecordState, StatusRecord
from mqgroups.core.status_chain import FoundMessage
from mqgroups.operate.rules.owner_state import OwnerState, state_of_queue

ANCHOR, RECORD, OTHER = b"a" * 24, b"r" * 24, b"o" * 24
C = OwnerState


def message(state, msg_id=RECORD, correl_id=ANCHOR, checkpoint=None, epoch=1):
    record = StatusRecord(
        role=Role.PUT,
        name="N",
        state=state,
        owner_id="0" * 32,
        epoch=epoch,
        unit_of_work=1,
        queue="Q",
        group_id=b"G" * 24,
        msg_seq_number=3,
        q_mgr_identifier="QM1_1",
        checkpoint=checkpoint,
    )
    return FoundMessage(msg_id, correl_id, GROUP_ID_NONE, 0, 100, MsgFlag.NONE, record)


A = message(RecordState.ANCHOR, ANCHOR, bytes(24))
INTERRUPTED = message(RecordState.IN_GROUP)


@table(
    ("messages", "unreadable", "is_active", "expected"),
    [
        ([], 0, False, C.CLEAN),
        ([], 0, True, C.ACTIVE),
        ([A, INTERRUPTED], 0, False, C.INTERRUPTED),
        ([A, INTERRUPTED], 0, True, C.ACTIVE),
        ([A, message(RecordState.COMPLETED)], 0, False, C.LEFT_OVER),
        ([A, message(RecordState.IDLE)], 0, False, C.LEFT_OVER),
        ([A, message(RecordState.COMPLETED, checkpoint=7)], 0, False, C.CHECKPOINT),
        ([A], 0, False, C.HIDDEN),
        ([A], 0, True, C.ACTIVE),
        ([A, INTERRUPTED, message(RecordState.IN_GROUP, OTHER)], 0, False, C.DUPLICATE),
        ([A, INTERRUPTED, message(RecordState.IN_GROUP, OTHER)], 0, True, C.ACTIVE),
        ([A, INTERRUPTED, replace(message(RecordState.IN_GROUP, OTHER), user="eve")], 0, False, C.SEVERAL_USERS),
        ([A, INTERRUPTED, replace(message(RecordState.IDLE, OTHER), user="eve")], 0, False, C.SEVERAL_USERS),
        ([A, INTERRUPTED], 1, False, C.UNREADABLE),
        ([], 1, True, C.UNREADABLE),
    ],
)
def test_an_owner_has_the_state_that_its_status_queue_shows(messages, unreadable, is_active, expected):
    assert state_of_queue(messages, unreadable, is_active=is_active)[0] is expected


def test_records_that_nobody_needs_are_counted_beside_the_current_one():
    idle = message(RecordState.IDLE, OTHER)
    assert state_of_queue([A, idle, INTERRUPTED], 0, is_active=False) == (C.INTERRUPTED, INTERRUPTED, 1)


MESSAGE = st.builds(
    message,
    st.sampled_from(RecordState),
    st.binary(min_size=24, max_size=24),
    st.sampled_from([ANCHOR, bytes(24)]),
    st.sampled_from([None, 1]),
)


@given(st.lists(MESSAGE, max_size=6, unique_by=lambda found: found.msg_id), st.booleans(), st.randoms())
def test_whatever_is_there_has_a_state_that_does_not_depend_on_its_order(messages, is_active, random):
    before = state_of_queue(messages, 0, is_active=is_active)[0]
    random.shuffle(messages)
    assert state_of_queue(messages, 0, is_active=is_active)[0] is before
