"""What all tests share: the queue manager under test (``mqgroups.testing``) and direct access to the MQI (``fix_mqi``)."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

pytest_plugins = [
    "mqgroups.testing.plugin",
    "tests.fix_mqi",
    "tests.fix_groups",
    "tests.fix_batches",
    "tests.fix_telemetry",
]

# A busy machine is no defect.
settings.register_profile("mqgroups", deadline=None)
settings.load_profile("mqgroups")


@pytest.fixture(scope="session")
def mq_mqsc():
    """The queues of the tests, besides those of the examples."""
    here = Path(__file__).parent
    return [here.parent / "docker" / "20-mqgroups.mqsc", here / "embedded" / "objects.mqsc"]
