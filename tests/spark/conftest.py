"""One Spark session for all tests that need one, on the embedded queue manager; without pyspark they are skipped."""

from __future__ import annotations

import importlib.util
import os
import sys
import threading
from functools import partial
from queue import SimpleQueue

import pytest

from mqembedded.testing.bindings import BINDINGS
from mqembedded.testing.fixtures import mq_scope
from mqgroups.connection.holder import connection_of
from mqgroups.spark.browse import BrowsedQueue
from mqgroups.spark.removal import Removers, Share
from mqgroups.spark.reservation import ReservedQueue
from mqgroups.spark.taker import Taker

# What py4j and pyspark leave behind is not for these tests to complain about.
_OF_SPARK = ("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
# Derby, which a test writes to, would leave a log in the working folder.
SHORT_LIVED = (
    "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote "
    "-Dderby.stream.error.file=/dev/null"
)


def pytest_collection_modifyitems(config, items):
    """A session's workers have one binding: what needs a session runs on the first one only."""
    first = _binding(config)
    kept: list[pytest.Item] = []
    dropped: list[pytest.Item] = []
    for item in items:
        in_session = "spark_environment" in getattr(item, "fixturenames", ())
        callspec = getattr(item, "callspec", None)
        other = in_session and callspec is not None and callspec.params.get("binding", first) != first
        (dropped if other else kept).append(item)
        if in_session:
            for warning in _OF_SPARK:
                item.add_marker(pytest.mark.filterwarnings(warning))
    if dropped:
        config.hook.pytest_deselected(items=dropped)
        items[:] = kept


def _binding(config):
    chosen = config.getoption("--mqi")
    return next((name for name in BINDINGS if chosen in (name, "both") and importlib.util.find_spec(name)), None)


@pytest.fixture(scope=mq_scope)
def spark_environment(request, mq, tmp_path_factory):
    """What a process needs to start Spark with workers that reach the queue manager under test."""
    if importlib.util.find_spec("pyspark") is None:
        pytest.skip("pyspark is not installed")
    return {
        **mq.environment(),
        "MQGROUPS_MQI": _binding(request.config) or "",
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LOCAL_DIRS": str(tmp_path_factory.mktemp("spark")),
        "TEST_MQ_PASSWORD": mq.password or "",
    }


@pytest.fixture(scope=mq_scope)
def spark(spark_environment, tmp_path_factory):
    """A session with two cores, where a task is tried four times."""
    from pyspark.sql import SparkSession

    # The JVM, and with it the workers, keep the environment that they are started with. Tests that follow have their own.
    with pytest.MonkeyPatch.context() as patch:
        for name, value in spark_environment.items():
            patch.setenv(name, value)
        session = (
            SparkSession.builder.master("local[2,4]")
            .appName("mqgroups tests")
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.sql.shuffle.partitions", "2")
            .config("spark.sql.session.timeZone", "UTC")
            .config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse")))
            # What a session compiles and checks for itself takes longer than these tests run.
            .config("spark.driver.extraJavaOptions", SHORT_LIVED)
            .config("spark.sql.codegen.wholeStage", "false")
            .config("spark.sql.codegen.factoryMode", "NO_CODEGEN")
            .getOrCreate()
        )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture
def mq_options(mq):
    """The connection's options. The password is in the environment of the workers."""
    options = {
        "mq.queueManager": mq.q_mgr_name,
        "mq.channel": mq.channel,
        "mq.connectionNameList": mq.conn_name,
    }
    if mq.user is not None:
        options.update({"mq.user": mq.user, "mq.passwordEnv": "TEST_MQ_PASSWORD"})
    return options


@pytest.fixture(autouse=True)
def _password(mq, monkeypatch):
    monkeypatch.setitem(os.environ, "TEST_MQ_PASSWORD", mq.password or "")


# --- the queue, without a session


@pytest.fixture
def browsed(owner):
    with BrowsedQueue(connection_of(owner.qmgr), owner.queue) as queue:
        yield queue


class Reserved(ReservedQueue):
    """The queue, whose removal is waited for. A unit of work has ``every`` messages."""

    def __init__(self, owner, wait_s=0.0, every=2, most=1, **connection):
        def connect():
            return connection_of(owner.connect(**connection))

        super().__init__(connect(), owner.queue, wait_s, Removers(connect, owner.queue, most, every))

    def remove(self, shares):
        super().remove(share if isinstance(share, Share) else Share(share) for share in shares)

    def remove_all(self, *shares):
        self.remove(shares)
        return self.removed()


@pytest.fixture
def reserve(owner):
    """A function that reserves the queue, on a connection of its own."""
    return partial(Reserved, owner)


class Gate:
    """Holds removers up, each when it has got a message, until it is opened."""

    def __init__(self):
        self._reached: SimpleQueue[object] = SimpleQueue()
        self._is_open = threading.Event()
        self.open = self._is_open.set

    def pass_through(self, key):
        self._reached.put(key)
        assert self._is_open.wait(60)

    def reached(self):
        """Wait for a remover; returns the key of its group."""
        return self._reached.get(timeout=60)


@pytest.fixture
def gate(monkeypatch):
    gate, take = Gate(), Taker.take

    def held(taker, key, got, **more):
        for found in take(taker, key, got, **more):
            gate.pass_through(key)
            yield found

    monkeypatch.setattr(Taker, "take", held)
    yield gate
    gate.open()
