"""The format in SQL: temporary views read, ``INSERT INTO … WITH`` writes, and options of tables are refused with a remedy."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed")

from mqgroups.spark import cause
from tests.spark.versions import PLANS_AGAIN

pytestmark = [pytest.mark.slow]


def listed(options, between):
    return ", ".join(f"'{name}'{between}'{value}'" for name, value in options.items())


@pytest.fixture
def reading(mq_options, owner):
    """The options of a read, as a temporary view takes them."""
    return listed({**mq_options, "queue": owner.queue}, " ")


def test_a_temporary_view_has_the_groups_of_its_first_query_until_it_is_replaced(spark, owner, reading):
    view = f"CREATE OR REPLACE TEMPORARY VIEW orders USING ibmmq OPTIONS ({reading})"
    spark.sql(view)
    owner.put_raw_group([b"a1", b"a2"])
    query = "SELECT msg_seq_number, CAST(value AS STRING) AS text FROM orders ORDER BY text"
    assert [tuple(row) for row in spark.sql(query).collect()] == [(1, "a1"), (2, "a2")]
    owner.put_raw_group([b"b1"])
    assert [row.text for row in spark.sql(query).collect()] == ["a1", "a2", *(["b1"] if PLANS_AGAIN else [])]
    spark.sql(view)
    assert [row.text for row in spark.sql(query).collect()] == ["a1", "a2", "b1"]


def test_insert_into_a_table_puts_groups(spark, owner, mq_options, make_batches):
    batches = make_batches()
    options = listed({**mq_options, "queue": batches.queue, "statusQueue": batches.status_queue}, "=")
    spark.sql("CREATE TABLE outgoing (group_key STRING, msg_seq_number INT, value STRING) USING ibmmq")
    try:
        rows = "SELECT /*+ REPARTITION(1) */ * FROM VALUES ('a', 2, 'a:2'), ('a', 1, 'a:1')"
        spark.sql(f"INSERT INTO outgoing WITH ({options}) {rows}").collect()
        with pytest.raises(
            Exception, match=r"read with CREATE TEMPORARY VIEW … USING ibmmq OPTIONS .* is for INSERT INTO"
        ):
            spark.sql(f"SELECT * FROM outgoing WITH ({listed({**mq_options, 'queue': batches.queue}, '=')})").collect()
        with pytest.raises(Exception, match=r"UNSUPPORTED_OVERWRITE|WriteRefused|overwrite"):
            spark.sql(f"INSERT OVERWRITE outgoing WITH ({options}) VALUES ('b', 1, 'b:1')").collect()
    finally:
        spark.sql("DROP TABLE outgoing")
    assert batches.groups() == {"a": [b"a:1", b"a:2"]}


def test_options_of_a_table_are_refused_with_what_to_use_instead(spark, reading):
    with pytest.raises(Exception, match="provider") as refused:
        spark.sql(f"CREATE TABLE orders_table USING ibmmq OPTIONS ({reading})")
    assert "Use CREATE TEMPORARY VIEW … OPTIONS to read, and INSERT INTO … WITH to write" in cause(refused.value)


def test_options_of_a_table_with_columns_are_missed_at_its_first_use(spark, reading):
    spark.sql(f"CREATE TABLE orders_table (value BINARY) USING ibmmq OPTIONS ({reading})")
    try:
        for statement in ("SELECT * FROM orders_table", "INSERT INTO orders_table VALUES (X'00')"):
            with pytest.raises(Exception, match="no options were given") as refused:
                spark.sql(statement).collect()
            assert "Use CREATE TEMPORARY VIEW … OPTIONS to read, and INSERT INTO … WITH to write" in cause(
                refused.value
            )
    finally:
        spark.sql("DROP TABLE orders_table")
