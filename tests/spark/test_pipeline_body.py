"""Bodies as rows: what passes, and what is said about what does not."""

import csv
import io
import json
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as some

from embedded_tests.tables import table
from mqgroups.spark.pipeline.body import Body, BodyProblem, Column, column, count_of, row_of

UTC = UTC


def csv_body(*columns: str, **more) -> Body:
    return Body("csv", tuple(column(f"c{n}", text) for n, text in enumerate(columns, 1)), **more)


def json_body(**columns: str) -> Body:
    return Body("json", tuple(column(name, text) for name, text in columns.items()))


@table(
    ("text", "expected"),
    [
        ("int", Column("c", "int")),
        ("INT  NOT NULL", Column("c", "int", not_null=True)),
        ("decimal( 9, 2 ) not null", Column("c", "decimal(9,2)", not_null=True)),
    ],
)
def test_a_column_is_declared_as_in_sql(text, expected):
    assert column("c", text) == expected


@table("text", ["", "integer", "not null", "decimal(2,3)", "decimal(39,0)", "int null", "array<int>"])
def test_another_declaration_is_refused(text):
    with pytest.raises(ValueError):
        column("c", text)


@table(
    ("kind", "text", "expected"),
    [
        ("string", "Oslo", "Oslo"),
        ("int", "-2147483648", -2147483648),
        ("bigint", "+9223372036854775807", 9223372036854775807),
        ("double", "1e3", 1000.0),
        ("boolean", "TRUE", True),
        ("date", "2013-01-31", date(2013, 1, 31)),
        ("timestamp", "2013-01-01T10:00:00Z", datetime(2013, 1, 1, 10, tzinfo=UTC)),
        ("timestamp", "2013-01-01T10:00:00+02:00", datetime(2013, 1, 1, 8, tzinfo=UTC)),
        ("timestamp", "2013-01-01 10:00:00", datetime(2013, 1, 1, 10, tzinfo=UTC)),
        ("decimal(5,2)", "999.99", Decimal("999.99")),
        ("decimal(5,2)", "1.5", Decimal("1.50")),
        ("decimal(38,1)", "9" * 37 + ".9", Decimal("9" * 37 + ".9")),
    ],
)
def test_a_field_of_csv_is_a_value_of_its_column(kind, text, expected):
    assert row_of(csv_body(kind))(text.encode()) == (expected,)


@table(
    ("kind", "text"),
    [
        ("int", "2147483648"),
        ("int", "1.0"),
        ("int", "1_000"),
        ("int", " 1"),
        ("int", "²"),
        ("bigint", "9223372036854775808"),
        ("double", "NaN"),
        ("double", "inf"),
        ("double", "1_0"),
        ("double", "1e999"),
        ("boolean", "yes"),
        ("date", "2013-02-29"),
        ("timestamp", "10 o'clock"),
        ("decimal(5,2)", "1000.00"),
        ("decimal(5,2)", "1.234"),
        ("decimal(5,2)", "NaN"),
    ],
)
def test_a_field_that_is_no_value_of_its_column_is_told_by_column_and_type_without_its_text(kind, text):
    with pytest.raises(BodyProblem) as error:
        row_of(csv_body("string", kind))(f"x,{text}".encode())
    assert str(error.value) == f"column c2 is not a valid {kind}"


@table(
    ("data", "problem"),
    [
        (b"1", "it has 1 fields, expected 2"),
        (b"1,2,3", "it has 3 fields, expected 2"),
        (b"1,2\n3,4", "it has 2 CSV records, expected one"),
        (b"", "it has 0 CSV records, expected one"),
        (b'1,"2', "it is not CSV: unexpected end of data"),
        (b"1,\xff", "it is not UTF-8 at byte 2"),
        (b",2", "column c1 is empty, expected int not null"),
    ],
)
def test_what_is_no_record_of_the_columns_is_told(data, problem):
    with pytest.raises(BodyProblem) as error:
        row_of(csv_body("int not null", "int"))(data)
    assert str(error.value) == problem


def test_the_null_value_stands_for_nothing_and_an_empty_field_then_for_itself():
    assert row_of(csv_body("int", "string", null_value="NA"))(b"NA,") == (None, "")


def test_a_quoted_field_may_have_delimiters_quotes_and_line_ends():
    assert row_of(csv_body("string", "string"))(b'"a,""b""\r\nc",d\n') == ('a,"b"\r\nc', "d")


