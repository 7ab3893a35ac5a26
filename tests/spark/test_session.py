"""Source and sink in a Spark session, on the queue manager under test: what only a session shows.

``test_source.py`` and ``test_sink.py`` call readers and writers without one.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import runpy
import shutil
import sys
import textwrap
from functools import partial
from pathlib import Path

import pytest

from embedded_tests.fix_mqi import OK, wait_until
from mqembedded import Fault
from mqgroups.mqi import constants as mqi
from mqgroups.spark import cause, lag_listener, register
from mqgroups.telemetry.lag import REPORTS
from tests.fix_batches import Died, dying, messages
from tests.spark.test_browse import put_pairs, put_to

pytest.importorskip("pyspark", reason="pyspark is not installed")
from mqgroups.spark.older import HAS_LIMITS
from tests.spark.versions import PLANS_AGAIN, RUNS

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
SCHEMA = "group_key string, msg_seq_number int, value binary"


@pytest.fixture
def load(spark, owner, mq_options):
    """A function that loads the queue as a DataFrame."""
    return lambda **more: spark.read.format("ibmmq").options(**mq_options, queue=owner.queue, **more).load()


@pytest.fixture
def target(spark, make_batches, mq_options):
    """A queue and a shared status queue, and the options to write there."""
    batches = make_batches()
    batches.options = {**mq_options, "queue": batches.queue, "statusQueue": batches.status_queue}
    return batches


@pytest.fixture
def frame(spark):
    """A function that makes a DataFrame of rows, in an order that is not theirs."""

    def make(*keys):
        rows = [(key, n, f"{key}:{n}".encode()) for n in range(5, 0, -1) for key in keys]
        return spark.createDataFrame(rows, SCHEMA).coalesce(1)

    return make


def groups(*keys):
    """The groups that these rows are."""
    return {key: [f"{key}:{n}".encode() for n in range(1, 6)] for key in keys}


def write(frame, target, **more):
    frame.write.format("ibmmq").mode("append").options(**{**target.options, **more}).save()


def records(target):
    """What lies on the status queue: what it is and of which batch."""
    found = [json.loads(each.data)["checkpoint"]["json"] for each in target.owner.on_queue(target.status_queue)]
    return sorted((each["kind"], each["batch"]) for each in found)


def error_of(call):
    """Return what Spark says of a call that fails."""
    with pytest.raises(Exception) as failed:
        call()
    return str(failed.value)


def values(frame):
    return sorted(bytes(row.value) for row in frame.collect())


# --- batch read


def test_a_queue_as_rows_which_two_actions_see_alike_and_which_stay_on_the_queue(spark, owner, load):
    register(spark)
    owner.put_group(["a1", "a2"])
    owner.put_raw(b"single")
    a1, a2, single = owner.on_queue()
    frame = load(maxPartitions="3")
    rows = frame.orderBy("group_id", "msg_seq_number").collect()
    assert [(bytes(row.value), row.queue, row.msg_seq_number, row.last_msg_in_group) for row in rows] == [
        (b"single", owner.queue, 1, True),
        (b"a1", owner.queue, 1, False),
        (b"a2", owner.queue, 2, True),
    ]
    assert [row.group_id and bytes(row.group_id) for row in rows] == [None, a1.group_id, a1.group_id]
    assert [bytes(row.key) for row in rows] == [single.md.MsgId, a1.group_id, a1.group_id]
    assert [bytes(row.msg_id) for row in rows] == [single.md.MsgId, a1.md.MsgId, a2.md.MsgId]
    put = a1.md.PutDate + a1.md.PutTime[:6]
    assert rows[1].timestamp.strftime("%Y%m%d%H%M%S").encode() == put
    assert (rows[1].format, rows[1].ccsid) == ("MQSTR", 1208)
    owner.put_raw_group([b"b1"])
    partitions: dict[int, list[bytes]] = {}
    for row in frame.selectExpr("spark_partition_id() AS number", "value").collect():
        partitions.setdefault(row.number, []).append(bytes(row.value))
    assert sorted(partitions.values()) == [[b"a1", b"a2"], *([[b"b1"]] if PLANS_AGAIN else []), [b"single"]]
    assert owner.data() == [b"a1", b"a2", b"single", b"b1"]


def test_a_worker_keeps_its_connection(owner, load, count_calls):
    owner.put_raw_group([b"a1"])
    frame = load()
    for _ in range(2):
        frame.count()
    count_calls()
    for _ in range(3):
        assert frame.count() == 1
    assert "MQCONNX" not in count_calls()


def test_another_schema_and_an_option_that_cannot_be_are_named(spark, owner, mq_options, load):
    reader = spark.read.format("ibmmq").options(**mq_options, queue=owner.queue).schema("value STRING")
    assert "has the fixed columns" in error_of(lambda: reader.load().collect())
    said = "option maxgroupspertriger of format 'ibmmq': there is no such option. The nearest is"
    assert said in error_of(lambda: load(maxGroupsPerTriger="7"))


@pytest.mark.nightly
def test_a_hundred_megabytes_in_one_group(owner, load):
    payload = os.urandom(4_000_000)
    with owner.producer(commit_every=5) as producer, producer.group() as group:
        for _ in range(25):
            group.put(payload)
    # Batches of 4 MB each: were they one, the worker and the JVM would have to hold all of it.
    digests = load().selectExpr("sha2(value, 256) AS digest", "length(value) AS bytes").distinct().collect()
    assert [(row.digest, row.bytes) for row in digests] == [(hashlib.sha256(payload).hexdigest(), 4_000_000)]


# --- stream read


class Stream:
    """A query over the queue that keeps what each micro-batch has: messages by GroupId, in order."""

    def __init__(self, spark, options, checkpoint):
        self._spark = spark
        self._options = options
        self._checkpoint = str(checkpoint)
        self.batches = []
        self.fails = False
        self._queries = []

    def start(self, *, trigger, **options):
        frame = self._spark.readStream.format("ibmmq").options(**self._options, **options).load()
        writer = frame.writeStream.foreachBatch(self._keep).option("checkpointLocation", self._checkpoint)
        query = writer.trigger(**trigger).start()
        self._queries.append(query)
        return query

    def run(self, **options):
        """Run until all that is there is processed; returns the new micro-batches."""
        before = len(self.batches)
        for _ in range(RUNS):
            assert self.start(trigger={"availableNow": True}, **options).awaitTermination(120)
        return self.batches[before:]

    def _keep(self, frame, _):
        groups: dict[bytes, list[bytes]] = {}
        for row in frame.collect():
            groups.setdefault(bytes(row.key), []).append(bytes(row.value))
        if self.fails:
            raise ValueError("the sink is not there")
        self.batches.append(sorted(groups.values()))

    def stop(self):
        for query in self._queries:
            query.stop()


@pytest.fixture
def stream(spark, owner, mq_options, tmp_path):
    stream = Stream(spark, {**mq_options, "queue": owner.queue}, tmp_path / "checkpoint")
    yield stream
    stream.stop()


def test_available_now_takes_what_is_there_in_micro_batches_also_after_one_failed(owner, stream):
    put_pairs(owner, b"abc")
    owner.put_raw(b"single")
    stream.fails = True
    assert "the sink is not there" in error_of(lambda: stream.run(maxGroupsPerTrigger="2"))
    assert len(owner.data()) == 7
    stream.fails = False
    assert stream.run(maxGroupsPerTrigger="2") == [
        [[b"a1", b"a2"], [b"b1", b"b2"]],
        [[b"c1", b"c2"], [b"single"]],
    ]
    assert owner.data() == []


def test_groups_come_to_a_running_query_which_removes_them_when_it_is_idle(spark, owner, stream):
    listener = lag_listener()
    spark.streams.addListener(listener)
    query = stream.start(trigger={"processingTime": "0 seconds"}, pollTimeoutMs="100")
    for name in (b"a", b"b"):
        put_pairs(owner, name)
        # It returns when Spark has asked for more and there was none.
        query.processAllAvailable()
        assert owner.data() == []
    queues = [owner.queue] if HAS_LIMITS else []
    wait_until(lambda: [each["queue"] for reports in REPORTS.values() for each in reports] == queues)
    query.stop()
    wait_until(lambda: not REPORTS)
    spark.streams.removeListener(listener)
    assert stream.batches == [[[b"a1", b"a2"]], [[b"b1", b"b2"]]]
    # A query that goes on from there reads nothing again.
    assert stream.run() == []


@pytest.mark.nightly
def test_a_running_query_reads_groups_of_one_group_id_one_after_the_other(owner, stream):
    put_to(owner, b"G" * 24, (1, b"a1"), (2, b"a2."), (1, b"b1."))
    query = stream.start(trigger={"processingTime": "0 seconds"}, pollTimeoutMs="100")
    query.processAllAvailable()
    assert stream.batches == [[[b"a1", b"a2."]], [[b"b1."]]]
    assert owner.data() == []


def test_a_new_checkpoint_with_an_old_folder_removes_no_group_that_nobody_has_read(spark, owner, mq_options, tmp_path):
    def run(checkpoint, folder):
        frame = spark.readStream.format("ibmmq").options(**mq_options, queue=owner.queue).load()
        writer = frame.writeStream.format("parquet").option("checkpointLocation", str(tmp_path / checkpoint))
        for _ in range(RUNS):
            query = writer.option("path", str(tmp_path / folder)).trigger(availableNow=True).start()
            assert query.awaitTermination(120)

    owner.put_raw_group([b"a1"])
    run("one", "folder")
    owner.put_raw_group([b"b1", b"b2"])
    assert "only 0 of its 1 partitions were read" in error_of(lambda: run("two", "folder"))
    assert owner.data() == [b"b1", b"b2"]
    # What the error says leads out.
    run("three", "another folder")
    assert values(spark.read.parquet(str(tmp_path / "another folder"))) == [b"b1", b"b2"]


def test_a_foreach_batch_that_reads_a_part_of_its_rows_loses_none(owner, stream):
    put_pairs(owner, b"ab")
    stream._keep = lambda frame, _: stream.batches.append(len(frame.take(1)))
    assert "only 1 of its 2 partitions were read to their end" in error_of(stream.run)
    assert (stream.batches, len(owner.data())) == ([1], 4)


USES = {
    "first": (lambda frame, _: frame.first(), True),
    "limit and collect": (lambda frame, _: frame.limit(1).collect(), True),
    "isEmpty": (lambda frame, _: frame.isEmpty(), False),
    "limit and count": (lambda frame, _: frame.limit(1).count(), False),
    "limit and write": (lambda frame, folder: frame.limit(1).write.parquet(str(folder / "part")), False),
}


@pytest.mark.nightly
@pytest.mark.parametrize("use", USES)
def test_of_rows_that_are_not_used_only_a_partition_without_a_task_is_noticed(owner, stream, tmp_path, use):
    """Why a foreachBatch has to use all rows, as docs/spark/reading.md says: a task is not told how many of them Spark takes."""
    function, is_noticed = USES[use]
    put_pairs(owner, b"abcd")
    stream._keep = lambda frame, _: function(frame, tmp_path) and None
    if is_noticed:
        assert "of its 4 partitions were read to their end" in error_of(lambda: stream.run(maxPartitions="4"))
    else:
        stream.run(maxPartitions="4")
    assert len(owner.data()) == (8 if is_noticed else 0)


def test_a_stream_united_with_itself_has_each_row_twice_and_joined_with_itself_is_refused(
    spark, owner, mq_options, tmp_path
):
    owner.put_raw_group([b"a1", b"a2"])

    def load(**more):
        frame = spark.readStream.format("ibmmq").options(**mq_options, queue=owner.queue, **more).load()
        return frame.select("key", "value")

    def run(frame, name):
        writer = frame.writeStream.format("parquet").option("checkpointLocation", str(tmp_path / f"{name}.checkpoint"))
        for _ in range(RUNS):
            assert writer.trigger(availableNow=True).start(str(tmp_path / name)).awaitTermination(120)

    frame = load()
    run(frame.union(frame), "twice")
    assert values(spark.read.parquet(str(tmp_path / "twice"))) == [b"a1", b"a1", b"a2", b"a2"]
    assert owner.data() == []
    owner.put_raw_group([b"b1"])
    frame = load(**{"mq.waitMs": "0"})
    said = error_of(lambda: run(frame.join(frame.select("key"), "key"), "joined"))
    # Spark's own frames, and one of the package.
    assert said.count("mqgroups/spark/") == 1
    assert cause(said).startswith(f"QueueReserved: queue {owner.queue} is still open for input")
    assert owner.data() == [b"b1"]


def test_two_queues_united_are_read_and_removed_in_one_query_which_goes_on_after_a_failure(
    spark, owner, make_queue, mq_options, tmp_path
):
    queues = [owner.queue, make_queue()]
    batches, fails = [], True

    def keep(frame, _):
        found = sorted(bytes(row.value) for row in frame.collect())
        assert not fails
        batches.append(found)

    def run(queues):
        first, *others = [
            spark.readStream.format("ibmmq").options(**mq_options, queue=queue, maxGroupsPerTrigger="1").load()
            for queue in queues
        ]
        for other in others:
            first = first.union(other)
        writer = first.writeStream.foreachBatch(keep).option("checkpointLocation", str(tmp_path / "checkpoint"))
        for _ in range(RUNS):
            assert writer.trigger(availableNow=True).start().awaitTermination(120)

    put_pairs(owner, b"ab")
    owner.put_raw(b"c1", queues[1])
    assert "AssertionError" in error_of(lambda: run(queues))
    assert (len(owner.data()), owner.data(queues[1])) == (4, [b"c1"])
    fails = False
    run(queues)
    assert batches == [[b"a1", b"a2", b"c1"], [b"b1", b"b2"]]
    assert [owner.data(queue) for queue in queues] == [[], []]
    # Spark knows the streams by their order; the offset of one leads to no manifest of the other.
    owner.put_raw_group([b"d1"])
    assert cause(error_of(lambda: run(queues[::-1]))).startswith("CheckpointUnusable")
    run(queues)
    assert (batches[2:], owner.data()) == ([[b"d1"]], [])


# --- batch write


def test_a_batch_write_makes_a_group_of_each_key(frame, target):
    keys = [f"K{n}" for n in range(10)]
    write(frame(*keys).repartition(4, "group_key"), target, messagesPerUnitOfWork="2")
    assert target.groups() == groups(*keys)
    assert target.depth() == 50
    assert records(target) == [("high-water mark", 0)]


@pytest.mark.embedded
@pytest.mark.parametrize(("when", "verb", "nth"), [("before", "MQPUT", 9), ("after", "MQCMIT", 4)])
def test_a_worker_that_is_killed_in_a_unit_of_work_is_followed_by_one_that_goes_on(
    frame, target, faults, when, verb, nth
):
    write(frame("W"), target)  # the worker is connected
    target.owner.empty()
    faults.clear_faults()
    faults.arm(Fault("kill_client", when, verb=verb, nth=nth))
    write(frame("A", "B"), target, messagesPerUnitOfWork="2")
    assert faults.faults_fired() == 1
    assert target.groups() == groups("A", "B")
    assert target.depth() == 10


@pytest.mark.nightly
def test_a_group_of_a_hundred_megabytes(spark, target):
    body = "CAST(concat('A:', lpad(msg_seq_number, 3, '0'), repeat('x', 2499995)) AS BINARY) AS value"
    frame = spark.range(1, 41).selectExpr("'A' AS group_key", "CAST(id AS INT) AS msg_seq_number")
    write(frame.selectExpr("*", body).coalesce(1), target)
    handle = target.owner.eye.open(target.queue, mqi.MQOO_INPUT_SHARED)
    lengths = []
    while (answer := handle.get(length=3_000_000)).code == OK:
        lengths.append((answer.data[:5], len(answer.data)))
    handle.close()
    assert lengths == [(f"A:{n:03}".encode(), 2_500_000) for n in range(1, 41)]


def test_what_cannot_be_written_is_refused_by_name(spark, frame, target, tmp_path):
    for data, schema, said in (
        ([(b"x",)], "value binary", "found columns value, expected a column 'group_key' for the groups"),
        ([("A", 1, None)], SCHEMA, "column 'value' is null in a row"),
    ):
        assert said in error_of(lambda: write(spark.createDataFrame(data, schema).coalesce(1), target))  # noqa: B023 - at once
    said = error_of(lambda: frame("A").write.format("ibmmq").mode("overwrite").options(**target.options).save())
    assert "WriteRefused" in said
    frame("A").write.parquet(str(tmp_path / "input"))
    counts = spark.readStream.schema(SCHEMA).parquet(str(tmp_path / "input")).groupBy("group_key").count()
    writer = counts.selectExpr("group_key", "CAST(count AS STRING) AS value").writeStream.outputMode("complete")
    writer = writer.format("ibmmq").options(**target.options).option("checkpointLocation", str(tmp_path / "checkpoint"))
    assert "WriteRefused" in error_of(lambda: writer.trigger(availableNow=True).start().awaitTermination())
    assert target.depth() == 0


# --- stream write


class Files:
    """A stream of files."""

    def __init__(self, spark, directory):
        self._spark = spark
        self._directory = str(directory / "input")
        self.checkpoint = directory / "checkpoint"

    def add(self, frame):
        frame.write.mode("append").parquet(self._directory)

    def run(self, start):
        """Have a query started that does what is new."""
        # Adaptive execution may merge partitions.
        stream = self._spark.readStream.schema(SCHEMA).parquet(self._directory).repartition("group_key")
        writer = stream.writeStream.option("checkpointLocation", str(self.checkpoint)).trigger(availableNow=True)
        start(writer).start().awaitTermination()

    def forget_commit(self, batch):
        """Make Spark do a micro-batch again, as after a driver that died before it had noted its end."""
        (self.checkpoint / "commits" / str(batch)).unlink()
        (self.checkpoint / "commits" / f".{batch}.crc").unlink()


@pytest.fixture
def files(spark, tmp_path):
    return Files(spark, tmp_path)


def test_a_stream_write_makes_groups_of_each_micro_batch_once(spark, frame, target, files):
    assert spark.conf.get("spark.sql.adaptive.enabled") == "true"

    def start(writer):
        return writer.format("ibmmq").options(**target.options)

    files.add(frame("A", "B"))
    files.run(start)
    files.forget_commit(0)
    files.add(frame("C"))
    files.run(start)
    assert target.groups() == groups("A", "B", "C")
    assert records(target) == [("high-water mark", 1)]


@pytest.mark.nightly
def test_two_writes_in_one_foreach_batch_are_two_batches_and_another_query_is_refused(
    frame, target, make_batches, files
):
    other = make_batches()
    other.options = {**target.options, "queue": other.queue}

    def put(batch, number, sinks=(target, other)):
        for one in sinks:
            write(batch, one, txnAppId=one.sink, txnVersion=str(number))

    def start(writer):
        return writer.foreachBatch(put)

    files.add(frame("A", "B"))
    files.run(start)
    files.forget_commit(0)
    files.run(start)
    assert target.groups() == other.groups() == groups("A", "B")
    assert records(target) == [("high-water mark", 0)] * 2
    # A second write to one queue needs a name of its own, also when the query is started again.
    twice = partial(put, sinks=(target, target))
    files.add(frame("C"))
    for _ in range(2):
        said = cause(error_of(lambda: files.run(lambda writer: writer.foreachBatch(twice))))
        assert re.match(r"BatchRefused: batch 1 of .* another name for each write of a foreachBatch", said)
    files.run(start)
    assert target.groups() == other.groups() == groups("A", "B", "C")
    shutil.rmtree(files.checkpoint)
    said = cause(error_of(lambda: files.run(start)))
    assert re.search(r"batches up to 1 of txnAppId .* count as written: .*, query .* wrote them, but this is", said)


def test_an_empty_batch_removes_what_a_batch_that_is_never_repeated_has_left(spark, frame, target):
    """The lines of docs/spark/night.md, as they stand there."""
    page = (ROOT / "docs" / "spark" / "night.md").read_text()
    (lines,) = re.findall(r"((?:    .*\n)*    empty = .*\n(?:    .*\n)*)", page)
    target.attempt().put_group("A", messages("A", 3))
    with pytest.raises(Died):
        target.attempt().put_group("B", dying("B", 5, after=4))
    assert [each["checkpoint"]["json"]["kind"] for each in target.records()].count("status") == 2
    given = {"spark": spark, "options": target.options, "NAME": target.sink, "BATCH": 0}
    exec(textwrap.dedent(lines), given)
    assert records(target) == [("high-water mark", 1)]
    assert (set(target.groups()), target.depth()) == ({"A"}, 3 + 2)


# --- the examples of the guide


def run_example(name, monkeypatch, argument, until):
    """Run an example, whose code is in the documents too."""
    example = ROOT / "examples" / name
    code = example.read_text(encoding="utf-8").partition("import SparkSession\n\n")[2].partition(until)[0]
    assert [page for page in (ROOT / "docs").rglob("*.md") if code in page.read_text(encoding="utf-8")]
    monkeypatch.setattr(sys, "argv", [str(example), argument])
    runpy.run_path(str(example), run_name="__main__")


# It connects without user and password.
@pytest.mark.embedded
@pytest.mark.nightly
def test_the_example_that_reads_has_a_queue_in_files(spark, owner, tmp_path, monkeypatch, capfd):
    for rows in (["a1", "a2"], ["b1"]):
        with owner.producer(queue="ORDERS") as producer, producer.group() as group:
            for row in rows:
                group.put(row)
    run_example("spark_read.py", monkeypatch, str(tmp_path), "\0")
    texts = spark.read.parquet(f"{tmp_path}/orders").orderBy("text").collect()
    assert [(row.text, row.msg_seq_number) for row in texts] == [("a1", 1), ("a2", 2), ("b1", 1)]
    assert "|    2|" in capfd.readouterr().out


@pytest.mark.embedded
@pytest.mark.skipif(not HAS_LIMITS, reason="this Spark does not ask a source what waits")
def test_the_example_of_progress_tells_what_was_read_and_what_waits(spark, owner, tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(sys, "argv", ["spark_watch.py", str(tmp_path)])
    with owner.producer(queue="ORDERS") as producer:
        for rows in (["a1", "a2"], ["bb1"]):
            with producer.group() as group:
                for row in rows:
                    group.put(row)
    runpy.run_path(str(ROOT / "examples" / "spark_watch.py"), run_name="__main__")
    told = capfd.readouterr().out
    assert "micro-batch 0: {'groups': 2, 'messages': 3, 'bytes': 7}; the queue: {" in told
    shown = told.replace(" ", "")
    assert '{"queueManager":' in shown
    assert '"waiting":0,"oldest":null,"incomplete":null,"unfinished":2,"depth":3}' in shown


@pytest.mark.embedded
def test_the_example_that_writes_has_groups_once(spark, owner, monkeypatch, capsys):
    for _ in range(2):
        run_example("spark_write.py", monkeypatch, "1", "print")
    assert "written: 10 groups" in capsys.readouterr().out
    found = owner.on_queue("ORDERS")
    for queue in ("ORDERS", "MQGROUPS.SHARED.EXAMPLE"):
        owner.empty(queue)
    assert len(found) == 1000
    assert [each.data for each in found if each.data in (b"order 1", b"order 991")] == [b"order 1", b"order 991"]
    assert sum(each.is_last for each in found) == 10
