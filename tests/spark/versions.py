"""What tests in a session have to know of the PySpark that they run on; ``docs/spark/platforms.md`` has the table."""

from __future__ import annotations

from pyspark.sql import datasource

from mqgroups.spark.older import HAS_LIMITS

# How often a test starts a query with availableNow: a Spark without limits does one micro-batch, and removes it in the next run.
RUNS = 1 if HAS_LIMITS else 3
# Spark 4.0 plans a batch read again for each DataFrame that is made from it.
PLANS_AGAIN = not hasattr(datasource, "DataSourceStreamArrowWriter")
