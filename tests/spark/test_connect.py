"""Spark Connect: the format reads, writes and streams in a session that has no JVM of its own."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed")
from mqgroups.spark.older import HAS_LIMITS
from tests.spark.versions import PLANS_AGAIN

NEEDED = ("grpc", "grpc_status", "pandas", "zstandard")
LACKING = [package for package in NEEDED if importlib.util.find_spec(package) is None]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.embedded,
    pytest.mark.nightly,
    pytest.mark.skipif(bool(LACKING), reason=f"Spark Connect needs pyspark[connect]: {LACKING} not installed"),
]

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import json, sys
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from mqgroups.spark import checked

mq, queue, copy, again, status, folder, settings, unites = json.loads(sys.argv[1])
spark = SparkSession.builder.config(map=settings).remote("local[2]").getOrCreate()

def values(queue):
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW found USING ibmmq OPTIONS ({options(' ', queue=queue)})")
    return sorted(bytes(row.value).decode() for row in spark.sql("SELECT value FROM found").collect())

def options(between, **more):
    return ", ".join(f"'{name}'{between}'{value}'" for name, value in {**mq, **more}.items())

def to(writer, queue):
    return writer.format("ibmmq").options(**mq, queue=queue, statusQueue=status)

def put(batch, number):
    to(batch.write.mode("append"), again).option("txnAppId", "copy").option("txnVersion", str(number)).save()

def failed(queue, trailer=None):
    found = spark.read.format("ibmmq").options(**mq, queue=queue, includeMqmd="true", includeHeaders="true").load()
    return sorted(row.reason for row in checked(found, trailer=trailer).collect())

rows = spark.createDataFrame([("a", 1, "a1"), ("a", 2, "a2")], "group_key string, msg_seq_number int, value string")
to(rows.coalesce(1).write.mode("append"), queue).save()
spark.sql("CREATE TABLE outgoing (group_key STRING, msg_seq_number INT, value STRING) USING ibmmq")
insert = options("=", queue=queue, statusQueue=status)
spark.sql(f"INSERT INTO outgoing WITH ({insert}) SELECT /*+ REPARTITION(1) */ * FROM VALUES ('b', 1, 'b1')").collect()
written = values(queue)
reasons = failed(queue) + failed(queue, F.regexp_extract(F.col("value").cast("string"), "^a(2)$", 1).try_cast("int"))

def groups(queue):
    read = spark.readStream.format("ibmmq").options(**mq, queue=queue).load()
    return read.selectExpr("group_id AS group_key", "msg_seq_number", "value")

def stream(frame, queue):
    return frame.writeStream.option("checkpointLocation", f"{folder}/{queue}").trigger(availableNow=True)

to(stream(groups(queue), queue), copy).start().awaitTermination()
copied = values(copy)
stream(groups(copy), copy).foreachBatch(put).start().awaitTermination()
put_again = values(again)
last = groups(again)
stream(last.union(last) if unites else last, again).format("memory").queryName("last").start().awaitTermination()
last_read = sorted(bytes(row.value).decode() for row in spark.table("last").collect())
print(json.dumps([written, reasons, copied, put_again, last_read, values(queue) + values(copy) + values(again)]))
"""


def test_reads_writes_streams_and_sql_work_in_a_session_of_spark_connect(
    spark_environment, mq_options, owner, make_queue, make_batches, tmp_path
):
    settings = {
        "spark.default.parallelism": "2",
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    }
    queues = (owner.queue, make_queue(), make_queue(), make_batches().status_queue)
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps([mq_options, *queues, str(tmp_path), settings, not PLANS_AGAIN])],
        # With SPARK_TESTING the server takes a free port instead of 15002, and the client finds it.
        env={**os.environ, **spark_environment, "PYTHONPATH": path, "SPARK_TESTING": "1"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    everything = ["a1", "a2", "b1"]
    # Without a trailer both groups are good. The last message of one says that there are two before it; the other one has none.
    reasons = ["trailer", "trailer"]
    # A union with itself has each row twice, and takes each message from the queue once. Spark 4.0 plans it as two sources.
    last_read = everything if PLANS_AGAIN else sorted(everything * 2)
    left = [] if HAS_LIMITS else everything * 3
    assert json.loads(ran.stdout.splitlines()[-1]) == [everything, reasons, everything, everything, last_read, left]
