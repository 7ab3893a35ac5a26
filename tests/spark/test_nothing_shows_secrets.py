"""Spark plans, checkpoints, errors of tasks and a pipeline's report show no secret; ``tests/test_nothing_shows_secrets.py`` is
the same for all that is not Spark's."""

from __future__ import annotations

import contextlib
import io
import traceback

import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed")

PLANTED = "Xyzzy-4711-plugh"
pytestmark = pytest.mark.embedded


@pytest.fixture
def server(own_queue_manager, spark):
    """A queue manager whose user app has the planted password."""
    return own_queue_manager("QM3", users={"app": PLANTED})


@pytest.fixture
def options(server):
    return {
        "mq.queueManager": server.q_mgr_name,
        "mq.channel": server.channel,
        "mq.connectionNameList": server.conn_name,
        "mq.user": "app",
        "mq.password": PLANTED,
        "queue": "ORDERS",
    }


def holding(folder):
    """Return the files of a folder that hold the secret, and how many files there are."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [path for path in files if PLANTED.encode() in path.read_bytes()], len(files)


def test_plans_rows_and_errors_of_a_batch(spark, options):
    orders = spark.range(4).selectExpr("'g' AS group_key", "id", "CAST(id AS STRING) AS value").coalesce(1)
    sink = {
        **options,
        "sequenceColumn": "id",
        "statusQueue": "MQGROUPS.SHARED.SECRETS",
        "txnAppId": "s",
        "txnVersion": "1",
    }
    orders.write.format("ibmmq").mode("append").options(**sink).save()
    read = spark.read.format("ibmmq").options(**options).load()
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        for mode in ("extended", "formatted", "cost", "codegen"):
            read.explain(mode)
        read.show()
    shown = [said.getvalue(), repr(read), read._jdf.queryExecution().toString(), read._jdf.logicalPlan().toString()]
    shown += [str(row) for row in read.collect()]
    with pytest.raises(Exception, match="2035") as refused:
        spark.read.format("ibmmq").options(**{**options, "mq.password": PLANTED + "x"}).load().collect()
    shown.append("".join(traceback.format_exception(refused.value)))
    wrong = {**sink, "queue": "NO.SUCH", "txnVersion": "2"}
    with pytest.raises(Exception, match="2085") as missing:
        orders.write.format("ibmmq").mode("append").options(**wrong).save()
    shown.append("".join(traceback.format_exception(missing.value)))
    assert len(shown) == 10
    assert not [text for text in shown if PLANTED in text]


def test_the_checkpoint_of_a_stream_and_what_it_writes(spark, options, tmp_path):
    rows = spark.range(2).selectExpr("'g' AS group_key", "id", "CAST(id AS STRING) AS value").coalesce(1)
    rows.write.format("ibmmq").mode("append").options(
        **options, sequenceColumn="id", statusQueue="MQGROUPS.SHARED.SECRETS", txnAppId="t", txnVersion="1"
    ).save()
    stream = spark.readStream.format("ibmmq").options(**options).load().selectExpr("CAST(value AS STRING)")
    query = (
        stream.writeStream.format("text")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start(str(tmp_path / "out"))
    )
    query.awaitTermination()
    shown = [str(query.lastProgress), repr(query), query._jsq.toString()]
    leaks, files = holding(tmp_path)
    assert files > 3
    assert leaks == []
    assert not [text for text in shown if PLANTED in text]
