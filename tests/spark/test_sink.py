"""The sink's writers on the queue manager under test, called as Spark calls them: what identifies a batch, what is refused.

``tests/batch`` has how a batch goes on after a fault; ``test_session.py`` what only a session shows.
"""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import mqgroups.spark
from mqgroups.batch.errors import BatchRefused
from mqgroups.errors import StatusQueueUnusable
from mqgroups.mqi import constants as mqi
from mqgroups.spark.errors import IdentityMissing, SparkOptionError, WriteRefused
from mqgroups.spark.option import Use
from mqgroups.spark.options import sink_options, source_options
from tests.spark.model import Checkpoint, tasks

pytest.importorskip("pyspark", reason="pyspark is not installed")
import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_schema

from mqgroups.spark.sink import GroupBatchWriter, GroupStreamWriter, mark_expires_s
from mqgroups.spark.stream_source import GroupStreamReader


@pytest.fixture
def target(make_batches, mq_options):
    """A queue and a shared status queue, and the options to write there."""
    batches = make_batches()
    batches.options = {**mq_options, "queue": batches.queue, "statusQueue": batches.status_queue}
    return batches


def records(target):
    """What lies on the status queue, of all sinks: what it is and what it says."""
    found = [json.loads(each.data)["checkpoint"]["json"] for each in target.owner.on_queue(target.status_queue)]
    return sorted((each["kind"], each["batch"]) for each in found)


def rows(*keys, number=5):
    """A record batch of rows in an order that is not theirs."""
    found = [(key, n, f"{key}:{n}".encode()) for n in range(number, 0, -1) for key in keys]
    return pa.table(
        dict(zip(("group_key", "msg_seq_number", "value"), zip(*found, strict=True), strict=True))
    ).to_batches()


def groups(*keys, number=5):
    """The groups that these rows are."""
    return {key: [f"{key}:{n}".encode() for n in range(1, number + 1)] for key in keys}


def write(target, *partitions, query=None, run=None, **more):
    """Write a batch, as a job does or one in the foreachBatch of a query, in a run of it."""
    options = sink_options({**target.options, **more}, Use.BATCH_WRITE)
    writer = GroupBatchWriter(from_arrow_schema(partitions[0][0].schema), options, overwrite=False)
    writer.commit(tasks(writer, partitions, {"sql.streaming.queryId": query, "spark.jobGroup.id": run}))


def write_micro_batch(target, number, *partitions, query="query-1"):
    """Write a micro-batch of a query."""
    options = sink_options({**target.options, "checkpointLocation": "c"}, Use.STREAM_WRITE)
    writer = GroupStreamWriter(from_arrow_schema(partitions[0][0].schema), options, overwrite=False)
    properties = {"sql.streaming.queryId": query, "streaming.sql.batchId": str(number)}
    writer.commit(tasks(writer, partitions, properties), number)


def test_a_job_that_is_run_again_writes_nothing_twice_and_does_not_take_its_rows(target):
    job = {"txnAppId": target.sink, "txnVersion": "3"}
    write(target, rows("A"), rows("B"), **job)
    options = sink_options({**target.options, **job}, Use.BATCH_WRITE)
    writer = GroupBatchWriter(from_arrow_schema(rows("A")[0].schema), options, overwrite=False)
    writer.commit(tasks(writer, [map(pytest.fail, ["a row is asked for"])] * 2))
    write(target, rows("A"), rows("B"), **{**job, "txnVersion": "2"})
    assert target.groups() == groups("A", "B")
    write(target, rows("C"), **{**job, "txnVersion": "4"})
    assert target.groups() == groups("A", "B", "C")
    assert records(target) == [("high-water mark", 4)]


