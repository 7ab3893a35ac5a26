"""Part ``starting``: the processor time of a program that imports the library, with the bytecode that a user has.

The least of many rounds: what else the machine does makes a round longer, never shorter.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile

from tests.bench.run import Run


def measure(run: Run) -> dict[str, float]:
    """Measure."""
    with tempfile.TemporaryDirectory() as bytecode:
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        environment["PYTHONPYCACHEPREFIX"] = bytecode
        # The first round writes the bytecode.
        took_s = [_processor_s(environment) for _ in run.rounds("from mqgroups import connect", run.of(50, 5), 60)]
    return {"import": min(took_s[1:])}


def _processor_s(environment: dict[str, str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", "from mqgroups import connect"], check=True, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
