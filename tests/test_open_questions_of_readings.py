"""The open questions tell which value of each reading a queue manager follows."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from embedded_tests.test_readings import nth_values
from mqembedded import READINGS
from mqembedded.testing.bindings import bindings

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.embedded


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "of"),
    [(0, ["", "_of_groups"]), (1, ["", "_of_groups", "_of_clusters"]), (2, ["_of_groups"]), (3, ["", "_of_groups"])],
)
def test_the_open_questions_tell_which_value_a_queue_manager_follows(tmp_path, number, of):
    """Each value is followed by one run at least; from the third on there are few, of which the clusters have none."""
    follows = nth_values(number)
    found = tmp_path / "findings.json"
    options = ["-q", "-knot limit", "-p", "no:cacheprovider", f"--mqi={bindings('both')[0]}", f"--findings={found}"]
    options += [f"--mq-reading={name}={value}" for name, value in follows.items()]
    files = [f"tests/test_open_questions{each}.py" for each in of]
    command = [sys.executable, "-m", "pytest", *options, *files]
    # Without other plugins, which take longer to load than these tests do.
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    seen = {name: values for name, values in json.loads(found.read_text())["readings"].items() if values}
    assert len(seen) == {0: 18, 1: 20}.get(number, len(seen))
    # Who looks after the gap sees the other value: on a busy machine that can be.
    late = READINGS["lost connection"][0]
    assert seen == {
        name: [late if name == "lost connection" and values == [late] else follows.get(name, READINGS[name][0])]
        for name, values in seen.items()
    }
