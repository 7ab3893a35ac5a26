"""Write each micro-batch to a file system exactly once: as a folder that appears complete, or not at all.

    PATH/query=<id of the query>/batch=<number>/part-*        complete micro-batches, for readers
    PATH/_staging/<id>-<number>/                              the micro-batch that is being written

A micro-batch is written into staging and then renamed. A process that dies before the rename leaves a folder in staging, which
the next attempt replaces. After the rename the next attempt finds the micro-batch done. Readers (Spark, pyarrow) ignore names
that begin with ``_``. Renaming a folder is atomic on local file systems and HDFS. On an object store it is not: a reader may see
part of a micro-batch while it is copied.

The query's id comes from the checkpoint. If it were not in the names, a pipeline whose checkpoint was deleted would start again
with micro-batch 0, find it done, and drop its groups.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Readers turn the folders' names into these columns.
FOLDER_COLUMNS = ("query", "batch")


class BatchFolders:
    """The folders below one path, accessed through Hadoop's file systems, as Spark does."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        self._jvm: Any = spark.sparkContext._jvm
        self._path = self._at(path)
        self._files = self._path.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration())

    def has(self, query: str, batch: int) -> bool:
        """Whether the folder of a micro-batch exists."""
        return bool(self._files.exists(self._final(query, batch)))

    def write(self, query: str, batch: int, write: Callable[[str], None]) -> None:
        """Call ``write`` with the path of a staging folder, then rename that to the micro-batch's folder."""
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
