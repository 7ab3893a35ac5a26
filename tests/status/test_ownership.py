"""One name, one owner: who comes second waits or is refused, and who was cut off can never commit again."""

from __future__ import annotations

import os
import signal
import subprocess
import threading

import pytest

from mqembedded import Fault
from mqgroups import errors
from mqgroups.connection.holder import connection_of
from mqgroups.core.status import decode
from mqgroups.mqi import constants as mq
from mqgroups.status.performer import lost_to
from tests.put.whole_groups import THIS, put_rest

# 4 committed, 1 in the open unit of work, 1 held back; goes on when told to, and says what came of it.
ZOMBIE = """
qmgr = connect()
try:
    with qmgr.group_producer(queue, name=name, commit_every=2) as producer, producer.group() as group:
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
    assert owner.resume_put(THIS, owner_wait_s=30) == 4
    assert owner.records("put") == []
    said = zombie.go_on()
    assert said.startswith(f"OwnershipLost another instance has taken over put {owner.name}:")
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
    zombie = Stopped(program, faults, ZOMBIE.replace("commit_every=2", "commit_every=100"))
    assert owner.resume_put(THIS, owner_wait_s=30) == 0
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
    with qmgr.group_consumer(queue, name=name, commit_every=2, wait_s=0) as consumer:
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
    assert zombie.go_on().startswith(f"OwnershipLost another instance has taken over get {owner.name}:")
    assert owner.data() == owner.records("get") == []


@pytest.mark.embedded
def test_after_its_ownership_is_lost_an_instance_can_do_nothing_more(owner, program, faults):
    zombie = Stopped(
        program,
        faults,
        """
qmgr = connect()
producer = qmgr.group_producer(queue, name=name, commit_every=2)
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


# A pipe that has committed a group and is in its second one; B has its name for a while, and does some of it.
PIPE_ZOMBIE = """
qmgr = connect()
pipe = qmgr.group_pipe(queue, target, name=name, commit_every=3, wait_s=0, group_wait_s=0)
try:
    try:
        for incoming, outgoing in pipe:
            for message in incoming:
                outgoing.put(message.data)
                if message.data == b"that 1":
                    print("six", flush=True)
                    sys.stdin.readline()
    finally:
        pipe.close()
    print("done", flush=True)
except mqgroups.MQGroupsError as error:
    print(type(error).__name__, flush=True)
"""


@pytest.mark.embedded
@pytest.mark.parametrize(
    ("first_group", "successor"),
    [(True, "stops in the middle"), (False, "finishes")],
    ids=["with a group before", "in its first unit of work"],
)
def test_neither_half_of_a_pipe_that_lost_its_name_writes_anything_any_more(
    owner, program, faults, make_queue, first_group, successor
):
    """Closing in ``finally`` included: its successor's records are not its own."""
    target = make_queue()
    that = [b"that %d" % number for number in range(7)]
    if first_group:
        owner.put_raw_group(THIS)
    owner.put_raw_group(that)
    zombie = Stopped(program, faults, f"target = {target!r}\n{PIPE_ZOMBIE}")

    def go_on(stop_at=None):
        qmgr = owner.connect()
        pipe = owner.pipe(target, qmgr, commit_every=3, owner_wait_s=30)
        for incoming, outgoing in pipe:
            for message in incoming:
                if message.data == stop_at:
                    qmgr.close()
                    return
                outgoing.put(message.data)
        pipe.close()

    go_on(that[6] if successor == "stops in the middle" else None)

    def seen():
        outgoing = [(message.group_id, message.msg_seq_number, message.data) for message in owner.on_queue(target)]
        return [owner.records("get"), owner.records("put"), owner.data(), outgoing]

    before = seen()
    assert len(before[0]) == len(before[1]) == (successor == "stops in the middle")
    assert zombie.go_on() == "OwnershipLost"
    assert seen() == before
    go_on()
    found = owner.on_queue(target)
    assert [message.data for message in found] == [*(THIS if first_group else []), *that]
    assert len({message.group_id for message in found}) == 1 + first_group
    assert owner.data() == []


