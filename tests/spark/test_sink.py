"""The sink in a Spark session: each key one group, whole, in order, once; whatever is done again."""

from __future__ import annotations

import json
import re
import runpy
import shutil
import sys
from pathlib import Path

import pytest

import mqgroups.spark
from mqgroups.embedded import Fault
from mqgroups.mqi import constants as mqi
from mqgroups.spark import cause
from mqgroups.spark.errors import SparkOptionError
from tests.fix_mqi import OK

pytest.importorskip("pyspark", reason="pyspark is not installed")

SCHEMA = "group_key string, msg_seq_number int, value binary"


@pytest.fixture
def target(make_batches, mq_options):
    """A queue and a shared status queue, and the options to write there."""
    batches = make_batches()
    batches.options = {**mq_options, "queue": batches.queue, "statusQueue": batches.status_queue}
    return batches


@pytest.fixture(autouse=True)
def _one_binding(request):
    """The session's workers have one binding, so one is enough."""
    if "binding" in request.fixturenames and request.getfixturevalue("binding").__name__ != "pymqi":
        pytest.skip("the workers of the session have pymqi")


def records(target):
    """What lies on the status queue, of all sinks: what it is and what it says."""
    found = [json.loads(each.data)["checkpoint"]["json"] for each in target.owner.on_queue(target.status_queue)]
    return sorted((each["kind"], each["batch"]) for each in found)


def rows(*keys, number=5):
    """Rows in an order that is not theirs."""
    return [(key, n, f"{key}:{n}".encode()) for n in range(number, 0, -1) for key in keys]


def groups(*keys, number=5):
    """The groups that these rows are."""
    return {key: [f"{key}:{n}".encode() for n in range(1, number + 1)] for key in keys}


def write(frame, target, **more):
    frame.write.format("ibmmq").mode("append").options(**{**target.options, **more}).save()


@pytest.fixture
def files(spark, tmp_path):
    """A stream of files: a function that adds one, and the stream."""

    class Files:
        directory = tmp_path / "input"
        checkpoint = tmp_path / "checkpoint"

        def add(self, data):
            frame = spark.createDataFrame(data, SCHEMA).coalesce(1)
            frame.write.mode("append").parquet(str(self.directory))

        def stream(self):
            return spark.readStream.schema(SCHEMA).parquet(str(self.directory))

        def write(self, target, frame=None, **more):
            frame = self.stream() if frame is None else frame
            query = (
                frame.writeStream.format("ibmmq")
                .options(**{**target.options, **more})
                .option("checkpointLocation", str(self.checkpoint))
                .trigger(availableNow=True)
                .start()
            )
            query.awaitTermination()

        def forget_commit(self, batch):
            """Make Spark do a micro-batch again, as after a driver that died before it had noted its end."""
            (self.checkpoint / "commits" / str(batch)).unlink()
            (self.checkpoint / "commits" / f".{batch}.crc").unlink()

    return Files()


# --- batch


def test_a_batch_write_makes_a_group_of_each_key(spark, target):
    keys = [f"K{n}" for n in range(10)]
    write(spark.createDataFrame(rows(*keys), SCHEMA).repartition(4, "group_key"), target, messagesPerUnitOfWork="2")
    assert target.groups() == groups(*keys)
    assert target.depth() == 50
    assert records(target) == [("high-water mark", 0)]


def test_a_job_that_is_run_again_writes_nothing_twice(spark, target):
    job = {"txnAppId": target.sink, "txnVersion": "3"}
    frame = spark.createDataFrame(rows("A", "B"), SCHEMA).repartition(2, "group_key")
    write(frame, target, **job)
    write(frame, target, **job)
    write(frame, target, **{**job, "txnVersion": "2"})
    assert target.groups() == groups("A", "B")
    write(spark.createDataFrame(rows("C"), SCHEMA).coalesce(1), target, **{**job, "txnVersion": "4"})
    assert target.groups() == groups("A", "B", "C")
    assert records(target) == [("high-water mark", 4)]


def test_a_program_can_ask_whether_a_write_was_completed(spark, target):
    job = {**target.options, "txnAppId": target.sink}
    # There is no status queue yet.
    assert not mqgroups.spark.is_written({**job, "txnVersion": "3", "statusQueue": "MQGROUPS.SHARED.NONE"})
    assert not mqgroups.spark.is_written({**job, "txnVersion": "3"})
    write(spark.createDataFrame(rows("A"), SCHEMA).coalesce(1), target, txnAppId=target.sink, txnVersion="3")
    found = [mqgroups.spark.is_written({**job, "txnVersion": number}) for number in ("2", "3", "4")]
    assert found == [True, True, False]
    with pytest.raises(SparkOptionError, match=r"txnAppId .* required here"):
        mqgroups.spark.is_written(target.options)


