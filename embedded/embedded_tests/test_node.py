"""Node.js programs with IBM's package ibmmq on the embedded queue manager: ``make test-bindings OF=node`` fetches it from npm.

What is expected of them is IBM's text: uncommitted messages are not seen by other calls until MQCMIT (topic q026790), browsing
leaves messages on the queue ("MQGMO options"), and a subscription gets what is published on its topic ("MQSUB").
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from mqembedded import EmbeddedQueueManager
from mqembedded.libmqm.build import build

# The folder node_modules that ibmmq is in.
MODULES = os.environ.get("MQEMBEDDED_NODE_MODULES", "")
SAMPLES = Path(MODULES, "ibmmq", "samples")
pytestmark = pytest.mark.skipif(
    not MODULES or shutil.which("node") is None, reason="make test-bindings OF=node: Node.js and ibmmq"
)


@pytest.fixture(scope="module")
def qmgr():
    with EmbeddedQueueManager("QM1") as qmgr:
        yield qmgr


def node(qmgr: EmbeddedQueueManager, program: Path, *arguments: str) -> str:
    """Run a program to its end; returns what it prints."""
    environment = os.environ | {
        "MQSERVER": f"{qmgr.channel}/TCP/{qmgr.conn_name}",
        "LD_LIBRARY_PATH": str(build() / "lib64"),
        "NODE_PATH": MODULES,
        # The client library is ours, not a redistributable client of IBM's.
        "MQIJS_NOREDIST": "1",
        "MQIJS_PREFER_INSTALLED_LIBRARY": "1",
    }
    done = subprocess.run(
        ["node", str(program), *arguments], env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_program_puts_gets_browses_with_a_callback_and_publishes(qmgr):
    program = Path(__file__).with_name("node_program.js")
    assert json.loads(node(qmgr, program, "QM1", "DEV.QUEUE.1", "tests/node")) == {
        "beforeCommit": None,
        "browsed": ["one", "two", "three"],
        "got": ["one", "two", "three"],
        "published": ["published"],
    }


def test_ibms_samples_put_and_get(qmgr):
    assert "MQPUT successful" in node(qmgr, SAMPLES / "amqsput.js", "DEV.QUEUE.2", "QM1")
    assert "Hello from Node" in node(qmgr, SAMPLES / "amqsget.js", "DEV.QUEUE.2", "QM1")


@pytest.mark.parametrize("number", range(int(os.environ.get("MQEMBEDDED_NODE_RUNS", "5"))))
def test_a_program_with_callbacks_always_ends(qmgr, number):
    program = Path(__file__).with_name("node_program.js")
    assert node(qmgr, program, "QM1", "DEV.QUEUE.3", f"tests/node/{number}")
