"""The data source ``ibmmq`` as Spark asks for it: a schema, readers and writers for the options it is given.

Spark makes one of these in a process of its own for each of these questions, and pickles what it gets. So nothing here
connects or keeps state.
"""

from __future__ import annotations

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
)
from pyspark.sql.types import StructType

from mqgroups.spark.options import Use, sink_options


class IbmMqDataSource(DataSource):
    """Message groups of an IBM MQ queue as rows, and rows as message groups."""

    @classmethod
    def name(cls) -> str:
        """Return what ``format()`` takes."""
        return "ibmmq"

    def schema(self) -> str:
        """Return the columns of a read."""
        raise NotImplementedError

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return what a batch read is done with."""
        raise NotImplementedError

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        """Return what a stream is read with."""
        raise NotImplementedError

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        """Return what a batch is written with."""
        from mqgroups.spark.sink import GroupBatchWriter  # type: ignore[import-untyped,unused-ignore]

        return GroupBatchWriter(schema, sink_options(self.options, Use.BATCH_WRITE), overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: N802 - Spark's name
        """Return what a micro-batch is written with."""
        from mqgroups.spark.sink import GroupStreamWriter  # type: ignore[import-untyped,unused-ignore]

        return GroupStreamWriter(schema, sink_options(self.options, Use.STREAM_WRITE), overwrite)