def test_a_job_that_is_run_again_does_not_take_its_rows(spark, target):
    job = {"txnAppId": target.sink, "txnVersion": "3"}
    write(spark.createDataFrame(rows("A"), SCHEMA).coalesce(1), target, **job)
    # 400 MB, because Spark computes as far ahead as sockets buffer, which was seen to be more than 30 MB.
    value = "IF(id > 390000, raise_error('all rows are computed'), repeat('x', 1000)) AS value"
    endless = spark.range(0, 400_000, 1, 1).selectExpr("'B' AS group_key", "id AS msg_seq_number", value)
    write(endless, target, **job)
    assert target.groups() == groups("A")


def test_two_writes_without_a_name_are_two_batches(spark, target):
    frame = spark.createDataFrame(rows("A"), SCHEMA).coalesce(1)
    write(frame, target)
    target.owner.empty()
    write(frame, target)
    assert target.groups() == groups("A")


@pytest.mark.embedded
@pytest.mark.parametrize(("verb", "nth"), [("MQPUT", 1), ("MQPUT", 9), ("MQCMIT", 2), ("MQCMIT", 4)])
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_worker_that_is_killed_in_a_unit_of_work_is_followed_by_one_that_goes_on(
    spark, target, faults, verb, nth, when
):
    write(spark.createDataFrame(rows("W"), SCHEMA).coalesce(1), target)  # the worker is connected
    target.owner.empty()
    faults.clear_faults()
    faults.arm(Fault("kill_client", when, verb=verb, nth=nth))
    frame = spark.createDataFrame(rows("A", "B"), SCHEMA).coalesce(1)
    write(frame, target, messagesPerUnitOfWork="2")
    assert faults.faults_fired() == 1
    assert target.groups() == groups("A", "B")
    assert target.depth() == 10


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


def test_a_group_of_each_partition(spark, target):
    frame = spark.createDataFrame([(f"P:{n}",) for n in range(8)], "value string").coalesce(1)
    write(frame, target, groupBy="partition")
    assert target.groups() == {"P": [f"P:{n}".encode() for n in range(8)]}


def test_columns_become_parts_of_the_message(spark, target):
    data = [
        (7, 1, "A:1", bytearray(b"C" * 24), None, 5, {"a": bytearray(b"\x01")}),
        (7, 2, "A:2", None, "MYFMT", 5, None),
    ]
    schema = (
        "customer long, at int, value string, correl_id binary, format string, priority int, headers map<string,binary>"
    )
    write(spark.createDataFrame(data, schema).coalesce(1), target, groupBy="customer", sequenceColumn="at")
    first, second = target.owner.on_queue()
    assert b"<a dt='bin.hex'>01</a>" in first.data
    assert first.data.endswith(b"A:1")
    assert (first.md.CorrelId, first.md.Priority, second.md.Priority) == (b"C" * 24, 5, 5)
    assert (second.data, second.md.Format) == (b"A:2", b"MYFMT   ")


def test_puts_without_waiting_for_each_answer(spark, target):
    frame = spark.createDataFrame(rows("A", "B"), SCHEMA).coalesce(1)
    write(frame, target, putResponse="async", messagesPerUnitOfWork="3")
    assert target.groups() == groups("A", "B")


def test_at_least_once_needs_no_status_queue(spark, target):
    del target.options["statusQueue"]
    write(spark.createDataFrame(rows("A", "B"), SCHEMA).coalesce(1), target, delivery="atLeastOnce")
    assert target.groups() == groups("A", "B")
    assert target.owner.on_queue(target.status_queue) == []


# --- what is refused


def test_the_status_queue_of_a_source_is_refused_before_anything_is_put(spark, target, tmp_path):
    source = spark.readStream.format("ibmmq").options(**target.options).load()
    target.owner.put_raw_group([b"a1"])
    query = source.writeStream.format("noop").option("checkpointLocation", str(tmp_path / "checkpoint"))
    assert query.trigger(availableNow=True).start().awaitTermination(120)
    with pytest.raises(Exception, match=f"StatusQueueUnusable: status queue {target.status_queue}: found") as refused:
        write(spark.createDataFrame(rows("A", "B"), SCHEMA).coalesce(1), target)
    assert "Nothing was put" in mqgroups.spark.cause(refused.value)
    assert target.owner.data() == []


