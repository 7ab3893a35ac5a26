"""What all tests share: the queue manager under test, the MQI, and the C library in front of a server of the tests' own."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from embedded_tests.peer import Caller, Peer, well_behaved
from mqembedded import constants as mq
from mqembedded.libmqm.build import CLIENT_LIBRARY, build

pytest_plugins = [
    "mqembedded.testing.plugin",
    "pytester",
    "embedded_tests.fix_marks",
    "embedded_tests.fix_mqi",
    "embedded_tests.fix_cluster",
]

# What the bindings pack in different ways is shown on the second one in every change too.
ON_BOTH = (
    "test_structure_versions.py",
    "test_asynchronous_put.py",
    "test_inquire_set.py",
    "test_properties.py",
)


@pytest.hookimpl(tryfirst=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if metafunc.definition.path.name not in ON_BOTH:
        metafunc.definition.add_marker("one_binding")


@pytest.fixture
def peer(monkeypatch: pytest.MonkeyPatch) -> Iterator[Peer]:
    made = Peer()
    monkeypatch.setenv("MQSERVER", f"DEV.APP.SVRCONN/TCP/127.0.0.1({made.port})")
    yield made
    made.close()


@pytest.fixture(scope="session")
def library() -> ctypes.CDLL:
    return ctypes.CDLL(str(build() / "lib64" / CLIENT_LIBRARY))


@pytest.fixture(scope="session")
def impatient_library() -> Path:
    """The file of a library that waits a second for an answer where the other one waits much longer."""
    return build(extra_flags=["-DSILENCE_TIMEOUT=1"]) / "lib64" / CLIENT_LIBRARY


@pytest.fixture
def make_caller(library: ctypes.CDLL, peer: Peer) -> Iterator[Callable[[], Caller]]:
    """A function that connects to the peer, which serves one connection after the other: the one before is ended first."""
    made: list[Caller] = []

    def end() -> None:
        peer.answer = well_behaved
        if made:
            made.pop().disconnect()
        peer.ended.clear()

    def make() -> Caller:
        end()
        made.append(Caller(library))
        assert made[-1].connected == (mq.MQCC_OK, mq.MQRC_NONE)
        return made[-1]

    yield make
    end()


@pytest.fixture
def caller(make_caller: Callable[[], Caller]) -> Caller:
    return make_caller()
