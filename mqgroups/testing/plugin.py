"""A pytest plugin: the queue manager under test, its queues, and the bindings to reach it.

``--mq=embedded`` (the default) starts one embedded queue manager for the session; ``--mq=url`` uses the one that the
environment names: MQGROUPS_TEST_QMGR, _CHANNEL, _CONN_NAME, _USER, _PASSWORD, and _MODEL for the model queue to make test
queues from (DEV.APP.MODEL.QUEUE). ``--mqi`` says which of the installed bindings a test that asks for ``binding`` runs on.

Tests marked ``embedded`` need the embedded queue manager, tests marked ``real`` need IBM MQ; the others run on both.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mqgroups.embedded import EmbeddedQueueManager
from mqgroups.embedded.libmqm.build import build, load
from mqgroups.mqi import constants as mqi

BINDINGS = ("pymqi", "ibmmq")
MQSC = Path(__file__).with_name("queues.mqsc")
EMBEDDED_MODEL = "MQGROUPS.TEST.MODEL"

MakeQueue = Callable[..., str]
MakeQueueManager = Callable[..., EmbeddedQueueManager]


@dataclass(frozen=True, slots=True)
class QueueManagerUnderTest:
    """Where the tests connect to. ``queue_manager`` is the embedded one, None on IBM MQ."""

    q_mgr_name: str
    channel: str
    conn_name: str
    user: str | None
    password: str | None
    model: str
    queue_manager: EmbeddedQueueManager | None

    @property
    def is_embedded(self) -> bool:
        """Whether it is the embedded queue manager."""
        return self.queue_manager is not None

    def connect(self, binding: Any) -> Any:
        """Return a connected ``QueueManager`` of the binding, which never disconnects by itself (MQDISC commits)."""
        q_mgr = binding.QueueManager(None, disconnect_on_exit=False)
        cd = binding.CD()
        cd.ChannelName = self.channel.encode()
        cd.ConnectionName = self.conn_name.encode()
        cd.ChannelType = binding.CMQXC.MQCHT_CLNTCONN
        cd.TransportType = mqi.MQXPT_TCP
        credentials = {} if self.user is None else {"user": self.user, "password": self.password or ""}
        q_mgr.connect_with_options(self.q_mgr_name, cd=cd, opts=mqi.MQCNO_NONE, **credentials)
        return q_mgr


# --- options, marks, header


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--mq`` and ``--mqi``."""
    group = parser.getgroup("mqgroups", "IBM MQ message groups")
    group.addoption(
        "--mq",
        choices=("embedded", "url"),
        default="embedded",
        help="queue manager under test: the embedded one, or that of MQGROUPS_TEST_QMGR, _CHANNEL, _CONN_NAME, …",
    )
    group.addoption(
        "--mqi",
        choices=(*BINDINGS, "both"),
        default="both",
        help="binding under test; both means those that are installed",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the marks."""
    config.addinivalue_line("markers", "embedded: needs the embedded queue manager")
    config.addinivalue_line("markers", "real: needs IBM MQ")


def pytest_report_header(config: pytest.Config) -> str:
    """Say what the results are worth: which queue manager, which bindings, which level."""
    names = _bindings(config)
    bindings = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in names) or "none installed"
    if config.getoption("--mq") == "embedded":
        # What MQINQ answers; tests/embedded/test_inquire_set.py holds the server to it.
        where = f"embedded queue manager (not IBM MQ), command level {mqi.MQCMDL_LEVEL_920}"
    else:
        under_test = _from_environment()
        where = f"{under_test.q_mgr_name} at {under_test.conn_name}, {_level(under_test, names)}"
    return f"mq: {where}, bindings {bindings}"


def pytest_collection_modifyitems(config: pytest.Config, items: Sequence[pytest.Item]) -> None:
    """Skip what the queue manager under test cannot do."""
    unwanted, why = (
        ("real", "needs IBM MQ") if config.getoption("--mq") == "embedded" else ("embedded", "needs --mq=embedded")
    )
    for item in items:
        if item.get_closest_marker(unwanted):
            item.add_marker(pytest.mark.skip(reason=why))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test that asks for ``binding`` once with each."""
    if "binding" in metafunc.fixturenames:
        metafunc.parametrize("binding", _bindings(metafunc.config) or [None], indirect=True, scope="session")


def _bindings(config: pytest.Config) -> list[str]:
    wanted = config.getoption("--mqi")
    return [name for name in BINDINGS if wanted in (name, "both") and importlib.util.find_spec(name) is not None]


def _from_environment() -> QueueManagerUnderTest:
    def given(name: str, default: str | None = None) -> str:
        value = os.environ.get(f"MQGROUPS_TEST_{name}", default)
        if value is None:
            raise pytest.UsageError(f"--mq=url needs MQGROUPS_TEST_{name}")
        return value

    return QueueManagerUnderTest(
        q_mgr_name=given("QMGR"),
        channel=given("CHANNEL"),
        conn_name=given("CONN_NAME"),
        user=os.environ.get("MQGROUPS_TEST_USER"),
        password=os.environ.get("MQGROUPS_TEST_PASSWORD"),
        model=given("MODEL", "DEV.APP.MODEL.QUEUE"),
        queue_manager=None,
    )


def _level(under_test: QueueManagerUnderTest, bindings: Sequence[str]) -> str:
    if not bindings:
        return "not asked"
    binding = importlib.import_module(bindings[0])
    try:
        q_mgr = under_test.connect(binding)
        level = q_mgr.inquire(mqi.MQIA_COMMAND_LEVEL)
        q_mgr.disconnect()
    except binding.MQMIError as error:
        return f"not reachable ({error.errorAsString()})"
    return f"command level {level}"


# --- fixtures


@pytest.fixture(scope="session")
def mq_mqsc() -> Sequence[Path]:
    """More MQSC files for the embedded queue managers; a test suite overrides it with its own."""
    return ()


@pytest.fixture(scope="session")
def _client_library(request: pytest.FixtureRequest) -> None:
    """The embedded C library in this process, before any binding is imported; IBM MQ brings its own."""
    if request.config.getoption("--mq") == "embedded":
        load(build())


@pytest.fixture(scope="session")
def mq(
    request: pytest.FixtureRequest, _client_library: None, mq_mqsc: Sequence[Path]
) -> Iterator[QueueManagerUnderTest]:
    """The queue manager under test, one for the session."""
    if request.config.getoption("--mq") == "url":
        yield _from_environment()
        return
    with EmbeddedQueueManager("QM1", mqsc=[MQSC, *mq_mqsc], users={"app": "passw0rd"}) as queue_manager:
        yield QueueManagerUnderTest(
            q_mgr_name=queue_manager.q_mgr_name,
            channel=queue_manager.channel,
            conn_name=queue_manager.conn_name,
            user="app",
            password="passw0rd",
            model=EMBEDDED_MODEL,
            queue_manager=queue_manager,
        )


@pytest.fixture(scope="session")
def binding(request: pytest.FixtureRequest, _client_library: None) -> Any:
    """The package ``pymqi`` or ``ibmmq``; a test that asks for it runs on both."""
    if request.param is None:
        pytest.skip("neither pymqi nor ibmmq is installed")
    return importlib.import_module(request.param)


@pytest.fixture(scope="session")
def _any_binding(request: pytest.FixtureRequest, _client_library: None) -> Any:
    names = _bindings(request.config)
    if not names:
        pytest.skip("neither pymqi nor ibmmq is installed")
    return importlib.import_module(names[0])


@pytest.fixture(scope="session")
def _keeper(mq: QueueManagerUnderTest, _any_binding: Any) -> Iterator[Any]:
    """The connection that makes and deletes test queues."""
    q_mgr = mq.connect(_any_binding)
    yield q_mgr
    q_mgr.disconnect()


@pytest.fixture
def make_queue(mq: QueueManagerUnderTest, _any_binding: Any, _keeper: Any) -> Iterator[MakeQueue]:
    """A function that makes an empty local queue from a model (by default a permanent dynamic one) and returns its name.

    The queues are deleted after the test with what is on them, so close the handles first: let fixtures that open them
    depend on this one.
    """
    opened: list[Any] = []

    def make(model: str | None = None) -> str:
        od = _any_binding.OD(Version=3, ObjectName=(model or mq.model).encode(), DynamicQName=b"MQGROUPS.TEST.*")
        # For inquiry only: it is in nobody's way, and a temporary dynamic queue lives until it is closed.
        opened.append(_any_binding.Queue(_keeper, od, mqi.MQOO_INQUIRE))
        name: bytes = od.ObjectName
        return name.split(b"\0")[0].decode().rstrip()

    yield make
    for queue in opened:
        try:
            queue.close(mqi.MQCO_DELETE_PURGE)
        except _any_binding.MQMIError as error:
            if error.reason != mqi.MQRC_Q_DELETED:
                raise


@pytest.fixture
def queue(make_queue: MakeQueue) -> str:
    """The name of an empty local queue of this test's own."""
    return make_queue()


@pytest.fixture
def own_queue_manager(
    request: pytest.FixtureRequest, _client_library: None, mq_mqsc: Sequence[Path]
) -> Iterator[MakeQueueManager]:
    """A function that starts an embedded queue manager of this test's own, to be killed or reconfigured.

    It takes what ``EmbeddedQueueManager`` takes; ``mqsc`` comes on top of the session's.
    """
    if request.config.getoption("--mq") != "embedded":
        pytest.skip("needs --mq=embedded")
    started: list[EmbeddedQueueManager] = []

    def start(name: str = "QM2", *, mqsc: Sequence[Path | str] = (), **more: Any) -> EmbeddedQueueManager:
        queue_manager = EmbeddedQueueManager(name, mqsc=[MQSC, *mq_mqsc, *mqsc], **more)
        started.append(queue_manager)
        queue_manager.start()
        return queue_manager

    yield start
    for queue_manager in started:
        queue_manager.__exit__(None, None, None)
