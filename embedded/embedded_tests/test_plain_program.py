"""A program that knows nothing of this project does what it does on IBM MQ: administration, locks, properties, segments."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SAID = """\
pinged: [{}]
inquired: [('PLAIN.PROGRAM', 4096)]
browsed: b'first'
the other handle got: b'second'
the other handle then got: FAILED: MQRC_NO_MSG_AVAILABLE
taken under the cursor: b'first'
with properties: b'with properties' UA 17
depth: 6
segment: 0 4096 S
segment: 4096 4096 S
segment: 8192 1808 L
the segments are the message: True
reassembled: True
deleted: FAILED: MQRC_UNKNOWN_OBJECT_NAME
"""


@pytest.mark.embedded
def test_a_plain_pymqi_program_runs_as_on_ibm_mq():
    program = str(Path(__file__).with_name("plain_program.py"))
    command = [sys.executable, "-m", "mqembedded", "exec", "--", sys.executable, program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr, done.returncode) == (SAID, "", 0)
