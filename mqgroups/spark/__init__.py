"""Message groups as a Spark data source and sink, with PySpark's Python Data Source API.

    spark.read.format("ibmmq")          browses the groups on a queue; nothing is removed
    spark.readStream.format("ibmmq")    reads complete groups as they arrive; removed when Spark has processed them
    df.write.format("ibmmq")            puts a group for each key, each row exactly once, even if a task or the job is repeated
    writeStream.format("ibmmq")         the same for each micro-batch

     driver                                                executors
     data_source.py ──► batch_source, stream_source        read(bundle): browse, by GroupId
         offsets.py   what is planned, what to remove            browse.py → rows.py → Arrow
         reservation  the queue, open for exclusive input        connections.py  one per worker process
     data_source.py ──► sink                               write(rows): put, with a status record for each group

If this package is installed, Spark finds the format by itself (module ``pyspark_ibmmq``); otherwise call ``register``. No other
part of the package imports this one. README.md beside this file has the options and the guarantees.
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
