"""Delays of flights by day and carrier: message groups through Spark, to Parquet and back to IBM MQ, each exactly once.

    spark-submit pipeline.py FOLDER [OPTION=VALUE ...]     FOLDER/delays and FOLDER/rejects are the tables; /checkpoint is Spark's
    spark-submit pipeline.py work mq.connectionNameList='qm1(1414)' mq.channel=APP.SVRCONN mq.user=app mq.passwordFile=secret

A group on queue FLIGHTS has the flights of a day, a line of CSV in each message, and a trailer that counts them: "TRAILER,842".
A group in which anything is wrong goes whole to the table of rejects. The delays of the others go to the table of delays, and
as a group for each day to queue FLIGHTS.DELAYS. The program processes the queue and ends; without its trigger it continues.

It may be killed at any time, and continues when it is started again. Spark then repeats a micro-batch with the same groups, and
each of its three writes has to recognise that:

    a table           the micro-batch has a partition of its own, which is replaced
    the queue         txnAppId and txnVersion name the micro-batch; the sink continues where it was, or writes nothing
"""

import sys

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from mqgroups.spark import checked

FOLDER, *OPTIONS = sys.argv[1:]
# How to connect: the same for reading and writing. Without an address, MQSERVER has it.
MQ = {"mq.queueManager": "QM1", **dict(option.split("=", 1) for option in OPTIONS)}
# A real program takes some thousand groups; here they are few, so that there are several micro-batches.
SOURCE = {"queue": "FLIGHTS", "maxGroupsPerTrigger": "4", "includeMqmd": "true", "includeHeaders": "true"}
SINK = {"queue": "FLIGHTS.DELAYS", "statusQueue": "MQGROUPS.SPARK.FLIGHTS.DELAYS"}

FLIGHT = """
    year INT, month INT, day INT, dep_time INT, sched_dep_time INT, dep_delay INT, arr_time INT, sched_arr_time INT,
    arr_delay INT, carrier STRING, flight INT, tailnum STRING, origin STRING, dest STRING, air_time INT, distance INT,
    hour INT, minute INT, time_hour TIMESTAMP, corrupt STRING
"""
CSV = {"nullValue": "NA", "columnNameOfCorruptRecord": "corrupt"}
# No two flights have the same values in these columns, and none has null in one.
IDENTITY = ["year", "month", "day", "carrier", "flight", "origin", "sched_dep_time"]

# A repeated micro-batch must give the same rows: no rand(), no now(). Averages are of whole numbers: exact.
DELAYS = """
    SELECT make_date(year, month, day) AS date, carrier,
           count(*) AS flights, count_if(dep_time IS NULL) AS cancelled, count_if(dep_delay >= 15) AS delayed,
           avg(dep_delay) AS mean_dep_delay, max(dep_delay) AS max_dep_delay, avg(arr_delay) AS mean_arr_delay
    FROM {flights} GROUP BY ALL
"""


def parsed(batch: DataFrame) -> DataFrame:
    """Add the columns ``flight``, and ``trailer``: the number in a trailer, null in all other messages."""
    text = F.col("value").cast("string")
    return batch.withColumn("flight", F.from_csv(text, FLIGHT, CSV)).withColumn(
        "trailer", F.regexp_extract(text, r"^TRAILER,(\d+)$", 1).try_cast("int")
    )


def failed(messages: DataFrame) -> DataFrame:
    """Return the key of each group in which anything is wrong, with the reason."""
    flights = messages.where("trailer IS NULL").select("key", "msg_seq_number", "flight.*")
    missing = " OR ".join(f"{name} IS NULL" for name in IDENTITY)
    # make_date would end the query, at each start.
    no_date = "try_cast(concat_ws('-', year, month, day) AS DATE) IS NULL"
    no_flights = flights.where(f"corrupt IS NOT NULL OR {missing} OR {no_date}").selectExpr(
        "key", "'body' AS reason", "concat('message ', msg_seq_number, ' is no flight') AS detail"
    )
    twice = flights.groupBy("key", *IDENTITY).agg(F.max("msg_seq_number").alias("number")).where("count(*) > 1")
    repeated = twice.selectExpr(
        "key", "'unique' AS reason", "concat('message ', number, ' repeats a flight') AS detail"
    )
    found = checked(messages, trailer="trailer").union(no_flights).union(repeated)
    # One reason for each group, the same if the micro-batch is repeated.
    return found.groupBy("key").agg(F.min(F.struct("reason", "detail")).alias("why")).select("key", "why.*")


def store(table: str, rows: DataFrame, query: str, number: int) -> None:
    """Write the rows of a micro-batch to a table. They replace those of an earlier attempt.

    With Delta, append instead, with its options txnAppId (f"{table}/{query}") and txnVersion (number).
    """
    if rows.isEmpty():
        # A dynamic overwrite without rows would replace nothing, and a program that was corrected in between may have none now.
        rows.write.mode("overwrite").parquet(f"{FOLDER}/{table}/query={query}/batch={number}")
        return
    of_batch = rows.withColumn("query", F.lit(query)).withColumn("batch", F.lit(number))
    writer = of_batch.write.mode("overwrite").option("partitionOverwriteMode", "dynamic").partitionBy("query", "batch")
    writer.parquet(f"{FOLDER}/{table}")


def process(batch: DataFrame, number: int) -> None:
    """Process a micro-batch."""
    spark = batch.sparkSession
    # The number is unique with the query's id, which is in the checkpoint. A new checkpoint begins with micro-batch 0 again.
    query = spark.sparkContext.getLocalProperty("sql.streaming.queryId")
    if query is None:
        raise RuntimeError("Spark does not tell which query this is: leave PYSPARK_PIN_THREAD as it is")
    # Kept, so that the queue is browsed once; and all rows are read, or the source would not remove the groups.
    messages = parsed(batch).persist()
    messages.count()
    why = failed(messages).persist()
    rejects = messages.join(F.broadcast(why), "key").select("reason", "detail", *batch.columns)
    store("rejects", rejects, query, number)

    flights = messages.join(F.broadcast(why), "key", "left_anti").where("trailer IS NULL").select("flight.*")
    # The rows of a group have to be in one partition.
    delays = spark.sql(DELAYS, flights=flights).repartition("date").persist()
    store("delays", delays, query, number)
    body = F.to_json(F.struct("*"), {"ignoreNullFields": "false"}).alias("value")
    groups = delays.select("date", "carrier", body).write.format("ibmmq").mode("append").options(**MQ, **SINK)
    groups.options(groupBy="date", sequenceColumn="carrier", txnAppId=f"delays/{query}", txnVersion=number).save()
    for kept in (delays, why, messages):
        kept.unpersist()


def main() -> None:
    spark = SparkSession.builder.appName("delays").getOrCreate()
    messages = spark.readStream.format("ibmmq").options(**MQ, **SOURCE).load()
    stream = messages.writeStream.option("checkpointLocation", f"{FOLDER}/checkpoint").foreachBatch(process)
    stream.trigger(availableNow=True).start().awaitTermination()


if __name__ == "__main__":
    main()
