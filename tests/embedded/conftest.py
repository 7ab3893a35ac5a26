"""The C library in front of a server of the test's own (``peer.py``)."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mqgroups.embedded.libmqm.build import CLIENT_LIBRARY, build
from mqgroups.mqi import constants as mq
from tests.embedded.peer import Caller, Peer, well_behaved


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
