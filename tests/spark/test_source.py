"""The source in a Spark session: batch and stream reads of the queue manager under test."""

from __future__ import annotations

import hashlib
import json
import os
import re
import runpy
import sys
from pathlib import Path

import pytest

from mqgroups.mqi import constants as mqi
from mqgroups.spark import cause
from tests.fix_mqi import OK, wait_until
from tests.fix_properties import MessageHandle

pytestmark = pytest.mark.slow


@pytest.fixture
def batch(spark, owner, mq_options):
    """A function that loads the queue as a DataFrame."""

    def load(**options):
        return spark.read.format("ibmmq").options(**mq_options, queue=owner.queue, **options).load()

    return load


class Stream:
    """A query over the queue that keeps what each micro-batch has: messages by GroupId, in order."""

    def __init__(self, spark, owner, mq_options, checkpoint):
        self._spark = spark
        self._options = {**mq_options, "queue": owner.queue}
        self.checkpoint = checkpoint
        self.batches = []
        self._queries = []

    def start(self, *, available_now=True, checkpoint=None, **options):
        frame = self._spark.readStream.format("ibmmq").options(**self._options, **options).load()
        writer = frame.writeStream.foreachBatch(self._keep).option(
            "checkpointLocation", str(checkpoint or self.checkpoint)
        )
        query = (
            writer.trigger(availableNow=True) if available_now else writer.trigger(processingTime="0 seconds")
        ).start()
        self._queries.append(query)
        return query

    def run(self, **options):
        """Run until all that is there is processed; returns the new micro-batches."""
        before = len(self.batches)
        assert self.start(**options).awaitTermination(120)
        return self.batches[before:]

    def _keep(self, frame, _):
        groups: dict[bytes, list[bytes]] = {}
        for row in frame.collect():
            groups.setdefault(bytes(row.key), []).append(bytes(row.value))
        self.batches.append(sorted(groups.values()))

    def stop(self):
        for query in self._queries:
            query.stop()


@pytest.fixture
def stream(spark, owner, mq_options, tmp_path):
    stream = Stream(spark, owner, mq_options, tmp_path / "checkpoint")
    yield stream
    stream.stop()


def error_of(call):
    """Return what Spark says of a call that fails."""
    with pytest.raises(Exception) as failed:
        call()
    return str(failed.value)


# --- batch read


def test_a_queue_as_rows(owner, batch):
    owner.put_group(["a1", "a2"])
    owner.put_raw(b"single", CorrelId=b"C" * 24)
    a1, a2, single = owner.on_queue()
    rows = batch().orderBy("group_id", "msg_seq_number").collect()
    assert [(bytes(row.value), row.queue, row.msg_seq_number, row.last_msg_in_group) for row in rows] == [
        (b"single", owner.queue, 1, True),
        (b"a1", owner.queue, 1, False),
        (b"a2", owner.queue, 2, True),
    ]
    assert [row.group_id and bytes(row.group_id) for row in rows] == [None, a1.group_id, a1.group_id]
    assert [bytes(row.key) for row in rows] == [b"C" * 24, a1.group_id, a1.group_id]
    assert [bytes(row.msg_id) for row in rows] == [single.md.MsgId, a1.md.MsgId, a2.md.MsgId]
    put = a1.md.PutDate + a1.md.PutTime[:6]
    assert rows[1].timestamp.strftime("%Y%m%d%H%M%S").encode() == put
    assert (rows[1].format, rows[1].ccsid) == ("MQSTR", 1208)


def test_two_actions_on_one_dataframe_see_the_same_and_take_nothing(owner, batch):
    owner.put_raw_group([b"a1", b"a2"])
    frame = batch()
    assert frame.count() == 2
    owner.put_raw_group([b"b1"])
    assert sorted(bytes(row.value) for row in frame.collect()) == [b"a1", b"a2"]
    assert frame.selectExpr("CAST(value AS STRING)").first()[0].startswith("a")
    assert owner.data() == [b"a1", b"a2", b"b1"]


def test_an_empty_queue_is_an_empty_dataframe(batch):
    assert batch().collect() == []


