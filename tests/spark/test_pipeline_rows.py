"""Whatever is in a body, the parser in Spark's tasks makes a row, a trailer or a problem of it that Arrow can hold."""

from __future__ import annotations

import json

import pytest

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
pytest.importorskip("pyspark", reason="pyspark is not installed")

from hypothesis import example, given  # noqa: E402 - after what may be missing
from hypothesis import strategies as some  # noqa: E402 - likewise

from mqgroups import errors  # noqa: E402 - likewise
from mqgroups.spark.pipeline.body import Body, column  # noqa: E402 - needs what may be missing
from mqgroups.spark.pipeline.rows import parser  # noqa: E402 - likewise

KINDS = ("string", "int", "bigint", "double", "boolean", "date", "timestamp", "decimal(38,10)", "decimal(3,0)")
# Each kind's ends, what is just behind them, and what Python reads as a number or a time and Arrow may not.
WORDS = [
    *("", "\0", "\ud800", "Ø", "true", "-0", "1e999", "1e-999", "NaN", "-inf", "0x1", "1_0", "٣", "9" * 38, "9" * 5000),
    *(
        "2147483648",
        "9223372036854775807",
        "9223372036854775808",
        "-9223372036854775809",
        "1e999999999",
        "1e9999999999999999999",
    ),
    *("0001-01-01", "9999-12-31", "10000-01-01", "0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59", "2016-W01"),
]
NUMBERS = some.sampled_from([0, True, -(2**31) - 1, 2**63 - 1, 2**63, 10**4000, 0.1, 1e308, float("inf")])
VALUES = some.none() | NUMBERS | some.sampled_from(WORDS) | some.text() | some.lists(some.integers(), max_size=1)
OBJECTS = some.dictionaries(some.sampled_from(["c0", "TRAILER", "\ud800"]), VALUES, max_size=2)
BODIES = (
    some.binary()
    | some.builds(lambda values: json.dumps(values).encode(), OBJECTS)
    | some.builds(lambda words: ",".join(words).encode("utf-8", "surrogatepass"), some.lists(some.sampled_from(WORDS)))
    | some.builds(lambda word: b'{"c0": %s}' % word.encode("utf-8", "surrogatepass"), some.sampled_from(WORDS))
    | some.builds(lambda word: b"TRAILER," + word.encode("utf-8", "surrogatepass"), some.sampled_from(WORDS))
)


@given(some.sampled_from(["csv", "json"]), some.sampled_from(KINDS), BODIES, some.booleans())
@example("json", "string", b'{"c0": "\\ud800"}', False)
@example("csv", "string", b"TRAILER," + b"9" * 5000, True)
@example("csv", "string", b"TRAILER,9223372036854775808", True)
@example("json", "string", b'{"TRAILER": 9223372036854775808}', True)
@example("json", "double", b'{"c0": 1e9999999999999999999}', False)
def test_any_body_is_a_row_a_trailer_or_a_problem_that_arrow_holds(format_name, kind, data, last):
    parse = parser(Body(format_name, (column("c0", kind),), trailer="TRAILER"))
    for name, ccsid in ((None, 1208), ("MQSTR", 1208), ("MQSTR", 500)):
        described = (pa.array([name], pa.string()), pa.array([ccsid]), pa.array([546]))
        (found,) = parse(iter([(pa.array([data], pa.binary()), pa.array([last]), *described)]))
        check_one(found)


def check_one(found):
    found.validate(full=True)
    (result,) = found.to_pylist()
    assert [name for name, value in result.items() if value is not None] in (["row"], ["trailer"], ["problem"])


def test_a_body_is_read_by_its_ccsid_and_one_without_a_code_page_is_no_problem_of_its_own():
    def parsed(data, name, ccsid, encoding=546):
        parse = parser(Body("json", (column("c0", "string"),)))
        described = (pa.array([name], pa.string()), pa.array([ccsid]), pa.array([encoding]))
        (found,) = parse(iter([(pa.array([data], pa.binary()), pa.array([False]), *described)]))
        (result,) = found.to_pylist()
        return result["problem"] or result["row"]["c0"]

    text = '{"c0": "ä"}'
    assert parsed(text.encode("cp500"), "MQSTR", 500) == "ä"
    assert parsed(("\ufeff" + text).encode("utf-16-be"), "MQSTR", 1200) == "ä"
    assert parsed(("\ufeff" + text).encode(), None, 819) == "ä"
    assert parsed(b"\xff", "MQSTR", 1208).startswith("the byte at position 0 is not text in its CCSID, 1208")
    with pytest.raises(errors.CcsidUnknown, match=r"CCSID 930 .*convert=True"):
        parsed(b"\x0e\x45\x62\x0f", "MQSTR", 930)
