"""Fixtures of the tests of operators' functions."""

from __future__ import annotations

import pytest

import mqgroups.operate.command_server


@pytest.fixture
def unasked(monkeypatch):
    """Nobody can ask the command server."""
    monkeypatch.setattr(mqgroups.operate.command_server, "_COMMAND_QUEUE", "NO.SUCH.QUEUE")


@pytest.fixture
def alpha(owner, make_owner):
    """Another owner of the same queue."""
    return make_owner(queue=owner.queue)
