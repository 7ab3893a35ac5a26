"""examples/cluster: its balance finds what it is there to find, everything planned goes wrong, and a short run ends equal."""

import os
import subprocess
import sys
import zipfile
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any, cast

import pytest
from rich.console import Console

from examples.cluster import __main__ as demo_program
from examples.cluster.airports import Group, groups, name_of
from examples.cluster.compare import Arrived, Kind, differences, read
from examples.cluster.disturbance import Disturber, Member, plan
from examples.cluster.disturbance import Kind as Wrong

ROOT = Path(__file__).resolve().parents[1]
HEADER = "year,month,day,dep_time,sched_dep_time,dep_delay,arr_time,sched_arr_time,arr_delay,carrier,flight,tailnum,origin,dest"


def flight(number, airport, carrier, day=1):
    """Return a line of the table."""
    return f"2013,1,{day},517,515,2,830,819,11,{carrier},{number},N14228,{airport},IAH,227"


UNITED = tuple(flight(number, "EWR", "UA") for number in range(4))
DELTA = tuple(flight(number, "LGA", "DL") for number in range(3))
TABLE = [Group("2013-01-01 EWR UA", "EWR", UNITED), Group("2013-01-01 LGA DL", "LGA", DELTA)]


def got(flights, q_mgr_name="QM1", consumer="SINK.1", group_id="AA", first=1):
    """Return what a consumer got of a group, numbered from ``first``."""
    return Arrived(q_mgr_name, consumer, group_id, tuple(enumerate(flights, first)))


ALL_DELTA = got(DELTA, "QM3", group_id="BB")


# --- groups


def test_a_group_is_an_airline_at_an_airport_on_a_day(tmp_path):
    table = [flight(1, "EWR", "UA"), flight(2, "LGA", "DL"), flight(3, "EWR", "UA"), flight(4, "EWR", "UA", day=2)]
    write_table(tmp_path, table)
    assert groups(tmp_path / "flights.csv.zip", 2) == [
        Group("2013-01-01 EWR UA", "EWR", (table[0], table[2])),
        Group("2013-01-01 LGA DL", "LGA", (table[1],)),
        Group("2013-01-02 EWR UA", "EWR", (table[3],)),
    ]


def test_what_is_no_flight_is_of_no_group():
    assert name_of("2013,1,1,517") == ""


# --- the balance


def test_nothing_is_different_when_each_group_is_whole_at_one_instance():
    assert differences(TABLE, [ALL_DELTA, got(UNITED)]) == []


def test_what_is_different_is_found():
    for parts, found, name in (
        ([], {Kind.LOST: 4}, "group lost"),
        ([got(UNITED[:3])], {Kind.LOST: 1}, "message lost"),
        ([got((*UNITED, UNITED[3]))], {Kind.DOUBLED: 1}, "message doubled"),
        ([got(UNITED), got(UNITED, "QM2", group_id="CC")], {Kind.DOUBLED: 4}, "group doubled"),
        ([got(UNITED), got(UNITED[:2], consumer="SINK.2")], {Kind.DOUBLED: 2}, "part doubled"),
        ([got(UNITED[:2]), got(UNITED[2:], "QM2", first=3)], {Kind.SPLIT: 1}, "two instances"),
        ([got(UNITED[:2]), got(UNITED[2:], consumer="SINK.2", first=3)], {Kind.SPLIT: 1}, "two consumers"),
        ([got(UNITED[:2]), got(UNITED[2:], group_id="CC")], {Kind.SPLIT: 1}, "two groups"),
        ([got(UNITED[:2]), got(UNITED[1:3], "QM2")], {Kind.LOST: 1, Kind.DOUBLED: 1, Kind.SPLIT: 1}, "all of these"),
        ([got((UNITED[1], UNITED[0], *UNITED[2:]))], {Kind.OTHER: 1}, "not in sequence"),
        ([got(UNITED, first=2)], {Kind.OTHER: 1}, "other numbers"),
        ([got((*UNITED, DELTA[0]))], {Kind.OTHER: 1}, "another group's message"),
        ([got(UNITED), got([flight(1, "JFK", "B6")], group_id="CC")], {Kind.OTHER: 1}, "unknown group"),
        ([got(UNITED), got(["torn"], group_id="CC")], {Kind.OTHER: 1}, "no flight"),
    ):
        different = differences(TABLE, [*parts, ALL_DELTA])
        assert {each.kind: each.number for each in different} == found, name
        assert len(different) == len(found), name


def test_a_split_group_is_told_with_what_is_where():
    (split,) = differences(TABLE, [ALL_DELTA, got(UNITED[:1]), got(UNITED[1:], "QM2", "SINK.2", first=2)])
    assert split.sentence == (
        "2013-01-01 EWR UA is split: 1 messages at QM1 by SINK.1 in group AA; 3 messages at QM2 by SINK.2 in group AA"
    )


