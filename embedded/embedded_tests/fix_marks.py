"""Marks, and the order of tests: for the tests of the queue manager, and for those of programs that run on it."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

# A busy machine is no defect.
settings.register_profile("busy", deadline=None)
settings.load_profile("busy")

# Fixtures that take the embedded queue manager in hand: it is killed, or its faults are armed.
IN_HAND = {"own_queue_manager", "faults", "count_calls", "embedded_cluster", "make_cluster"}
# Fixtures through which a test reaches a queue manager.
MQI = {"mq", "binding"}


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers():
    """Return two processes more than there are cores: a test waits for other processes a third of its time."""
    return len(os.sched_getaffinity(0)) + 2


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Mark the contract suite, and put first what takes long.

    The contract suite is what any queue manager has to do, as IBM's texts say.
    """
    for item in items:
        fixtures = set(getattr(item, "fixturenames", ()))
        if fixtures & IN_HAND:
            item.add_marker("embedded")
        if fixtures & MQI and not item.get_closest_marker("embedded"):
            item.add_marker("contract")
        if "cluster" in fixtures:
            item.add_marker("cluster")
    result = yield
    # A process that has nothing left to do takes tests from the other's end: no long one may be there. What needs a Spark session
    # stays together, so that one process alone starts one.
    items.sort(key=lambda item: (item.get_closest_marker("slow") is None, "spark" not in item.fixturenames))
    return result
