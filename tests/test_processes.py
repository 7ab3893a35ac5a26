"""Processes and threads: whatever ends a program, nothing uncommitted is committed; and who may use a connection."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import tracemalloc

import pytest

from mqembedded import Fault
from mqgroups import Persistence
from mqgroups.mqi import constants as mq
from tests.fix_groups import Program

THIS = [b"%d" % number for number in range(7)]
# 6 put, of which 4 are committed, 1 is in an open unit of work and 1 held back.
PUT_SIX = """
qmgr = connect()
producer = qmgr.group_producer(queue, name=name, commit_every=2, owner_wait_s=10)
group = producer.group()
for number in range(6):
    group.put(b"%d" % number)
"""
# 6 got, of which 4 are committed, 1 is processed in an open unit of work, and 1 is being processed.
GET_SIX = """
getting = connect()
consumer = getting.group_consumer(queue, name=name, commit_every=2, owner_wait_s=10, wait_s=0, group_wait_s=0)
incoming = next(iter(consumer))
messages = iter(incoming)
for number in range(6):
    next(messages)
"""
ENDS = {
    "the end of the program": "",
    "sys.exit": "sys.exit(7)",
    "an uncaught exception": "raise KeyError(7)",
    "os._exit": "os._exit(7)",
    "abort": "os.abort()",
    "del and garbage collection": """
producer = consumer = group = incoming = messages = qmgr = getting = None
gc.collect()
""",
    "a child that inherits the connection": """
if os.fork() == 0:
    qmgr.close()
    getting.close()
    sys.exit(0)
os.wait()
""",
}


def has_failed(done):
    """Whether a program has shown an exception; what is left open is only warned of, where Python comes to collect it."""
    return done.stderr.count("Traceback") > done.stderr.count("\nResourceWarning: ")


@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)
def test_a_program_that_ends_without_closing_has_committed_nothing_more(owner, program, end):
    owner.put_raw_group(THIS)
    done = program.run(GET_SIX + PUT_SIX + end)
    assert has_failed(done) is ("raise" in end), done.stderr
    # To own the status queue is to know that the queue manager has noticed.
    with owner.consumer(owner_wait_s=30) as consumer:
        group = next(iter(consumer))
        assert (group.resume_from, [message.data for message in group]) == (4, THIS[4:])
    with owner.producer(owner_wait_s=30) as producer, producer.group() as group:
        assert group.resume_from == 4
        assert owner.data() == THIS[:4]
        owner.put_all(group, THIS[4:])
    assert owner.data() == THIS
    assert owner.records("get") == []


def test_blocks_left_by_an_exception_close_everything_and_commit_nothing_more(owner, program):
    program.run("""
with connect() as qmgr, qmgr.group_producer(queue, name=name, commit_every=2) as producer, producer.group() as group:
    for number in range(6):
        group.put(b"%d" % number)
    raise KeyError(7)
""")
    # No waiting: the connection was closed in order.
    with owner.producer() as producer:
        assert producer.group().resume_from == 4
    assert owner.data() == THIS[:4]


@pytest.mark.embedded
def test_a_program_whose_mqback_fails_at_the_end_commits_nothing(owner, program, faults):
    faults.arm(Fault("answer", verb="MQBACK", reason=mq.MQRC_RESOURCE_PROBLEM))
    done = program.run("import logging; logging.basicConfig()\n" + PUT_SIX + "qmgr.close()")
    assert faults.faults_fired() == 1
    assert "MQBACK on QM1 failed" in done.stderr
    with owner.producer(owner_wait_s=30) as producer:
        assert producer.group().resume_from == 4
    assert owner.data() == THIS[:4]


def test_while_a_program_lives_its_collected_objects_commit_nothing(owner, program):
    process = subprocess.Popen(
        program.command(PUT_SIX + ENDS["del and garbage collection"] + "print(1, flush=True)\nsys.stdin.read()"),
        env=program.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"1\n"
    assert owner.data() == THIS[:4]
    process.communicate()
    with owner.producer(owner_wait_s=30) as producer:
        assert producer.group().resume_from == 4
    assert owner.data() == THIS[:4]


def test_in_a_forked_child_a_connection_is_a_clear_error_and_the_parent_goes_on(owner, program):
    done = program.run(
        PUT_SIX
        + """
