"""examples/spark_to_database.py: orders joined with a table and added up in PostgreSQL, each once."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed")
pytest.importorskip("psycopg", reason="psycopg is not installed, so PostgreSQL is not tried")

import psycopg

from examples import spark_to_database as example
from tests.spark.versions import RUNS

pytestmark = [pytest.mark.slow, pytest.mark.embedded]


@pytest.fixture
def database(postgresql):
    """The address of a database with empty tables."""
    with psycopg.connect(postgresql) as connection:
        connection.execute("DROP TABLE IF EXISTS pieces, batches")
    example.make_tables(postgresql)
    return postgresql


def pieces(where):
    with psycopg.connect(where) as connection:
        return dict(connection.execute("SELECT country, pieces FROM pieces").fetchall())


@pytest.fixture
def micro_batch(spark):
    """A function that makes a micro-batch as Spark gives it to ``foreachBatch``."""
    spark.sparkContext.setLocalProperty("sql.streaming.queryId", "query-1")
    yield lambda *rows: spark.createDataFrame(rows, "country string, pieces int").coalesce(1)
    spark.sparkContext.setLocalProperty("sql.streaming.queryId", None)


@pytest.mark.nightly
def test_orders_are_joined_and_added_up(spark, owner, database, tmp_path):
    (tmp_path / "customers.csv").write_text("customer,country\nmiller,NO\nsmith,DK\nbrown,NO\n")
    for orders in (["miller 3", "smith 4"], ["brown 5", "nobody 6"]):
        with owner.producer(queue="ORDERS") as producer, producer.group() as group:
            for order in orders:
                group.put(order)
        for _ in range(RUNS):
            example.main(str(tmp_path), database)
    assert pieces(database) == {"NO": 8, "DK": 4, "unknown": 6}
    assert owner.on_queue("ORDERS") == []


def test_a_micro_batch_adds_its_rows_once_and_all_or_none(spark, database, micro_batch):
    with pytest.raises(psycopg.errors.NotNullViolation):
        example.store(database, micro_batch(("NO", 1), (None, 2)), 0)
    assert pieces(database) == {}
    for batch in (0, 1, 1, 0):
        example.store(database, micro_batch(("NO", 1), ("DK", 2), ("NO", 3)), batch)
    assert pieces(database) == {"NO": 8, "DK": 4}
    # That of another query is another one.
    spark.sparkContext.setLocalProperty("sql.streaming.queryId", "query-2")
    example.store(database, micro_batch(("NO", 1)), 0)
    assert pieces(database) == {"NO": 9, "DK": 4}
