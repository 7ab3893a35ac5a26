"""The status record as bytes: what goes in comes out, and nothing else ever does."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embedded_tests.tables import table
from mqgroups.core.model import MAX_MSG_SEQ_NUMBER, Persistence, Role
from mqgroups.core.status import (
    Outgoing,
    RecordRejected,
    RecordState,
    RejectedBecause,
    StatusRecord,
    check_checkpoint,
    decode,
    encode,
)

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
property_values = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False)
    | st.text(max_size=20)
    | st.binary(max_size=20)
)
mq_names = st.text("ABCXYZabcxyz0123456789./_%", max_size=48)
records = st.builds(
    StatusRecord,
    role=st.sampled_from(Role),
    name=st.text(max_size=35),
    state=st.sampled_from(RecordState),
    owner_id=st.text("0123456789abcdef", min_size=32, max_size=32),
    epoch=st.integers(1, 2**63 - 1),
    unit_of_work=st.integers(1, 2**63 - 1),
    queue=mq_names,
    group_id=st.binary(min_size=24, max_size=24).filter(any),
    msg_seq_number=st.integers(1, MAX_MSG_SEQ_NUMBER),
    q_mgr_identifier=st.text("AZaz09./_%: -", max_size=48),
    resolved_q_name=mq_names,
    resolved_q_mgr_name=mq_names,
    persistence=st.sampled_from(Persistence),
    offset=st.integers(0, MAX_MSG_SEQ_NUMBER),
    first_msg_id=st.binary(min_size=24, max_size=24),
    checkpoint=st.binary(max_size=60) | json_values,
    traceparent=st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=60),
    properties=st.none() | st.dictionaries(st.text(max_size=9), property_values, max_size=3),
    outgoing=st.none() | st.builds(Outgoing, st.binary(min_size=24, max_size=24), st.integers(0, MAX_MSG_SEQ_NUMBER)),
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


@given(data=st.binary())
def test_foreign_content_is_rejected(data):
    with pytest.raises(RecordRejected):
        decode(data)


@table("schema", [0, 2, "1", None])
def test_another_schema_version_is_told_from_damage(schema):
    with pytest.raises(RecordRejected, match="schema version") as caught:
        decode(sealed(values_of(RECORD) | {"schema": schema}))
    assert caught.value.because is RejectedBecause.VERSION


LONG = "y" * 1_000_000
WRONG: dict[str, list[object]] = {
    "role": ["browse", ["put"]],
    "state": ["open"],
    "name": ["\ud800"],
    "owner_id": [7, "\x1b[2J"],
    "epoch": [True, 1.0, -1],
    "unit_of_work": ["12"],
    "queue": [None, "Q" * 49, [LONG] * 9, "A B", "A'"],
    "q_mgr_identifier": ["QM9; touch owned #", "QM9\n"],
    "resolved_q_name": ["A;"],
    "group_id": ["00", "zz" * 24, 7, "AB" * 24, " " + "ab" * 24, "00" * 24],
    "first_msg_id": ["00"],
    "msg_seq_number": [0, MAX_MSG_SEQ_NUMBER + 1, "1"],
    "offset": [True, 0.0],
    "in_last_message": [0],
    "quarantine": ["no"],
    "persistence": [2, True],
    "resolved_q_mgr_name": ["Q" * 49],
    "traceparent": [None, "\x85"],
    "suspect": [
        *([], "abc", ["ab" * 24, 1, None, "ab" * 24]),
        *(["ab" * 24, True, 1, "ab" * 24], ["ab" * 24, 1, 1, "AB" * 24]),
    ],
    "checkpoint": [
        *({"bytes": "?"}, {"yaml": 1}, 1, [], {"bytes": 5}, {"bytes": "AA==", "json": 1}),
        *({"json": "\udfff"}, {"json": {"\ud800": 1}}, {"json": 1 << 2049}),
    ],
    "outgoing": [1, ["00" * 24], ["00", 1], ["00" * 24, -1]],
    "properties": [
        *([], {"\udfff": "file"}, {"file": ["a"]}, {"file": {"bytes": "?"}}, {"file": {"bytes": 5}}),
        *({"file": {"float": "1.5"}}, {"file": {"float": []}}, {"file": {}}, {"file": 1 << 63}, {"file": "\udfff"}),
    ],
}


@table("wrong", [{name: value} for name, values in WRONG.items() for value in values] + [{"name": LONG, "queue": LONG}])
def test_a_field_that_cannot_be_is_rejected_even_with_a_right_digest(wrong):
    with pytest.raises(RecordRejected, match="field") as caught:
        decode(sealed(values_of(RECORD) | wrong))
    assert caught.value.because is RejectedBecause.CORRUPT
    assert len(str(caught.value)) < 300
    assert str(caught.value).isprintable()


@table("name", ["unheard_of", "\x1b[31m" + "x" * 1_000_000, "\ud800"])
def test_a_field_of_another_version_is_no_damage(name):
    with pytest.raises(RecordRejected, match=r"found the field .*, expected the fields of schema version 1") as caught:
        decode(sealed(values_of(RECORD) | {name: 1, "epoch": "of that version's own kind"}))
    assert caught.value.because is RejectedBecause.VERSION
    assert len(str(caught.value)) < 300
    assert str(caught.value).isprintable()


def resealed(old: bytes, new: bytes) -> bytes:
    """The record with something else in its text, which JSON need not be able to say."""
    body = encode(RECORD)[len(b'{"sha256":""",') + 63 :]
    assert old in body
    body = body.replace(old, new, 1)
    return b'{"sha256":"' + hashlib.sha256(body).hexdigest().encode() + b'",' + body


