"""Rates from two looks at a queue."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embedded_tests.tables import table
from mqgroups.operate.rules.rates import Look, Rates, rates


@table(
    ("before", "now", "expected"),
    [
        (Look(10, 100, 5), Look(12, 100, 5), Rates()),
        (Look(10, 100, 5), Look(12, 110, 6, 10, 1), Rates(messages_in=5, groups_in=0.5)),
        (Look(10, 100, 5), Look(12, 80, 4), Rates(messages_out=10, groups_out=0.5)),
        (Look(10, 100, 5), Look(12, 100, 5, 20, 2), Rates(10, 10, 1, 1)),
        (Look(10, 0, 0, units_of_work={("a", 1): 3}), Look(11, 0, 0, units_of_work={("a", 1): 7}), Rates(commits=4)),
        # The owner is another instance: what it has committed before this look is not known.
        (Look(10, 0, 0, units_of_work={("a", 1): 3}), Look(11, 0, 0, units_of_work={("b", 2): 7}), Rates()),
        # A name that did not exist at the first look.
        (Look(10, 0, 0), Look(11, 0, 0, units_of_work={("a", 1): 2}), Rates(commits=2)),
        (Look(10, 1, 1), Look(10, 2, 2, 5, 5), Rates()),
    ],
)
def test_what_came_and_went_by_the_time_that_passed(before, now, expected):
    assert rates(before, now) == expected


COUNTS = st.integers(0, 10_000)


@given(COUNTS, COUNTS, COUNTS, st.floats(0.1, 100))
def test_nothing_comes_from_nowhere(messages, came, went, passed_s):
    went = min(went, messages)
    found = rates(Look(0, messages, 0), Look(passed_s, messages + came - went, 0, new_messages=came))
    assert found.messages_in * passed_s == pytest.approx(came)
    assert found.messages_out * passed_s == pytest.approx(went)
