"""An earlier build of the package and this one take turns: what one leaves unfinished, the other finishes, in both directions.

Each half is a process of its own, which dies in the middle (``os._exit``).
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from tests.batch.test_batch_recovery import WHOLE
from tests.versions.conftest import ROOT

pytestmark = [pytest.mark.embedded, pytest.mark.slow]
BOTH_WAYS = pytest.mark.parametrize(
    ("first", "second"), [("earlier", "this"), ("this", "earlier")], ids=["forward", "back"]
)
PUT = """
import os
with connect() as q_mgr, q_mgr.group_producer(queue, name=name, commit_every=2, **{settings}) as producer:
    group = producer.group({called})
    print(group.resume_from, producer.checkpoint)
    with group:
        for number in range(group.resume_from, 7):
            if {die} and number == 5:
                os._exit(9)
            group.set_checkpoint([number])
            group.put(b"%d" % number * {times})
"""
REMAINING = """
with connect() as q_mgr, q_mgr.group_producer(queue, name=name) as producer:
    print(*producer.remaining("AB"))
"""
GET = """
import os
with connect() as q_mgr, q_mgr.group_consumer(queue, name=name, commit_every=2, wait_s=0) as consumer:
    for group in consumer:
        print(group.resume_from, sorted(group.properties.items()))
        for message in group:
            if {die} and message.msg_seq_number == 6:
                os._exit(9)
            print(message.data)
"""
PIPE = """
import os
with connect() as q_mgr, q_mgr.group_pipe(queue, {target!r}, name=name, commit_every=2, wait_s=0) as pipe:
    for incoming, outgoing in pipe:
        print(incoming.resume_from)
        for message in incoming:
            if {die} and message.msg_seq_number == 6:
                os._exit(9)
            outgoing.put(message.data)
"""
BATCH = """
import os
from mqgroups.batch.completion import complete_batch
from mqgroups.batch.producer import BatchMessage, BatchProducer, BatchSettings
from mqgroups.connection.holder import connection_of
from mqgroups.core.unit_of_work import Every
queue, name, status_queue = {names!r}
def messages(key):
    for number in range(1, 6):
        if {die} and key == "B" and number == 4:
            os._exit(9)
        yield BatchMessage(f"{{key}}:{{number}}".encode())
with connect() as q_mgr:
    settings = BatchSettings(queue=queue, name=name, batch=0, run="{run}", partition=0, token="{run}", full_wait_s=0,
                             status_queue=status_queue, commit_every=Every(messages=2), owner_wait_s=30)
    attempt = BatchProducer(connection_of(q_mgr), settings)
    for key in "AB":
        attempt.put_group(key, messages(key))
    attempt.close()
    complete_batch(connection_of(q_mgr), status_queue, name, queue, 0, "driver", owner_wait_s=30)
"""
STREAM = """
import sys
from pyspark.sql import SparkSession
import mqgroups.spark
options = {options!r}
spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
mqgroups.spark.register(spark)
rows = spark.readStream.format("ibmmq").options(**options, queue=queue, statusQueue={read!r}, maxGroupsPerTrigger=1).load()
rows = rows.selectExpr("value", "hex(key) AS group_key", "msg_seq_number").repartition("group_key")
writer = rows.writeStream.format("ibmmq").options(**options, queue={target!r}, statusQueue={status_queue!r})
query = writer.option("checkpointLocation", {folder!r}).trigger(processingTime="0 seconds").start()
while query.isActive:
    done = query.lastProgress
    if done is not None and done["batchId"] >= {batches}:
        print("done", flush=True)
        break
    query.awaitTermination(0.1)
