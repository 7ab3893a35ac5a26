"""Found by Spark, which imports every top-level module ``pyspark_*`` for a ``DefaultSource``: format ``ibmmq``."""

from mqgroups.spark.data_source import IbmMqDataSource as DefaultSource

__all__ = ["DefaultSource"]