def test_another_delimiter_is_taken():
    assert row_of(csv_body("int", "int", delimiter=";"))(b"1;2") == (1, 2)


def test_further_fields_are_passed_over_if_that_is_said():
    assert row_of(csv_body("int", ignore_extra=True))(b"1,2,3") == (1,)


@table(
    ("kind", "text", "expected"),
    [
        ("string", '"7"', "7"),
        ("int", "7", 7),
        ("double", "7", 7.0),
        ("double", "7.5", 7.5),
        ("boolean", "false", False),
        ("date", '"2013-01-31"', date(2013, 1, 31)),
        ("decimal(20,10)", "1234567890.0123456789", Decimal("1234567890.0123456789")),
        ("int", "null", None),
    ],
)
def test_a_value_of_json_is_a_value_of_its_column(kind, text, expected):
    assert row_of(json_body(c=kind))(b'{"c": %s}' % text.encode()) == (expected,)


@table(
    ("kind", "text"),
    [
        ("string", "7"),
        ("string", r'"\ud800"'),
        ("int", '"7"'),
        ("int", "7.0"),
        ("int", "true"),
        ("double", "true"),
        ("boolean", "1"),
        ("date", "1"),
    ],
)
def test_a_value_of_json_of_another_type_is_none(kind, text):
    with pytest.raises(BodyProblem, match=f"^column c is not a valid {kind}$"):
        row_of(json_body(c=kind))(b'{"c": %s}' % text.encode())


@table(
    ("data", "problem"),
    [
        (b"{", "it is not JSON at character 1"),
        (b"[1]", "it is not a JSON object"),
        (b'{"a": NaN, "b": 1}', "it is not JSON"),
        (b'{"b": 1}', "column a is missing"),
        (b'{"a": null, "b": 1}', "column a is null, expected int not null"),
        (b'{"a": 1, "b": 2, "secret": 3}', "it has 1 unexpected keys, expected a, b"),
        (b"[" * 100_000, "it is not JSON"),
    ],
)
def test_what_is_no_object_of_the_columns_is_told_without_its_data(data, problem):
    with pytest.raises(BodyProblem) as error:
        row_of(json_body(a="int not null", b="int"))(data)
    assert str(error.value) == problem


def test_a_trailer_says_how_many_rows_there_are():
    assert count_of(csv_body("int", trailer="TRAILER"))(b"TRAILER,842") == 842
    assert count_of(Body("json", (), trailer="rows"))(b'{"rows": 842}') == 842


@table(
    "data",
    [
        *(b"TRAILER", b"TRAILER,x", b"TRAILER,1,2", b"trailer,1", b"1,2", b"TRAILER,\xff"),
        *(b"TRAILER,%d" % 2**63, b"TRAILER," + b"9" * 5000),
    ],
)
def test_another_last_message_is_no_trailer(data):
    with pytest.raises(BodyProblem):
        count_of(csv_body("int", trailer="TRAILER"))(data)


@table(
    "data",
    [b'{"rows": true}', b'{"rows": 1, "more": 2}', b'{"Rows": 1}', b"1", b'{"rows": 1.5}', b'{"rows": %d}' % 2**63],
)
def test_another_last_object_is_no_trailer(data):
    with pytest.raises(BodyProblem):
        count_of(Body("json", (), trailer="rows"))(data)


@given(some.text("ab ,;\"'\\\r\n\0\té\u2028"), some.sampled_from(",;\t "))
def test_a_body_has_the_fields_that_the_csv_module_finds(text, delimiter):
    try:
        records = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))
    except csv.Error:
        records = []
    fields = records[0] if len(records) == 1 else ["no record"]
    row = row_of(csv_body(*("string" for _ in fields), null_value="none", delimiter=delimiter))
    if len(records) == 1:
        assert row(text.encode()) == tuple(fields)
    else:
        with pytest.raises(BodyProblem):
            row(text.encode())


@given(some.dictionaries(some.sampled_from(["a", "b"]), some.none() | some.integers() | some.text() | some.booleans()))
def test_json_is_a_row_or_a_problem_and_nothing_else(values):
    try:
        row = row_of(json_body(a="int", b="string"))(json.dumps(values).encode())
    except BodyProblem:
        return
    assert row == (values["a"], values["b"])
