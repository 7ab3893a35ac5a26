"""Cases of the campaign: each is right, and with a safety taken out of the library the one that needs it fails."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

import pytest

from mqembedded import READINGS
from mqgroups.put.group import OutgoingGroup
from tests.faults.extents import FULL, GLIMPSE
from tests.faults.patterns import PATTERNS, PROGRAMS
from tests.faults.readings import settings_of_readings

pytestmark = pytest.mark.embedded

ROOT = Path(__file__).parents[2]
ZOMBIE = "zombie put/classic/plain stop@24"
# On a cluster: the reply of the first group's first commit is lost, and the rest of the group is put after that.
SPLIT = "cluster-put/classic/plain drop-after@22"


def interruption(level, connection):
    """Name a case: an interruption before the fourth message is put; the third is in the open unit of work."""
    source, first = inspect.getsourcelines(OutgoingGroup._put)
    line = first + next(number for number, text in enumerate(source) if "putter.put(message)" in text)
    return f"interruption put/classic/plain {level} {connection} KeyboardInterrupt@put/group.py:{line}.4"


@pytest.mark.parametrize(
    ("case", "starts", "fired"),
    [
        (ZOMBIE, 2, 1),
        (f"{ZOMBIE} successor:kill_client-after@30", 3, 1),
        ("zombie put/classic/plain stop@3", 2, 1),
        ("zombie batch/classic/plain first:drop-after@25 stop@30", 2, 1),
        (interruption("group", "connected"), 1, 1),
        (interruption("holding", "wrapped"), 1, 1),
        (interruption("process", "connected"), 2, 1),
        ("cancellation aio-put/classic/plain owner under-way@7 drop-after@3", 1, 2),
        ("cancellation aio-put/classic/plain group under-way@5 kill_client-after@3", 2, 1),
        ("cancellation aio-get/classic/plain connection done@5 done@4", 3, 2),
        ("foreign put/classic/plain raw.backout-before@5 starts-again", 1, 1),
        ("foreign get/classic/plain MQCMIT-before@5 killed", 2, 1),
    ],
)
def test_what_is_right_is_right(run, case, starts, fired):
    result = run(case)
    assert (result.wrong, result.errors) == ([], {})
    assert (result.starts, result.fired) == (starts, fired)


def test_a_zombie_is_told(run):
    assert "a zombie had to stop: OwnershipLost" in run(ZOMBIE).outcomes


def test_without_the_fence_a_zombie_commits_and_its_case_fails(run):
    assert any(wrong.startswith("the zombie committed something: ") for wrong in run(ZOMBIE, "fence").wrong)


def test_without_backing_out_an_interrupted_group_is_wrong_and_its_case_fails(run):
    assert run(interruption("group", "connected"), "back-out").wrong


def test_an_interrupted_group_is_whole_at_one_instance(run):
    result = run(SPLIT)
    assert (result.wrong, result.starts, result.fired) == ([], 1, 1)


def test_without_the_pin_its_producer_stops_and_the_case_fails(run):
    result = run(SPLIT, "pin")
    assert "QueueManagerChanged" in result.errors
    assert result.wrong


def test_without_the_pin_and_the_comparison_it_is_split_and_the_case_fails(run):
    assert run(SPLIT, "pin", "comparison").wrong[-1] == "split: [(1, 'QM1'), (2, 'QM1'), (3, 'QM2')]"


def test_a_case_can_be_run_again_by_its_name_and_shows_its_calls():
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "tests.faults.campaign", "--case", "put/classic/plain drop-after@20"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    printed = done.stdout.splitlines()
    assert (done.returncode, done.stderr, printed[-1]) == (0, "", "1 starts, 1 faults fired, errors {}")
    assert any(line.split()[1:] == ["MQCMIT"] for line in printed)


def test_the_short_form_has_each_value_of_a_reading_in_one_setting():
    others = [{name: value} for name, values in READINGS.items() for value in values[1:]]
    for seed in range(5):
        dealt = [{name: value} for each in settings_of_readings(seed, short=True) for name, value in each.items()]
        assert sorted(map(str, dealt)) == sorted(map(str, others))
    assert list(settings_of_readings(1, short=False))[: len(others)] == others


def test_under_the_readings_of_the_short_form_each_pattern_has_its_turn():
    turns = [GLIMPSE.among(PATTERNS.values(), turn) for turn, _ in enumerate(settings_of_readings(1, short=True))]
    assert all([pattern.role for pattern in patterns] == [*PROGRAMS] for patterns in turns)
    assert {pattern for patterns in turns for pattern in patterns} == {*PATTERNS.values()}
    assert FULL.among(PATTERNS.values(), 1) == [*PATTERNS.values()]
