"""Examples as programs under a supervisor: killed at their calls, and started again until they are done."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from embedded_tests.fix_mqi import empty
from mqembedded import Fault
from mqgroups.definitions import DEVELOPMENT_MQSC

ROOT = Path(__file__).resolve().parents[1]
# What runs an example on an embedded queue manager of its own.
MQEMBEDDED_EXEC = [sys.executable, "-m", "mqembedded", "exec", "--mqsc", str(DEVELOPMENT_MQSC)]


@pytest.fixture
def supervised(faults, connection):
    """A function that starts an example again and again, each time to be killed at an MQCMIT; not in the ``last`` run."""
    environment = {**os.environ, **faults.environment(), "MQGROUPS_CONN_NAME": faults.conn_name}
    # Other tests use it too, and an example would get what they have left.
    empty(connection, "ORDERS")

    def run(program: str, *arguments: str, kills: list[tuple[str, int]], last: bool = True) -> list[str]:
        command = [sys.executable, str(ROOT / "examples" / program), *arguments]
        said: list[str] = []
        for kill in [*kills, *([None] if last else [])]:
            if kill is not None:
                faults.arm(Fault("kill_client", kill[0], verb="MQCMIT", nth=kill[1]))
            done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
            assert done.returncode == (0 if kill is None else -9), done.stderr
            said += done.stderr.splitlines()
        return said

    return run


@pytest.fixture(scope="session")
def postgresql():
    """A PostgreSQL server of its own, by Debian's package; returns its address. Skips where there is none, with a sentence."""
    programs = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not programs:
        pytest.skip("PostgreSQL is not installed (apt-get install postgresql), so it is not tried")
    directory = programs[-1].parent
    # The server refuses to run as root, so it runs as the package's user.
    as_user: dict[str, Any] = {"user": "postgres", "group": "postgres", "extra_groups": ()} if os.geteuid() == 0 else {}
    data = Path(tempfile.mkdtemp(prefix="mqgroups-postgresql-", dir="/tmp"))
    if as_user:
        shutil.chown(data, "postgres")

    def run(program: str, *arguments: str) -> None:
        command = [str(directory / program), *arguments]
        done = subprocess.run(command, cwd="/", capture_output=True, text=True, timeout=120, check=False, **as_user)
        assert done.returncode == 0, done.stdout + done.stderr

    run("initdb", "--pgdata", str(data / "db"), "--auth", "trust", "--username", "orders", "--no-sync")
    options = f"-c listen_addresses='' -c unix_socket_directories={data}"
    run("pg_ctl", "--pgdata", str(data / "db"), "--wait", "--log", str(data / "log"), "--options", options, "start")
    try:
        yield f"postgresql://orders@/postgres?host={data}"
    finally:
        run("pg_ctl", "--pgdata", str(data / "db"), "--wait", "--mode", "immediate", "stop")
        shutil.rmtree(data)
