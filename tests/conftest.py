"""What all tests share: the queue manager under test (``mqgroups.testing``) and direct access to the MQI (``fix_mqi``)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

pytest_plugins = [
    "mqgroups.testing.plugin",
    "pytester",
    "tests.fix_mqi",
    "tests.fix_groups",
    "tests.fix_batches",
    "tests.fix_cluster",
    "tests.fix_examples",
    "tests.fix_findings",
    "tests.fix_progress",
    "tests.fix_telemetry",
]

# A busy machine is no defect.
settings.register_profile("mqgroups", deadline=None)
settings.load_profile("mqgroups")

# Fixtures that take the embedded queue manager in hand: it is killed, or its faults are armed.
IN_HAND = {"own_queue_manager", "faults", "count_calls", "embedded_cluster", "make_cluster"}
# Fixtures through which a test reaches a queue manager.
MQI = {"mq", "binding"}


# What is shown on the second binding in every change too: its own room, what the bindings pack in different ways, and a few
# files of the library.
ON_BOTH = (
    "mqi/",
    "embedded/test_structure_versions.py",
    "embedded/test_asynchronous_put.py",
    "embedded/test_inquire_set.py",
    "embedded/test_properties.py",
    "put/test_producer.py",
    "put/test_put_response.py",
    "get/test_consumer.py",
    "connection/test_connection.py",
    "workers/test_workers.py",
    "test_pipe.py",
    "test_group_properties.py",
)
_HERE = Path(__file__).parent


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers():
    """Return two processes more than there are cores: a test waits for other processes a third of its time."""
    return len(os.sched_getaffinity(0)) + 2


@pytest.hookimpl(tryfirst=True)
def pytest_generate_tests(metafunc):
    if not metafunc.definition.path.relative_to(_HERE).as_posix().startswith(ON_BOTH):
        metafunc.definition.add_marker("one_binding")


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