def test_incomplete_groups_are_read_only_when_asked_for(owner, batch):
    owner.put_raw_group([b"a1", b"a2", b"a3"])
    owner.put_raw_group([b"b1", b"b2"], whole=False)
    handle = owner.eye.open(owner.queue, mqi.MQOO_INPUT_SHARED)
    a2 = owner.on_queue()[1]
    assert handle.get(match=mqi.MQMO_MATCH_MSG_ID, MsgId=a2.md.MsgId).code == OK
    handle.close()
    assert batch().count() == 0
    rows = batch(includeIncomplete="true").orderBy("value").collect()
    assert [(bytes(row.value), row.msg_seq_number) for row in rows] == [(b"a1", 1), (b"a3", 3), (b"b1", 1), (b"b2", 2)]


def test_rows_of_a_group_are_in_one_partition_and_in_sequence(owner, batch):
    for group in range(5):
        owner.put_raw_group([b"%d-%03d" % (group, number) for number in range(50)])
    partitions = batch(minPartitions="3").rdd.map(lambda row: bytes(row.value)).glom().collect()
    assert len(partitions) == 3
    for partition in partitions:
        assert partition == sorted(partition)
    assert sorted(value for partition in partitions for value in partition) == sorted(owner.data())


def test_headers_and_more_of_the_descriptor(owner, batch):
    handle = owner.eye.open(owner.queue, mqi.MQOO_OUTPUT)
    properties = MessageHandle(owner.eye)
    assert properties.set("colour", "green") == OK
    pmo = owner.eye.mqi.package.PMO(Version=3, OriginalMsgHandle=properties.hmsg)
    assert handle.put(b"data", pmo=pmo, Priority=3, Format=b"MQSTR   ").code == OK
    handle.close()
    (row,) = batch(includeHeaders="true", includeMqmd="true").collect()
    assert {name: bytes(value) for name, value in row.headers.items()} == {"colour": b"green"}
    assert (bytes(row.value), row.format, row.priority, row.backout_count) == (b"data", "MQSTR", 3, 0)
    (row,) = batch().collect()
    assert (bytes(row.value), row.format) == (b"data", "MQSTR")


def test_a_segmented_message_is_one_row(owner, batch):
    owner.put_group([b"short", b"x" * 10_000], segment_bytes=1000)
    rows = batch().orderBy("msg_seq_number").collect()
    assert [bytes(row.value) for row in rows] == [b"short", b"x" * 10_000]


def test_a_hundred_megabytes_in_one_group(owner, batch):
    payload = os.urandom(4_000_000)
    with owner.producer(commit_every=5) as producer, producer.group() as group:
        for _ in range(25):
            group.put(payload)
    # Batches of 4 MB each: were they one, the worker and the JVM would have to hold all of it.
    digests = batch().selectExpr("sha2(value, 256) AS digest", "length(value) AS bytes").distinct().collect()
    assert [(row.digest, row.bytes) for row in digests] == [(hashlib.sha256(payload).hexdigest(), 4_000_000)]


def test_filters_decide_what_is_browsed(spark, owner, batch, count_calls):
    for group in range(5):
        owner.put_raw_group([b"%d-%03d" % (group, number) for number in range(1, 51)])
    third = owner.on_queue()[100].group_id
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    try:
        frame = batch(pushFilters="true")
        count_calls()
        one = frame.filter(frame.group_id == bytearray(third)).filter("msg_seq_number > 48").collect()
        calls = count_calls()["MQGET"]
        firsts = frame.filter("msg_seq_number = 1 AND length(value) = 5").orderBy("value").collect()
    finally:
        spark.conf.unset("spark.sql.python.filterPushdown.enabled")
    assert sorted(bytes(row.value) for row in one) == [b"2-049", b"2-050"]
    # The group, its size, and two messages.
    assert calls < 20
    assert [bytes(row.value) for row in firsts] == [b"%d-001" % group for group in range(5)]