consumer = connect().group_consumer(queue, name=name)
child = os.fork()
if child == 0:
    for use in (lambda: group.put(b"x"), lambda: connect().close(), lambda: qmgr.group_consumer(queue, name=name)):
        try:
            use()
            print("fine", flush=True)
        except Exception as error:
            print(type(error).__name__, error, flush=True)
    producer.close()
    qmgr.close()
    # What the parent has open is not forgotten when the child lets go of it.
    group = producer = qmgr = consumer = use = None
    gc.collect()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
with group:
    group.put(b"6")
consumer.close()
producer.close()
qmgr.close()
"""
    )
    assert done.stderr == ""
    put, own, other = done.stdout.splitlines()
    assert put.startswith("ConnectionBroken MQPUT for queue")
    assert own.startswith("ConnectionBroken MQCONNX for queue manager")
    # IBM MQ, topic q025875; and nothing is retried, which would take a minute.
    for said in (put, own):
        assert "2012 MQRC_ENVIRONMENT_ERROR" in said
        assert "Connect only after the fork" in said
    assert other.startswith("ConnectionBroken")
    assert owner.data() == THIS
    assert owner.records("put") == []


def test_a_child_that_is_forked_before_the_first_call_works_on_a_connection_of_its_own(owner, program):
    done = program.run("""
if os.fork() == 0:
    with connect() as own, own.group_producer(queue, name=name + ".CHILD", commit_every=2) as other:
        with other.group() as whole:
            for number in range(7):
                whole.put(b"%d" % number)
        other.delete_status_queue()
    os._exit(0)
assert os.wait()[1] == 0
with connect() as qmgr, qmgr.group_producer(queue, name=name, commit_every=2) as producer, producer.group() as group:
    group.put(b"0")
    group.put(b"1")
""")
    assert done.stderr == ""
    assert owner.data() == [*THIS, b"0", b"1"]


def test_threads_with_a_connection_each_put_and_get_whole_groups(owner, make_owner, background):
    owners = [make_owner(queue=owner.queue) for _ in range(6)]

    def put(number, putter):
        with putter.producer(commit_every=3) as producer:
            for group_number in range(3):
                with producer.group() as group:
                    for message in range(10):
                        group.put(json.dumps([number, group_number, message]))

    def get(getter):
        with getter.consumer(commit_every=4, group_wait_s=30) as consumer:
            return [[json.loads(message.data) for message in group] for group in consumer]

    for thread in [background(put, number, putter) for number, putter in enumerate(owners)]:
        thread.result(30)
    got = [group for thread in [background(get, getter) for getter in owners] for group in thread.result(30)]
    expected = [[[number, group, message] for message in range(10)] for number in range(6) for group in range(3)]
    assert sorted(got) == expected
    assert owner.data() == []


def resident_kb():
    """Return this process's resident memory."""
    with open("/proc/self/statm", "rb") as file:  # noqa: PTH123 - as little memory as can be
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1024


@pytest.mark.slow
@pytest.mark.embedded
def test_a_group_of_very_many_messages_takes_no_more_memory_than_a_small_one(make_owner, own_queue_manager, binding):
    """20,000 messages; MQEMBEDDED_MESSAGES=1000000 for a million, in some minutes."""
    if binding.__name__ != "pymqi":
        pytest.skip("once is enough")
    messages = int(os.environ.get("MQEMBEDDED_MESSAGES", "20000"))
    owner = make_owner(own_queue_manager(), "ORDERS")
    before = after = 0
    with (
        owner.producer(commit_every=1000, persistence=Persistence.NOT_PERSISTENT) as producer,
        producer.group() as group,
    ):
        for number in range(messages):
            group.put(b"%0100d" % number)
            if number == 5000:
                before = resident_kb()
        after = resident_kb()
    assert after - before < 2000
    got = 0
    with owner.consumer(commit_every=1000) as consumer:
        for whole in consumer:
            for message in whole:
                assert message.data == b"%0100d" % got
                got += 1
                if got == 5000:
                    before = resident_kb()
        after = resident_kb()
    assert got == messages
    assert after - before < 2000


