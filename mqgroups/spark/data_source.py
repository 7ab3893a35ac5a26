"""The data source ``ibmmq``. Its methods, which Spark calls, return the schema, readers and writers for given options.

For each call, Spark makes a data source in another process, and pickles the result. So a data source has no connection or state.
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
from mqgroups.spark.failures import told_briefly
from mqgroups.spark.older import HAS_LIMITS
from mqgroups.spark.option import Use
from mqgroups.spark.options import SourceOptions, sink_options, source_options
from mqgroups.spark.rows import columns


class IbmMqDataSource(DataSource):
    """The data source that reads message groups of an IBM MQ queue as rows, and writes rows as message groups."""

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return "ibmmq"

    @told_briefly
    def schema(self) -> str:
        """Return the columns of a read and their types."""
        return _ddl(source_options(self.options, Use.READ))

    @told_briefly
    def reader(self, schema: StructType) -> DataSourceReader:
        """Return the reader of a batch."""
        from mqgroups.spark.batch_source import GroupBatchReader

        options = source_options(self.options, Use.BATCH_READ)
        _check_schema(schema, options)
        return GroupBatchReader(options)

    @told_briefly
    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        """Return the reader of a stream."""
        from mqgroups.spark.stream_source import GroupStreamReader, ReaderWithoutLimits

        options = source_options(self.options, Use.STREAM_READ)
        _check_schema(schema, options)
        return GroupStreamReader(options) if HAS_LIMITS else ReaderWithoutLimits(options)

    @told_briefly
    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        """Return the writer of a batch."""
        from mqgroups.spark.sink import GroupBatchWriter

        return GroupBatchWriter(schema, sink_options(self.options, Use.BATCH_WRITE), overwrite)

    @told_briefly
    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: N802 - Spark's name
        """Return the writer of micro-batches."""
        from mqgroups.spark.sink import GroupStreamWriter

        return GroupStreamWriter(schema, sink_options(self.options, Use.STREAM_WRITE), overwrite)


def _ddl(options: SourceOptions) -> str:
    return ", ".join(f"{name} {kind}" for name, kind in columns(options).items())


def _check_schema(schema: StructType, options: SourceOptions) -> None:
    """Raise ConfigurationError if the user asks for columns that the format does not have."""
    given = [(field.name, field.dataType.simpleString()) for field in schema.fields]
    if given != [(name, kind.lower().replace(" ", "")) for name, kind in columns(options).items()]:
        raise ConfigurationError(
            f"format 'ibmmq' has the fixed columns {_ddl(options)}. Leave out schema(), then select and cast columns. In SQL, "
            "read with CREATE TEMPORARY VIEW … USING ibmmq OPTIONS (…); a table with columns is for INSERT INTO"
        )
