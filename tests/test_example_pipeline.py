"""examples/pipeline on a cluster: what is killed, and when. ``make demo OF=pipeline-cluster`` runs it."""

from collections import Counter
from random import Random

import pytest

from examples.pipeline.disturbance import FULL, Disturbance, Disturber, Kind, plan
from examples.pipeline.driver import Point


class Killed:
    """Stands for the cluster and for the queue manager, and notes what is done to them."""

    def __init__(self):
        self.calls = []

    def __getattr__(self, name):
        return lambda *arguments: self.calls.append((name, *arguments))


@pytest.fixture
def killed():
    return Killed()


def test_a_plan_has_each_kill_once_in_one_of_the_micro_batches():
    planned = plan(Random(7), FULL, 3)
    assert Counter(each.kind for each in planned) == Counter(FULL)
    assert {each.point.batch for each in planned} <= {0, 1, 2}
    # "parquet" and "outgoing" are reported only of a micro-batch with a good group.
    assert {each.point.step for each in planned} <= {"began", "counted", "done"}
    assert planned == plan(Random(7), FULL, 3)
    assert planned != plan(Random(8), FULL, 3)


def test_each_kill_happens_once_at_its_step_also_if_the_micro_batch_is_repeated(killed):
    slept: list[float] = []
    told: list[str] = []
    planned = [
        Disturbance(Kind.EXECUTOR, Point(1, "counted", 0.25), 0.9),
        Disturbance(Kind.QUEUE_MANAGER, Point(1, "done"), 0.1),
        Disturbance(Kind.WORKER, Point(2, "began"), 0.0),
    ]
    disturber = Disturber(planned, killed, killed, told.append, slept.append)
    counted = {"event": "step", "batch": 1, "step": "counted"}
    disturber.reported({"event": "step", "batch": 1, "step": "began"})
    disturber.reported(counted)
    disturber.reported(counted)
    assert killed.calls == [("kill_executor", 0.9)]
    disturber.reported({"event": "done", "batch": 1})
    assert killed.calls[1:] == [("kill",), ("start",)]
    assert [each.kind for each in disturber.left] == [Kind.WORKER]
    assert slept == [0.25, 0.0]
    assert told[0] == "kill -9 an executor, 250 ms after 'counted' of micro-batch 1"
