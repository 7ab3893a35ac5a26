"""Two attempts and a driver at once: whoever goes on at whichever MQI call, each group comes once, whole.

The actors run in threads, one at a time: a schedule says who makes how many MQI calls before the next one goes on. Some schedules
of each shape are tried, the same whenever it is run; the fault campaign has zombies at every call.
"""

from __future__ import annotations

import itertools
import threading
from contextlib import closing

import pytest

from mqgroups import errors
from mqgroups.connection.holder import connection_of
from tests.fix_batches import messages

WHOLE = {"A": [b"A:1", b"A:2", b"A:3"]}
VERBS = ("MQOPEN", "MQCLOSE", "MQPUT", "MQGET", "MQCMIT", "MQBACK")
# What may become of an attempt, besides that it puts what is missing.
LOST = (errors.Fenced, errors.OwnerActive)


@pytest.fixture(autouse=True)
def _one_binding(binding):
    """The order of calls is the library's, whichever makes them."""
    if binding.__name__ != "pymqi":
        pytest.skip("one binding is enough for all orders of calls")


class Actor:
    """Something that makes MQI calls, in a thread that goes on only when it is told to.

    Attributes:
        calls: how many calls it has made.
        outcome: what it returned, or the error it ended with; ``None`` before its end.
    """

    def __init__(self, batches, act):
        self.calls = 0
        self.outcome = None
        self._left = 0
        self._turn = threading.Condition()
        self._ended = False
        self._qmgr = batches.owner.connect()
        binding = connection_of(self._qmgr).binding
        batches.owner.doctor(self._qmgr, **{verb: self._gated(getattr(binding, verb)) for verb in VERBS})
        self._thread = threading.Thread(target=self._run, args=(act,))
        self._thread.start()

    def go(self, calls=10_000):
        """Let it make so many calls, or end; returns when it has."""
        with self._turn:
            self._left = calls
            self._turn.notify_all()
            assert self._turn.wait_for(lambda: self._left == 0 or self._ended, timeout=30)
        if self._ended:
            self._thread.join(30)
            self._left = 1  # MQBACK
            self._qmgr.close()

    def _run(self, act):
        try:
            with self._turn:
                self._turn.wait_for(lambda: self._left > 0, timeout=60)
            self.outcome = act(self._qmgr)
        except BaseException as error:
            self.outcome = error
        with self._turn:
            self._ended = True
            self._turn.notify_all()

    def _gated(self, verb):
        def call(*arguments):
            with self._turn:
                if self._left == 0:
                    self._turn.notify_all()
                    assert self._turn.wait_for(lambda: self._left > 0, timeout=60)
                self._left -= 1
                self.calls += 1
            return verb(*arguments)

        return call


def attempt(batches, **more):
    """An attempt at group A."""
    return Actor(batches, lambda qmgr: batches.attempt(qmgr, **more).put_group("A", messages("A", 3)))


def driver(batches):
    """The end of the batch."""
    return Actor(batches, lambda qmgr: batches.complete(0, qmgr))


def put(batches):
    """An attempt that nobody interrupts."""
    with closing(batches.attempt(batches.owner.qmgr)) as undisturbed:
        undisturbed.put_group("A", messages("A", 3))


def settle(batches, *actors):
    """End all, do again what failed, as the scheduler does, and look at what is there."""
    for actor in actors:
        actor.go()
        if isinstance(actor.outcome, BaseException):
            assert isinstance(actor.outcome, LOST), actor.outcome
    put(batches)
    batches.complete(0, batches.owner.qmgr)
    assert batches.groups() == WHOLE
    assert batches.depth() == 3
    assert batches.kinds() == ["high-water mark"]


def calls_of(make_batches, make):
    """How many calls an actor makes that is alone."""
    batches = make_batches()
    actor = make(batches)
    actor.go()
    assert not isinstance(actor.outcome, BaseException), actor.outcome
    return actor.calls


def schedules(batches, *calls):
    """Yield every seventh schedule, with a new sink on empty queues; each call of each actor is in one of them."""
    batches.attempt().close()  # makes the status queue
    for schedule in itertools.islice(itertools.product(*calls), 0, None, 7):
        batches.sink = ".".join(map(str, (batches.owner.name, *schedule)))
        batches.forget()
        yield schedule


@pytest.mark.embedded
@pytest.mark.slow
def test_an_attempt_that_is_replaced_at_any_call_by_one_that_pauses_at_any_call(make_batches):
    number = calls_of(make_batches, attempt)
    assert number > 15
    batches = make_batches()
    fenced = 0
    for first_calls, second_calls in schedules(batches, range(1, number + 1), range(1, number + 4, 2)):
        first, second = attempt(batches), attempt(batches)
        first.go(first_calls)
        second.go(second_calls)
        settle(batches, first, second)
        fenced += isinstance(first.outcome, errors.Fenced)
    assert fenced > 3


@pytest.mark.embedded
@pytest.mark.slow
def test_a_late_attempt_at_any_call_while_its_batch_is_completed_at_any_call(make_batches):
    number = calls_of(make_batches, attempt)
    batches = make_batches()
    outcomes = set()
    for late_calls, driver_calls in schedules(batches, range(1, number + 1), range(1, 12)):
        late = attempt(batches)
        late.go(late_calls)
        second = attempt(batches)
        second.go()
        if isinstance(second.outcome, BaseException):
            # The late one is in the middle of its claim: the scheduler tries again when that is over.
            assert isinstance(second.outcome, LOST)
            late.go(1)
            settle(batches, late)
            continue
        end = driver(batches)
        end.go(driver_calls)
        settle(batches, late, end)
        outcomes.add(type(late.outcome).__name__)
    assert {"Fenced", "int"} <= outcomes


@pytest.mark.embedded
@pytest.mark.slow
def test_an_attempt_that_begins_late_and_pauses_at_any_call_while_its_batch_is_completed(make_batches):
    batches = make_batches()
    for late_calls, driver_calls in schedules(batches, range(1, 12), range(1, 12)):
        put(batches)
        late, end = attempt(batches), driver(batches)
        late.go(late_calls)
        end.go(driver_calls)
        settle(batches, late, end)
        # Between intent and status record both may go: then it looks again, if it has the patience.
        assert late.outcome == 0 or isinstance(late.outcome, errors.OwnerActive)
