"""The ownership protocol: every interleaving up to a bound holds, and without any one of its safeties something breaks.

``MQGROUPS_OWNERSHIP_LARGE=1`` takes the larger bounds too; ``python -m tests.ownership`` prints the numbers of states.
"""

from __future__ import annotations

import os

import pytest

from tests.ownership.explorer import Explorer, written
from tests.ownership.queue_manager import Reading
from tests.ownership.safeties import Patch, Protocol, programs
from tests.ownership.scenarios import BREAKS, HOLDS, LARGE, LARGER, owners

BOUND = [
    *HOLDS,
    *(pytest.param(holds, marks=pytest.mark.nightly) for holds in LARGER),
    *(LARGE if os.environ.get("MQGROUPS_OWNERSHIP_LARGE") else ()),
]
WITHOUT = [
    pytest.param(safety, marks=pytest.mark.nightly) if breaks.is_large else safety for safety, breaks in BREAKS.items()
]


@pytest.mark.parametrize("holds", BOUND, ids=str)
def test_nothing_is_lost_or_doubled_and_nobody_is_stuck(holds):
    explored = Explorer(holds.scenario, holds.protocol, holds.reading).explore()
    assert not explored.broken, f"{explored.broken}\n{written(explored.trace)}"
    assert explored.states > 2000


@pytest.mark.parametrize("safety", WITHOUT)
def test_each_safety_is_needed(safety):
    breaks = BREAKS[safety]
    explored = Explorer(breaks.scenario, breaks.protocol, breaks.reading).explore()
    assert breaks.wrong in explored.broken, written(explored.trace)


@pytest.mark.parametrize("role", ["get", "pipe"])
def test_where_an_instance_stands_is_told_by_its_frames(role):
    explorer = Explorer(owners(role, 2, 1), Protocol(), Reading.COMMITS_LATE)
    explorer.explore()
    assert explorer.check_programs() > 200


def test_a_patch_fits_exactly_one_place():
    with pytest.raises(AssertionError, match="occurs 0 times"):
        programs(Protocol((Patch("protocol", "not in the source", ""),)))
