"""The chi-square test against published tables and sums worked out by hand."""

import math

import pytest

from tests.bench.spread import chi_square, p_value
from tests.each_row import each_row

# NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.4: upper-tail critical values of the chi-square distribution.
CRITICAL_VALUES = [
    (1, 0.10, 2.706),
    (1, 0.05, 3.841),
    (1, 0.001, 10.828),
    (2, 0.05, 5.991),
    (2, 0.01, 9.210),
    (3, 0.10, 6.251),
    (3, 0.05, 7.815),
    (3, 0.01, 11.345),
    (4, 0.05, 9.488),
    (7, 0.025, 16.013),
    (10, 0.05, 18.307),
    (30, 0.05, 43.773),
    (99, 0.05, 123.225),
]


@each_row(("degrees", "p", "critical"), CRITICAL_VALUES)
def test_p_is_what_the_tables_of_critical_values_say(degrees, p, critical):
    assert p_value(critical, degrees) == pytest.approx(p, rel=2e-3)


@each_row(
    ("counts", "statistic"),
    [
        ([20], 0),
        ([20, 20, 20], 0),
        # (10² + 0² + 10²) / 20
        ([10, 20, 30], 10),
        # (15² + 5² + 5² + 5²) / 5: all groups of one instance
        ([20, 0, 0, 0], 60),
    ],
)
def test_chi_square_sums_the_squares_of_what_is_not_even(counts, statistic):
    assert chi_square(counts) == pytest.approx(statistic)


@each_row("counts", [[], [0, 0]])
def test_nothing_is_spread_neither_evenly_nor_otherwise(counts):
    with pytest.raises(ValueError, match="no counts"):
        chi_square(counts)


def test_one_instance_or_even_counts_are_no_evidence_of_a_bias():
    assert p_value(0, 0) == 1
    assert p_value(0, 3) == 1


@each_row("degrees", [1, 2, 3, 7])
def test_p_falls_from_one_to_nothing_as_counts_grow_uneven(degrees):
    found = [p_value(statistic, degrees) for statistic in (1e-9, 0.5, 1, 5, 25, 125, 625)]
    assert found == sorted(found, reverse=True)
    assert found[0] == pytest.approx(1, abs=1e-4)
    assert 0 < found[-1] < 1e-100
    assert all(map(math.isfinite, found))
