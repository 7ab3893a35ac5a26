"""The status record as bytes: what goes in comes out, and nothing else ever does."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqgroups.core.model import MAX_MSG_SEQ_NUMBER, Persistence, Role
from mqgroups.core.status import RecordRejected, RecordState, RejectedBecause, StatusRecord, decode, encode

RECORD = StatusRecord(
    role=Role.PUT,
    name="orders-loader",
    state=RecordState.IN_GROUP,
    owner_id="0123456789abcdef0123456789abcdef",
    epoch=3,
    unit_of_work=12,
    queue="ORDERS",
    group_id=bytes(range(24)),
    msg_seq_number=1200,
    q_mgr_identifier="QM1_2026-01-31_12.00.00",
    resolved_q_name="ORDERS",
    resolved_q_mgr_name="QM1",
    checkpoint={"line": 1200, "file": "orders.csv"},
)

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
records = st.builds(
    StatusRecord,
    role=st.sampled_from(Role),
    name=st.text(max_size=35),
    state=st.sampled_from(RecordState),
    owner_id=st.text("0123456789abcdef", min_size=32, max_size=32),
    epoch=st.integers(1),
    unit_of_work=st.integers(1),
    queue=st.text(max_size=48),
    group_id=st.binary(min_size=24, max_size=24),
    msg_seq_number=st.integers(1, MAX_MSG_SEQ_NUMBER),
    q_mgr_identifier=st.text(max_size=48),
    resolved_q_name=st.text(max_size=48),
    resolved_q_mgr_name=st.text(max_size=48),
    persistence=st.sampled_from(Persistence),
    offset=st.integers(0, MAX_MSG_SEQ_NUMBER),
    checkpoint=st.binary(max_size=60) | json_values,
    traceparent=st.text(max_size=60),
)


def sealed(values: object) -> bytes:
    """Any JSON object in a right envelope."""
    body = json.dumps(values).encode()[1:]
    return b'{"sha256":"' + hashlib.sha256(body).hexdigest().encode() + b'",' + body


def values_of(record: StatusRecord) -> dict[str, object]:
    values = json.loads(encode(record))
    del values["sha256"]
    return values


@given(record=records)
def test_encode_then_decode_is_the_identity(record):
    assert decode(encode(record)) == record


@given(record=records)
def test_a_record_is_ascii_json_and_always_the_same_bytes(record):
    data = encode(record)
    assert data == encode(replace(record))
    assert json.loads(data.decode("ascii"))["schema"] == 1


def test_every_single_bit_flip_is_detected():
    data = encode(RECORD)
    for bit in range(len(data) * 8):
        flipped = bytearray(data)
        flipped[bit // 8] ^= 1 << bit % 8
        with pytest.raises(RecordRejected):
            decode(bytes(flipped))


def test_every_truncation_and_any_addition_is_detected():
    data = encode(RECORD)
    for damaged in [data[:end] for end in range(len(data))] + [data + b" ", b" " + data, data + data]:
        with pytest.raises(RecordRejected) as caught:
            decode(damaged)
        assert caught.value.because is RejectedBecause.CORRUPT


@given(data=st.binary())
def test_foreign_content_is_rejected(data):
    with pytest.raises(RecordRejected):
        decode(data)


@pytest.mark.parametrize("schema", [0, 2, "1", None])
def test_another_schema_version_is_told_from_damage(schema):
    with pytest.raises(RecordRejected, match="schema version") as caught:
        decode(sealed(values_of(RECORD) | {"schema": schema}))
    assert caught.value.because is RejectedBecause.VERSION


@pytest.mark.parametrize(
    "wrong",
    [
        {"role": "browse"},
        {"state": "open"},
        {"persistence": 2},
        {"group_id": "00"},
        {"group_id": "zz" * 24},
        {"group_id": 7},
        {"msg_seq_number": 0},
        {"msg_seq_number": MAX_MSG_SEQ_NUMBER + 1},
        {"msg_seq_number": "1"},
        {"checkpoint": {"bytes": "?"}},
        {"checkpoint": {"yaml": 1}},
        {"checkpoint": 1},
        {"traceparent": None},
        {"unheard_of": 1},
    ],
)
def test_a_field_that_cannot_be_is_rejected_even_with_a_right_digest(wrong):
    with pytest.raises(RecordRejected, match="field"):
        decode(sealed(values_of(RECORD) | wrong))


def test_a_missing_field_is_rejected():
    for name in ("epoch", "queue", "group_id", "checkpoint"):
        values = values_of(RECORD)
        del values[name]
        with pytest.raises(RecordRejected, match="field"):
            decode(sealed(values))


def test_a_record_from_before_traces_is_read():
    values = values_of(RECORD)
    del values["traceparent"]
    assert decode(sealed(values)) == RECORD


@pytest.mark.parametrize("checkpoint", [float("nan"), {1, 2}, object(), {"inner": b"bytes"}])
def test_a_checkpoint_that_json_cannot_say_is_refused(checkpoint):
    with pytest.raises((TypeError, ValueError)):
        encode(replace(RECORD, checkpoint=checkpoint))
