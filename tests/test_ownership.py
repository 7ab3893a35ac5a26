"""One name, one owner: who comes second waits or is refused, and who was cut off can never commit again."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import threading

import pytest

from mqgroups import errors
from mqgroups.embedded import Fault
from mqgroups.mqi import constants as mq

THIS = [b"%d" % number for number in range(7)]

# 4 committed, 1 in the open unit of work, 1 held back; goes on when told to, and says what came of it.
ZOMBIE = """
qmgr = connect()
try:
    with qmgr.group_producer(queue, name=name, every=2) as producer, producer.group() as group:
        for number in range(6):
            group.put(b"%d" % number)
        print("six", flush=True)
        sys.stdin.readline()
        group.put(b"zombie")
    print("done", flush=True)
except mqgroups.MQGroupsError as error:
    print(type(error).__name__, error, flush=True)
"""


class Stopped:
    """A program that was stopped in the middle of its work and dropped by the queue manager."""

    def __init__(self, program, faults, text):
        self._process = subprocess.Popen(
            program.command(text),
            env=program.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "six\n"
        os.kill(self._process.pid, signal.SIGSTOP)
        faults.control.disconnect(self._process.pid)

    def go_on(self):
        """Let it run again; returns what it said to the end."""
        os.kill(self._process.pid, signal.SIGCONT)
        said, _ = self._process.communicate("\n", timeout=60)
        return said.splitlines()[-1]


@pytest.mark.embedded
def test_a_zombie_whose_successor_has_finished_and_gone_commits_nothing_and_is_told(owner, program, faults):
    zombie = Stopped(program, faults, ZOMBIE)
    with owner.producer(owner_wait_s=30) as producer, producer.group() as group:
        assert group.resume_from == 4
        for data in THIS[4:]:
            group.put(data)
    assert owner.records("put") == []
    said = zombie.go_on()
    assert said.startswith(f"OwnershipLost put {owner.name} is another instance's by now")
    assert "holds no record" in said
    assert owner.data() == THIS
    assert owner.records("put") == []


@pytest.mark.embedded
def test_a_zombie_whose_successor_is_at_work_is_told_at_once(owner, program, faults):
    zombie = Stopped(program, faults, ZOMBIE)
    with owner.producer(owner_wait_s=30) as producer:
        with producer.group() as group:
            group.put(THIS[4])
            group.put(THIS[5])
            group.put(THIS[6])
            assert group.resume_from == 4
        said = zombie.go_on()
        record = owner.record("put")
        assert (record["epoch"], record["state"]) == (2, "completed")
        assert f"a record of owner {record['owner_id']}, epoch 2, expected the record of owner" in said
        assert said.startswith("OwnershipLost")
    assert owner.data() == THIS


@pytest.mark.embedded
def test_a_zombie_that_nobody_has_replaced_goes_on(owner, program, faults):
    assert Stopped(program, faults, ZOMBIE).go_on() == "done"
    assert owner.data() == [*THIS[:6], b"zombie"]
    assert owner.records("put") == []


@pytest.mark.embedded
def test_a_zombie_in_its_first_unit_of_work_is_found_out_too(owner, program, faults):
    """Nothing of its group was ever committed, and nothing of its successor's is left: only its own record tells."""
    zombie = Stopped(program, faults, ZOMBIE.replace("every=2", "every=100"))
    with owner.producer(owner_wait_s=30) as producer, producer.group() as group:
        assert group.resume_from == 0
        for data in THIS:
            group.put(data)
    assert zombie.go_on().startswith("OwnershipLost")
    assert owner.data() == THIS


@pytest.mark.embedded
def test_a_consumer_that_was_replaced_gets_nothing_more(owner, program, faults):
    owner.put_raw_group(THIS)
    zombie = Stopped(
        program,
        faults,
        """
qmgr = connect()
try:
    with qmgr.group_consumer(queue, name=name, every=2, wait_s=0) as consumer:
        for group in consumer:
            for message in group:
                if message.msg_seq_number == 6:
                    print("six", flush=True)
                    sys.stdin.readline()
    print("done", flush=True)
except mqgroups.MQGroupsError as error:
    print(type(error).__name__, error, flush=True)
""",
    )
    with owner.consumer(owner_wait_s=30) as consumer:
        group = next(iter(consumer))
        assert (group.resume_from, [message.data for message in group]) == (4, THIS[4:])
    assert zombie.go_on().startswith(f"OwnershipLost get {owner.name} is")
    assert owner.data() == owner.records("get") == []