@pytest.mark.parametrize("incomplete", ["false", "true"])
def test_a_filter_that_the_source_evaluates_selects_the_rows_that_spark_would(spark, owner, batch, incomplete):
    owner.put_raw_group([b"a1", b"a2"])
    owner.put_raw(b"single")
    msg_id = owner.on_queue()[2].md.MsgId.hex()
    conditions = [
        *(f"group_id = X'{group_id}'" for group_id in ("", "00", "00" * 24, msg_id)),
        "group_id IN (X'00', NULL)",
        "group_id = X'00' AND msg_seq_number > 1",
        *(f"msg_seq_number {compared}" for compared in ("= 0", "= -1", "< 1", "<= 1", "= 1", ">= 2", "> 999999999")),
    ]

    def rows(push, condition):
        spark.conf.set("spark.sql.python.filterPushdown.enabled", push)
        frame = batch(pushFilters=push, includeIncomplete=incomplete).filter(condition)
        return sorted(bytes(row.value) for row in frame.collect())

    try:
        spark_selects = {condition: rows("false", condition) for condition in conditions}
        assert {condition: rows("true", condition) for condition in conditions} == spark_selects
    finally:
        spark.conf.unset("spark.sql.python.filterPushdown.enabled")


def test_a_planned_group_that_is_gone_fails_or_is_left_out(owner, batch):
    owner.put_raw_group([b"a1", b"a2"])
    owner.put_raw_group([b"b1", b"b2"])
    strict, lenient = batch(), batch(failOnDataLoss="false")
    assert strict.count() == lenient.count() == 4
    handle = owner.eye.open(owner.queue, mqi.MQOO_INPUT_SHARED)
    assert [handle.get().data, handle.get().data] == [b"a1", b"a2"]
    handle.close()
    said = error_of(strict.collect)
    assert "GroupGone" in said
    assert "was planned with 2 messages, but only 0 messages of it could be read" in said
    assert sorted(bytes(row.value) for row in lenient.collect()) == [b"b1", b"b2"]


def test_sql_reads_a_queue_without_registering_anything(spark, owner, mq_options):
    owner.put_raw_group([b"a1"])
    options = ", ".join(f"'{name}' '{value}'" for name, value in {**mq_options, "queue": owner.queue}.items())
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW arrived USING ibmmq OPTIONS ({options})")
    assert spark.sql("SELECT CAST(value AS STRING) FROM arrived").first()[0] == "a1"


def test_the_format_can_be_registered(spark, owner, batch):
    from mqgroups.spark import register

    register(spark)
    owner.put_raw(b"single")
    assert batch().count() == 1


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            {"maxGroupsPerTriger": "7"},
            "option maxgroupspertriger of format 'ibmmq': there is no such option. The nearest is",
        ),
        ({"minPartitions": "none"}, "option minPartitions of format 'ibmmq': 'none' is not valid"),
        ({"claimTimeoutMs": "5"}, "option claimTimeoutMs of format 'ibmmq': it is for write"),
    ],
)
def test_an_option_that_cannot_be_is_named(batch, options, sentence):
    assert sentence in error_of(lambda: batch(**options).collect())


def test_another_schema_is_refused(spark, owner, mq_options):
    reader = spark.read.format("ibmmq").options(**mq_options, queue=owner.queue).schema("value STRING")
    assert "has the fixed columns" in error_of(lambda: reader.load().collect())


def test_a_password_is_in_no_plan(spark, owner, mq, mq_options, capfd):
    options = {**mq_options, "mq.password": mq.password, "queue": owner.queue}
    del options["mq.passwordEnv"]
    owner.put_raw(b"single")
    frame = spark.read.format("ibmmq").options(**options).load()
    assert frame.count() == 1
    frame.explain("extended")
    plan = frame._jdf.queryExecution().toString()
    said = error_of(spark.read.format("ibmmq").options(**options, nonsense="1").load)
    written = capfd.readouterr()
    for text in (plan, said, written.out, written.err):
        assert mq.password not in text


def test_a_worker_keeps_its_connection(owner, batch, count_calls):
    owner.put_raw_group([b"a1"])
    frame = batch()
    for _ in range(3):
        frame.count()
    count_calls()
    for _ in range(5):
        assert frame.count() == 1
    assert "MQCONNX" not in count_calls()