@pytest.mark.slow
@pytest.mark.embedded
def test_a_message_of_128_mb_streams_through_in_the_memory_of_a_few_segments(make_owner, own_queue_manager, binding):
    if binding.__name__ != "pymqi":
        pytest.skip("once is enough")
    owner = make_owner(own_queue_manager(), "ORDERS")
    segment_bytes, segments = 262_144, 512
    resident = []

    def pieces():
        for number in range(segments):
            if number in (32, segments - 1):
                resident.append(resident_kb())
            yield bytes([number % 251]) * segment_bytes

    settings = {"commit_every": 4, "segment_bytes": segment_bytes}
    with (
        owner.producer(persistence=Persistence.NOT_PERSISTENT, **settings) as producer,
        producer.group() as group,
    ):
        group.put(pieces(), last=True)
    with owner.consumer(commit_every=4, stream=True, max_message_length=2 * segment_bytes) as consumer:
        for message in next(iter(consumer)):
            for number, chunk in enumerate(message.chunks()):
                assert chunk == bytes([number % 251]) * segment_bytes
                if number in (32, segments - 1):
                    resident.append(resident_kb())
    assert message.is_last
    put_at_32, put_at_end, got_at_32, got_at_end = resident
    # 120 MB went by in between; four uncommitted segments of each side are 1 MB.
    assert put_at_end - put_at_32 < 4000
    assert got_at_end - got_at_32 < 4000


@pytest.mark.embedded
def test_a_message_takes_its_length_twice_and_little_more(make_owner, own_queue_manager, binding, tmp_path):
    """SECURITY.md says 64 MiB more, which is for what properties take."""
    (file := tmp_path / "long.mqsc").write_text(
        "ALTER QMGR MAXMSGL(41943040)\nALTER QLOCAL(ORDERS) MAXMSGL(41943040)\n"
    )
    owner = make_owner(own_queue_manager(mqsc=[file]), "ORDERS")
    million = 1_000_000
    with owner.producer() as producer, producer.group() as group:
        group.put(bytes(40 * million))
    done = Program(owner, binding.__name__).run(
        """
import resource
def most():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
with connect() as q_mgr, q_mgr.group_consumer(queue, name=name, wait_s=0) as consumer:
    before = most()
    for group in consumer:
        for message in group:
            print(len(message.data), (most() - before) * 1024)
"""
    )
    length, took = map(int, done.stdout.split())
    assert (length, took < 2 * length + 16 * million) == (40 * million, True)


@pytest.mark.embedded
def test_units_of_work_leave_nothing_behind_in_memory(owner):
    """Where the one above would need hours to see it: a few bytes for each unit of work, or for each message."""

    def traced_bytes():
        gc.collect()  # empties the interpreter's free lists too
        return tracemalloc.get_traced_memory()[0]

    with (
        owner.consumer(owner.connect(), commit_every=1, group_wait_s=30) as consumer,
        owner.producer(commit_every=1) as producer,
        producer.group() as group,
    ):
        group.put(b"0")
        group.put(b"1")
        messages = iter(next(iter(consumer)))
        next(messages)
        kept = []
        for number in range(1400):
            if number == 1100:
                # The interpreter keeps caches for code that has run a thousand times: let it make them before.
                tracemalloc.start()
            group.put(b"%d" % number)
            next(messages)
            if number in (1149, 1399):
                kept.append(traced_bytes())
        tracemalloc.stop()
    # 250 units of work of each; not even a pointer of each may stay.
    assert kept[1] - kept[0] < 2000
