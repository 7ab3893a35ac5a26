"""The library makes the calls that the model of its protocol makes: with a fault at each call, and a second owner at that moment.

``--ci`` takes every third case, not every ninth.
"""

from __future__ import annotations

import time
from itertools import groupby

import pytest

from tests.faults.reader import Reader
from tests.ownership.owners import Protocol
from tests.ownership.queue_manager import Reading as QueueManager
from tests.ownership.replay import BACKED_OUT, Diverged, Replay, cases
from tests.ownership.scenarios import owners

THIS = [b"1", b"2", b"3"]
# Longer than it takes from one lost connection to the end of those who go on meanwhile.
GAP_S = 0.5
AS_IT_IS = Protocol(browses="at once")


class World:
    """An owner's queues, under the model's names too, and its programs."""

    def __init__(self, role, owner, outgoing):
        self._role = role
        self._owner = owner
        self.outgoing = outgoing
        self.names = {
            owner.status_queue("get"): "G",
            owner.status_queue("put"): "P",
            owner.queue: "OUT" if role == "put" else "IN",
            outgoing: "OUT",
        }
        # The status queues are there from now on.
        self._run(owner.connect())

    def run(self, gate):
        """Run one instance to its end, with all its calls through ``gate``."""
        # Who waits, waits at the gate, or for what the queue manager does by itself.
        connection = self._owner.connect(reconnect_wait_s=60, sleep=lambda _: time.sleep(0.002))
        gate.stand_before(connection)
        self._run(connection)

    def _run(self, connection):
        getattr(self, f"_{self._role}")(connection)
        connection.close()

    def _put(self, connection):
        with self._owner.producer(connection, owner_wait_s=60) as producer, producer.group() as group:
            for data in THIS[group.resume_from :]:
                group.put(data)

    def _get(self, connection):
        with self._owner.consumer(connection, owner_wait_s=60) as consumer:
            for group in consumer:
                assert [message.data for message in group] == THIS[group.resume_from :]
                break

    def _pipe(self, connection):
        with connection.group_pipe(
            self._owner.queue,
            self.outgoing,
            name=self._owner.name,
            commit_every=2,
            owner_wait_s=60,
            wait_s=0,
            group_wait_s=0,
        ) as pipe:
            for incoming, outgoing in pipe:
                for message in incoming:
                    outgoing.put(message.data)
                break

    def prepare(self):
        """Leave on the queues what each case begins with."""
        self._owner.empty(self.outgoing)
        if self._role == "put":
            self._owner.empty()
        else:
            self._owner.put_raw_group(THIS)

    def groups(self):
        """Return the message numbers of each group that was put."""
        found = sorted(self._owner.on_queue(self.outgoing), key=lambda one: (one.group_id, one.msg_seq_number))
        return sorted([one.msg_seq_number for one in group] for _, group in groupby(found, lambda one: one.group_id))

    def left(self):
        """Return how many messages of the incoming group and how many records there are."""
        incoming = [] if self._role == "put" else self._owner.on_queue()
        return len(incoming), len(self._owner.records("get")) + len(self._owner.records("put"))


@pytest.fixture(params=["put", "get", "pipe"])
def role(request):
    return request.param


@pytest.fixture
def step(request):
    return 3 if request.config.option.ci else 9


@pytest.fixture
def world(role, make_owner, make_queue):
    """The queues and programs of one role."""
    owner = make_owner()
    return World(role, owner, owner.queue if role == "put" else make_queue())


@pytest.mark.embedded
def test_the_library_goes_the_way_of_the_model(world, role, faults, step):
    chosen = list(cases(owners(role, 2, 1), AS_IT_IS))[::step]
    assert len(chosen) > 80 // step
    for case in chosen:
        world.prepare()
        replay = Replay(dict.fromkeys(["A", "B", "last"], world.run), world.names, faults)
        assert replay.follow(case.trace) == case.endings, case.name
        assert (world.groups(), world.left()) == (case.groups, (0, case.records)), case.name
        faults.clear_faults()


@pytest.mark.embedded
@pytest.mark.parametrize("role", ["pipe"], indirect=True)
def test_the_library_goes_the_way_of_the_model_where_handles_are_closed_first(
    role, make_owner, own_queue_manager, tmp_path, step
):
    mqsc = tmp_path / "queues.mqsc"
    mqsc.write_text("DEFINE QLOCAL(IN) DEFPSIST(YES)\nDEFINE QLOCAL(OUT) DEFPSIST(YES)\n")
    readings = {"lost connection": "closes handles, then backs out"}
    q_mgr = own_queue_manager("QMR", mqsc=[mqsc], readings=readings, cleanup_gap_s=GAP_S)
    owner = make_owner(q_mgr, "OUT" if role == "put" else "IN")
    world = World(role, owner, "OUT")
    reader = Reader(q_mgr)

    def wait_until_backed_out():
        for name in world.names:
            reader.wait_until_settled(name)

    every = list(cases(owners(role, 2, 1), AS_IT_IS, reading=QueueManager.CLOSES_FIRST))
    # Where a lost connection had nothing in a unit of work, nothing differs.
    chosen = [case for case in every if any(event.outcome == BACKED_OUT for event in case.trace)][:: 12 * step]
    assert len(chosen) > 1
    for case in chosen:
        world.prepare()
        replay = Replay(dict.fromkeys(["A", "B", "last"], world.run), world.names, q_mgr, wait_until_backed_out)
        assert replay.follow(case.trace) == case.endings, case.name
        wait_until_backed_out()
        assert (world.groups(), world.left()) == (case.groups, (0, case.records)), case.name
        q_mgr.clear_faults()
    reader.close()


@pytest.mark.embedded
@pytest.mark.parametrize("role", ["put"], indirect=True)
def test_a_library_that_goes_another_way_is_noticed(world, role, faults):
    """Here it is the model that goes another way: its claim leaves no record."""
    case = next(cases(owners(role, 2, 1), Protocol(browses="at once", claims=False)))
    world.prepare()
    with pytest.raises(Diverged, match=r"A is at \('MQPUT', 'P'\), expected \('MQPUT', 'OUT'\)"):
        Replay(dict.fromkeys(["A", "B", "last"], world.run), world.names, faults).follow(case.trace)
