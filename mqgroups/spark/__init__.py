"""Message groups as a Spark data source and sink, with PySpark's Python Data Source API.

    spark.read.format("ibmmq")          browses the groups on a queue, and removes nothing
    spark.readStream.format("ibmmq")    reads complete groups as they arrive, and removes them after Spark has processed them
    df.write.format("ibmmq")            puts a group for each key, each row exactly once, even if a task or the job is repeated
    writeStream.format("ibmmq")         puts the groups of each micro-batch in the same way
    checked(messages)                   returns the groups that fail a check, with the reason
    lag_listener()                      reports the lag of streams as OpenTelemetry metrics

     driver                                                executors
     data_source.py ──► batch_source, stream_source        read(bundle): browse, by GroupId
         offsets.py   what is planned, what to remove            browse.py → rows.py → Arrow
         reservation.py  one query per queue; removal.py         connections.py  a pool in each worker process
     data_source.py ──► sink                               write(rows): put, with a status record for each group
     checked ──► group_checks.py                           verdicts.py, on the counts of each group

If mqgroups is installed, Spark finds the format by itself (module ``pyspark_ibmmq``). If Spark does not find it, call
``register``. No other part of mqgroups imports this package. See docs/spark/start.md, and docs/spark/options.md for the options.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from mqgroups.spark.failures import cause

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQueryListener


def checked(messages: DataFrame, *, trailer: Column | str | None = None) -> DataFrame:
    """Return a row with ``key``, ``reason`` and ``detail`` for each group that fails a check. A good group has no row.

    Join the result with the messages by ``key``: a ``left_anti`` join gives the good groups, an inner join gives the failed
    groups. Each action computes the result again, so call ``persist`` on messages from a queue first.

    Args:
        messages: all rows of each group, from a batch read or from a micro-batch in ``foreachBatch``. Additional columns are
            allowed. Read with the options ``includeMqmd`` and ``includeHeaders``, whose columns show abandoned groups.
        trailer: a column, or its name, if the last message of each group is a trailer. In the trailer's row, the column has the
            number of the group's other messages. In all other rows it is null.

    Returns:
        ``key`` is the key in the messages. ``reason`` is the first of these reasons that applies: abandoned, not_in_group,
        duplicate, gap, incomplete, sequence, trailer. ``detail`` is a text with all reasons that apply, without message data.

    Raises:
        SparkOptionError: ``messages`` lacks a column.
    """
    from mqgroups.spark.group_checks import failures

    return failures(messages, trailer)


def lag_listener() -> StreamingQueryListener:
    """Return a listener that reports the lag of all streams of a session as OpenTelemetry metrics of this process.

    Call ``spark.streams.addListener(lag_listener())`` before a query starts. Without a meter provider the listener does nothing.
    """
    from mqgroups.spark.lag import LagListener

    return LagListener()


def register(spark: SparkSession) -> None:
    """Register format ``ibmmq`` in this session."""
    from pyspark.errors import AnalysisException

    from mqgroups.spark.data_source import IbmMqDataSource

    try:
        spark.dataSource.register(IbmMqDataSource)
    except AnalysisException as error:
        # Spark 4.0 has already found the format.
        if "DATA_SOURCE_ALREADY_EXISTS" not in str(error):
            raise


def is_written(options: Mapping[str, str]) -> bool:
    """Return whether an earlier run has completed a batch write. If so, a program need not compute the rows again.

    Args:
        options: the options of ``df.write.format("ibmmq")``, with ``txnAppId`` and ``txnVersion``.

    Raises:
        SparkOptionError: an option is not valid, or ``txnAppId`` or ``txnVersion`` is missing.
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
