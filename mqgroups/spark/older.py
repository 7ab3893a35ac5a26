"""Names that PySpark 4.0 or 4.1 lacks. This module looks for each name, because a platform may have added it to an older version.

ReadMaxRows, SupportsTriggerAvailableNow    since 4.2: the limit of a micro-batch (``stream_source.ReaderWithoutLimits``)
DataSourceStreamArrowWriter                 since 4.1: a stream's writer that gets record batches. Spark 4.0 passes them to
                                            any writer that is a DataSourceArrowWriter
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

from pyspark.sql import datasource

_LIMITS = "pyspark.sql.streaming.datasource"


class _MaxRows(NamedTuple):
    max_rows: int


class _StreamArrowWriter(datasource.DataSourceStreamWriter, datasource.DataSourceArrowWriter):
    pass


_limits: Any = import_module(_LIMITS) if find_spec(_LIMITS) else None
HAS_LIMITS = _limits is not None
ReadMaxRows: Any = getattr(_limits, "ReadMaxRows", _MaxRows)
SupportsTriggerAvailableNow: Any = getattr(_limits, "SupportsTriggerAvailableNow", object)
DataSourceStreamArrowWriter: Any = getattr(datasource, "DataSourceStreamArrowWriter", _StreamArrowWriter)
