"""A bounded run of the fuzzer of messages; ``make fuzz`` is a long one."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.embedded
@pytest.mark.slow
def test_no_message_ends_a_reader_for_ever_fills_its_memory_or_writes_a_line_of_its_log():
    words = ["--examples", "40", "--seed", "1"]
    done = subprocess.run(
        [sys.executable, "-m", "tests.fuzz.messages", *words], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