NESTED = 1_000_000


@table(
    ("old", "new"),
    [
        (b'"line":1200', b'"line":NaN'),
        (b'"line":1200', b'"line":-Infinity'),
        (b'"line":1200', b'"line":1e999'),
        (b'"line":1200', b'"line":1,"line":2'),
        (b'"line":1200', b'"line":' + b"9" * 10_000),
        (b'"line":1200', b'"line":' + b"[" * NESTED + b"]" * NESTED),
        (b'"line":1200', b'"line":' + b"[" * 101 + b"]" * 101),
        (b'"epoch":3', b'"epoch":3,"epoch":4'),
        (b'"name":"orders', b'"name":"\xc3\xa9'),
        (b'"epoch":3', b'"epoch":3,\0'),
    ],
)
def test_what_json_should_not_say_is_rejected(old, new):
    with pytest.raises(RecordRejected) as caught:
        decode(resealed(old, new))
    assert caught.value.because is RejectedBecause.CORRUPT
    assert len(str(caught.value)) < 300


anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(exclude_categories=[]))
    | st.sampled_from(["put", "get", "idle", "in group", "completed", "00" * 24, "AA==", {"bytes": "AA=="}]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


def types_of(value: object) -> object:
    """The types in a record or a checkpoint, which == does not compare: True == 1 == 1.0."""
    if isinstance(value, list):
        return [types_of(one) for one in value]
    if isinstance(value, dict):
        return {key: types_of(one) for key, one in value.items()}
    return type(value)


@given(data=st.data(), record=records)
def test_a_record_that_was_forged_is_a_good_one_or_rejected(data, record):
    values = values_of(record)
    names = st.sampled_from([*values, "extra"])
    for name in data.draw(st.lists(names, min_size=1, max_size=4, unique=True)):
        if data.draw(st.booleans()):
            values[name] = data.draw(anything)
        else:
            values.pop(name, None)
    try:
        found = decode(sealed(values))
    except RecordRejected:
        return
    for field in fields(StatusRecord):
        kind = type(getattr(RECORD, field.name))
        if field.name not in ("checkpoint", "suspect", "properties", "outgoing"):
            assert type(getattr(found, field.name)) is kind
    if found.outgoing is not None:
        assert [type(one) for one in (found.outgoing, *found.outgoing)] == [Outgoing, bytes, int]
    again = decode(encode(found))
    assert again == found
    assert types_of(again.checkpoint) == types_of(found.checkpoint)
    assert types_of(again.properties) == types_of(found.properties)


@given(record=records, at=st.integers(0), new=st.binary(max_size=3), gone=st.integers(0, 3))
def test_bytes_that_were_changed_under_a_right_digest_are_a_good_record_or_rejected(record, at, new, gone):
    body = bytearray(encode(record)[len(b'{"sha256":""",') + 63 :])
    at %= len(body)
    body[at : at + gone] = new
    sealed_again = b'{"sha256":"' + hashlib.sha256(body).hexdigest().encode() + b'",' + bytes(body)
    try:
        found = decode(sealed_again)
    except RecordRejected:
        return
    assert decode(encode(found)) == found


def test_a_record_without_a_field_is_of_another_version_and_named_with_its_writer():
    whole = values_of(replace(RECORD, owner_id="0123456789abcdef mqgroups 0.0.9"))
    for name in whole.keys() - {"schema", "owner_id"}:
        values = {each: value for each, value in whole.items() if each != name}
        with pytest.raises(RecordRejected, match=f"found no field '{name}', written by 'mqgroups 0.0.9'") as caught:
            decode(sealed(values))
        assert caught.value.because is RejectedBecause.VERSION


def test_a_later_field_that_need_not_be_known_is_passed_over():
    assert decode(sealed(values_of(RECORD) | {"optional_colour": {"red": 1}})) == RECORD


def test_properties_that_json_does_not_have_come_back():
    found = decode(encode(replace(RECORD, properties={"not": math.nan, "more": math.inf, "bytes": b"\0"}))).properties
    assert found is not None
    assert repr(found["not"]) == "nan"
    assert (found["more"], found["bytes"]) == (math.inf, b"\0")


endless: list[object] = []
endless.append(endless)


@table(
    "checkpoint",
    [
        float("nan"),
        float("inf"),
        {1, 2},
        object(),
        {"inner": b"bytes"},
        bytearray(b"bytes"),
        (1, 2),
        {"inner": [(1, 2)]},
        {1: "one"},
        {None: 1},
        {"key": {True: 1}},
        "\ud800",
        {"\udfff": 1},
        1 << 2049,
        endless,
    ],
)
def test_a_checkpoint_that_would_not_come_back_as_it_was_is_refused(checkpoint):
    with pytest.raises((TypeError, ValueError)):
        encode(replace(RECORD, checkpoint=checkpoint))
    with pytest.raises((TypeError, ValueError)):
        check_checkpoint(checkpoint)
