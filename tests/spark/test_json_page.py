"""The programs of docs/spark/json.md, as they stand there."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed")
pytestmark = pytest.mark.slow

PAGE = (Path(__file__).parents[2] / "docs" / "spark" / "json.md").read_text(encoding="utf-8")
READ, TO_JDBC = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
TEXTS = {
    "json": ('{"customer":"a","pieces":1}', '{"customer":"b"}', "no JSON", '{"customer":"c","pieces":3}'),
    "csv": ("a,1", "b,", "one,two,three", "c,3"),
}


def put(owner, *groups):
    """Put groups, and rows that are in no group."""
    for rows in groups:
        if isinstance(rows, str):
            owner.put_raw(rows.encode(), "ORDERS")
            continue
        with owner.producer(queue="ORDERS") as producer, producer.group() as group:
            for row in rows:
                group.put(row)


# It connects without user and password.
@pytest.mark.embedded
@pytest.mark.parametrize("kind", TEXTS)
def test_the_program_puts_a_group_aside_as_a_whole_if_a_row_of_it_fails(spark, owner, tmp_path, monkeypatch, kind):
    good, lacking, corrupt, last = TEXTS[kind]
    owner.empty("ORDERS")
    put(owner, [good, last], [good, lacking], [corrupt, good, last], corrupt, last)
    monkeypatch.setattr(sys, "argv", ["program.py", str(tmp_path)])
    exec(READ.replace("from_json", f"from_{kind}"), {"__name__": "__main__"})
    orders = spark.read.parquet(f"{tmp_path}/orders")
    rejects = spark.read.parquet(f"{tmp_path}/rejects")
    assert sorted((row.customer, row.pieces) for row in orders.collect()) == [("a", 1), ("c", 3), ("c", 3)]
    assert sorted(row.text for row in rejects.collect()) == sorted([good, lacking, corrupt, good, last, corrupt])
    assert orders.select("msg_id").union(rejects.select("msg_id")).distinct().count() == 9
    owner.empty("ORDERS")


def test_a_micro_batch_that_is_repeated_is_in_the_database_once(spark, owner, mq_options, tmp_path):
    url = f"jdbc:derby:{tmp_path}/orders;create=true"
    connection = spark.sparkContext._jvm.java.sql.DriverManager.getConnection(url)
    statement = connection.createStatement()
    for table in ("done (query VARCHAR(36), number INT, PRIMARY KEY (query, number))", "orders (id CLOB, text CLOB)"):
        statement.executeUpdate(f"CREATE TABLE {table}")
    names: dict[str, Any] = {"URL": url}
    exec(TO_JDBC, names)
    owner.put_raw_group([b"a1", b"a2"])
    ends = False

    def store(batch, number):
        names["store"](batch, number)
        assert ends

    frame = spark.readStream.format("ibmmq").options(**mq_options, queue=owner.queue).load()
    writer = frame.writeStream.foreachBatch(store).option("checkpointLocation", str(tmp_path / "checkpoint"))
    for ends in (False, True):
        query = writer.trigger(availableNow=True).start()
        try:
            query.awaitTermination(120)
        except Exception:
            assert not ends
    rows = spark.read.jdbc(url, "orders").collect()
    assert sorted(row.TEXT for row in rows) == ["a1", "a2"]
    connection.close()
