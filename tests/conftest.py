"""What all tests share: the queue manager under test (``mqembedded.testing``) and direct access to the MQI (``fix_mqi``)."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest_plugins = [
    "mqembedded.testing.plugin",
    "pytester",
    "embedded_tests.fix_marks",
    "embedded_tests.fix_mqi",
    "embedded_tests.fix_cluster",
    "tests.fix_groups",
    "tests.fix_batches",
    "tests.fix_examples",
    "tests.fix_findings",
    "tests.fix_progress",
    "tests.fix_telemetry",
]

# What is shown on the second binding in every change too: its own room, what the bindings pack in different ways, and a few
# files of the library.
ON_BOTH = (
    "mqi/",
    "put/test_producer.py",
    "put/test_put_response.py",
    "get/test_consumer.py",
    "connection/test_connection.py",
    "workers/test_workers.py",
    "test_pipe.py",
    "test_group_properties.py",
)
_HERE = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)
def pytest_generate_tests(metafunc):
    if not metafunc.definition.path.relative_to(_HERE).as_posix().startswith(ON_BOTH):
        metafunc.definition.add_marker("one_binding")
