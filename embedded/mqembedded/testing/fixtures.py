"""The plugin's fixtures: ``mq``, ``binding``, ``queue``, ``make_queue``, ``own_queue_manager``."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from mqembedded import EmbeddedQueueManager
from mqembedded import constants as mqi
from mqembedded.libmqm.build import build, load
from mqembedded.testing import provision
from mqembedded.testing.bindings import bindings, loaded
from mqembedded.testing.options import FAILED, MISSING, SESSION, wanted
from mqembedded.testing.under_test import (
    MQSC,
    MakeQueue,
    MakeQueueManager,
    QueueManagerUnderTest,
    embedded_client,
)

_PATIENCE_S = 20.0


def mq_scope(fixture_name: str, config: pytest.Config) -> Any:  # noqa: ARG001 - pytest names both
    """Return the scope of the fixture ``mq`` from the option ``--mq-scope``. Other fixtures can use this function, too."""
    return config.getoption("--mq-scope")


@pytest.fixture(scope="session")
def mq_mqsc(pytestconfig: pytest.Config) -> Sequence[Path]:
    """The MQSC files that the ini option ``mq_mqsc`` names."""
    files: Sequence[Path] = pytestconfig.getini("mq_mqsc")
    return files


@pytest.fixture(scope="session")
def _client_library(pytestconfig: pytest.Config) -> None:
    """Load the embedded C library into this process before any binding is imported. Tests on IBM MQ use IBM's library."""
    if wanted(pytestconfig).is_embedded:
        load(build())


@pytest.fixture(scope=mq_scope)
def mq(pytestconfig: pytest.Config, _client_library: None, mq_mqsc: Sequence[Path]) -> Iterator[QueueManagerUnderTest]:
    """The queue manager under test. The tests in the scope that ``--mq-scope`` sets (by default, the session) share it."""
    if MISSING in pytestconfig.stash:
        pytest.skip(pytestconfig.stash[MISSING])
    elif SESSION in pytestconfig.stash:
        yield pytestconfig.stash[SESSION]
    else:
        with provision.running(wanted(pytestconfig), mq_mqsc) as under_test:
            yield under_test


@pytest.fixture(scope="session")
def binding(request: pytest.FixtureRequest, _client_library: None) -> Any:
    """The package ``pymqi`` or ``ibmmq``. A test with this fixture runs once with each installed binding."""
    return _package(request.config, request.param)


@pytest.fixture(scope="session")
def _any_binding(pytestconfig: pytest.Config, _client_library: None) -> Any:
    return _package(pytestconfig, next(iter(bindings(pytestconfig.getoption("--mqi"))), None))


def _package(config: pytest.Config, name: str | None) -> Any:
    if name is None:
        chosen = config.getoption("--mqi")
        if chosen != "both":
            pytest.skip(f"{chosen} is not installed")
        pytest.fail("neither pymqi nor ibmmq is installed: pip install ibmmq", pytrace=False)
    if MISSING in config.stash:
        pytest.skip(config.stash[MISSING])
    try:
        package = loaded(name)
    except ImportError as error:
        pytest.fail(str(error), pytrace=False)
    if wanted(config).is_container and embedded_client():
        pytest.fail(
            "the embedded queue manager's client library is loaded, and cannot reach IBM MQ: set LD_LIBRARY_PATH to IBM's",
            pytrace=False,
        )
    return package


@pytest.fixture(scope=mq_scope)
def _keeper(mq: QueueManagerUnderTest, _any_binding: Any) -> Iterator[Any]:
    """The connection that makes and deletes test queues."""
    q_mgr = mq.connect(_any_binding)
    yield q_mgr
    q_mgr.disconnect()


@pytest.fixture(scope=mq_scope)
def _left(_any_binding: Any, _keeper: Any) -> Iterator[list[Any]]:
    """The open queues that failed tests have left behind. Fixtures try to delete them after each test and at the end."""
    queues: list[Any] = []
    yield queues
    for queue in queues:
        _reason_to_stay(queue, _any_binding.MQMIError)


@pytest.fixture
def make_queue(
    request: pytest.FixtureRequest, mq: QueueManagerUnderTest, _any_binding: Any, _keeper: Any, _left: list[Any]
) -> Iterator[MakeQueue]:
    """A function that makes an empty queue from a model queue (by default, a permanent dynamic queue) and returns its name.

    After the test, the fixture deletes the queues with their messages. The test must have closed the queues by then, so a fixture
    that opens queues should depend on ``make_queue``. After a failed test, the fixture ignores queues that cannot be deleted.
    """
    opened: list[Any] = []

    def make(model: str | None = None) -> str:
        od = _any_binding.OD(Version=3, ObjectName=(model or mq.model).encode(), DynamicQName=b"MQTEST.*")
        # This handle keeps a temporary dynamic queue in existence. MQOO_INQUIRE blocks no other open.
        opened.append(_any_binding.Queue(_keeper, od, mqi.MQOO_INQUIRE))
        name: bytes = od.ObjectName
        return name.split(b"\0")[0].decode().rstrip()

    yield make
    failure = _any_binding.MQMIError
    if FAILED in request.node.stash:
        # A connection of the test perhaps has messages in a unit of work, and ends later or never.
        _left.extend(opened)
    else:
        for queue in opened:
            _delete(queue, failure)
    _left[:] = [queue for queue in _left if _is_held(_reason_to_stay(queue, failure))]


def _delete(queue: Any, failure: type[Exception]) -> None:
    """Delete a queue with its messages; wait while the unit of work of a lost connection still has messages of the queue."""
    deadline = time.monotonic() + _PATIENCE_S
    # No sleep is needed, because each try waits for an answer of the queue manager.
    while (error := _reason_to_stay(queue, failure)) is not None:
        if not _is_held(error) or time.monotonic() > deadline:
            raise error


def _reason_to_stay(queue: Any, failure: type[Exception]) -> Exception | None:
    """Try to delete a queue with its messages; return the error, or None if the queue is gone."""
    try:
        queue.close(mqi.MQCO_DELETE_PURGE)
    except failure as error:
        return None if getattr(error, "reason", mqi.MQRC_NONE) == mqi.MQRC_Q_DELETED else error
    return None


def _is_held(error: Exception | None) -> bool:
    """Return whether the error means that a unit of work still has messages of the queue."""
    return getattr(error, "reason", mqi.MQRC_NONE) == mqi.MQRC_Q_NOT_EMPTY


@pytest.fixture
def queue(make_queue: MakeQueue) -> str:
    """The name of an empty local queue that only this test uses."""
    return make_queue()


@pytest.fixture
def own_queue_manager(
    pytestconfig: pytest.Config, _client_library: None, mq_mqsc: Sequence[Path]
) -> Iterator[MakeQueueManager]:
    """A function that starts an embedded queue manager for this test alone, so that the test can kill or reconfigure it.

    The function takes the arguments of ``EmbeddedQueueManager``. The queue manager reads the files in ``mqsc`` after the
    files of ``mq_mqsc``. The plugin marks tests with this fixture as ``embedded``.
    """
    started: list[EmbeddedQueueManager] = []

    def start(name: str = "QM2", *, mqsc: Sequence[Path | str] = (), **more: Any) -> EmbeddedQueueManager:
        more.setdefault("readings", wanted(pytestconfig).readings)
        queue_manager = EmbeddedQueueManager(name, mqsc=[MQSC, *mq_mqsc, *mqsc], **more)
        started.append(queue_manager)
        queue_manager.start()
        return queue_manager

    yield start
    for queue_manager in started:
        queue_manager.__exit__(None, None, None)
