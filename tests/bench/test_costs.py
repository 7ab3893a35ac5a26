"""Figures from made-up measurements."""

import pytest

from tests.bench.costs import NOT_FIXED, ON_GROUP, Case, Load, Spent, of_cases, of_cells


def spent(*processor_s: float) -> list[Spent]:
    """Rounds in which the processes together took so long, half of it at the queue manager that sends."""
    return [Spent(1.0, 2.0, each / 4, each / 2, each / 4, batches=5) for each in processor_s]


def test_ratios_are_medians_of_those_within_a_round():
    # A machine that is slower in the second round than in the first, and again in the third.
    found = {
        Case(NOT_FIXED, 1): spent(1, 2, 40),
        Case(NOT_FIXED, 4): spent(3, 6, 80),
        Case(ON_GROUP, 1): spent(0.5, 1, 10),
        Case(ON_GROUP, 4): spent(0.6, 6, 20),
    }
    rows = of_cases(Load(groups=10, messages=2, every=2), found)
    assert [(row["way"], row["instances"]) for row in rows] == [
        (NOT_FIXED, 1),
        (NOT_FIXED, 4),
        (ON_GROUP, 1),
        (ON_GROUP, 4),
    ]
    # 1, 1, 1 - 3, 3, 2 - 1, 1, 1 - 1.2, 6, 2
    assert [row["ratio_to_smallest"] for row in rows] == pytest.approx([1, 3, 1, 2])
    # 1, 1, 1 - 1, 1, 1 - 0.5, 0.5, 0.25 - 0.2, 1, 0.25
    assert [row["ratio_to_not_fixed"] for row in rows] == pytest.approx([1, 1, 0.5, 0.25])


def test_costs_are_microseconds_a_message_by_who_had_them():
    (row,) = of_cases(Load(groups=10, messages=2, every=2), {Case(ON_GROUP, 4, open_groups=10): spent(3, 1, 2)})
    # Twenty messages in two seconds of processor time and five batches, there after two seconds.
    assert row == {
        "way": ON_GROUP,
        "instances": 4,
        "open_groups": 10,
        "processor_cpu_us_per_message": pytest.approx(100_000),
        "client_cpu_us_per_message": pytest.approx(25_000),
        "gateway_cpu_us_per_message": pytest.approx(50_000),
        "hosts_cpu_us_per_message": pytest.approx(25_000),
        "messages_per_batch": 4,
        "us_per_message": pytest.approx(100_000),
        "ratio_to_smallest": 1,
    }


def test_groups_in_a_second_and_their_spread_are_told_for_each_cell():
    spent = {(1, 1): [Spent(1, 2, 1, 2, 1, 5)], (2, 4): [Spent(0.5, 1, 2, 4, 2, 5)]}
    _, row = of_cells(20, spent, {(1, 1): [20], (2, 4): [15, 5]})
    assert (row["instances"], row["producers"]) == (2, 4)
    assert row["groups_put_per_s"] == 40
    assert row["groups_arrived_per_s"] == 20
    assert row["ratio_of_time"] == 0.5
    assert row["processor_cpu_ms_per_group"] == 400
    assert row["ratio_of_cpu"] == 2
    assert row["groups_by_instance"] == [15, 5]
    # 5²/10 + 5²/10, and beyond 3.841 with one degree of freedom is below 0.05.
    assert row["chi_square"] == 5
    assert 0.02 < row["p"] < 0.05
