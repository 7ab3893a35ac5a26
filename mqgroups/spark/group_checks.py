"""Checks the groups of a DataFrame in Spark. Counts the messages of each group, and decides from the counts (``verdicts.py``).

    messages ──► window by key, ordered by number ──► one row of facts for each group ──► verdicts, in Arrow batches

Spark sorts the sequence numbers of each group, and collects neighboring numbers only if they do not differ by 1. So no process
holds a whole group, and no row comes to the driver. The checks use no JVM and no SparkContext, so Spark Connect can run them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.window import Window

from mqgroups.mqi.constants import MQFB_APPL_FIRST, MQMT_REPORT
from mqgroups.spark.errors import SparkOptionError
from mqgroups.spark.verdicts import GroupFacts, verdict

if TYPE_CHECKING:
    from pyarrow import RecordBatch
    from pyspark.sql import Column, DataFrame

_FOUND = "key BINARY, reason STRING, detail STRING"
# The columns that the checks need, by the option of a read that adds them.
_NEEDED = {
    "queue": ("value", "key", "group_id", "msg_seq_number", "last_msg_in_group"),
    "includeMqmd": ("msg_type", "feedback"),
    "includeHeaders": ("headers",),
}
# The same rule as in ``Message._abandoned_with``. Text that is not a number becomes NULL, and NULL is not a failure.
_FAILED_AT_MFT = " OR ".join(
    f"coalesce(try_cast(CAST(headers['{name}'] AS STRING) AS BIGINT), 0) <> 0"
    for name in ("WMQFTEResultCode", "UserReturnCode")
)
_ABANDONED = (
    f"length(value) = 0 AND last_msg_in_group AND (msg_type = {MQMT_REPORT} AND feedback >= {MQFB_APPL_FIRST} "
    f"OR group_id IS NOT NULL AND ({_FAILED_AT_MFT}))"
)


def failures(messages: DataFrame, trailer: Column | str | None) -> DataFrame:
    """Return a row for each group that fails a check, as ``mqgroups.spark.checked`` describes."""
    for option, names in _NEEDED.items():
        if missing := [name for name in names if name not in messages.columns]:
            raise SparkOptionError(
                option,
                f"checked() needs the column{'s' * (len(missing) > 1)} {', '.join(missing)}, found "
                f"{', '.join(messages.columns)}. Read with includeMqmd=true and includeHeaders=true, and call it "
                "before you select columns",
            )
    rows = F.lit(None) if trailer is None else F.col(trailer) if isinstance(trailer, str) else trailer
    number, last = F.col("number"), F.col("last")
    counted = (
        messages.select(
            "key",
            F.col("group_id").isNotNull().alias("in_group"),
            F.expr(_ABANDONED).alias("abandoned"),
            F.col("msg_seq_number").cast("bigint").alias("number"),
            F.col("last_msg_in_group").alias("last"),
            rows.cast("bigint").alias("rows"),
        )
        .withColumn("before", F.lag("number", 1, 0).over(Window.partitionBy("key").orderBy("number")))
        .groupBy("key")
        .agg(
            F.every("in_group").alias("in_group"),
            F.some("abandoned").alias("abandoned"),
            F.count("*").alias("messages"),
            F.max("number").alias("highest"),
            F.min(F.when(last, number)).alias("last"),
            F.sort_array(F.collect_list(F.when(number != F.col("before") + 1, F.struct("before", "number")))).alias(
                "steps"
            ),
            F.count("rows").alias("trailers"),
            F.min(F.when(F.col("rows").isNotNull(), number)).alias("first_trailer"),
            F.max(F.when(last, F.col("rows"))).alias("rows"),
        )
    )
    return counted.mapInArrow(_judge(has_trailer=trailer is not None), _FOUND)


def _judge(*, has_trailer: bool) -> Any:
    """Return the function that decides which groups fail. The function runs in tasks."""

    def judged(batches: Iterable[RecordBatch]) -> Iterator[RecordBatch]:
        import pyarrow

        kinds = {"key": pyarrow.binary(), "reason": pyarrow.string(), "detail": pyarrow.string()}
        for batch in batches:
            found = []
            for row in batch.to_pylist():
                key = row.pop("key")
                if why := verdict(GroupFacts(**row), has_trailer=has_trailer):
                    found.append({"key": key, "reason": why[0], "detail": why[1]})
            yield pyarrow.RecordBatch.from_pylist(found, pyarrow.schema(kinds))

    return judged
