"""Examples as programs under a supervisor: killed at their calls, and started again until they are done."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mqgroups.embedded import Fault

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def supervised(faults):
    """A function that starts an example again and again, each time to be killed at an MQCMIT; not in the ``last`` run."""
    environment = {**os.environ, **faults.environment(), "MQGROUPS_CONN_NAME": faults.conn_name}

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
