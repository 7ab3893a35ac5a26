"""The command ``mqgroups``, run in this process or in one of its own."""

from __future__ import annotations

import os
import socket
import subprocess
import sys

from click.testing import CliRunner, Result

from mqgroups.cli.main import main

MQGROUPS = [sys.executable, "-m", "mqgroups"]


def environment(target):
    """Return what a command needs to find the queue manager under test."""
    variables = {
        "MQGROUPS_Q_MGR_NAME": target.q_mgr_name,
        "MQGROUPS_CONN_NAME": target.conn_name,
        "MQGROUPS_CHANNEL": target.channel,
        "MQGROUPS_USER": getattr(target, "user", None),
        "MQGROUPS_PASSWORD": getattr(target, "password", None),
    }
    return {name: value for name, value in variables.items() if value}


def free_port() -> int:
    """Return a port of loopback that nothing listens at."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


def invoke(*words: object, text: str = "", **variables: str) -> Result:
    """Run a command in this process."""
    return CliRunner(env=variables).invoke(main, [str(word) for word in words], input=text)


def run(*words: object, text: str = "", **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a process of its own."""
    return subprocess.run(
        [*MQGROUPS, *map(str, words)],
        env={**os.environ, **variables},
        input=text,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