def test_the_example_of_the_guide_reads_a_queue_into_files(spark, owner, mq, tmp_path, monkeypatch, capfd):
    example = Path(__file__).parents[2] / "examples" / "spark_read.py"
    code = example.read_text(encoding="utf-8").partition("import SparkSession\n\n")[2]
    pages = (Path(__file__).parents[2] / "docs").rglob("*.md")
    assert [page for page in pages if code in page.read_text(encoding="utf-8")]
    monkeypatch.setattr(sys, "argv", [str(example), str(tmp_path)])
    for rows in (["a1", "a2"], ["b1"]):
        with owner.producer(queue="ORDERS") as producer, producer.group() as group:
            for row in rows:
                group.put(row)
        runpy.run_path(str(example), run_name="__main__")
    texts = spark.read.parquet(f"{tmp_path}/orders").orderBy("text").collect()
    assert [(row.text, row.msg_seq_number) for row in texts] == [("a1", 1), ("a2", 2), ("b1", 1)]
    assert "|    2|" in capfd.readouterr().out


def test_the_example_of_progress_tells_what_was_read_and_what_waits(spark, owner, tmp_path, monkeypatch, capfd):
    example = Path(__file__).parents[2] / "examples" / "spark_watch.py"
    monkeypatch.setattr(sys, "argv", [str(example), str(tmp_path)])
    with owner.producer(queue="ORDERS") as producer:
        for rows in (["a1", "a2"], ["bb1"]):
            with producer.group() as group:
                for row in rows:
                    group.put(row)
    runpy.run_path(str(example), run_name="__main__")
    assert (
        "micro-batch 0: {'groups': 2, 'messages': 3, 'bytes': 7}; the queue: "
        "{'queue': 'ORDERS', 'depth': 3, 'unfinished': 2, 'waiting': 0}"
    ) in capfd.readouterr().out


# --- stream read


def test_available_now_takes_what_is_there_in_micro_batches_and_leaves_the_queue_empty(owner, stream):
    for name in (b"a", b"b", b"c"):
        owner.put_raw_group([name + b"1", name + b"2"])
    owner.put_raw(b"single", CorrelId=b"C" * 24)
    assert stream.run(maxGroupsPerTrigger="2") == [
        [[b"a1", b"a2"], [b"b1", b"b2"]],
        [[b"c1", b"c2"], [b"single"]],
    ]
    assert owner.data() == []
    assert stream.run() == []
    owner.put_raw_group([b"d1"])
    assert stream.run() == [[[b"d1"]]]
    assert owner.data() == []


@pytest.mark.parametrize("eager", ["auto", "false"])
def test_a_new_checkpoint_with_an_old_folder_removes_no_group_that_nobody_has_read(
    spark, owner, mq_options, tmp_path, eager
):
    def run(checkpoint, folder):
        frame = spark.readStream.format("ibmmq").options(**mq_options, queue=owner.queue, eagerCommit=eager).load()
        writer = frame.writeStream.format("parquet").option("checkpointLocation", str(tmp_path / checkpoint))
        query = writer.option("path", str(tmp_path / folder)).trigger(availableNow=True).start()
        assert query.awaitTermination(120)
        return sorted(bytes(row.value) for row in spark.read.parquet(str(tmp_path / folder)).collect())

    owner.put_raw_group([b"a1"])
    assert run("one", "folder") == [b"a1"]
    owner.empty()
    owner.put_raw_group([b"b1", b"b2"])
    if eager == "auto":
        assert "its 1 groups were not read" in error_of(lambda: run("two", "folder"))
    else:
        # The last micro-batch is removed by the next run.
        run("two", "folder")
        owner.put_raw_group([b"c1"])
        assert "its 1 groups were not read" in error_of(lambda: run("two", "folder"))
    left = owner.data()
    assert left[:2] == [b"b1", b"b2"]
    # What the error says leads out.
    assert run("three", "another folder") == left


def test_an_incomplete_group_is_read_when_it_is_complete(owner, stream):
    first, second = (owner.eye.open(owner.queue, mqi.MQOO_OUTPUT) for _ in range(2))
    assert first.put(b"a1", mqi.MQPMO_LOGICAL_ORDER, MsgFlags=mqi.MQMF_MSG_IN_GROUP).code == OK
    assert second.put(b"b1", mqi.MQPMO_LOGICAL_ORDER, MsgFlags=mqi.MQMF_LAST_MSG_IN_GROUP).code == OK
    assert stream.run() == [[[b"b1"]]]
    assert owner.data() == [b"a1"]
    assert first.put(b"a2", mqi.MQPMO_LOGICAL_ORDER, MsgFlags=mqi.MQMF_LAST_MSG_IN_GROUP).code == OK
    assert stream.run() == [[[b"a1", b"a2"]]]
    assert owner.data() == []
    first.close()
    second.close()


