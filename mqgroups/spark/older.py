"""Names of PySpark that 4.0 and 4.1 lack. Each is looked for, because a platform may have more than its version says.

ReadMaxRows, SupportsTriggerAvailableNow    4.2: the limit of a micro-batch (``stream_source.ReaderWithoutLimits``)
DataSourceStreamArrowWriter                 4.1: a stream's writer that gets record batches. 4.0 hands them to any writer
                                            that is a DataSourceArrowWriter
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
