"""A folder for each micro-batch, there as a whole or not at all: how results get exactly once into a file system.

    PATH/query=<id of the query>/batch=<number>/part-*        what readers see
    PATH/_staging/<id>-<number>/                              what is being written

A micro-batch is written into staging and then renamed. Whoever dies before the rename leaves a folder that the next attempt
writes anew; after it, the micro-batch is there, and the next attempt sees that. Readers (Spark, pyarrow) pass over names that
begin with ``_``. Renaming a folder is one step on local file systems and HDFS; an object store has no such step, and there a
reader may see a part of a micro-batch for as long as it is copied.

The query's id comes from the checkpoint. Without it in the names, a pipeline whose checkpoint was deleted would begin again with
micro-batch 0, find it done, and drop what it has read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Readers make columns of the folders' names.
FOLDER_COLUMNS = ("query", "batch")


class BatchFolders:
    """The folders below one path, through Hadoop's file systems, as Spark writes them."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        self._jvm: Any = spark.sparkContext._jvm
        self._path = self._at(path)
        self._files = self._path.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration())

    def has(self, query: str, batch: int) -> bool:
        """Whether a micro-batch is there."""
        return bool(self._files.exists(self._final(query, batch)))

    def write(self, query: str, batch: int, write: Callable[[str], None]) -> None:
        """Let ``write`` fill an empty folder, and make it the micro-batch's."""
        staging = self._at(self._path, f"_staging/{query}-{batch}")
        self._files.delete(staging, True)
        write(staging.toString())
        final = self._final(query, batch)
        self._files.mkdirs(final.getParent())
        if not self._files.rename(staging, final):
            raise OSError(f"{staging.toString()} could not be renamed to {final.toString()}")

    def _final(self, query: str, batch: int) -> Any:
        return self._at(self._path, f"query={query}/batch={batch}")

    def _at(self, *parts: Any) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(*parts)