@pytest.mark.parametrize(
    ("limits", "sizes"),
    [
        ({"maxMessagesPerTrigger": "5"}, [2, 1, 1]),
        ({"maxBytesPerTrigger": "60"}, [3, 1]),
        ({"maxGroupsPerTrigger": "3", "maxMessagesPerTrigger": "3"}, [1, 1, 1, 1]),
        ({"maxMessagesPerTrigger": "1"}, [1, 1, 1, 1]),
    ],
)
def test_limits_are_kept_by_whole_groups(owner, stream, limits, sizes):
    for number, size in enumerate([2, 2, 2, 4]):
        ten_bytes = [b"group%04d%d" % (number, message) for message in range(size)]
        owner.put_raw_group(ten_bytes)
    assert [len(batch) for batch in stream.run(**limits)] == sizes
    assert owner.data() == []


def test_groups_come_to_a_running_query_and_are_removed_with_the_next_ones(owner, stream):
    query = stream.start(available_now=False, pollTimeoutMs="100")
    owner.put_raw_group([b"a1", b"a2"])
    query.processAllAvailable()
    assert stream.batches == [[[b"a1", b"a2"]]]
    # Nothing came after it: Spark has not asked to remove it.
    assert owner.data() == [b"a1", b"a2"]
    owner.put_raw_group([b"b1"])
    query.processAllAvailable()
    query.stop()
    assert stream.batches == [[[b"a1", b"a2"]], [[b"b1"]]]
    assert owner.data() == [b"b1"]
    # A query that goes on from there neither reads it again nor leaves it.
    assert stream.run() == []
    assert owner.data() == []


def test_with_eager_commit_an_idle_query_leaves_nothing(owner, stream, count_waiting):
    query = stream.start(available_now=False, eagerCommit="true", pollTimeoutMs="30000")
    owner.put_raw_group([b"a1", b"a2"])
    while not stream.batches or not count_waiting(owner.queue):
        assert query.isActive, query.exception()
    assert owner.data() == []


def test_a_micro_batch_that_failed_is_read_again(owner, stream, tmp_path):
    owner.put_raw_group([b"a1", b"a2"])
    keep, failures = stream._keep, list[int]()

    def fail_once(frame, batch_id):
        keep(frame, batch_id)
        if not failures:
            failures.append(batch_id)
            raise ValueError("the sink is not there")

    stream._keep = fail_once
    assert "the sink is not there" in error_of(lambda: stream.start().awaitTermination(120))
    assert owner.data() == [b"a1", b"a2"]
    assert stream.run() == [[[b"a1", b"a2"]]]
    assert failures == [0]
    assert owner.data() == []


def test_a_second_query_on_a_queue_is_refused(owner, stream, tmp_path):
    query = stream.start(available_now=False)
    query.processAllAvailable()
    second = stream.start(checkpoint=tmp_path / "second", reservationTimeoutMs="0")
    said = error_of(lambda: second.awaitTermination(120))
    assert "QueueReserved" in said
    assert f"queue {owner.queue} is still open for input by another application (2042)" in said
    assert query.isActive


def test_a_stream_united_with_itself_has_each_row_twice_and_loses_none(spark, owner, mq_options, tmp_path):
    owner.put_raw_group([b"a1", b"a2"])
    frame = spark.readStream.format("ibmmq").options(**mq_options, queue=owner.queue).load()
    writer = frame.union(frame).writeStream.format("memory").queryName("twice").trigger(availableNow=True)
    assert writer.option("checkpointLocation", str(tmp_path)).start().awaitTermination(120)
    assert sorted(bytes(row.value) for row in spark.table("twice").collect()) == [b"a1", b"a1", b"a2", b"a2"]
    assert owner.data() == []


def test_a_stream_joined_with_itself_is_refused_and_loses_nothing(spark, owner, mq_options, tmp_path):
    owner.put_raw_group([b"a1"])
    options = {**mq_options, "queue": owner.queue, "reservationTimeoutMs": "0"}
    frame = spark.readStream.format("ibmmq").options(**options).load().select("key", "value")
    writer = frame.join(frame.select("key"), "key").writeStream.format("noop").trigger(availableNow=True)
    query = writer.option("checkpointLocation", str(tmp_path)).start()
    assert "QueueReserved" in error_of(lambda: query.awaitTermination(120))
    assert owner.data() == [b"a1"]


