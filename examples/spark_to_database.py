"""Join the orders of queue ORDERS with a table of customers, and add them up in PostgreSQL with Spark, each exactly once.

    mqembedded exec -- python spark_to_database.py FOLDER postgresql://user:password@host/orders

FOLDER has customers.csv (customer,country), and gets the checkpoint. A message has a customer and a number of pieces: "miller 3".
A micro-batch is one transaction of the database, which also puts a row that names it. If a micro-batch is repeated, because a
process died before Spark noted its end, the row is there and nothing is added. It needs psycopg.

On IBM MQ, set MQSERVER (CHANNEL/TCP/host(port)), or the options mq.channel and mq.connectionNameList.
"""

import sys
from functools import partial
from typing import Any

import psycopg
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit


def make_tables(where: str) -> None:
    with psycopg.connect(where) as database:
        database.execute("CREATE TABLE IF NOT EXISTS pieces (country TEXT PRIMARY KEY, pieces BIGINT NOT NULL)")
        database.execute("CREATE TABLE IF NOT EXISTS batches (query TEXT, batch BIGINT, PRIMARY KEY (query, batch))")


def store(where: str, orders: Any, batch: int) -> None:
    """Add a micro-batch to the database, unless it is there."""
    # The query's id is in its checkpoint. Numbers alone would be used again with a new checkpoint.
    query = orders.sparkSession.sparkContext.getLocalProperty("sql.streaming.queryId")
    with psycopg.connect(where) as database:
        named = database.execute("INSERT INTO batches VALUES (%s, %s) ON CONFLICT DO NOTHING", (query, batch))
        if named.rowcount:
            for row in orders.groupBy("country").agg(F.sum("pieces").alias("pieces")).toLocalIterator():
                database.execute(
                    "INSERT INTO pieces VALUES (%s, %s) "
                    "ON CONFLICT (country) DO UPDATE SET pieces = pieces.pieces + excluded.pieces",
                    (row.country, row.pieces),
                )


def main(folder: str, where: str) -> None:
    make_tables(where)
    spark = SparkSession.builder.getOrCreate()
    customers = spark.read.csv(f"{folder}/customers.csv", header=True)
    messages = spark.readStream.format("ibmmq").option("mq.queueManager", "QM1").option("queue", "ORDERS").load()
    words = F.split(F.col("value").cast("string"), " ")
    orders = messages.select(words[0].alias("customer"), words[1].cast("int").alias("pieces"))
    # A customer that is not in the table must not make an order disappear.
    joined = orders.join(customers, "customer", "left").fillna("unknown", ["country"])
    query = joined.writeStream.option("checkpointLocation", f"{folder}/checkpoint").foreachBatch(partial(store, where))
    query.trigger(availableNow=True).start().awaitTermination()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
