"""examples/: they run, and the demo's balance finds what it is there to find."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import pytest

from examples.flights.compare import differences
from examples.flights.consumer import Files
from examples.flights.source import Day, date_of

ROOT = Path(__file__).resolve().parents[1]
FLIGHTS = [f"2013,1,{day},{time},more" for day in (1, 2) for time in (517, 533, 542)]
TABLE = [Day("2013-01-01", FLIGHTS[:3]), Day("2013-01-02", FLIGHTS[3:])]


@pytest.fixture
def arrived(tmp_path):
    for number, day in enumerate(TABLE, 1):
        (tmp_path / f"{number:04}-{day.date}.csv").write_text("".join(f"{flight}\n" for flight in day.flights))
    return tmp_path


def test_date_of_a_flight():
    assert date_of("2013,1,9,517,515,2") == "2013-01-09"


def test_nothing_is_different_when_everything_arrived(arrived):
    assert differences(TABLE, arrived) == []


def change(path: Path, old: str, new: str) -> None:
    path.write_text(path.read_text().replace(old, new))


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (f"{FLIGHTS[1]}\n", "", "flights missing: 1, "),
        (f"{FLIGHTS[1]}\n", f"{FLIGHTS[1]}\n" * 2, "lines too many: 1, "),
        (f"{FLIGHTS[0]}\n{FLIGHTS[1]}\n", f"{FLIGHTS[1]}\n{FLIGHTS[0]}\n", "not in order, from line 1 on"),
        (f"{FLIGHTS[2]}\n", f"{FLIGHTS[2]}\n2013,1,", "ends in the middle of a line"),
    ],
    ids=["missing", "twice", "order", "torn"],
)
def test_differences_inside_a_group_are_named(arrived, old, new, sentence):
    change(arrived / "0001-2013-01-01.csv", old, new)
    assert [sentence in found for found in differences(TABLE, arrived)] == [True]


def test_group_that_did_not_come_and_group_that_came_twice_are_named(arrived):
    (arrived / "0002-2013-01-02.csv").rename(arrived / "0003-2013-01-02.csv")
    missing, surplus = differences(TABLE, arrived)
    assert missing.startswith("0002-2013-01-02.csv is missing")
    assert surplus == "0003-2013-01-02.csv should not be there"


class Group:
    """What ``Files`` needs of a group."""

    checkpoint = None

    def set_checkpoint(self, checkpoint):
        self.checkpoint = checkpoint


def test_consumer_goes_back_to_its_checkpoint(arrived):
    # Given a group that is committed up to its first flight, and more that is written but not committed
    for path in arrived.iterdir():
        path.unlink()
    before, group = Files(arrived, None), cast(Any, Group())
    before.begin(FLIGHTS[0])
    before.write(FLIGHTS[0], last=False)
    before.before_commit(group)
    before.write(FLIGHTS[1], last=False)
    before.close()
    (arrived / "0002-2013-01-02.csv").touch()

    # When another instance starts from the checkpoint and writes the rest
    after = Files(arrived, group.checkpoint)
    after.go_on()
    for flight in FLIGHTS[1:3]:
        after.write(flight, last=flight is FLIGHTS[2])
    after.before_commit(group)
    after.close()

    # Then every flight is there once, and what was begun after the checkpoint is gone
    assert differences(TABLE[:1], arrived) == []
    assert (after.written.groups, after.written.flights, after.written.units_of_work) == (1, 3, 2)


def test_consumer_without_checkpoint_begins_from_nothing(arrived):
    assert Files(arrived, None).written.groups == 0
    assert list(arrived.iterdir()) == []


@pytest.mark.embedded
def test_quickstart_puts_and_gets_every_row():
    command = [sys.executable, "-m", "mqgroups", "embedded", "exec", "--", sys.executable, "examples/quickstart.py"]
    done = subprocess.run(command, cwd=ROOT, env=os.environ, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [f"{number} order {number}" for number in range(1, 1001)]
