"""A Docker engine that the test plays, for testcontainers' own client in front of it."""

from __future__ import annotations

import importlib
import itertools

import pytest

from embedded_tests.testing.docker_api import Engine, Served

READY_AFTER = 3


@pytest.fixture
def engine(monkeypatch):
    """An engine whose container is ready at the third time of asking, and whose queue manager is 9.4.2.0."""
    core = pytest.importorskip("testcontainers.core.config", reason="testcontainers is not installed")
    # With all that it needs, before pytester forgets what was imported in a run of its own.
    container = importlib.import_module("mqembedded.testing.container")
    monkeypatch.setattr(container, "POLL_S", 0.01)
    asked = itertools.count(1)
    programs = {
        "chkmqready": lambda _: (0 if next(asked) >= READY_AFTER else 1, ""),
        "dspmqver": lambda _: (0, "9.4.2.0\n"),
    }
    engine = Engine(images={"icr.io/ibm-messaging/mq:latest"}, programs=programs)
    served = Served(engine)
    monkeypatch.setenv("DOCKER_HOST", served.address)
    monkeypatch.delenv("MQTEST_LICENSE", raising=False)
    # Ryuk, which removes what a killed test leaves behind, is a container of its own.
    monkeypatch.setattr(core.testcontainers_config, "ryuk_disabled", True)
    # Where the tests run in a container themselves, it would look for the network that both are in.
    monkeypatch.setattr(core.testcontainers_config, "connection_mode_override", core.ConnectionMode.docker_host)
    _tell_when_output_is_read(engine, monkeypatch)
    yield engine
    served.close()


@pytest.fixture
def no_engine(monkeypatch):
    """No engine at all: nobody listens there."""
    monkeypatch.setenv("DOCKER_HOST", "unix:///nonexistent/docker.sock")


def _tell_when_output_is_read(engine, monkeypatch):
    from docker.api.client import APIClient

    read = APIClient._read_from_socket

    def told(*arguments, **more):
        engine.client_reads.set()
        return read(*arguments, **more)

    monkeypatch.setattr(APIClient, "_read_from_socket", told)
