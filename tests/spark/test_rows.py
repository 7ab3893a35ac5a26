"""Messages as Arrow record batches."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from embedded_tests.tables import table
from mqgroups.mqi import constants as mq
from mqgroups.mqi import structures as st
from mqgroups.spark.browse import Got
from mqgroups.spark.option import Use
from mqgroups.spark.options import source_options
from mqgroups.spark.rows import as_array, columns, put_time_us, record_batches
from tests.spark.test_headers import header

pytest.importorskip("pyarrow", reason="pyarrow is not installed")


def options(**more):
    given = {"mq.queueManager": "QM1", "queue": "ORDERS", **{name: str(value) for name, value in more.items()}}
    return source_options(given, Use.BATCH_READ)


def got(data=b"data", status=mq.MQGS_MSG_IN_GROUP, *, stamp=b"2026112113482001", **fields):
    md = st.md(**fields)
    md[304:320] = stamp
    gmo = st.gmo(0)
    gmo[st.GMO_GROUP_STATUS] = status
    return Got(data, bytes(md), bytes(gmo))


def rows(*messages: Got, **more: Any) -> list[dict[str, Any]]:
    return [row for batch in record_batches(messages, options(**more)) for row in batch.to_pylist()]


def test_a_message_of_a_group_as_a_row():
    message = got(
        group_id=b"G" * 24, msg_seq_number=3, msg_id=b"M" * 24, correl_id=b"C" * 24, format_name=b"MQSTR", ccsid=1208
    )
    assert rows(message) == [
        {
            "value": b"data",
            "key": b"G" * 24,
            "queue": "ORDERS",
            "group_id": b"G" * 24,
            "msg_seq_number": 3,
            "last_msg_in_group": False,
            "msg_id": b"M" * 24,
            "correl_id": b"C" * 24,
            "timestamp": datetime(2026, 11, 21, 13, 48, 20, 10_000, tzinfo=UTC),
            "format": "MQSTR",
            "ccsid": 1208,
            "encoding": mq.MQENC_NATIVE,
        }
    ]


def test_a_message_in_no_group_is_a_group_of_one_and_its_key_is_its_msg_id():
    (row,) = rows(got(status=mq.MQGS_NOT_IN_GROUP, msg_id=b"M" * 24, group_id=b"S" * 24))
    assert (row["key"], row["group_id"], row["msg_seq_number"], row["last_msg_in_group"]) == (b"M" * 24, None, 1, True)


def test_the_last_message_of_a_group_says_so():
    (row,) = rows(got(status=mq.MQGS_LAST_MSG_IN_GROUP))
    assert row["last_msg_in_group"]


def test_more_columns_of_the_descriptor_when_asked_for():
    (row,) = rows(got(priority=7, persistence=0, msg_type=4, feedback=65536), includeMqmd="true")
    assert (row["priority"], row["persistence"], row["expiry"], row["backout_count"]) == (7, 0, -1, 0)
    assert (row["msg_type"], row["feedback"]) == (4, 65536)
    (row,) = rows(got(user="app"), includeMqmd="true")
    assert [row[name] for name in ("report", "user_identifier", "reply_to_q", "put_appl_name")] == [
        0,
        "app",
        None,
        None,
    ]


@table(
    ("stamp", "expected"),
    [
        (b"1970010100000000", 0),
        (b"1970010200000001", 86_400_010_000),
        (b"2000022923595999", 951_868_799_990_000),
        (b" " * 16, None),
        (bytes(16), None),
        (b"2026133313482001", None),
        (b"9999123124000000", None),
    ],
)
def test_when_a_message_was_put(stamp, expected):
    assert put_time_us(stamp) == expected


def test_record_batches_are_bounded_by_bytes_and_a_long_message_is_one_of_its_own():
    messages = [got(bytes(length)) for length in (40, 40, 40, 500, 40)]
    sizes = [[len(row["value"]) for row in batch.to_pylist()] for batch in record_batches(messages, options(), 100)]
    assert sizes == [[40, 40, 40], [500], [40]]


def test_properties_count_for_the_size_of_a_record_batch():
    message = got(header("<usr><a>%s</a></usr>" % ("x" * 60)), format_name=mq.MQFMT_RF_HEADER_2, ccsid=1208)
    batches = record_batches([message, message], options(includeHeaders="true"), 100)
    assert [batch.num_rows for batch in batches] == [1, 1]


KINDS = {
    "binary": some.binary(max_size=9),
    "string": some.text(max_size=9),
    "int32": some.integers(-(2**31), 2**31 - 1),
    "bool_": some.booleans(),
    "timestamp": some.integers(-(2**63), 2**63 - 1),
    "map_": some.dictionaries(some.text(max_size=3), some.none() | some.binary(max_size=3), max_size=3),
}


@given(some.sampled_from(sorted(KINDS)), some.data())
def test_an_array_is_the_one_that_pyarrow_makes(name, data):
    import pyarrow

    of = {"timestamp": ("us", "UTC"), "map_": (pyarrow.string(), pyarrow.binary())}
    kind = getattr(pyarrow, name)(*of.get(name, ()))
    value = KINDS[name] if name in ("bool_", "int32", "map_") else some.none() | KINDS[name]
    column = data.draw(some.lists(value, min_size=1, max_size=20))
    column = [list(row.items()) for row in column] if name == "map_" else column
    array = as_array(kind, column)
    array.validate(full=True)
    assert array.equals(pyarrow.array(column, kind))


def test_a_task_does_not_import_pandas():
    program = """if True:
        import sys
        from tests.spark.test_rows import got, options, record_batches
        next(record_batches([got()], options(includeMqmd="true", includeHeaders="true")))
        sys.exit("pandas" in sys.modules)"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_format_that_is_no_text_is_null():
    (row,) = rows(got(format_name=b"\xff" * 8))
    assert row["format"] is None


def test_a_record_batch_is_handed_over_before_the_next_message_is_asked_for():
    asked = []

    def messages():
        for number in range(4):
            asked.append(number)
            yield got(bytes(60))

    batches = record_batches(messages(), options(), 100)
    assert next(batches).num_rows == 2
    assert asked == [0, 1]


def test_there_are_the_columns_that_are_documented():
    assert list(columns(options())) == (
        "value key queue group_id msg_seq_number last_msg_in_group msg_id correl_id timestamp format ccsid encoding".split()
    )
    assert list(columns(options(includeMqmd="true", includeHeaders="true")))[12:] == (
        "priority persistence expiry backout_count msg_type feedback report put_appl_type accounting_token reply_to_q "
        "reply_to_q_mgr user_identifier put_appl_name appl_identity_data appl_origin_data headers".split()
    )
