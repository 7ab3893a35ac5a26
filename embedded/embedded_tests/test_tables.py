"""A table asks of every row, and says which one fails."""

from __future__ import annotations

import pytest

from embedded_tests.tables import table

SEEN: list[tuple[object, ...]] = []


@pytest.fixture
def make_thing():
    return object


@table("first", [1, 2])
@table(("second", "third"), [("a", "b"), ("c", "d")], anew=["thing"])
def test_every_row_of_every_table_is_asked_with_things_of_its_own(tmp_path, thing, first, second, third):
    assert not list(tmp_path.iterdir())
    (tmp_path / "left").touch()
    assert thing not in [each[0] for each in SEEN]
    SEEN.append((thing, first, second, third))
    rows = [(1, "a", "b"), (1, "c", "d"), (2, "a", "b"), (2, "c", "d")]
    assert [each[1:] for each in SEEN] == rows[: len(SEEN)]
    if (first, second) == (2, "c"):
        assert len(SEEN) == len(rows)
        SEEN.clear()


def test_the_row_that_fails_is_named():
    asked = []

    @table("number", [1, 2, 3])
    def is_odd(number):
        asked.append(number)
        assert number % 2

    with pytest.raises(AssertionError) as failed:
        is_odd()
    assert (failed.value.__notes__, asked) == (["row 1: {'number': 2}"], [1, 2])
