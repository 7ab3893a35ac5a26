"""What an attempt does about a group, by what it finds of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from embedded_tests.tables import table
from mqgroups.core.claim import (
    Claim,
    ClaimAction,
    CompletedBatch,
    MessagesDigest,
    RecordKind,
    Sink,
    claim_action,
    claim_values,
    completed_batch,
    high_water_mark,
    kind_of_record,
    new_intent,
    new_status,
    taken_over,
)
from mqgroups.core.status import RecordState, decode, encode

SINK = Sink("query-1", "ORDERS", "QM1_2026-01-01_00.00.00")
CLAIM = Claim(SINK, 7, "UA", "attempt-2", "run-1", 3)
INTENT = new_intent(replace(CLAIM, token="attempt-1"))
BEGUN = replace(
    new_status(replace(CLAIM, token="attempt-1"), "digest"),
    state=RecordState.IN_GROUP,
    group_id=bytes(range(24)),
    msg_seq_number=100,
    epoch=1,
    unit_of_work=1,
)
WHOLE = replace(BEGUN, state=RecordState.COMPLETED)


@table(
    ("intent", "status", "mark", "action"),
    [
        (None, None, None, ClaimAction.START_NEW_GROUP),
        (None, None, 6, ClaimAction.START_NEW_GROUP),
        (None, None, 7, ClaimAction.BATCH_COMPLETED),
        (None, None, 8, ClaimAction.BATCH_COMPLETED),
        (INTENT, None, None, ClaimAction.WAIT),
        (INTENT, new_status(CLAIM, ""), None, ClaimAction.TAKE_OVER),
        (INTENT, BEGUN, None, ClaimAction.TAKE_OVER),
        (INTENT, WHOLE, None, ClaimAction.ALREADY_PUT),
    ],
)
def test_what_is_found_says_what_to_do(intent, status, mark, action):
    assert claim_action(CLAIM, intent=intent, status=status, high_water_mark=mark) is action


@table("status", [BEGUN, WHOLE])
@table(("run", "partition", "stops"), [("run-1", 3, False), ("run-1", 4, True), ("run-2", 4, False)])
def test_two_partitions_of_one_run_must_not_have_the_same_key(status, run, partition, stops):
    claim = replace(CLAIM, run=run, partition=partition)
    action = claim_action(claim, intent=INTENT, status=status, high_water_mark=None)
    assert (action is ClaimAction.STOP_KEY_IN_TWO_PARTITIONS) is stops


def test_records_are_found_by_what_they_are_of_and_by_nothing_else():
    claims = [
        CLAIM,
        replace(CLAIM, key="UB"),
        replace(CLAIM, batch=8),
        replace(CLAIM, sink=replace(SINK, name="query-2")),
        replace(CLAIM, sink=replace(SINK, queue="OTHER")),
        replace(CLAIM, sink=replace(SINK, name='query-1","ORDERS')),
    ]
    ids = {each for claim in claims for each in (claim.intent_id, claim.status_id)} | {SINK.high_water_mark_id}
    assert len(ids) == 13
    assert {len(each) for each in ids} == {24}
    other_attempt = replace(CLAIM, token="attempt-9", run="run-9", partition=9)
    assert (other_attempt.intent_id, other_attempt.status_id) == (CLAIM.intent_id, CLAIM.status_id)


def test_what_is_taken_over_keeps_what_was_committed_and_says_who_has_it():
    taken = taken_over(replace(CLAIM, run="run-2", partition=4), BEGUN)
    assert (taken.group_id, taken.msg_seq_number, claim_values(taken.checkpoint)["digest"]) == (
        BEGUN.group_id,
        100,
        "digest",
    )
    values = claim_values(taken.checkpoint)
    assert (values["run"], values["partition"]) == ("run-2", 4)


SAID: dict[str, Any] = {**claim_values(BEGUN.checkpoint)}
MARK = high_water_mark(SINK, CompletedBatch(7), "driver")
WRONG: list[dict[str, Any]] = [
    {"kind": ["status"]},
    {"sink": None},
    {"batch": True},
    {"batch": "7"},
    {"key": 1},
    {"run": None},
    {"partition": False},
    {"partition": 0.0},
    {"digest": []},
]


@table(
    ("record", "kind"),
    [
        (INTENT, RecordKind.INTENT),
        (BEGUN, RecordKind.STATUS),
        (MARK, RecordKind.HIGH_WATER_MARK),
        (high_water_mark(SINK, CompletedBatch(7, "query-2", "run", "of"), "driver"), RecordKind.HIGH_WATER_MARK),
        (replace(MARK, checkpoint={"kind": "high-water mark", "sink": "query-1", "batch": 7, "query": 2}), None),
        (replace(MARK, checkpoint={"kind": "high-water mark", "sink": "query-1", "batch": 7, "within": None}), None),
        (replace(BEGUN, checkpoint=None), None),
        (replace(BEGUN, checkpoint={"kind": "status", "sink": "query-1", "batch": 7}), None),
        (replace(BEGUN, checkpoint={"kind": "other", "sink": "query-1", "batch": 7}), None),
        (replace(BEGUN, checkpoint=b"bytes"), None),
        (replace(BEGUN, checkpoint=["status"]), None),
        *((replace(BEGUN, checkpoint={**SAID, **wrong}), None) for wrong in WRONG),
    ],
)
def test_a_record_says_what_it_is(record, kind):
    assert decode(encode(record)) == record
    assert kind_of_record(record) is kind


@table(
    ("first", "is_second", "repeats"),
    [
        (CompletedBatch(7, "query", "write-1", "run-2"), True, False),
        (CompletedBatch(7, "query", "write-2", "run-2"), False, False),
        (CompletedBatch(7, "query", "write-1", "run-1"), False, True),
        (CompletedBatch(7, "query", "write-1", None), False, True),
        (CompletedBatch(6, "query", "write-1", "run-2"), False, False),
        (CompletedBatch(6, "query", "write-1", "run-1"), False, False),
    ],
)
def test_a_mark_tells_a_second_batch_of_one_name_from_a_repetition(first, is_second, repeats):
    batch = CompletedBatch(7, "query", "write-2", "run-2")
    assert completed_batch(high_water_mark(SINK, first, "driver").checkpoint) == first
    assert (batch.is_second(first), batch.repeats(first)) == (is_second, repeats)
    outside = batch._replace(query=None, within=None)
    assert not outside.is_second(first._replace(within=None))
    assert not outside.repeats(first)


def test_the_digest_tells_where_one_message_ends_and_the_next_begins():
    def digest(*all_parts):
        made = MessagesDigest()
        for parts in all_parts:
            made.add(*parts)
        return made.value()

    values = [
        digest(),
        digest((b"ab", b"")),
        digest((b"a", b"b")),
        digest((b"a", b""), (b"b", b"")),
        digest((b"b", b""), (b"a", b"")),
        digest((b"2:ab", b"")),
    ]
    assert len(set(values)) == len(values)
    assert digest((b"ab", b"")) == digest((b"ab", b""))
