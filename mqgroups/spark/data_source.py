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

from mqgroups.errors import ConfigurationError
from mqgroups.spark.options import SourceOptions, Use, sink_options, source_options
from mqgroups.spark.rows import columns


class IbmMqDataSource(DataSource):
    """Message groups of an IBM MQ queue as rows, and rows as message groups."""

    @classmethod
    def name(cls) -> str:
        """Return what ``format()`` takes."""
        return "ibmmq"

    def schema(self) -> str:
        """Return the columns of a read."""
        return _ddl(source_options(self.options, Use.READ))

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return what a batch read is done with."""
        from mqgroups.spark.batch_source import FilteringBatchReader, GroupBatchReader

        options = source_options(self.options, Use.BATCH_READ)
        _check_schema(schema, options)
        return FilteringBatchReader(options) if options.push_filters else GroupBatchReader(options)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        """Return what a stream is read with."""
        from mqgroups.spark.stream_source import GroupStreamReader

        options = source_options(self.options, Use.STREAM_READ)
        _check_schema(schema, options)
        return GroupStreamReader(options)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        """Return what a batch is written with."""
        from mqgroups.spark.sink import GroupBatchWriter

        return GroupBatchWriter(schema, sink_options(self.options, Use.BATCH_WRITE), overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: N802 - Spark's name
        """Return what a micro-batch is written with."""
        from mqgroups.spark.sink import GroupStreamWriter

        return GroupStreamWriter(schema, sink_options(self.options, Use.STREAM_WRITE), overwrite)


def _ddl(options: SourceOptions) -> str:
    return ", ".join(f"{name} {kind}" for name, kind in columns(options).items())


def _check_schema(schema: StructType, options: SourceOptions) -> None:
    """Raise ConfigurationError if the user asks for other columns than there are."""
    given = [(field.name, field.dataType.simpleString()) for field in schema.fields]
    if given != [(name, kind.lower().replace(" ", "")) for name, kind in columns(options).items()]:
        raise ConfigurationError(
            f"format 'ibmmq' reads the columns {_ddl(options)}, and no other schema. Leave schema() out, and select and cast"
        )
