"""Cases of the campaign: each is right, and with a safety taken out of the library the one that needs it fails."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mqgroups.put.group import OutgoingGroup
from tests.faults.extents import FULL, GLIMPSE
from tests.faults.patterns import PATTERNS, PROGRAMS
from tests.faults.readings import settings_of_readings

pytestmark = pytest.mark.embedded

ZOMBIE = "zombie put/classic/plain stop@24"


def interruption(level, connection):
    """Name a case: an interruption before the fourth message is put; the third is in the open unit of work."""
    source, first = inspect.getsourcelines(OutgoingGroup._put)
    line = first + next(number for number, text in enumerate(source) if "putter.put((payload" in text)
    return f"interruption put/classic/plain {level} {connection} KeyboardInterrupt@put/group.py:{line}.1"


def run_case(case, *without):
    """Run a case without these safeties; returns the campaign's exit code and the lines that it printed."""
    command = [sys.executable, "-W", "error", "-m", "tests.faults.campaign", "--case", case]
    options = ["--without", *without] if without else []
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(command + options, env=environment, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return done.returncode, done.stdout.splitlines()


@pytest.mark.parametrize(
    ("case", "last"),
    [
        (ZOMBIE, "2 starts, 1 faults fired, errors {}"),
        (f"{ZOMBIE} successor:kill_client-after@30", "3 starts, 1 faults fired, errors {}"),
        ("zombie put/classic/plain stop@3", "2 starts, 1 faults fired, errors {}"),
        ("zombie batch/classic/plain first:drop-after@25 stop@30", "2 starts, 1 faults fired, errors {}"),
        (interruption("group", "connected"), "1 starts, 1 faults fired, errors {}"),
        (interruption("holding", "wrapped"), "1 starts, 1 faults fired, errors {}"),
        (interruption("process", "connected"), "2 starts, 1 faults fired, errors {}"),
        ("cancellation aio-put/classic/plain owner under-way@7 drop-after@3", "1 starts, 2 faults fired, errors {}"),
        (
            "cancellation aio-put/classic/plain group under-way@5 kill_client-after@3",
            "2 starts, 1 faults fired, errors {}",
        ),
        ("cancellation aio-get/classic/plain connection done@5 done@4", "3 starts, 2 faults fired, errors {}"),
        ("foreign put/classic/plain raw.backout-before@5 starts-again", "1 starts, 1 faults fired, errors {}"),
        ("foreign get/classic/plain MQCMIT-before@5 killed", "2 starts, 1 faults fired, errors {}"),
    ],
)
def test_what_is_right_is_right(case, last):
    code, printed = run_case(case)
    assert (code, printed[-1]) == (0, last)


def test_a_zombie_is_told():
    _, printed = run_case(ZOMBIE)
    assert "a zombie had to stop: OwnershipLost" in printed


def test_without_the_fence_a_zombie_commits_and_its_case_fails():
    code, printed = run_case(ZOMBIE, "fence")
    assert code == 1
    assert any(line.startswith("the zombie committed something: ") for line in printed)


def test_without_backing_out_an_interrupted_group_is_wrong_and_its_case_fails():
    code, printed = run_case(interruption("group", "connected"), "back-out")
    assert code == 1
    assert len(printed) > 1


def test_under_the_readings_of_the_short_form_each_pattern_has_its_turn():
    turns = [GLIMPSE.among(PATTERNS.values(), turn) for turn, _ in enumerate(settings_of_readings(1, combined=False))]
    assert all([pattern.role for pattern in patterns] == [*PROGRAMS] for patterns in turns)
    assert {pattern for patterns in turns for pattern in patterns} == {*PATTERNS.values()}
    assert FULL.among(PATTERNS.values(), 1) == [*PATTERNS.values()]
