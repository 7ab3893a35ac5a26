"""Spark plans, checkpoints, and errors of tasks show no secret; ``tests/test_nothing_shows_secrets.py`` is
the same for all that is not Spark's."""

from __future__ import annotations

import contextlib
import io
import traceback

import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed")

PLANTED = "Xyzzy-4711-plugh"
pytestmark = [pytest.mark.slow, pytest.mark.embedded]


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


def test_plans_rows_errors_and_checkpoints_hold_no_password(spark, options, tmp_path):
    orders = spark.range(4).selectExpr("'g' AS group_key", "id", "CAST(id AS STRING) AS value").coalesce(1)
    sink = {**options, "sequenceColumn": "id", "statusQueue": "MQGROUPS.SHARED.SECRETS"}
    orders.write.format("ibmmq").mode("append").options(**sink).save()
    read = spark.read.format("ibmmq").options(**options).load()
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        read.explain("extended")
        read.show()
    shown = [said.getvalue(), repr(read), read._jdf.queryExecution().toString(), read._jdf.logicalPlan().toString()]
    with pytest.raises(Exception, match="2035") as refused:
        spark.read.format("ibmmq").options(**{**options, "mq.password": PLANTED + "x"}).load().collect()
    shown.append("".join(traceback.format_exception(refused.value)))
    with pytest.raises(Exception, match="2085") as missing:
        orders.write.format("ibmmq").mode("append").options(**{**sink, "queue": "NO.SUCH"}).save()
    shown.append("".join(traceback.format_exception(missing.value)))
    stream = spark.readStream.format("ibmmq").options(**options).load().selectExpr("CAST(value AS STRING)")
    writer = stream.writeStream.format("text").option("checkpointLocation", str(tmp_path / "checkpoint"))
    query = writer.trigger(availableNow=True).start(str(tmp_path / "out"))
    query.awaitTermination()
    shown += [str(query.lastProgress), repr(query), query._jsq.toString()]
    assert [text for text in shown if PLANTED in text] == []
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) > 3
    assert [path for path in files if PLANTED.encode() in path.read_bytes()] == []
