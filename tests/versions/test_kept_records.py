"""Records of each release, byte for byte as it has written them: later ones read them, and lose nothing that they say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mqgroups.core.claim import RecordKind, kind_of_record
from mqgroups.core.status import decode, encode

RECORDS = {
    f"{path.stem.removeprefix('records-')}, {what}": data.encode()
    for path in sorted(Path(__file__).parent.glob("records-*.json"))
    for what, data in json.loads(path.read_text()).items()
}
NECK = b'",'


def values(data: bytes):
    return json.loads(b"{" + data.split(NECK, 1)[1])


@pytest.mark.parametrize("data", RECORDS.values(), ids=RECORDS)
def test_a_kept_record_says_what_it_said(data):
    said = values(data)
    again = values(encode(decode(data)))
    assert {name: again[name] for name in said} == said


def test_the_kept_claims_are_claims():
    kinds = {what: kind_of_record(decode(data)) for what, data in RECORDS.items()}
    assert {what: kind for what, kind in kinds.items() if kind is not None} == {
        "0.1.0, batch, intent": RecordKind.INTENT,
        "0.1.0, batch, status": RecordKind.STATUS,
        "0.1.0, batch, completed": RecordKind.HIGH_WATER_MARK,
    }
