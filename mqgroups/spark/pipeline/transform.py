"""The transform of a pipeline: an SQL query over a view, or a function from DataFrame to DataFrame.

It gets the rows of the groups that passed, of one micro-batch, each group whole. So computations within a group do not depend on
how groups are distributed over micro-batches; computations across groups cover the micro-batch only. A micro-batch may be
repeated after a crash, and must then give the same result: no current time, no random values, no undefined order.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from mqgroups.spark.pipeline.config import PipelineConfig
from mqgroups.spark.pipeline.errors import PipelineConfigError, TransformFailed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_UP_TO_SQLSTATE = re.compile(r"(?s:.*?)SQLSTATE: .*")
_JAVA_STACK = re.compile(r"\n\s*at ")

Transformation = Callable[["DataFrame"], "DataFrame"]


def transformation(config: PipelineConfig) -> Transformation:
    """Return the transform of a configuration; without one, the rows are passed on unchanged.

    Raises:
        PipelineConfigError: the function cannot be imported.
    """
    transform = config.transform
    if transform.sql is not None:
        sql = transform.sql

        def query(rows: DataFrame) -> DataFrame:
            rows.createOrReplaceTempView("rows")
            return rows.sparkSession.sql(sql)

        return _guarded(query, transform.where)
    if transform.function is not None:
        return _guarded(_imported(config, *transform.function), transform.where)
    return lambda rows: rows


def _imported(config: PipelineConfig, module: str, name: str) -> Transformation:
    # Modules beside the configuration file can be imported. At the end, so that no file there stands in for another module.
    folder = str(config.folder)
    if folder not in sys.path:
        sys.path.append(folder)
    try:
        function: Transformation = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise PipelineConfigError(
            str(config.file),
            "transform.function",
            f"{module}:{name} cannot be imported ({error}). The search included {folder}",
        ) from error
    if not callable(function):
        raise PipelineConfigError(str(config.file), "transform.function", f"{module}:{name} is not a function")
    return function


def _in_a_line(error: Exception) -> str:
    """Return the text of an error in one line, without what Spark adds: the plan or the query after SQLSTATE, Java's stack."""
    text = _JAVA_STACK.split(str(error), 1)[0]
    said = _UP_TO_SQLSTATE.match(text)
    return " ".join((said[0] if said else text).split()).rstrip(";")


def _guarded(transform: Transformation, where: str) -> Transformation:
    def guarded(rows: DataFrame) -> DataFrame:
        from pyspark.sql import DataFrame

        try:
            result = transform(rows)
        except Exception as error:
            raise TransformFailed(f"transform {where} failed: {type(error).__name__}: {_in_a_line(error)}") from error
        if not isinstance(result, DataFrame):
            raise TransformFailed(f"transform {where} returned {type(result).__name__}, expected a DataFrame")
        return result

    return guarded
