"""The cases of the part ``growth`` do what they say, with few of everything."""

from __future__ import annotations

from embedded_tests.tables import table
from tests.bench import growing


@table("case", growing.CASES)
def test_a_case_leaves_things_as_they_were(case):
    grown = growing.measure(case, (2, 4), 3, range(3))
    assert list(grown.us) == [2, 4]
    assert all(us > 0 for us in grown.us.values())


def test_there_are_no_more_things_than_there_can_be():
    few = growing.Case("things", "calls", lambda _here, _number: lambda: None, most=50)
    assert list(growing.measure(few, (10, 40, 60), 1, range(2)).us) == [10, 40]
