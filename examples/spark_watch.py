"""Read a queue as a stream, and show the groups of each micro-batch, and those that still wait.

    mqembedded exec -- python spark_watch.py FOLDER

On IBM MQ, set MQSERVER (CHANNEL/TCP/host(port)), or the options mq.channel and mq.connectionNameList.
"""

import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from mqgroups.spark import cause

folder = sys.argv[1]
spark = SparkSession.builder.getOrCreate()
orders = spark.readStream.format("ibmmq").option("mq.queueManager", "QM1").option("queue", "ORDERS").load()
counts = {
    "groups": F.count_if(F.col("msg_seq_number") == 1),
    "messages": F.count("*"),
    "bytes": F.sum(F.length("value")),
}
observed = orders.observe("read", *(count.alias(name) for name, count in counts.items()))
files = observed.writeStream.format("parquet").option("checkpointLocation", f"{folder}/checkpoint")
query = files.trigger(availableNow=True).start(f"{folder}/orders")
try:
    query.awaitTermination()
except Exception as error:
    sys.exit(f"the query failed. {cause(error)}")
finally:
    for progress in query.recentProgress:
        if progress.numInputRows:
            read = progress.observedMetrics["read"].asDict()
            # Spark before 4.2 reports nothing about the queue.
            print(f"micro-batch {progress.batchId}: {read}; the queue: {progress.sources[0].latestOffset}")
