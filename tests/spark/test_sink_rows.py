"""Rows become groups: which columns can be written, and what comes together in which order. No JVM is needed."""

from __future__ import annotations

import datetime
import tracemalloc
from decimal import Decimal

import pytest

from embedded_tests.tables import table

pytest.importorskip("pyspark", reason="pyspark is not installed")
import pyarrow as pa
from pyspark.sql import types as t

from mqgroups.batch.producer import BatchMessage
from mqgroups.spark.errors import WriteRefused
from mqgroups.spark.option import Use
from mqgroups.spark.options import sink_options
from mqgroups.spark.sink_rows import IN_MEMORY_BYTES, columns_of, groups_of

TYPES = {
    "string": t.StringType(),
    "binary": t.BinaryType(),
    "boolean": t.BooleanType(),
    "int": t.IntegerType(),
    "long": t.LongType(),
    "date": t.DateType(),
    "timestamp": t.TimestampType(),
    "decimal(5,2)": t.DecimalType(5, 2),
    "array<string>": t.ArrayType(t.StringType()),
    "map<string,int>": t.MapType(t.StringType(), t.IntegerType()),
}


def columns(ddl, **options):
    fields = [each.split(" ") for each in ddl.split(", ")]
    given = {"mq.queueManager": "QM1", "queue": "ORDERS", "statusQueue": "S", **options}
    schema = t.StructType([t.StructField(name, TYPES[kind]) for name, kind in fields])
    return columns_of(schema, sink_options(given, Use.BATCH_WRITE))


def batch(**values):
    return pa.RecordBatch.from_pydict(values)


def groups(batches, found, partition=0):
    return [(group.key, group.priority, list(group.messages)) for group in groups_of(batches, found, partition)]


@table(
    ("column", "values"),
    [
        ("value", pa.array([b"secret \xff"]).view(pa.string())),
        ("group_key", pa.array([b"\xff"]).view(pa.string())),
    ],
)
def test_a_value_that_python_cannot_hold_is_refused_by_its_column_without_its_text(column, values):
    found = columns("group_key string, msg_seq_number timestamp, value string")
    row = {"group_key": ["A"], "msg_seq_number": [datetime.datetime(2013, 1, 1)], "value": ["data"], column: values}
    with pytest.raises(WriteRefused, match=f"column '{column}' has a value that") as refused:
        groups([batch(**row)], found)
    assert "secret" not in str(refused.value)


def test_rows_of_a_key_come_together_from_all_batches_and_into_order():
    found = columns("group_key string, msg_seq_number long, value binary")
    batches = [
        batch(group_key=["B", "A", "A"], msg_seq_number=[2, 3, 1], value=[b"B2", b"A3", b"A1"]),
        batch(group_key=["A", "B"], msg_seq_number=[2, 1], value=[b"A2", b"B1"]),
    ]
    assert groups(batches, found) == [
        ("A", None, [BatchMessage(b"A1"), BatchMessage(b"A2"), BatchMessage(b"A3")]),
        ("B", None, [BatchMessage(b"B1"), BatchMessage(b"B2")]),
    ]


def test_without_a_sequence_column_rows_stay_as_they_come():
    found = columns("group_key string, value string")
    assert groups([batch(group_key=["A", "A"], value=["z", "a"])], found) == [
        ("A", None, [BatchMessage("z"), BatchMessage("a")])
    ]


@table(
    ("kind", "keys", "expected"),
    [
        ("long", [10, 9], ["9", "10"]),
        ("binary", [b"\x01", b"\xff"], ["01", "ff"]),
        ("boolean", [True, False], ["False", "True"]),
        ("date", [datetime.date(2026, 1, 2)], ["2026-01-02"]),
        ("decimal(5,2)", [Decimal("1.10")], ["1.10"]),
        ("string", ["", "é"], ["", "é"]),
    ],
)
def test_a_key_of_any_exact_type_is_a_group(kind, keys, expected):
    found = columns(f"k {kind}, value binary", groupBy="k")
    assert [key for key, *_ in groups([batch(k=keys, value=[b"x"] * len(keys))], found)] == expected


def test_a_partition_is_put_lazily():
    found = columns("value binary", groupBy="partition")
    read = []

    def batches():
        for n in range(3):
            read.append(n)
            yield batch(value=[b"%d" % n])

    for group in groups_of(batches(), found, 4):
        assert read == [0]
        assert list(group.messages) == [BatchMessage(b"0"), BatchMessage(b"1"), BatchMessage(b"2")]
    assert read == [0, 1, 2]


def test_a_partition_without_rows_is_no_group():
    assert groups([], columns("value binary", groupBy="partition")) == []
    assert groups([], columns("group_key string, value binary")) == []


def test_a_partition_is_ordered_where_a_column_says_how():
    found = columns("at timestamp, value binary", groupBy="partition", sequenceColumn="at")
    at = [datetime.datetime(2026, 1, day, tzinfo=datetime.UTC) for day in (2, 1)]
    assert groups([batch(at=at, value=[b"2", b"1"])], found) == [("0", None, [BatchMessage(b"1"), BatchMessage(b"2")])]


