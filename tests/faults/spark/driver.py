"""The query that is killed: ``python -m tests.faults.spark.driver``, with the job in the environment.

Each group on the input queue has messages ``KEY:NUMBER`` of two keys, and each key becomes a group on the output queue. The
checkpoint is all that a start has of those before. A query that ends because a process of its was killed is started again in the
same session. Exit code 0 when all that was there at the start is through.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from mqgroups.spark.older import HAS_LIMITS
from tests.faults.spark.watched import JOB_VARIABLE, WatchedDataSource


def main() -> None:
    """Run the query until it has done all."""
    job = json.loads(Path(os.environ[JOB_VARIABLE]).read_text())
    builder = SparkSession.builder.appName("mqgroups faults")
    for name, value in job["conf"].items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    spark.dataSource.register(WatchedDataSource)
    rows = spark.readStream.format("ibmmq-watched").options(**job["source"]).load()
    text = "CAST(value AS STRING)"
    columns = (f"substring_index({text}, ':', 1) AS group_key", "msg_seq_number", "value")
    groups = rows.selectExpr(*columns).repartition("group_key")
    writer = groups.writeStream.format("ibmmq-watched").options(**job["sink"])
    writer = writer.option("checkpointLocation", job["checkpoint"])
    fired = Path(job["fired"])
    killed = 0
    while True:
        query = writer.trigger(availableNow=True).start()
        try:
            query.awaitTermination()
        except StreamingQueryException:
            # One of its processes was killed since the last time; or something is wrong.
            before, killed = killed, len(list(fired.iterdir()))
            if killed == before:
                raise
        else:
            # Without limits a run takes one micro-batch, which the next run removes.
            if HAS_LIMITS or not any(progress.numInputRows for progress in query.recentProgress):
                return


if __name__ == "__main__":
    main()
    # Spark's own shutdown takes seconds and tells nothing.
    sys.stdout.flush()
    os._exit(0)