def test_a_program_can_ask_whether_a_write_was_completed(target):
    job = {**target.options, "txnAppId": target.sink}
    # There is no status queue yet.
    assert not mqgroups.spark.is_written({**job, "txnVersion": "3", "statusQueue": "MQGROUPS.SHARED.NONE"})
    assert not mqgroups.spark.is_written({**job, "txnVersion": "3"})
    write(target, rows("A"), txnAppId=target.sink, txnVersion="3")
    found = [mqgroups.spark.is_written({**job, "txnVersion": number}) for number in ("2", "3", "4")]
    assert found == [True, True, False]
    with pytest.raises(SparkOptionError, match=r"txnAppId .* required here"):
        mqgroups.spark.is_written(target.options)


@given(days=st.none() | st.integers(1, 2485), can_be_repeated=st.booleans())
def test_a_mark_expires_only_if_the_user_says_so_or_if_nobody_repeats_the_batch(days, can_be_repeated):
    found = mark_expires_s(days, can_be_repeated=can_be_repeated)
    assert (found is None) == (days is None and can_be_repeated)
    # Never before a late attempt has ended; and as an MQLONG, in tenths of a second.
    assert found is None or (found >= 86400 and found * 10 < 2**31)
    assert found is None or days is None or found == days * 86400


@pytest.mark.parametrize("days", ["0", "2486", "-1", "1.5"])
def test_a_mark_cannot_be_kept_for_such_a_number_of_days(target, days):
    with pytest.raises(SparkOptionError, match="keepMarkDays"):
        write(target, rows("A"), keepMarkDays=days)


def test_the_mark_has_the_expiry_that_the_options_say(target):
    def left(write_batch, *arguments, **more):
        write_batch(target, *arguments, **more)
        (mark,) = target.owner.on_queue(target.status_queue)
        target.forget()
        return mark.md.Expiry

    day = 864_000
    job = {"txnAppId": target.sink, "txnVersion": "1"}
    assert left(write, rows("A"), **job) == left(write_micro_batch, 0, rows("A")) == mqi.MQEI_UNLIMITED
    assert day - 600 < left(write, rows("A")) <= day
    for days in (1, 30, 2485):
        assert days * day - 600 < left(write, rows("A"), **job, keepMarkDays=str(days)) <= days * day
    target.options["keepMarkDays"] = "7"
    assert 7 * day - 600 < left(write_micro_batch, 0, rows("A")) <= 7 * day


def test_two_writes_without_a_name_are_two_batches(target):
    write(target, rows("A"))
    target.owner.empty()
    write(target, rows("A"), putResponse="async", messagesPerUnitOfWork="3")
    assert target.groups() == groups("A")


def test_columns_become_parts_of_the_message(target):
    data = pa.RecordBatch.from_pydict(
        {
            "customer": [7, 7],
            "at": [1, 2],
            "value": ["A:1", "A:2"],
            "correl_id": [b"C" * 24, None],
            "format": [None, "MYFMT"],
            "priority": pa.array([5, 5], pa.int32()),
            "headers": pa.array([[("a", b"\1")], None], pa.map_(pa.string(), pa.binary())),
        }
    )
    write(target, [data], groupBy="customer", sequenceColumn="at")
    first, _ = target.owner.on_queue(options=mqi.MQGMO_PROPERTIES_FORCE_MQRFH2)
    _, second = target.owner.on_queue()
    assert b"<a dt='bin.hex'>01</a>" in first.data
    assert first.data.endswith(b"A:1")
    assert (first.md.CorrelId, first.md.Priority, second.md.Priority) == (b"C" * 24, 5, 5)
    assert (second.data, second.md.Format) == (b"A:2", b"MYFMT   ")


def test_micro_batches_are_those_of_the_query_of_the_checkpoint(target):
    write_micro_batch(target, 0, rows("A"), rows("B"))
    # Once more, and the keys are in other partitions.
    write_micro_batch(target, 0, rows("B", "A"))
    write_micro_batch(target, 1, rows("C"))
    assert target.groups() == groups("A", "B", "C")
    assert records(target) == [("high-water mark", 1)]
    target.owner.empty()
    # The documented limit: a checkpoint that was deleted makes another query, which writes the rows again.
    write_micro_batch(target, 0, rows("A"), query="query-2")
    assert target.groups() == groups("A")


