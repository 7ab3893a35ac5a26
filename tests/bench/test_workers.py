"""Figures of workers from made-up measurements."""

import pytest

from tests.bench.workers import rate, summary


def test_only_the_time_in_which_all_work_counts():
    # The second worker begins later and has more to do than the first.
    one = [(1.0, 20), (2.0, 20), (3.0, 20), (4.0, 20)]
    two = [(2.0, 20), (3.0, 20), (4.0, 20), (5.0, 20)]
    # From 2 to 4: two groups of each.
    assert rate([one, two]) == 40
    assert rate([one]) == 20


def test_workers_that_never_all_work_have_no_rate():
    with pytest.raises(ValueError, match="put more groups"):
        rate([[(1.0, 20), (2.0, 20)], [(3.0, 20), (4.0, 20)]])


def test_the_share_of_linear_is_told_by_medians():
    rows = summary({1: [100, 90, 500], 4: [360, 10, 400]})
    assert rows == [
        {"workers": 1, "messages_per_s": 100, "share_of_linear": 1},
        {"workers": 4, "messages_per_s": 360, "share_of_linear": 0.9},
    ]