def test_a_consumers_file_is_read_group_by_group(tmp_path):
    lines = [f"AA,1,{UNITED[0]}", f"AA,2,{UNITED[1]}", f"BB,1,{DELTA[0]}"]
    (tmp_path / "file").write_text("".join(f"{line}\n" for line in lines))
    assert read(tmp_path / "file", "QM2", "SINK.2") == [
        got(UNITED[:2], "QM2", "SINK.2"),
        got(DELTA[:1], "QM2", "SINK.2", "BB"),
    ]


# --- the run


def test_everything_goes_wrong_in_each_round():
    rounds = 3
    planned = plan(Random(1), rounds)
    moments = [moment for moment, _ in planned]
    assert (moments == sorted(moments), moments[0] > 0, moments[-1] < 0.9) == (True, True, True)
    for number in range(rounds):
        kinds = Counter(kind for _, kind in planned[number * 7 : (number + 1) * 7])
        assert kinds == {
            Wrong.PRODUCER: 2,
            Wrong.CONSUMER: 2,
            Wrong.QUEUE_MANAGER: 1,
            Wrong.STOP: 1,
            Wrong.CUT: 1,
        }


def write_table(folder, rows):
    """Make a table of flights."""
    with zipfile.ZipFile(folder / "flights.csv.zip", "w") as archive:
        archive.writestr("flights.csv", "\n".join([HEADER, *rows]) + "\n")


@pytest.mark.parametrize(
    ("written", "code", "said"),
    [
        (UNITED, 0, "equal: every group came once, in sequence, whole to one consumer at one instance."),
        (UNITED[:3], 1, "different: 2013-01-01 EWR UA: 1 of 4 flights lost"),
    ],
    ids=["all", "one lost"],
)
def test_a_run_with_a_difference_ends_with_1_and_says_which(written, code, said, tmp_path, monkeypatch, capsys):
    write_table(tmp_path, UNITED)
    work = tmp_path / "work"

    def run(*_):
        (work / "QM2-SINK.1.csv").write_text("".join(f"AA,{number},{line}\n" for number, line in enumerate(written, 1)))
        members = [
            Member("producer EWR at QM1", [], work / "log", q_mgr_name="QM1", what="EWR", is_producer=True),
            Member("consumer SINK.1 at QM2", [], work / "log", q_mgr_name="QM2", what="SINK.1"),
        ]
        settings = {"environment": {}, "all_put": work, "total": 4, "planned": [], "chance": Random(1), "tell": print}
        return Disturber(members, cast(Any, None), **settings), []

    monkeypatch.setattr(demo_program, "_run", run)
    monkeypatch.setattr(demo_program, "_console", Console(width=200, highlight=False))
    monkeypatch.setattr(sys, "argv", ["demo", "--data", str(tmp_path / "flights.csv.zip"), "--work", str(work)])
    assert demo_program.main() == code
    shown = capsys.readouterr().out
    assert said in shown
    assert "where groups went (embedded queue managers, not IBM MQ)" in shown


@pytest.fixture
def demo(tmp_path):
    """A function that runs the demo on a small table, of the same airports."""
    airports = [("EWR", "UA"), ("EWR", "EV"), ("JFK", "B6"), ("JFK", "AA"), ("LGA", "DL"), ("LGA", "WN")]
    write_table(
        tmp_path, [flight(number, *each, day) for day in (1, 2, 3) for number in range(45) for each in airports]
    )

    def run(*arguments):
        command = [sys.executable, "-m", "examples.cluster", "--short", "--data", tmp_path / "flights.csv.zip"]
        return subprocess.run(
            [*command, "--work", tmp_path / "work", *arguments],
            cwd=ROOT,
            env=os.environ,
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
        )

    return run


@pytest.mark.slow
@pytest.mark.embedded
def test_a_short_run_ends_equal_and_tells_where_each_group_went(demo, tmp_path):
    done = demo("--seed", "2")
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    first, *_ = done.stdout.splitlines()
    assert "810 flights in 18 message groups over three embedded queue managers" in first
    assert "they are not IBM MQ" in first
    for killed in ("producer", "consumer", "queue manager"):
        assert f" s  kill -9 {killed} " in done.stdout
    assert "equal: every group came once" in done.stdout
    rows = [line.split(",") for line in (tmp_path / "work" / "groups.csv").read_text().splitlines()[1:]]
    assert [row[0] for row in rows] == [
        f"2013-01-{day:02} {name}"
        for day in (1, 2, 3)
        for name in ("EWR EV", "EWR UA", "JFK AA", "JFK B6", "LGA DL", "LGA WN")
    ]
    assert {row[4] for row in rows} == {"45"}
    assert {row[2] for row in rows} <= {"QM1", "QM2", "QM3"}


def test_a_folder_with_something_in_it_is_not_worked_in(demo, tmp_path):
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "mine").touch()
    done = demo()
    assert (done.returncode, "work is not empty" in done.stderr) == (2, True)
    assert (tmp_path / "work" / "mine").exists()
