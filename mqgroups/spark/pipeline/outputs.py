"""The DataFrames to write: the result as messages of groups, and the groups in quarantine.

Each row of the result is a message. ``groupBy`` names the column of the group, ``orderBy`` the columns that order it. Rows with
equal values there are ordered by their bodies, so that the order is the same each time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.window import Window

from mqgroups.spark.pipeline.config import Outgoing
from mqgroups.spark.pipeline.errors import TransformFailed

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

# Columns of a DataFrame for the sink, used in its options groupBy and sequenceColumn.
KEY, NUMBER = "_group_key", "_number"
# Message properties of a message in quarantine: the reason, and the group and number that it had.
REASON = "mqgroups.Rejected"
DETAIL = "mqgroups.RejectedDetail"
GROUP_ID = "mqgroups.RejectedGroupId"
SEQ_NUMBER = "mqgroups.RejectedSeqNumber"
_VALUE = "value"


def check_columns(result: DataFrame, names: Sequence[str], key: str) -> None:
    """Raise TransformFailed unless the result has these columns; ``key`` is the configuration key that names them."""
    for name in names:
        if name not in result.columns:
            raise TransformFailed(
                f"the result has the columns {', '.join(result.columns)}; expected {name!r}, which {key} names"
            )


def refuse_columns(result: DataFrame, names: Sequence[str]) -> None:
    """Raise TransformFailed if the result has one of these columns."""
    for name in names:
        if name in result.columns:
            raise TransformFailed(
                f"the result has a column {name!r}, but the Parquet folders use that name; rename the column"
            )


def group_messages(result: DataFrame, outgoing: Outgoing) -> DataFrame:
    """Return the result's rows as messages, with the columns ``value``, KEY and NUMBER. Raises TransformFailed."""
    columns = [F.col(f"`{name}`") for name in result.columns]
    if outgoing.body == "column":
        check_columns(result, [_VALUE], "outgoing.body")
        body: Column = F.col(_VALUE)
    elif outgoing.body == "json":
        # Null values are written, because a reader that declares a key may require it.
        body = F.to_json(F.struct(*columns), {"ignoreNullFields": "false"})
    else:
        body = F.to_csv(F.struct(*columns))
    key = F.col(f"`{outgoing.group_by}`")
    messages = result.select(
        key.alias(KEY), body.alias(_VALUE), *(F.col(f"`{n}`").alias(f"_by_{n}") for n in outgoing.order_by)
    )
    order = Window.partitionBy(KEY).orderBy(*(F.col(f"`_by_{name}`") for name in outgoing.order_by), _VALUE)
    return messages.select(_VALUE, KEY, F.row_number().over(order).alias(NUMBER))


def quarantine_messages(rejected: DataFrame) -> DataFrame:
    """Return the messages of rejected groups as groups, with the reason as message properties."""
    order = Window.partitionBy("key").orderBy("msg_seq_number", "put_time", "msg_id")
    properties = F.create_map(
        *(
            part
            for name, value in (
                (REASON, F.col("reason")),
                (DETAIL, F.col("detail")),
                (GROUP_ID, F.hex("key")),
                (SEQ_NUMBER, F.col("msg_seq_number").cast("string")),
            )
            for part in (F.lit(name), value)
        )
    )
    return rejected.select(
        _VALUE,
        F.nullif("format", F.lit("")).alias("format"),
        # As it is: what it says may be what is wrong.
        F.nullif("ccsid", F.lit(0)).alias("ccsid"),
        properties.alias("headers"),
        F.col("key").alias(KEY),
        F.row_number().over(order).alias(NUMBER),
    )


def quarantine_lines(rejected: DataFrame) -> DataFrame:
    """Return the messages of rejected groups for a file: ``value`` in base 64, and as ``text`` if it is UTF-8."""
    return rejected.select(
        F.lower(F.hex("key")).alias("group"),
        "msg_seq_number",
        "last_msg_in_group",
        "put_time",
        "format",
        "reason",
        "detail",
        F.try_validate_utf8(F.col(_VALUE).cast("string")).alias("text"),
        F.base64(_VALUE).alias("value"),
    ).orderBy("group", "msg_seq_number")
