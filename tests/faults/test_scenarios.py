"""Of each role of the campaign a pattern, and of each phase a few cases: others in each run, the same with the same seed.

It is the seed of the whole run, which stands in the header of the report; ``--randomly-seed=N`` repeats a run.
"""

from __future__ import annotations

import pytest

from tests.faults.campaign import Campaign
from tests.faults.extents import STRIDE
from tests.faults.patterns import PATTERNS, PROGRAMS

pytestmark = pytest.mark.embedded


@pytest.mark.parametrize("role", PROGRAMS)
def test_nothing_is_lost_and_nothing_doubled(request, worker, role):
    seed = request.config.getoption("randomly_seed", 1)
    patterns = STRIDE.among([pattern for pattern in PATTERNS.values() if pattern.role == role], seed)
    campaign = Campaign(STRIDE, seed, patterns, (), worker)
    campaign.run(print)
    total = campaign.total()
    assert total.wrong == []
    assert total.runs > 10
    assert total.fired > total.runs / 2
