"""Offsets: what they keep, what is planned after them, what is removed; bundles and limits."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as some

from mqgroups.spark.errors import OffsetUnreadable
from mqgroups.spark.offsets import Key, Limits, Offset, Planned, admitted, bundled


def key(number):
    return Key(bytes([number]) * 24)


def planned(*numbers, messages=10, data_bytes=0):
    return tuple(Planned(key(number), messages, data_bytes) for number in numbers)


KEYS = some.one_of(
    some.builds(Key, some.binary(min_size=24, max_size=24)),
    some.builds(Key, some.binary(min_size=24, max_size=24), some.text("0123456789 ", min_size=16, max_size=16)),
)
OFFSETS = some.builds(
    Offset,
    some.integers(0, 2**31),
    some.lists(some.builds(Planned, KEYS, some.integers(1, 10**9))).map(tuple),
    some.lists(KEYS).map(tuple),
    some.lists(some.tuples(KEYS, some.integers(0, 2**40))).map(tuple),
)


@given(OFFSETS)
def test_an_offset_comes_back_from_json_as_it_was(offset):
    assert Offset.from_json(json.loads(json.dumps(offset.to_json()))) == offset


def test_the_json_of_an_offset():
    offset = Offset(
        7, (Planned(key(0x41), 3), Planned(Key(b"M" * 24, "2026112113482001"), 1)), (key(0x42),), ((key(0x41), 1797),)
    )
    assert offset.to_json() == {
        "v": 1,
        "seq": 7,
        "groups": [["GQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFB", 3], ["MTU1NTU1NTU1NTU1NTU1NTU1NTU1NTU1N2026112113482001", 1]],
        "pending": ["GQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJC"],
        "missed": [["GQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFB", 1797]],
    }


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"v": 2, "seq": 1, "groups": [], "pending": [], "missed": []},
        {"v": 1, "seq": 1, "groups": [["X" * 33, 1]], "pending": [], "missed": []},
        {"v": 1, "seq": 1, "groups": [["G" + "Q" * 31, 1]], "pending": [], "missed": []},
        {"v": 1, "seq": 1, "groups": [["M" + "Q" * 32, 1]], "pending": [], "missed": []},
        {"v": 1, "seq": 1, "groups": ["G"], "pending": [], "missed": []},
        {"v": 1, "seq": None, "groups": [], "pending": [], "missed": []},
        {"v": 1, "seq": 1, "groups": [], "pending": []},
        {"v": 1, "seq": 1, "groups": [], "pending": [], "missed": [["X" * 33, 1]]},
    ],
)
def test_an_offset_of_something_else_is_refused(value):
    with pytest.raises(OffsetUnreadable, match="did not write"):
        Offset.from_json(value)


@pytest.mark.parametrize(
    ("removed_to", "pending", "to_remove"),
    [
        (-1, (1, 2, 3, 4), (1, 2, 3, 4)),
        (5, (1, 2, 3, 4), (1, 2, 3, 4)),
        (6, (3, 4), (3, 4)),
        (7, (), ()),
        (8, (), ()),
    ],
    ids=["just started", "two before is gone", "the one before is gone", "all is gone", "more than that"],
)
def test_what_is_pending_after_an_offset_and_what_is_removed_for_it(removed_to, pending, to_remove):
    offset = Offset(7, planned(3, 4), (key(1), key(2)))
    following = offset.followed_by(planned(5), removed_to, {key(9): 1797})
    assert (following.seq, following.groups, following.missed) == (8, planned(5), ((key(9), 1797),))
    assert following.pending == tuple(map(key, pending))
    assert offset.to_remove(removed_to) == tuple(map(key, to_remove))


def test_what_an_offset_knows_is_not_planned_again():
    assert Offset(7, planned(3, 4), (key(1),)).known() == {key(1), key(3), key(4)}


@pytest.mark.parametrize(
    ("limits", "taken"),
    [
        (Limits(), [1, 2, 3, 4]),
        (Limits(groups=2), [1, 2]),
        (Limits(messages=30), [1, 2, 3]),
        (Limits(messages=29), [1, 2]),
        (Limits(messages=1), [1]),
        (Limits(data_bytes=200), [1, 2]),
        (Limits(data_bytes=99), [1]),
        (Limits(groups=3, messages=1000, data_bytes=250), [1, 2]),
    ],
)
def test_a_micro_batch_keeps_within_its_limits_and_has_one_group_at_least(limits, taken):
    candidates = planned(1, 2, 3, 4, messages=10, data_bytes=100)
    assert admitted(candidates, limits) == list(planned(*taken, messages=10, data_bytes=100))


def test_no_more_candidates_are_asked_for_than_are_needed():
    candidates = iter(planned(1, 2, 3))
    admitted(candidates, Limits(groups=2))
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


def test_bundles_are_balanced_by_messages():
    groups = [Planned(key(number), messages) for number, messages in enumerate([60, 10, 20, 30, 40])]
    assert [[one.messages for one in bundle] for bundle in bundled(groups, 2)] == [[60, 20], [10, 30, 40]]