@pytest.mark.embedded
@pytest.mark.parametrize(
    ("verb", "status"), [("MQGET", "classic"), ("MQPUT", "segmented"), ("MQCMIT", "classic"), ("MQCMIT", "segmented")]
)
@pytest.mark.parametrize("successor", ["is interrupted", "finishes"])
def test_who_loses_the_connection_as_it_closes_is_done_whoever_came_meanwhile(owner, faults, verb, successor, status):
    """All it had was committed. Its record is gone, and the one that is there is not its own to take away."""
    qmgr = owner.connect(reconnect_wait_s=30)
    connection = connection_of(qmgr)
    connect_again = connection._connect
    assert connect_again is not None

    def connect_too_late():
        connection._connect = connect_again
        if successor == "is interrupted":
            owner.interrupt_put(THIS[:4], owner_wait_s=30)
        else:
            owner.put_group(THIS[:4], owner_wait_s=30)
        return connect_again()

    producer = owner.producer(qmgr, status_layout=status)
    with producer.group() as group:
        group.put(b"mine")
    connection._connect = connect_too_late
    faults.clear_faults()
    faults.arm(Fault("drop", verb=verb))
    producer.close()
    assert faults.faults_fired() == 1
    assert connection._connect is connect_again
    assert owner.data() == [b"mine", *THIS[: 2 if successor == "is interrupted" else 4]]
    assert [decode(record).msg_seq_number for record in owner.records("put")] == [2] * (successor == "is interrupted")


def test_a_second_start_that_fails_has_taken_the_name_all_the_same_and_the_first_one_puts_nothing(owner, make_queue):
    """Its status queue is closed; the number of that handle may be another queue's by then."""
    qmgr = owner.connect()
    lost = owner.producer(qmgr)
    with pytest.raises(errors.QueueMissing):
        owner.producer(qmgr, queue="NO.SUCH.QUEUE")
    others = [connection_of(qmgr).open_queue(make_queue(), mq.MQOO_OUTPUT | mq.MQOO_INPUT_SHARED) for _ in range(4)]
    with pytest.raises(errors.OwnershipLost), lost.group() as group:
        group.put(b"0")
    assert [owner.data(), *(owner.on_queue(queue.name) for queue in others)] == [[]] * 5
    owner.put_group([b"0"])


def test_an_older_record_of_the_same_instance_is_not_called_another_instance(owner):
    with owner.producer(commit_every=1) as producer, producer.group() as group:
        owner.put_all(group, THIS[:3])
        own = producer._putter.owner.own
        lost = lost_to(own, own.record)
        owner.put_all(group, THIS[3:])
    assert (lost.because, lost.status_queue) == ("restored", owner.status_queue("put"))
    assert "restored from a backup" in str(lost)
    assert "another instance" not in str(lost)


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
def test_a_name_may_go_from_one_connection_to_the_next_as_often_as_one_likes(owner):
    for number in range(3):
        with owner.producer(owner.connect()) as producer:
            assert producer._putter.owner.own.epoch == 1, number
            with producer.group() as group:
                group.put(b"0")


@pytest.mark.embedded
def test_two_owners_on_one_connection_both_go_on_after_it_was_lost(make_owner, faults):
    first, second = make_owner(), make_owner()
    qmgr = first.connect(reconnect_wait_s=30)
    with first.producer(qmgr) as one, second.producer(qmgr) as other:
        faults.arm(Fault("drop", "after", verb="MQCMIT", nth=2))
        for producer in (one, other, one):
            put_rest(producer)
    assert first.data() == THIS + THIS
    assert second.data() == THIS
    assert first.records("put") == second.records("put") == []


def test_a_status_queue_that_could_be_shared_has_one_owner_all_the_same(owner, make_queue):
    """It is the open that excludes, not the queue's NOSHARE."""
    status_queue = make_queue()
    with owner.producer(owner.connect(), status_queue=status_queue), pytest.raises(errors.OwnerActive):
        owner.producer(owner.connect(), status_queue=status_queue)
    owner.producer(owner.connect(), status_queue=status_queue).close()