@pytest.mark.parametrize(
    ("data", "schema", "more", "said"),
    [
        ([("A", 1, b"x")], SCHEMA, {"statusQueue": None}, "option statusQueue of format 'ibmmq': it is required"),
        (
            [("A", 1, b"x")],
            SCHEMA,
            {"txnAppId": "job"},
            "option txnAppId of format 'ibmmq': it belongs together with txnVersion",
        ),
        ([("A", 1, b"x")], SCHEMA, {"queu": "X"}, "there is no such option. The nearest is queue"),
        ([(b"x",)], "value binary", {}, "found columns value, expected a column 'group_key' for the groups"),
        ([("A",)], "group_key string", {}, "expected a column 'value'"),
        ([("A", b"x", 1)], "group_key string, value binary, more int", {}, "column 'more' cannot be written"),
        ([("A", 1)], "group_key string, value int", {}, "column 'value' is int; it must be binary or string"),
        ([(1.5, b"x")], "group_key double, value binary", {}, "column 'group_key' is double"),
        ([("A", 1, None)], SCHEMA, {}, "column 'value' is null in a row"),
        ([(None, 1, b"x")], SCHEMA, {}, "column 'group_key' is null in a row"),
        ([("A", None, b"x")], SCHEMA, {}, "column 'msg_seq_number' is null in a row"),
        ([("A", b"x", 1), ("A", b"y", 2)], "group_key string, value binary, priority int", {}, "priority 1 and 2"),
    ],
)
def test_what_cannot_be_written_is_refused_by_name(spark, target, data, schema, more, said):
    options = {key: value for key, value in {**target.options, **more}.items() if value is not None}
    frame = spark.createDataFrame(data, schema).coalesce(1)
    with pytest.raises(Exception, match="(?s)" + said.replace("(", r"\(")):
        frame.write.format("ibmmq").mode("append").options(**options).save()
    assert target.groups() == {}


def test_modes_that_a_queue_cannot_have_are_refused(spark, target, files):
    frame = spark.createDataFrame(rows("A"), SCHEMA).coalesce(1)
    with pytest.raises(Exception, match="ModeRefused"):
        frame.write.format("ibmmq").mode("overwrite").options(**target.options).save()
    files.add(rows("A"))
    counts = files.stream().groupBy("group_key").count().selectExpr("group_key", "CAST(count AS STRING) AS value")
    for mode, said in (("complete", "ModeRefused"), ("update", "ibmmq does not support Update mode")):
        stream = counts.writeStream.format("ibmmq").outputMode(mode).options(**target.options)
        stream = stream.option("checkpointLocation", str(files.checkpoint / mode)).trigger(availableNow=True)
        with pytest.raises(Exception, match=said):
            stream.start().awaitTermination()
    assert target.depth() == 0


def test_a_key_in_two_partitions_is_refused(spark, target):
    frame = spark.createDataFrame(rows("A"), SCHEMA).repartition(2)
    with pytest.raises(Exception, match=r"KeyInTwoPartitions.*df\.repartition"):
        write(frame, target)
    # What the first of them has put cannot be called back; but it is all that is there.
    assert target.depth() < 5


def test_other_rows_in_a_batch_that_is_done_again_are_refused(spark, target, faults):
    job = {"txnAppId": target.sink, "txnVersion": "1", "messagesPerUnitOfWork": "2", "mq.reconnectTimeoutMs": "0"}
    frame = spark.createDataFrame(rows("A"), SCHEMA).coalesce(1)
    faults.arm(Fault("drop", verb="MQCMIT", nth=3, times=0))
    with pytest.raises(Exception, match="MQRC_CONNECTION_BROKEN"):
        write(frame, target, **job)
    faults.clear_faults()
    begun = target.depth()
    assert begun == 2
    changed = spark.createDataFrame([("A", n, b"other") for n in range(1, 6)], SCHEMA).coalesce(1)
    with pytest.raises(Exception, match="InputChanged"):
        write(changed, target, **job)
    assert target.depth() == begun
    write(frame, target, **job)
    assert target.groups() == groups("A")
    assert records(target) == [("high-water mark", 1)]


# --- streams


def test_a_stream_write_makes_groups_of_each_micro_batch(target, files):
    files.add(rows("A", "B"))
    files.write(target)
    files.add(rows("C"))
    files.write(target)
    assert target.groups() == groups("A", "B", "C")
    assert records(target) == [("high-water mark", 1)]


def test_a_micro_batch_that_is_done_again_puts_nothing_twice(target, files):
    files.add(rows("A", "B"))
    files.write(target)
    files.forget_commit(0)
    files.write(target)
    files.add(rows("C"))
    files.write(target)
    assert target.groups() == groups("A", "B", "C")
    assert records(target) == [("high-water mark", 1)]


