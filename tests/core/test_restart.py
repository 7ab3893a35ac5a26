"""One test for each start-up state."""

from __future__ import annotations

from dataclasses import replace

from embedded_tests.tables import table
from mqgroups.core.model import Role
from mqgroups.core.restart import (
    Expectations,
    Mismatch,
    Move,
    adopted,
    keeps_on_claim,
    mismatch_of,
)
from mqgroups.core.status import RecordState, StatusRecord

OWN = Expectations(Role.GET, "orders-sink", "ORDERS", "QM1_1")
RECORD = StatusRecord(
    role=Role.GET,
    name="orders-sink",
    state=RecordState.IN_GROUP,
    owner_id="0" * 32,
    epoch=1,
    unit_of_work=1,
    queue="ORDERS",
    group_id=bytes(24),
    msg_seq_number=5,
    q_mgr_identifier="QM1_1",
)


@table("state", list(RecordState))
def test_a_record_of_this_owner_is_used(state):
    assert mismatch_of(replace(RECORD, state=state), OWN) is None


MISMATCHES = [
    ({"role": Role.PUT}, Mismatch("role", "put", "get")),
    ({"name": "orders-copy"}, Mismatch("name", "orders-copy", "orders-sink")),
    ({"queue": "ORDERS.OLD"}, Mismatch("queue", "ORDERS.OLD", "ORDERS")),
    ({"q_mgr_identifier": "QM2_1"}, Mismatch("q_mgr_identifier", "QM2_1", "QM1_1")),
]


@table("says", [{}, {"state": RecordState.COMPLETED, "checkpoint": 7}])
@table(("other", "mismatch"), MISMATCHES)
def test_a_foreign_record_stops_for_the_operator(says, other, mismatch):
    assert mismatch_of(replace(RECORD, **says, **other), OWN) == mismatch


@table("state", [RecordState.IDLE, RecordState.COMPLETED])
@table(("other", "mismatch"), MISMATCHES)
def test_of_a_record_that_says_nothing_only_name_and_role_have_to_fit(state, other, mismatch):
    stops = mismatch.field in ("role", "name")
    assert mismatch_of(replace(RECORD, state=state, **other), OWN) == (mismatch if stops else None)


@table(
    ("record", "kept"),
    [
        ({}, True),
        ({"state": RecordState.COMPLETED}, True),
        ({"state": RecordState.IDLE}, False),
        # Compared with the next group of another queue it would say nothing, and a producer compares none.
        ({"state": RecordState.COMPLETED, "queue": "ORDERS.OLD"}, False),
        ({"state": RecordState.COMPLETED, "role": Role.PUT}, False),
        ({"state": RecordState.COMPLETED, "role": Role.PUT, "checkpoint": 7}, True),
    ],
)
def test_a_start_keeps_a_record_that_speaks_and_that_of_a_consumers_last_group(record, kept):
    assert keeps_on_claim(replace(RECORD, **record), OWN) is kept


@table(
    ("went_to", "q_mgr_name", "instance", "goes_to"),
    [
        ("QM1", "QM1", ("", ""), "QM1"),  # a new queue manager with the old name
        ("QM1", "QM8", ("QM1", "QM8"), "QM8"),
        ("QM1", "QM8", ("", ""), None),  # the rest would go to the old one
        ("QM2", "QM8", ("", ""), "QM2"),  # an instance of a cluster queue
        ("QM2", "QM1", ("QM2", "QM4"), "QM4"),
        ("", "QM8", ("", ""), ""),
    ],
)
def test_the_rest_of_a_group_that_was_moved_goes_where_its_beginning_is(went_to, q_mgr_name, instance, goes_to):
    record = replace(RECORD, role=Role.PUT, resolved_q_mgr_name=went_to)
    found = adopted(record, Move("QM1_1", "QM8_1", q_mgr_name, instance))
    expected = replace(record, q_mgr_identifier="QM8_1", resolved_q_mgr_name=goes_to or "")
    assert found == (Mismatch("resolved_q_mgr_name", went_to, q_mgr_name) if goes_to is None else expected)