@pytest.mark.parametrize(
    ("ddl", "kind"),
    [("group_key string, msg_seq_number long, value", "binary"), ("msg_seq_number long, value", "string")],
)
def test_large_values_wait_in_a_file(ddl, kind, tmp_path, monkeypatch):
    monkeypatch.setenv("SPARK_LOCAL_DIRS", f"{tmp_path},/elsewhere")
    by_partition = {} if "group_key" in ddl else {"groupBy": "partition", "sequenceColumn": "msg_seq_number"}
    found = columns(f"{ddl} {kind}", **by_partition)
    megabytes = 12
    numbers = range(10, 0, -1)  # twice as much as stays in memory

    def value(number):
        data = b"%02d" % number + bytes((megabytes << 20) - 2)
        return data if kind == "binary" else data.decode()

    def batches():
        for number in numbers:
            yield batch(group_key=["A"], msg_seq_number=[number], value=[value(number)])

    tracemalloc.start()
    try:
        ((_, _, messages),) = (
            (group.key, group.priority, [(len(each.payload), each.payload[:2]) for each in group.messages])
            for group in groups_of(batches(), found, 0)
        )
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    expected = [(megabytes << 20, value(number)[:2]) for number in sorted(numbers)]
    assert messages == expected
    assert peak < IN_MEMORY_BYTES + 3 * (megabytes << 20)
    assert not list(tmp_path.iterdir())


@table(
    ("ddl", "options", "told"),
    [
        ("group_key string, msg_seq_number long", {}, "two rows of group 'B' with msg_seq_number 2: their order"),
        ("msg_seq_number long", {"groupBy": "partition"}, "two rows with msg_seq_number 2: their order"),
    ],
)
def test_two_rows_of_a_group_with_the_same_place_are_refused_before_anything_is_put(ddl, options, told):
    found = columns(f"{ddl}, value binary", **options)
    batches = [
        batch(group_key=["A", "B"], msg_seq_number=[1, 2], value=[b"1", b"2"]),
        batch(group_key=["A", "B"], msg_seq_number=[3, 2], value=[b"3", b"4"]),
    ]
    with pytest.raises(WriteRefused, match=told):
        next(groups_of(batches, found, 0))


def test_the_format_and_the_priority_of_the_options_are_for_rows_that_say_none():
    found = columns(
        "group_key string, value binary, format string, priority int, ccsid int", format="DEFAULT", priority="3"
    )
    rows = batch(
        group_key=["A", "B"],
        value=[b"1", b"2"],
        format=[None, "MINE"],
        priority=pa.array([None, 8], pa.int32()),
        ccsid=pa.array([None, 37], pa.int32()),
    )
    assert groups([rows], found) == [
        ("A", 3, [BatchMessage(b"1", "DEFAULT")]),
        ("B", 8, [BatchMessage(b"2", "MINE", ccsid=37)]),
    ]


def test_two_priorities_in_a_group_are_refused():
    found = columns("group_key string, value binary, priority int")
    rows = batch(group_key=["A", "A"], value=[b"1", b"2"], priority=[1, 2])
    with pytest.raises(WriteRefused, match="group 'A' has rows with priority 1 and 2"):
        groups([rows], found)


@table("priority", [-5, -1, 10])
def test_a_priority_that_no_message_has_is_refused(priority):
    """IBM MQ would put a message with a higher one, with a warning (2049)."""
    found = columns("group_key string, value binary, priority int")
    with pytest.raises(WriteRefused, match=rf"group 'a' has priority {priority}; it must be 0 to 9"):
        groups([batch(group_key=["a"], value=[b"1"], priority=[priority])], found)


@table(
    ("name", "which"),
    [("group_key", ""), ("msg_seq_number", " of group 'B'"), ("value", " of group 'B' with msg_seq_number 7")],
)
def test_a_row_without_what_it_needs_is_refused_and_named(name, which):
    found = columns("group_key string, msg_seq_number int, value binary")
    values: dict[str, list[object]] = {"group_key": ["A", "B"], "msg_seq_number": [1, 7], "value": [b"1", b"7"]}
    values[name][1] = None
    with pytest.raises(WriteRefused, match=f"column '{name}' is null in a row{which};"):
        groups([batch(**values)], found)


@table(
    ("ddl", "options", "said"),
    [
        ("value binary", {}, "found columns value, expected a column 'group_key' for the groups"),
        ("value binary", {"groupBy": "customer"}, "expected a column 'customer'"),
        ("group_key string", {}, "expected a column 'value'"),
        ("group_key string, value int", {}, "column 'value' is int; it must be binary or string"),
        ("group_key array<string>, value binary", {}, r"column 'group_key' is array<string>"),
        ("group_key string, value binary, at int", {}, "column 'at' cannot be written"),
        ("group_key string, value binary", {"sequenceColumn": "at"}, r"expected a column 'at' \(sequenceColumn\)"),
        ("group_key string, value binary, headers map<string,int>", {}, "column 'headers' is map<string,int>"),
        ("group_key string, value binary, correl_id string", {}, "column 'correl_id' is string"),
    ],
)
def test_columns_that_cannot_be_written_are_refused(ddl, options, said):
    with pytest.raises(WriteRefused, match=said):
        columns(ddl, **options)