def test_a_planned_group_that_is_gone_fails_the_query(owner, stream):
    owner.put_raw_group([b"a1", b"a2"])
    owner.put_raw_group([b"b1"])

    def fail(frame, batch_id):
        raise ValueError("not now")

    keep, stream._keep = stream._keep, fail
    error_of(lambda: stream.start().awaitTermination(120))
    stream._keep = keep
    taken = []

    def take():
        # The failed query's source has the queue until its process ends.
        handle = owner.eye.open(owner.queue, mqi.MQOO_INPUT_SHARED)
        if handle.code == OK:
            taken.append(handle.get().data)
            handle.close()
        return bool(taken)

    wait_until(take)
    assert taken == [b"a1"]
    assert "GroupGone" in error_of(lambda: stream.start().awaitTermination(120))
    assert stream.run(failOnDataLoss="false") == [[[b"b1"]]]
    assert owner.data() == []


def test_an_offset_of_another_version_is_refused(owner, stream):
    owner.put_raw_group([b"a1"])
    stream.run()
    (offset,) = (stream.checkpoint / "offsets").glob("0")
    offset.write_text(re.sub('"v": ?2', '"v": 1', offset.read_text()))
    (stream.checkpoint / "offsets" / ".0.crc").unlink(missing_ok=True)
    assert "OffsetUnreadable" in error_of(lambda: stream.start().awaitTermination(120))


def test_a_status_queue_that_was_emptied_stops_the_query(owner, stream):
    owner.put_raw_group([b"a1"])
    stream.run(eagerCommit="false")
    handle = owner.eye.open(f"MQGROUPS.SOURCE.{owner.queue}", mqi.MQOO_INPUT_SHARED)
    assert handle.get().code == OK
    handle.close()
    said = error_of(lambda: stream.start().awaitTermination(120))
    assert "ManifestMissing: manifest " in said
    assert f"is not on status queue MQGROUPS.SOURCE.{owner.queue}" in said
    # Spark's own frames, and one of the package.
    assert said.count("mqgroups/spark/") == 1
    assert cause(said).startswith("ManifestMissing: manifest ")
    assert owner.data() == [b"a1"]


def test_the_status_queue_of_a_sink_is_refused(spark, owner, stream, batch, mq_options, make_queue):
    sinks = make_queue()
    frame = spark.createDataFrame([("A", b"a1")], "group_key string, value binary").coalesce(1)
    target = {**mq_options, "queue": owner.queue, "statusQueue": sinks}
    frame.write.format("ibmmq").mode("append").options(**target).save()
    said = error_of(lambda: stream.start(statusQueue=sinks).awaitTermination(120))
    assert cause(said).startswith(f"StatusQueueUnusable: status queue {sinks} has a status record of ")
    assert owner.data() == [b"a1"]
    frame.write.format("ibmmq").mode("append").options(**target).save()
    assert owner.data() == [b"a1", b"a1"]


def test_the_progress_tells_what_waits(owner, stream):
    for name in (b"a", b"b", b"c"):
        owner.put_raw_group([name + b"1", name + b"2"])
    query = stream.start(maxGroupsPerTrigger="1")
    assert query.awaitTermination(120)
    told = [json.loads(progress.sources[0].latestOffset) for progress in query.recentProgress if progress.numInputRows]
    assert [(each["queue"], each["depth"], each["unfinished"], each["waiting"]) for each in told] == [
        (owner.queue, 6, 1, 2),
        (owner.queue, 4, 1, 1),
        (owner.queue, 2, 1, 0),
    ]


def test_without_eager_commit_the_last_micro_batch_stays_until_there_is_more(owner, stream):
    for name in (b"a", b"b"):
        owner.put_raw_group([name + b"1", name + b"2"])
    assert stream.run(maxGroupsPerTrigger="1", eagerCommit="false") == [[[b"a1", b"a2"]], [[b"b1", b"b2"]]]
    assert owner.data() == [b"b1", b"b2"]
    owner.put_raw_group([b"c1"])
    assert stream.run(eagerCommit="false") == [[[b"c1"]]]
    assert owner.data() == [b"c1"]
