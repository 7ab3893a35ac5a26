"""examples/pipeline: what is killed while its program runs, and when. ``make demo OF=pipeline-cluster`` runs it."""

import sys
from pathlib import Path
from random import Random

import pytest

from examples.pipeline.kills import DONE, PLANNED, Kill, Kind, Program, any_kill
from mqgroups.demo.supervisor import DemoFailed

PIPELINE = Path(__file__).parents[1] / "examples" / "pipeline" / "pipeline.py"
# Plans a micro-batch, and ends when it is told to.
PROGRAM = """
import sys, time
from pathlib import Path
folder = Path(sys.argv[1])
(folder / "checkpoint" / "offsets").mkdir(parents=True, exist_ok=True)
(folder / "checkpoint" / "offsets" / "0").touch()
while not (folder / "end").exists():
    time.sleep(0.01)
sys.exit((folder / "end").read_text() or 0)
"""


class Killed:
    """Stands for the cluster and for the queue manager, and notes what is done to them; with ``start`` the program ends."""

    def __init__(self, folder):
        self.calls = []
        self._folder = folder

    def __getattr__(self, name):
        def note(*arguments):
            self.calls.append((name, *arguments))
            if name == "start":
                (self._folder / "end").write_text("")

        return note


@pytest.fixture
def killed(tmp_path):
    return Killed(tmp_path)


@pytest.fixture
def program(killed, tmp_path, monkeypatch):
    def make(*kills):
        told: list[object] = []
        made = Program(tmp_path, tmp_path / "log", {}, {}, list(kills), told.append, killed, killed)
        monkeypatch.setattr(made, "command", lambda: [sys.executable, "-c", PROGRAM, str(tmp_path)])
        return made, told

    return make


def test_a_kill_is_drawn_in_one_of_the_micro_batches_by_the_seed():
    def drawn(seed):
        return [any_kill(Random(seed), Kind.WORKER, range(3, 5)) for _ in range(20)]

    assert {kill.batch for kill in drawn(7)} <= {3, 4}
    assert {kill.path for kill in drawn(7)} <= {PLANNED, DONE}
    assert drawn(7) == drawn(7) != drawn(8)


def test_the_program_is_submitted_as_it_is_with_its_folder_and_options_of_a_connection(tmp_path):
    made = Program(tmp_path, tmp_path / "log", {"spark.master": "local[2]"}, {"mq.user": "app"}, [], print)
    submit, *words = made.command()
    assert submit.endswith("/bin/spark-submit")
    assert words[-5:-3] == ["--conf", "spark.master=local[2]"]
    assert words[-3:] == [str(PIPELINE), str(tmp_path), "mq.user=app"]


def test_each_kill_happens_once_after_its_path_has_appeared(program, killed):
    kills = [
        Kill(Kind.QUEUE_MANAGER, 0, after_s=0.2),
        Kill(Kind.EXECUTOR, 0, after_s=0.1, place=0.9),
        Kill(Kind.WORKER, 0, place=0.5),
        Kill(Kind.WORKER, 0, DONE),
    ]
    run, told = program(*kills)
    assert not run.run()
    assert killed.calls == [("kill_worker", 0.5), ("kill_executor", 0.9), ("kill",), ("start",)]
    assert run.kills == [kills[3]]
    assert str(told[1]) == "kill -9 an executor, 100 ms after checkpoint/offsets/0"


def test_a_driver_that_is_killed_is_told_from_one_that_ends_and_from_one_that_fails(program, tmp_path):
    run, _ = program(Kill(Kind.DRIVER, 0))
    assert run.run()
    (tmp_path / "end").write_text("")
    assert not run.run()
    (tmp_path / "end").write_text("an error")
    with pytest.raises(DemoFailed, match=r"ended with exit code 1; its log is .*/log"):
        run.run()
    assert "an error" in (tmp_path / "log").read_text()
