"""Convert messages to rows in Spark: parse each body in the task that reads it, and count each group.

    source ──► parsed          each message with ``row`` (struct, null if not valid), ``trailer`` and ``problem``
    parsed ──► group_facts     one GroupFacts for each group, on the driver, for ``verdicts``

Each message is parsed separately, and Spark's aggregation counts the groups. So no process holds a whole group in memory, only
its sequence numbers, and hashes of its rows, while they are aggregated. ``pipeline.body`` parses rows, in Arrow batches.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.functions import ArrowUDFType, arrow_udf

from mqgroups.mqi.constants import MQFB_APPL_FIRST, MQMT_REPORT
from mqgroups.spark.pipeline.body import Body, BodyProblem, count_of, row_of, text_or_bytes
from mqgroups.spark.pipeline.config import PipelineConfig
from mqgroups.spark.pipeline.verdicts import First, GroupFacts

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import Column, DataFrame

# As ``Message.abandoned_with``. Text that is no number is NULL, and so no failure.
_FAILED_AT_MFT = " OR ".join(
    f"coalesce(try_cast(CAST(headers['{name}'] AS STRING) AS BIGINT), 0) <> 0"
    for name in ("WMQFTEResultCode", "UserReturnCode")
)
_ABANDONED = (
    f"length(value) = 0 AND last_msg_in_group AND (msg_type = {MQMT_REPORT} AND feedback >= {MQFB_APPL_FIRST} "
    f"OR group_id IS NOT NULL AND ({_FAILED_AT_MFT}))"
)


def ddl(body: Body) -> str:
    """Return the columns of a body as a Spark struct type."""
    return f"struct<{', '.join(f'`{column.name}`: {column.type}' for column in body.columns)}>"


def parsed(messages: DataFrame, body: Body) -> DataFrame:
    """Return the messages with the columns ``row``, ``trailer`` and ``problem``."""
    with warnings.catch_warnings():
        # Type hints instead of the function type would need pandas, which is not needed otherwise.
        warnings.filterwarnings("ignore", "It is preferred to specify type hints", UserWarning)
        parse = arrow_udf(parser(body), f"row {ddl(body)}, trailer bigint, problem string", ArrowUDFType.SCALAR_ITER)
    return messages.withColumn("_parsed", parse("value", "last_msg_in_group", "format", "ccsid", "encoding")).select(
        # A message outside groups is identified by its MsgId.
        F.coalesce("group_id", "msg_id").alias("key"),
        "group_id",
        "msg_seq_number",
        "last_msg_in_group",
        "msg_id",
        F.col("timestamp").alias("put_time"),
        "format",
        "ccsid",
        F.expr(_ABANDONED).alias("abandoned"),
        "value",
        "_parsed.row",
        "_parsed.trailer",
        "_parsed.problem",
    )


def parser(body: Body) -> Any:
    """Return the function that parses batches of bodies, with what describes them. It runs in a task.

    It raises CcsidUnknown for text without a code page: such a body is not wrong, so it does not belong in quarantine.
    """

    def parse(batches: Iterator[tuple[pyarrow.Array, ...]]) -> Iterator[pyarrow.Array]:
        import pyarrow

        kinds = [_arrow_type(column.type) for column in body.columns]
        struct = pyarrow.struct(list(zip((column.name for column in body.columns), kinds, strict=True)))
        to_row, to_count = row_of(body), count_of(body)
        for batch in batches:
            rows: list[tuple[Any, ...] | None] = []
            trailers: list[int | None] = []
            problems: list[str | None] = []
            for value, last, *described in zip(*(column.to_pylist() for column in batch), strict=True):
                row = count = problem = None
                try:
                    given = text_or_bytes(value, *described)
                    if last and body.trailer is not None:
                        count = to_count(given)
                    else:
                        row = to_row(given)
                except BodyProblem as error:
                    problem = str(error)
                rows.append(row)
                trailers.append(count)
                problems.append(problem)
            empty = (None,) * len(kinds)
            columns = list(zip(*(row or empty for row in rows), strict=True)) or [()] * len(kinds)
            yield pyarrow.StructArray.from_arrays(
                [
                    pyarrow.StructArray.from_arrays(
                        [pyarrow.array(each, kind) for each, kind in zip(columns, kinds, strict=True)],
                        fields=list(struct),
                        mask=pyarrow.array([row is None for row in rows]),
                    ),
                    pyarrow.array(trailers, pyarrow.int64()),
                    pyarrow.array(problems, pyarrow.string()),
                ],
                names=["row", "trailer", "problem"],
            )

    return parse


def _arrow_type(kind: str) -> pyarrow.DataType:
    """Return the Arrow type that Spark derives from a column's DDL; it accepts no other."""
    import pyarrow

    if kind.startswith("decimal"):
        return pyarrow.decimal128(*map(int, kind[len("decimal(") : -1].split(",")))
    return {
        "string": pyarrow.string(),
        "int": pyarrow.int32(),
        "bigint": pyarrow.int64(),
        "double": pyarrow.float64(),
        "boolean": pyarrow.bool_(),
        "date": pyarrow.date32(),
        "timestamp": pyarrow.timestamp("us", tz="UTC"),
    }[kind]


