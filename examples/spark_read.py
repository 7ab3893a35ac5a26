"""Read the message groups of a queue with Spark, each once, into Parquet files. Run it again to read newer groups.

    mqembedded exec -- python spark_read.py FOLDER

On IBM MQ, set MQSERVER (CHANNEL/TCP/host(port)), or the options mq.channel and mq.connectionNameList.
"""

import sys

from pyspark.sql import SparkSession

folder = sys.argv[1]
spark = SparkSession.builder.getOrCreate()
orders = spark.readStream.format("ibmmq").option("mq.queueManager", "QM1").option("queue", "ORDERS").load()
texts = orders.selectExpr("group_id", "msg_seq_number", "CAST(value AS STRING) AS text")
files = texts.writeStream.format("parquet").option("checkpointLocation", f"{folder}/checkpoint")
files.trigger(availableNow=True).start(f"{folder}/orders").awaitTermination()
spark.read.parquet(f"{folder}/orders").groupBy("group_id").count().show()
