"""What all tests share: the queue manager under test (``mqgroups.testing``) and direct access to the MQI (``fix_mqi``)."""

from __future__ import annotations

import pytest
from hypothesis import settings

pytest_plugins = [
    "mqgroups.testing.plugin",
    "pytester",
    "tests.fix_mqi",
    "tests.fix_groups",
    "tests.fix_batches",
    "tests.fix_cluster",
    "tests.fix_findings",
    "tests.fix_telemetry",
]

# A busy machine is no defect.
settings.register_profile("mqgroups", deadline=None)
settings.load_profile("mqgroups")

# Fixtures that take the embedded queue manager in hand: it is killed, or its faults are armed.
IN_HAND = {"own_queue_manager", "faults", "count_calls", "harm", "embedded_cluster", "make_cluster"}
# Fixtures through which a test reaches a queue manager.
MQI = {"mq", "binding"}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark the contract suite: what any queue manager has to do, as IBM's texts say."""
    for item in items:
        fixtures = set(getattr(item, "fixturenames", ()))
        if fixtures & IN_HAND:
            item.add_marker("embedded")
        if fixtures & MQI and not item.get_closest_marker("embedded"):
            item.add_marker("contract")
        if "cluster" in fixtures:
            item.add_marker("cluster")
