"""Message groups as a Spark data source and sink, with PySpark's Python Data Source API.

    spark.read.format("ibmmq")          groups on a queue, by browse; nothing is removed
    spark.readStream.format("ibmmq")    complete groups as they come; removed when Spark has processed them
    df.write.format("ibmmq")            a group for each key, each row exactly once, however often a task or the job is run
    writeStream.format("ibmmq")         the same for each micro-batch

     driver                                                executors
     data_source.py ──► batch_source, stream_source        read(bundle): browse, by GroupId
         offsets.py   what is planned, what to remove            browse.py → rows.py → Arrow
         reservation  the queue, open for exclusive input        connections.py  one per worker process
     data_source.py ──► sink                               write(rows): put, with a status record for each group

Spark finds the format by itself where this package is installed (module ``pyspark_ibmmq``); ``register`` is for where it
does not. An application of the rest of the package, nothing more: nothing there imports it. README.md beside this file has
the options and the guarantees.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def register(spark: SparkSession) -> None:
    """Make format ``ibmmq`` known to this session."""
    from mqgroups.spark.data_source import IbmMqDataSource

    spark.dataSource.register(IbmMqDataSource)


__all__ = ["register"]
