"""Write rows with Spark as message groups, one for each customer. Run again with the same number, it writes nothing twice.

    mqembedded exec -- python spark_write.py 1

On IBM MQ, set MQSERVER (CHANNEL/TCP/host(port)), or the options mq.channel and mq.connectionNameList.
"""

import sys

from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
columns = ("concat('customer ', id % 10) AS group_key", "id", "concat('order ', id) AS value")
orders = spark.range(1000).selectExpr(*columns).repartition("group_key")
writer = orders.write.format("ibmmq").mode("append")
writer = writer.option("mq.queueManager", "QM1").option("queue", "ORDERS").option("sequenceColumn", "id")
writer = writer.option("statusQueue", "MQGROUPS.SHARED.EXAMPLE").option("txnAppId", "example")
writer.option("txnVersion", sys.argv[1]).save()
print("written: 10 groups of 100 messages, if that was not done before")
