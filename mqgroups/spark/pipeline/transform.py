"""What a pipeline makes of its rows: a query of SQL over a view, or a function from DataFrame to DataFrame.

It sees the rows of the groups of one micro-batch that passed, each group whole. So what it computes within groups is right
however the groups fall into micro-batches; what goes beyond a group is about the micro-batch only. When a micro-batch is done
again after a crash it has to come to the same: no clock, no chance, no order that Spark does not promise.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from mqgroups.spark.pipeline.config import PipelineConfig
from mqgroups.spark.pipeline.errors import PipelineConfigError, TransformFailed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Transformation = Callable[["DataFrame"], "DataFrame"]


def transformation(config: PipelineConfig) -> Transformation:
    """Return what the configuration says.

    Raises:
        PipelineConfigError: the function cannot be imported.
    """
    transform = config.transform
    if transform.sql is not None:
        sql, view = transform.sql, transform.view

        def query(rows: DataFrame) -> DataFrame:
            rows.createOrReplaceTempView(view)
            return rows.sparkSession.sql(sql)

        return _guarded(query, transform.where)
    if transform.function is not None:
        return _guarded(_imported(config, *transform.function), transform.where)
    return lambda rows: rows


def _imported(config: PipelineConfig, module: str, name: str) -> Transformation:
    # As Python has it for a program: what lies beside the configuration can be imported.
    folder = str(config.folder)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        function: Transformation = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise PipelineConfigError(
            str(config.file),
            "transform.function",
            f"{module}:{name} cannot be imported ({error}), looked in {folder} too",
        ) from error
    if not callable(function):
        raise PipelineConfigError(str(config.file), "transform.function", f"{module}:{name} is no function")
    return function


def _guarded(transform: Transformation, where: str) -> Transformation:
    def guarded(rows: DataFrame) -> DataFrame:
        from pyspark.sql import DataFrame

        try:
            result = transform(rows)
        except Exception as error:
            raise TransformFailed(f"transform {where} failed: {type(error).__name__}: {error}") from error
        if not isinstance(result, DataFrame):
            raise TransformFailed(f"transform {where} returned {type(result).__name__}, expected a DataFrame")
        return result

    return guarded
