"""What all tests share: the queue manager under test (``mqgroups.testing``) and direct access to the MQI (``fix_mqi``)."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

from mqgroups.testing.bindings import bindings

pytest_plugins = [
    "mqgroups.testing.plugin",
    "pytester",
    "tests.fix_mqi",
    "tests.fix_groups",
    "tests.fix_batches",
    "tests.fix_cluster",
    "tests.fix_examples",
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


# Where the contract tests of the library run on the second binding too, in every change; together they make all its calls.
LIBRARY_ON_BOTH = (
    "put/test_producer.py",
    "put/test_resumed_groups.py",
    "put/test_checkpoints.py",
    "put/test_put_errors.py",
    "put/test_put_response.py",
    "get/test_consumer.py",
    "get/test_groups_that_never_come.py",
    "get/test_resumed_groups.py",
    "get/test_checkpoints.py",
    "get/test_get_errors.py",
    "connection/test_connection.py",
    "test_pipe.py",
    "test_stopping.py",
    "test_group_properties.py",
    "workers/test_workers.py",
    "test_codecs.py",
    "aio/test_aio.py",
    "files/test_sink.py",
    "test_typed_program.py",
)
_HERE = Path(__file__).parent


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Mark the contract suite, leave what is for the night, and put first what takes long.

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
    _leave_what_is_for_the_night(config, items)
    # A process that has nothing left to do takes tests from the other's end: no long one may be there. What needs a Spark session
    # stays together, so that one process alone starts one.
    items.sort(key=lambda item: (item.get_closest_marker("slow") is None, "spark" not in item.fixturenames))
    return result


def _leave_what_is_for_the_night(config, items):
    """Where both bindings are asked for, the second one runs the contract tests of the MQI, and of the library a few files."""
    second = bindings(config.getoption("--mqi"))[1:]
    left = [item for item in items if _binding(item) in second and not _is_for_both(item)]
    if left:
        config.hook.pytest_deselected(items=left)
        kept = set(items) - set(left)
        items[:] = [item for item in items if item in kept]


def _binding(item):
    return item.callspec.params.get("binding") if hasattr(item, "callspec") else None


def _is_for_both(item):
    path = item.path.relative_to(_HERE).as_posix()
    uses_library = "make_owner" in item.fixturenames
    is_contract = item.get_closest_marker("contract") is not None
    return path.startswith("mqi/") or (is_contract and (not uses_library or path in LIBRARY_ON_BOTH))