@pytest.mark.embedded
def test_after_its_ownership_is_lost_an_instance_can_do_nothing_more(owner, program, faults):
    zombie = Stopped(
        program,
        faults,
        """
qmgr = connect()
producer = qmgr.group_producer(queue, name=name, every=2)
print("six", flush=True)
sys.stdin.readline()
said = []
for _ in range(3):
    try:
        with producer.group() as group:
            for number in range(7):
                group.put(b"zombie")
    except mqgroups.errors.OwnershipLost as error:
        said.append(error.found[1])
producer.close()
qmgr.close()
print(said, flush=True)
""",
    )
    with owner.producer(owner_wait_s=30):
        assert zombie.go_on() == "[2, 2, 2]"
        assert owner.record("put")["epoch"] == 2
    assert owner.data() == owner.records("put") == []


def test_the_error_of_lost_ownership_pickles_with_its_values():
    error = errors.OwnershipLost("put N", "MQGROUPS.PUT.N", ("b" * 32, 2), ("a" * 32, 1))
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.__dict__) == (str(error), error.__dict__)
    assert "epoch 2" in str(error)
    assert "holds no record" in str(errors.OwnershipLost("put N", "MQGROUPS.PUT.N", ("", 0), ("a" * 32, 1)))


@pytest.mark.embedded
def test_of_two_starts_at_the_same_instant_one_works_and_one_is_refused(owner, background):
    for _ in range(5):
        ready = threading.Barrier(2)

        def put(connection, ready=ready):
            ready.wait()
            try:
                with owner.producer(connection) as producer:
                    ready.wait()
                    with producer.group() as group:
                        group.put(b"0")
                    return "put"
            except errors.OwnerActive:
                ready.wait()
                return "refused"

        results = [background(put, owner.connect()) for _ in range(2)]
        assert sorted(result.result(30) for result in results) == ["put", "refused"]
    assert owner.data() == [b"0"] * 5


@pytest.mark.embedded
def test_a_holder_that_is_alive_is_waited_for_and_no_longer(owner, clock):
    with owner.producer(owner.connect()):
        waiting = owner.connect(sleep=clock.sleep)
        with pytest.raises(errors.OwnerActive, match="Waited 5 s") as caught:
            owner.producer(waiting, owner_wait_s=5)
    assert caught.value.reason == mq.MQRC_OBJECT_IN_USE
    assert 4 < sum(clock.naps) < 8


@pytest.mark.embedded
def test_a_name_may_go_from_one_connection_to_the_next_as_often_as_one_likes(owner):
    for number in range(3):
        with owner.producer(owner.connect()) as producer:
            assert producer._putter.owner.epoch == 1, number
            with producer.group() as group:
                group.put(b"0")


@pytest.mark.embedded
def test_two_owners_on_one_connection_both_go_on_after_it_was_lost(make_owner, faults):
    first, second = make_owner(), make_owner()
    qmgr = first.connect(reconnect_wait_s=30)
    with first.producer(qmgr) as one, second.producer(qmgr) as other:
        faults.arm(Fault("drop", "after", verb="MQCMIT", nth=2))
        for producer in (one, other, one):
            with producer.group() as group:
                for data in THIS:
                    group.put(data)
    assert first.data() == THIS + THIS
    assert second.data() == THIS
    assert first.records("put") == second.records("put") == []


def test_a_status_queue_that_could_be_shared_has_one_owner_all_the_same(owner, make_queue):
    """It is the open that excludes, not the queue's NOSHARE."""
    status_queue = make_queue()
    with owner.producer(owner.connect(), status_queue=status_queue), pytest.raises(errors.OwnerActive):
        owner.producer(owner.connect(), status_queue=status_queue)
    owner.producer(owner.connect(), status_queue=status_queue).close()