@pytest.mark.embedded
@pytest.mark.parametrize(
    ("nth", "when"),
    [(1, "before"), (1, "after"), (2, "before"), (2, "after")],
    ids=["before-the-mark", "after-the-mark", "before-the-deletes", "after-the-deletes"],
)
def test_a_driver_that_loses_the_queue_manager_while_it_completes_a_micro_batch(target, files, faults, nth, when):
    files.add(rows("A", "B"))
    # The claims and units of work of two groups of five: 2 x (1 + 1), and the end of the batch after them.
    faults.arm(Fault("drop", when, verb="MQCMIT", nth=4 + nth))
    with pytest.raises(Exception, match="MQRC_CONNECTION_BROKEN"):
        files.write(target, **{"mq.reconnectTimeoutMs": "0"})
    faults.clear_faults()
    files.write(target)
    assert target.groups() == groups("A", "B")
    assert target.depth() == 10
    assert records(target) == [("high-water mark", 0)]


def test_adaptive_execution_may_merge_partitions(spark, target, files):
    assert spark.conf.get("spark.sql.adaptive.enabled") == "true"
    keys = [f"K{n}" for n in range(6)]
    files.add(rows(*keys))
    files.write(target, files.stream().repartition("group_key"))
    files.forget_commit(0)
    files.write(target, files.stream().repartition("group_key"))
    assert target.groups() == groups(*keys)


def test_two_writes_in_one_foreach_batch_are_two_batches(spark, target, make_batches, files):
    other = make_batches()
    other.options = {**target.options, "queue": other.queue}

    def put(frame, batch_id):
        for one in (target, other):
            job = {"txnAppId": one.sink, "txnVersion": str(batch_id)}
            frame.write.format("ibmmq").mode("append").options(**one.options, **job).save()

    def run():
        query = (
            files.stream()
            .writeStream.foreachBatch(put)
            .option("checkpointLocation", str(files.checkpoint))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()

    files.add(rows("A", "B"))
    run()
    files.forget_commit(0)
    run()
    assert target.groups() == other.groups() == groups("A", "B")
    assert records(target) == [("high-water mark", 0)] * 2


def test_a_batch_in_foreach_batch_that_another_query_has_written_is_refused(spark, target, files):
    """The new query's micro-batch 0 is not the old one's: as a repetition it would not be put, and its source would go on."""
    from pyspark.errors import StreamingQueryException

    def run(name):
        def put(frame, batch_id):
            job = {"txnAppId": name, "txnVersion": str(batch_id)}
            frame.write.format("ibmmq").mode("append").options(**target.options, **job).save()

        stream = files.stream().writeStream.foreachBatch(put).option("checkpointLocation", str(files.checkpoint))
        stream.trigger(availableNow=True).start().awaitTermination()

    files.add(rows("A"))
    run(target.sink)
    shutil.rmtree(files.checkpoint)
    files.add(rows("B"))
    with pytest.raises(StreamingQueryException) as refused:
        run(target.sink)
    assert re.search(
        r"batches up to 0 of txnAppId .* count as written: .* of query .*, but this is", cause(refused.value)
    )
    assert target.groups() == groups("A")
    target.owner.empty()
    run(f"{target.sink}.2")
    assert target.groups() == groups("A", "B")


def test_a_checkpoint_that_is_deleted_makes_another_query(target, files):
    """The documented limit: identity is the checkpoint's, so without it the rows are written again."""
    files.add(rows("A"))
    files.write(target)
    target.owner.empty()
    shutil.rmtree(files.checkpoint)
    files.write(target)
    assert target.groups() == groups("A")


# --- the example


def test_the_example_of_the_guide_writes_groups_once(spark, owner, monkeypatch, capsys):
    example = Path(__file__).parents[2] / "examples" / "spark_write.py"
    code = example.read_text(encoding="utf-8").partition("import SparkSession\n\n")[2].partition("print")[0]
    pages = (Path(__file__).parents[2] / "docs").rglob("*.md")
    assert [page for page in pages if code in page.read_text(encoding="utf-8")]
    monkeypatch.setattr(sys, "argv", [str(example), "1"])
    for _ in range(2):
        runpy.run_path(str(example), run_name="__main__")
    assert "written: 10 groups" in capsys.readouterr().out
    found = owner.on_queue("ORDERS")
    for queue in ("ORDERS", "MQGROUPS.SHARED.EXAMPLE"):
        owner.empty(queue)
    assert len(found) == 1000
    assert [each.data for each in found if each.data == b"order 1" or each.data == b"order 991"] == [
        b"order 1",
        b"order 991",
    ]
    assert sum(each.is_last for each in found) == 10
