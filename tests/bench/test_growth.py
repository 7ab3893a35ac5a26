"""The cases of the part ``growth`` leave things as they were, with few of everything."""

from __future__ import annotations

from embedded_tests.tables import table
from tests.bench import growth


@table("case", list(growth.CASES))
def test_a_case_leaves_things_as_they_were(case):
    assert growth.measured(case, 2, 4, 3, range(3)) > 0