query.stop()
"""


def found_in(folder):
    """Return the environment of a program that imports the build in this folder, and not what is in the working folder."""
    return {"PYTHONPATH": os.pathsep.join([folder, str(ROOT)]), "PYTHONSAFEPATH": "1"}


@pytest.fixture
def run(builds, program):
    """Run a program text with one of the builds; returns what it has printed."""

    def run(build, text, *, dies=False):
        program.environment |= found_in(builds[build])
        told = f"assert mqgroups.__file__.startswith({builds[build]!r})\n"
        done = program.run(told + text)
        assert done.returncode == (9 if dies else 0), done.stderr
        return done.stdout.splitlines()

    return run


@BOTH_WAYS
@pytest.mark.parametrize(
    ("settings", "times", "called"),
    [
        pytest.param({}, 1, "", id="messages"),
        pytest.param({"status_layout": "segmented"}, 1, "", id="segmented record"),
        pytest.param({"segment_bytes": 1000}, 4500, "", id="segments"),
        pytest.param({}, 1, "'A'", id="name"),
    ],
)
def test_a_producer_goes_on(run, owner, first, second, settings, times, called):
    text = {"settings": settings, "times": times, "called": called}
    run(first, PUT.format(**text, die=True), dies=True)
    told = run(second, PUT.format(**text, die=False))
    # The last message of a unit of work is put with the next one's first, so four or five are committed.
    assert told[0].split(" ", 1)[0] in ("4", "5")
    assert told[0].split(" ", 1)[1] == f"[{int(told[0][0]) - 1}]"
    if called:
        assert run(first, REMAINING) == ["B"]
    assert b"".join(owner.data()) == b"".join(b"%d" % number * times for number in range(7))


@BOTH_WAYS
def test_a_consumer_goes_on(run, owner, first, second):
    with owner.producer() as producer, producer.group("A", properties={"lines": 7}) as group:
        owner.put_all(group, [b"%d" % number for number in range(7)])
    run(first, GET.format(die=True), dies=True)
    resumed, *rest = run(second, GET.format(die=False))
    assert resumed == "4 [('lines', 7), ('mqgroups.Name', 'A')]"
    assert rest == ["b'4'", "b'5'", "b'6'"]
    assert owner.data() == []


@BOTH_WAYS
def test_a_pipe_goes_on(run, owner, make_queue, first, second):
    target = make_queue()
    owner.put_raw_group([b"%d" % number for number in range(7)])
    run(first, PIPE.format(target=target, die=True), dies=True)
    assert run(second, PIPE.format(target=target, die=False))[0] == "4"
    assert owner.data() == []
    assert owner.data(target) == [b"%d" % number for number in range(7)]


@BOTH_WAYS
def test_a_batch_goes_on(run, batches, first, second):
    text = {"names": (batches.queue, batches.sink, batches.status_queue)}
    run(first, BATCH.format(**text, run=first, die=True), dies=True)
    assert "intent" in batches.kinds()
    run(second, BATCH.format(**text, run=second, die=False))
    assert (batches.groups(), batches.kinds()) == (WHOLE, ["high-water mark"])


def test_the_other_build_waits_while_one_has_the_name(run, owner):
    with owner.producer():
        text = "with connect() as q, q.group_producer(queue, name=name, owner_wait_s=0): pass"
        (told,) = run(
            "earlier", f"try:\n    {text}\nexcept mqgroups.errors.OwnerActive as error: print(type(error).__name__)"
        )
    assert told == "OwnerActive"


@pytest.mark.nightly
@BOTH_WAYS
def test_a_stream_and_a_sink_go_on(builds, program, owner, make_queue, mq, tmp_path, first, second):
    pytest.importorskip("pyspark", reason="pyspark is not installed")
    if program.environment["MQGROUPS_MQI"] != "ibmmq":
        pytest.skip("once is enough: with ibmmq")
    target = make_queue()
    options = {
        "mq.queueManager": mq.q_mgr_name,
        "mq.channel": mq.channel,
        "mq.connectionNameList": mq.conn_name,
    }
    for group in range(4):
        owner.put_raw_group([b"%d:%d" % (group, number) for number in range(3)])

    def start(build, batches):
        text = STREAM.format(
            options=options,
            target=target,
            read=f"{owner.queue}.READ",
            status_queue=f"{owner.queue}.WRITE",
            folder=str(tmp_path),
            batches=batches,
        )
        program.environment |= found_in(builds[build]) | {
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_LOCAL_IP": "127.0.0.1",
        }
        # Spark leaves what Python warns of.
        command = [word for word in program.command(text) if word not in ("-W", "error")]
        log = tmp_path / "log"
        with log.open("ab") as errors:
            process = subprocess.Popen(
                command,
                env=program.environment,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                start_new_session=True,
            )
        assert process.stdout is not None
        told = process.stdout.readline()
        # Driver, JVM and Python workers die together, at whatever they do.
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        assert told == "done\n", log.read_text()[-3000:]

    start(first, 1)
    start(second, 3)
    found: dict[bytes, list[bytes]] = {}
    for message in owner.on_queue(target):
        found.setdefault(message.group_id, []).append(message.data)
    assert sorted(found.values()) == [[b"%d:%d" % (group, number) for number in range(3)] for group in range(4)]