def group_facts(messages: DataFrame, config: PipelineConfig) -> list[GroupFacts]:
    """Count the groups of a micro-batch; ``messages`` is what ``parsed`` returned."""
    numbers = F.sort_array(F.collect_list("msg_seq_number"))
    highest = F.max("msg_seq_number")
    in_order = (
        (F.count("*") == highest) & (F.size(F.array_distinct(numbers)) == highest) & (F.min("msg_seq_number") == 1)
    )
    counted = messages.groupBy("key").agg(
        F.max(F.col("group_id").isNotNull()).alias("in_group"),
        F.max("abandoned").alias("abandoned"),
        F.count("*").alias("messages"),
        # The numbers are collected only if they are not simply 1 to n.
        F.when(~in_order, numbers).alias("numbers"),
        F.sort_array(F.collect_list(F.when(F.col("last_msg_in_group"), F.col("msg_seq_number")))).alias("last_numbers"),
        highest.alias("highest"),
        F.count("row").alias("rows"),
        _different(config.unique).alias("different"),
        F.max("trailer").alias("trailer"),
        _first(F.col("problem"), "bodies"),
        F.min("put_time").cast("double").alias("first_put_s"),
        F.max("put_time").cast("double").alias("last_put_s"),
    )
    counts = counted.collect()
    repeated = {}
    if any(row.different < row.rows for row in counts):
        repeated = _repeated(messages, config.unique)
    return [
        GroupFacts(
            key=bytes(row.key),
            in_group=row.in_group,
            abandoned=row.abandoned,
            messages=row.messages,
            numbers=None if row.numbers is None else tuple(row.numbers),
            last_numbers=tuple(row.last_numbers),
            highest=row.highest,
            rows=row.rows,
            trailer=row.trailer,
            bodies=First(*row.bodies) if row.bodies["count"] else None,
            repeated=repeated.get(bytes(row.key)),
            first_put_s=row.first_put_s,
            last_put_s=row.last_put_s,
        )
        for row in counts
    ]


def _first(problem: Column, name: str) -> Column:
    number = F.when(problem.isNotNull(), F.col("msg_seq_number"))
    return F.struct(
        F.count(problem).alias("count"), F.min(number).alias("number"), F.min_by(problem, number).alias("detail")
    ).alias(name)


def _different(unique: Sequence[str]) -> Column:
    """Return how many rows of a group have different hashes in these columns; all rows without columns.

    Fewer than rows: some repeat others, or two hashes are equal by chance. As many: surely none repeats another. So the exact
    comparison, which is another pass with two shuffles, is made only if it is needed.
    """
    if not unique:
        return F.count("row")
    hashed = F.when(F.col("row").isNotNull(), F.xxhash64(*_in_row(unique)))
    return F.size(F.collect_set(hashed))


def _in_row(names: Sequence[str]) -> list[Column]:
    return [F.col(f"row.`{name}`") for name in names]


def _repeated(messages: DataFrame, unique: Sequence[str]) -> dict[bytes, First]:
    """Return, by group, how many rows repeat others in these columns, and the first such row."""
    same = (
        messages.where("row IS NOT NULL")
        .groupBy("key", *_in_row(unique))
        .agg(F.sort_array(F.collect_list("msg_seq_number")).alias("numbers"))
        .where("size(numbers) > 1")
    )
    found = same.groupBy("key").agg(
        F.sum(F.expr("size(numbers) - 1")).alias("often"), F.min(F.expr("numbers[1]")).alias("number")
    )
    return {bytes(row.key): First(row.often, row.number) for row in found.collect()}


def passed_rows(messages: DataFrame, rejected: DataFrame | None) -> DataFrame:
    """Return the rows of the groups that passed, with the columns that the transform gets."""
    rows = messages if rejected is None else messages.join(rejected, "key", "left_anti")
    return rows.where("row IS NOT NULL").select("group_id", "msg_seq_number", "put_time", "row.*")
