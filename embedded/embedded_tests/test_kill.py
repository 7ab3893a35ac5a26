"""Persistent messages survive SIGKILL of the queue manager before and after every single MQI call that writes.

A scripted sequence of calls runs until a fault kills the server at the k-th of them; after a restart what is on the queues
must be what a model of a few lines says: everything committed, in its place, and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest

from embedded_tests.fix_mqi import OK, PATIENCE_S, failed, wait_until
from mqembedded import EmbeddedQueueManager, Fault
from mqembedded import constants as mq
from mqembedded.testing.under_test import MQSC

pytestmark = pytest.mark.embedded

DATA, STATUS = "TEST.LOCAL", "TEST.BASE"

# What to do, to which queue, in syncpoint or not, with what data; a message that starts with n is not persistent.
SCRIPT = [
    ("put", DATA, False, b"a"),
    ("put", DATA, True, b"b"),
    ("put", DATA, True, b"n1"),
    ("put", STATUS, True, b"status 1"),
    ("commit",),
    ("put", DATA, False, b"n2"),
    ("get", DATA, True),
    ("put", DATA, True, b"c"),
    ("get", STATUS, True),
    ("put", STATUS, True, b"status 2"),
    ("back_out",),
    ("get", DATA, False),
    ("get", DATA, True),
    ("put", DATA, True, b"d"),
    ("get", STATUS, True),
    ("put", DATA, False, b"e"),
    ("put", STATUS, True, b"status 3"),
    ("commit",),
    ("get", DATA, True),
    ("put", DATA, True, b"f"),
    ("commit",),
    ("back_out",),
]


@dataclass
class Stored:
    """A message of the model: where it is, and in whose hands."""

    queue: str
    data: bytes
    position: int
    put_in_unit_of_work: bool = False
    got_in_unit_of_work: bool = False


@dataclass
class Model:
    """What is on the queues."""

    messages: list[Stored] = field(default_factory=list)
    positions: int = 0

    def do(self, what, queue="", syncpoint=False, data=b""):
        """Make a step; returns the data that a get returns."""
        if what == "put":
            self.positions += 1
            self.messages.append(Stored(queue, data, self.positions, put_in_unit_of_work=syncpoint))
        elif what == "get":
            visible = [
                m for m in self.messages if m.queue == queue and not (m.put_in_unit_of_work or m.got_in_unit_of_work)
            ]
            first = min(visible, key=lambda message: message.position)
            if syncpoint:
                first.got_in_unit_of_work = True
            else:
                self.messages.remove(first)
            return first.data
        elif what == "commit":
            kept = [message for message in self.messages if not message.got_in_unit_of_work]
            self.messages = [replace(message, put_in_unit_of_work=False) for message in kept]
        else:
            kept = [message for message in self.messages if not message.put_in_unit_of_work]
            self.messages = [replace(message, got_in_unit_of_work=False) for message in kept]
        return b""

    def after_a_kill(self, queue):
        """Return the data of the messages that must be there: persistent, and not put in the unit of work that is lost."""
        left = [m for m in self.messages if m.queue == queue and not m.put_in_unit_of_work and m.data[:1] != b"n"]
        return [message.data for message in sorted(left, key=lambda message: message.position)]


@pytest.fixture(scope="module")
def mortal(_client_library, mq_mqsc):
    """A queue manager that the tests of this module kill, each after its own fashion."""
    with EmbeddedQueueManager("QM3", mqsc=[MQSC, *mq_mqsc]) as queue_manager:
        yield queue_manager


@pytest.fixture
def killed(mortal, connect):
    """The same, running and with both queues empty."""
    if not mortal.is_running:
        mortal.start()
    connection = connect(to=mortal)
    for name in (DATA, STATUS):
        connection.open(name, mq.MQOO_INPUT_SHARED).all()
    connection.disconnect()
    return mortal


class Runner:
    """Makes the steps as MQI calls."""

    def __init__(self, connection):
        self.connection = connection
        self.handles = {name: connection.open(name, mq.MQOO_INPUT_SHARED | mq.MQOO_OUTPUT) for name in (DATA, STATUS)}

    def do(self, what, queue="", syncpoint=False, data=b""):
        """Make the call; returns its code and the data that a get returns."""
        if what == "put":
            options = mq.MQPMO_SYNCPOINT if syncpoint else 0
            return self.handles[queue].put(data, options, Persistence=int(data[:1] != b"n")).code, b""
        if what == "get":
            answer = self.handles[queue].get(mq.MQGMO_SYNCPOINT if syncpoint else 0)
            return answer.code, answer.data
        return (self.connection.commit() if what == "commit" else self.connection.back_out()), b""


def contents(connection, name):
    return [answer.data for answer in connection.browse(name)]


def test_the_script_without_a_kill(killed, connect):
    connection = connect(to=killed)
    runner, model = Runner(connection), Model()
    for step in SCRIPT:
        assert runner.do(*step) == (OK, model.do(*step))
    assert contents(connection, DATA) == [b"n2", b"d", b"e", b"f"]
    assert contents(connection, STATUS) == [b"status 3"]


# The calls that write. What is done in a unit of work before its end is nowhere but in memory: killed before the end, it is gone.
WRITES = [nth for nth, (what, *more) in enumerate(SCRIPT, 1) if what in ("commit", "back_out") or not more[1]]


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("nth", WRITES, ids=lambda n: f"{n}-{SCRIPT[n - 1][0]}")
def test_killed_at_a_call_exactly_what_was_committed_is_there(killed, connect, nth, when):
    # Given the script has run up to the call
    runner, model = Runner(connect(to=killed)), Model()
    for step in SCRIPT[: nth - 1]:
        assert runner.do(*step) == (OK, model.do(*step))
    # When the queue manager is killed before or after the call took effect
    killed.arm(Fault(action="kill_server", when=when))
    code, _ = runner.do(*SCRIPT[nth - 1])
    assert code == failed(mq.MQRC_CONNECTION_BROKEN)
    assert killed.wait() == -9
    if when == "after":
        model.do(*SCRIPT[nth - 1])
    # Then after a restart there is what was committed, to be browsed and to be got, and it is whole
    killed.start()
    connection = connect(to=killed)
    for name in (DATA, STATUS):
        expected = model.after_a_kill(name)
        assert contents(connection, name) == expected
        assert connection.depth(name) == len(expected)
        source = connection.open(name, mq.MQOO_INPUT_SHARED)
        assert [answer.data for answer in source.all()] == expected


SIZE = 5


@pytest.mark.parametrize("seen", [1, 8])
def test_units_of_work_are_whole_wherever_the_kill_lands(killed, connect, background, seen):
    """The kill comes from outside, at any instruction of the server, while a client commits one unit of work after another."""
    connection = connect(to=killed)
    killed.clear_faults()

    def commit_until_the_end():
        out = connection.open(DATA, mq.MQOO_OUTPUT)
        done = 0
        while True:
            for number in range(SIZE):
                if out.put(b"%d.%d" % (done, number), mq.MQPMO_SYNCPOINT, Persistence=1).code != OK:
                    return done
            if connection.commit() != OK:
                return done
            done += 1

    answered = background(commit_until_the_end)
    wait_until(lambda: killed.calls().get("MQCMIT", 0) >= seen)
    killed.kill()
    done = answered.result(PATIENCE_S)
    killed.start()
    found = contents(connect(to=killed), DATA)
    units = len(found) // SIZE
    assert done <= units <= done + 1
    assert found == [b"%d.%d" % (unit, number) for unit in range(units) for number in range(SIZE)]
