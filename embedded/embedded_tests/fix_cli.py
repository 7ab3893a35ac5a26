"""The command ``mqembedded``, run in this process or in one of its own."""

from __future__ import annotations

import os
import subprocess
import sys

from click.testing import CliRunner, Result

from mqembedded.cli.main import main

MQEMBEDDED = [sys.executable, "-m", "mqembedded"]


def invoke(*words: object, text: str = "", **variables: str) -> Result:
    """Run a command in this process."""
    return CliRunner(env=variables).invoke(main, [str(word) for word in words], input=text)


def run(*words: object, text: str = "", **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a process of its own."""
    return subprocess.run(
        [*MQEMBEDDED, *map(str, words)],
        env={**os.environ, **variables},
        input=text,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
