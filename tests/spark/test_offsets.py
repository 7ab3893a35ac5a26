"""Offsets: what they keep, what is planned after them, what is removed; bundles and limits."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as some

from embedded_tests.tables import table
from mqgroups.spark.errors import CheckpointUnusable
from mqgroups.spark.offsets import Key, Limits, Offset, Planned, admitted, bundled


def key(number):
    return Key(bytes([number]) * 24)


def planned(*numbers, messages=10):
    return tuple(Planned(key(number), messages) for number in numbers)


HEX = "0123456789abcdef"
MANIFESTS = some.text(HEX, min_size=32, max_size=32)
OFFSETS = some.builds(
    Offset,
    some.text(HEX, min_size=48, max_size=48),
    some.integers(1, 2**31),
    MANIFESTS,
    some.integers(1, 10**9),
    some.integers(0, 10**9),
    some.lists(MANIFESTS).map(tuple),
)
SOURCE, ONE, TWO, THREE = "a" * 48, "1" * 32, "2" * 32, "3" * 32


@given(OFFSETS | some.just(Offset()))
def test_an_offset_comes_back_from_json_as_it_was(offset):
    assert Offset.from_json(json.loads(json.dumps(offset.to_json()))) == offset


def test_the_json_of_an_offset():
    assert Offset(SOURCE, 7, ONE, 1000, 25000, (TWO, THREE), "ORDERS").to_json() == {
        "v": 3,
        "source": SOURCE,
        "seq": 7,
        "manifest": ONE,
        "groups": 1000,
        "messages": 25000,
        "pending": [TWO, THREE],
        "queue": "ORDERS",
    }


GOOD = Offset(SOURCE, 7, ONE, 1, 1, (TWO,)).to_json()


@table(
    "value",
    [
        {},
        GOOD | {"v": 2},
        {"v": 1, "seq": 1, "groups": [["G" + "Q" * 32, 1]], "pending": [], "missed": []},
        GOOD | {"source": ""},
        GOOD | {"manifest": "x" * 32},
        GOOD | {"manifest": ONE[1:]},
        GOOD | {"seq": 0},
        GOOD | {"seq": None},
        GOOD | {"groups": [1]},
        GOOD | {"groups": float("inf")},
        GOOD | {"manifest": ONE[:16] + " " * 16},
        GOOD | {"pending": [[TWO, 0]]},
        GOOD | {"pending": ["x"]},
        GOOD | {"queue": 7},
        {name: value for name, value in GOOD.items() if name != "pending"},
    ],
)
def test_an_offset_of_something_else_is_refused(value):
    with pytest.raises(CheckpointUnusable, match="did not write"):
        Offset.from_json(value)


@given(
    some.binary(min_size=24, max_size=24),
    some.text(some.characters(codec="latin-1"), min_size=16, max_size=16),
    some.just(b"") | some.binary(min_size=24, max_size=24),
    some.integers(1, 10**6),
)
def test_a_key_comes_back_from_its_text_as_it_was(identifier, stamp, msg_id, copies):
    made = Key(identifier, stamp, msg_id, 1 if msg_id else copies)
    read = Key.from_text(str(made))
    assert (read, read.copies, read.is_group) == (made, made.copies, bool(msg_id))


@table(
    "text",
    [
        "",
        # Without the first message's MsgId: of an older version.
        "G" + "Q" * 32,
        "G" + "Q" * 64,
        "G" + "Q" * 64 + "2" * 16 + "1",
        "M" + "Q" * 32 + "2" * 15,
        "M" + "Q" * 32 + "2" * 16 + "x",
        "M" + "=" * 32 + "2" * 16,
        "X" + "Q" * 32 + "2" * 16,
    ],
)
def test_the_text_of_something_else_is_refused(text):
    with pytest.raises(ValueError, match=r"is not a|Excess|Only base64|padding"):
        Key.from_text(text)


def test_an_offset_is_small_however_many_groups_it_has():
    groups = [Planned(Key(number.to_bytes(24, "big")), 10) for number in range(100_000)]
    offset = Offset().followed_by(SOURCE, ONE, groups, ())
    assert (offset.groups, offset.messages) == (100_000, 1_000_000)
    assert len(json.dumps(offset.to_json())) < 250


@table(
    ("gone", "pending"),
    [((), (TWO, ONE)), ({ONE}, (TWO,)), ({ONE, TWO}, ())],
)
def test_what_is_not_removed_is_pending_after_an_offset(gone, pending):
    offset = Offset(SOURCE, 7, ONE, 1, 1, (TWO,))
    following = offset.followed_by("unused", THREE, planned(5), gone)
    assert following == Offset(SOURCE, 8, THREE, 1, 10, pending)


def test_messages_that_were_not_counted_are_not_told():
    groups = (*planned(1), Planned(key(2), 0))
    assert Offset().followed_by(SOURCE, ONE, groups, ()).messages == 0


@table(
    ("limits", "taken"),
    [
        (Limits(), [1, 2, 3, 4]),
        (Limits(groups=2), [1, 2]),
        (Limits(messages=30), [1, 2, 3]),
        (Limits(messages=29), [1, 2]),
        (Limits(messages=1), [1]),
        (Limits(groups=3, messages=25), [1, 2]),
    ],
)
def test_a_micro_batch_keeps_within_its_limits_and_has_one_group_at_least(limits, taken):
    candidates = planned(1, 2, 3, 4, messages=10)
    assert list(admitted(candidates, limits)) == list(planned(*taken, messages=10))


def test_no_more_candidates_are_asked_for_than_are_needed():
    candidates = iter(planned(1, 2, 3))
    list(admitted(candidates, Limits(groups=2)))
    assert list(candidates) == list(planned(3))


@given(some.lists(some.integers(1, 1000), max_size=50), some.integers(1, 10))
def test_bundles_have_every_group_once_in_order_and_none_is_much_larger_than_need_be(sizes, count):
    groups = [Planned(Key(number.to_bytes(24, "big")), size) for number, size in enumerate(sizes)]
    bundles = bundled(groups, count)
    assert sorted((one for bundle in bundles for one in bundle), key=groups.index) == groups
    assert all(bundle == sorted(bundle, key=groups.index) for bundle in bundles)
    assert len(bundles) == min(count, len(groups))
    totals = [sum(one.messages for one in bundle) for bundle in bundles]
    # Largest first leaves no bundle larger than the mean and one more group.
    assert not totals or max(totals) <= sum(sizes) / len(bundles) + max(sizes)
    assert bundled(groups, count) == bundles


def test_groups_that_were_not_counted_are_balanced_by_their_number():
    groups = planned(1, 2, 3, 4, 5, messages=0)
    assert [len(bundle) for bundle in bundled(groups, 2)] == [3, 2]


def test_bundles_are_balanced_by_messages():
    groups = [Planned(key(number), messages) for number, messages in enumerate([60, 10, 20, 30, 40])]
    assert [[one.messages for one in bundle] for bundle in bundled(groups, 2)] == [[60, 20], [10, 30, 40]]