def test_a_batch_in_foreach_batch_that_another_query_has_written_is_refused(target):
    """The new query's micro-batch 0 is not the old one's: as a repetition it would not be put, and its source would go on."""
    job = {"txnAppId": target.sink, "txnVersion": "0"}
    for _ in range(2):
        write(target, rows("A"), query="one", **job)
    said = r"batches up to 0 of txnAppId .* count as written: .*, query .* wrote them, but this is"
    with pytest.raises(BatchRefused, match=said):
        write(target, rows("B"), query="other", **job)
    assert target.groups() == groups("A")
    write(target, rows("B"), query="other", **{**job, "txnAppId": f"{target.sink}.2"})
    assert target.groups() == groups("A", "B")


def test_a_second_write_of_one_micro_batch_under_one_name_is_refused_in_each_run_of_the_query(target):
    """As a repetition the second would not be put, and a source would remove what the query has read."""

    def write_both(run, *keys, **more):
        for key in keys:
            write(target, rows(key), query="one", run=run, **{"txnAppId": target.sink, "txnVersion": "0", **more})

    for run in ("run-1", "run-2", "run-3"):
        with pytest.raises(BatchRefused, match="another name for each write") as refused:
            write_both(run, "A", "B")
        assert refused.value.because == "second-write"
    assert target.groups() == groups("A")
    assert records(target) == [("high-water mark", 0)]
    # With another name it is put. The first one is repeated by each run, and by late attempts of its tasks.
    write_both("run-4", "A")
    write_both("run-4", "B", txnAppId=f"{target.sink}-2")
    write_both("run-5", "A")
    assert target.groups() == groups("A", "B")
    # Outside a query nothing tells a job that is run again from another write of its name.
    write(target, rows("C"), run="run-5", txnAppId=target.sink, txnVersion="0")
    assert target.groups() == groups("A", "B")


def test_two_writes_of_one_name_at_the_same_time_are_refused_when_the_second_ends(target):
    job = sink_options({**target.options, "txnAppId": target.sink, "txnVersion": "0"}, Use.BATCH_WRITE)
    writers = [GroupBatchWriter(from_arrow_schema(rows("A")[0].schema), job, overwrite=False) for _ in range(2)]
    run = {"sql.streaming.queryId": "one", "spark.jobGroup.id": "run-1"}
    put = [tasks(writer, [rows(key)], run) for writer, key in zip(writers, "AB", strict=True)]
    writers[0].commit(put[0])
    with pytest.raises(BatchRefused, match="another name for each write"):
        writers[1].commit(put[1])
    # A late attempt of the first, and its end once more, are repetitions.
    writers[0].commit(tasks(writers[0], [map(pytest.fail, ["a row is asked for"])], run))


def test_what_does_not_identify_a_micro_batch_is_refused(target):
    options = sink_options(target.options, Use.STREAM_WRITE)
    writer = GroupStreamWriter(from_arrow_schema(rows("A")[0].schema), options, overwrite=False)
    with pytest.raises(IdentityMissing, match="TaskContext"):
        writer.write(iter(rows("A")))
    with pytest.raises(IdentityMissing, match=r"streaming\.sql\.batchId"):
        tasks(writer, [rows("A")], {"sql.streaming.queryId": "one"})
    with pytest.raises(WriteRefused):
        GroupStreamWriter(from_arrow_schema(rows("A")[0].schema), options, overwrite=True)
    assert target.depth() == 0


def test_the_status_queue_of_a_source_is_refused_before_anything_is_put(target):
    target.owner.put_raw_group([b"a1"])
    reader = GroupStreamReader(source_options(target.options, Use.STREAM_READ))
    Checkpoint(lambda reader, partitions, _: [list(reader.read(each)) for each in partitions]).run(reader)
    reader.stop()
    with pytest.raises(StatusQueueUnusable, match=f"status queue {target.status_queue}: found") as refused:
        write(target, rows("A", "B"))
    assert "Nothing was put" in str(refused.value)
    assert target.owner.data() == []
