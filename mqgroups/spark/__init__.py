"""Message groups as a Spark data source and sink, with PySpark's Python Data Source API.

    spark.read.format("ibmmq")          browses the groups on a queue; nothing is removed
    spark.readStream.format("ibmmq")    reads complete groups as they arrive; removed when Spark has processed them
    df.write.format("ibmmq")            puts a group for each key, each row exactly once, even if a task or the job is repeated
    writeStream.format("ibmmq")         the same for each micro-batch
    checked(messages)                   the groups that fail, with the reason
    lag_listener()                      the lag of streams as OpenTelemetry metrics

     driver                                                executors
     data_source.py ──► batch_source, stream_source        read(bundle): browse, by GroupId
         offsets.py   what is planned, what to remove            browse.py → rows.py → Arrow
         reservation  the queue, for one query; removal.py       connections.py  one per worker process
     data_source.py ──► sink                               write(rows): put, with a status record for each group
     checked ──► group_checks.py                           verdicts.py, on the counts of each group

If this package is installed, Spark finds the format by itself (module ``pyspark_ibmmq``); otherwise call ``register``. No other
part of the package imports this one. docs/spark/start.md begins the documentation; docs/spark/options.md has the options.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from mqgroups.spark.failures import cause

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQueryListener


def checked(messages: DataFrame, *, trailer: Column | str | None = None) -> DataFrame:
    """Return the groups that fail: a row for each, with ``key``, ``reason`` and ``detail``. A good group has no row.

    Join it with the messages by ``key``: ``left_anti`` gives the good groups, an inner join those that fail. Each action computes
    it again, so ``persist`` messages that come from a queue.

    Args:
        messages: all rows of each group, from a batch read or from a micro-batch in ``foreachBatch``, with columns of your own.
            Read them with the options ``includeMqmd`` and ``includeHeaders``, which show abandoned groups.
        trailer: if the last message of each group says how many messages are before it, a column with this number, which is null
            in all other messages.

    Returns:
        ``key``: as in the messages. ``reason``: the first of abandoned, not_in_group, duplicate, gap, incomplete, sequence and
        trailer that holds. ``detail``: words for each that holds, with numbers and without data.

    Raises:
        SparkOptionError: ``messages`` lacks a column.
    """
    from mqgroups.spark.group_checks import failures

    return failures(messages, trailer)


def lag_listener() -> StreamingQueryListener:
    """Return a listener that makes the lag of all streams of a session OpenTelemetry metrics of this process.

    Add it with ``spark.streams.addListener(lag_listener())`` before a query starts. Without a meter provider it does nothing.
    """
    from mqgroups.spark.lag import LagListener

    return LagListener()


def register(spark: SparkSession) -> None:
    """Make format ``ibmmq`` known to this session."""
    from pyspark.errors import AnalysisException

    from mqgroups.spark.data_source import IbmMqDataSource

    try:
        spark.dataSource.register(IbmMqDataSource)
    except AnalysisException as error:
        # Spark 4.0 has found it by itself.
        if "DATA_SOURCE_ALREADY_EXISTS" not in str(error):
            raise


def is_written(options: Mapping[str, str]) -> bool:
    """Whether a batch write was completed before, so that a program need not compute its rows again.

    Args:
        options: of ``df.write.format("ibmmq")``, with ``txnAppId`` and ``txnVersion``.

    Raises:
        SparkOptionError: an option is not valid, or one of these two is missing.
        MQGroupsError: connecting failed, or the status queue cannot be used.
    """
    from mqgroups.batch.completion import completed_batch
    from mqgroups.spark.connections import lent
    from mqgroups.spark.options import repeatable_write

    parsed, sink, number = repeatable_write(options)
    with lent(parsed.connection) as q_mgr:
        completed = completed_batch(q_mgr, parsed.status_queue, sink, parsed.queue, parsed.record_users)
    return completed is not None and completed.number >= number


__all__ = ["cause", "checked", "is_written", "lag_listener", "register"]
