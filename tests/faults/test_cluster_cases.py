"""Cases of the campaign on a cluster: with what keeps a group at one instance nothing is wrong, and without it the case fails."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.embedded

# The reply of the first group's first commit is lost: the rest of the group is put after that.
CASE = "cluster-put/classic/plain drop-after@20"


def run_case(*without):
    """Run the case without these safeties; returns the campaign's exit code and what it printed."""
    command = [sys.executable, "-W", "error", "-m", "tests.faults.campaign", "--case", CASE]
    options = ["--without", *without] if without else []
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(command + options, env=environment, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return done.returncode, done.stdout


def test_an_interrupted_group_is_whole_at_one_instance():
    code, printed = run_case()
    assert (code, printed.splitlines()[-1]) == (0, "1 starts, 1 faults fired, errors {}")


def test_without_the_pin_its_producer_stops_and_the_case_fails():
    code, printed = run_case("pin")
    assert (code, "GroupWouldSplit" in printed) == (1, True)


def test_without_the_pin_and_the_comparison_it_is_split_and_the_case_fails():
    code, printed = run_case("pin", "comparison")
    assert (code, printed.splitlines()[-1]) == (1, "split: [(1, 'QM1'), (2, 'QM1'), (3, 'QM2')]")
