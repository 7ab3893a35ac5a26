"""``examples/pipeline/pipeline.py`` as it is, while its driver, JVM and Python workers are killed at points of a micro-batch.

With ``--nightly``, and where this file is named as in ``make faults OF=spark``, at one after the other. ``make demo
OF=pipeline-cluster`` kills executors, a worker and the queue manager, too.
"""

from __future__ import annotations

import runpy
import sys

import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed")

import mqgroups
from examples.pipeline import compare, feed
from examples.pipeline.kills import DELAYS, DONE, PLANNED, PROGRAM, REJECTS, Kill, Kind, Program
from mqgroups.demo.source import Day

pytestmark = [pytest.mark.slow, pytest.mark.embedded]

KILLS = (
    Kill(Kind.DRIVER, 0, PLANNED, 0.5),
    Kill(Kind.DRIVER, 1, REJECTS),
    Kill(Kind.DRIVER, 2, DELAYS),
    Kill(Kind.DRIVER, 3, DELAYS, 0.3),
    Kill(Kind.DRIVER, 3, DONE),
)
# One table is written, the other results are not.
SAMPLE = KILLS[2]
FLIGHT = "2013,1,{day},517,515,{late},830,819,11,{carrier},{number},N14228,EWR,IAH,227,1400,5,15,2013-01-01 05:00:00"
ROWS = (
    "value BINARY, key BINARY, group_id BINARY, msg_seq_number INT, last_msg_in_group BOOLEAN, msg_type INT, feedback INT, "
    "headers MAP<STRING, BINARY>"
)
SPOILT = (
    ("trailer", lambda flights: feed.with_trailer(flights[:-1], count=3)),
    ("unique", lambda flights: feed.with_trailer([*flights, flights[0]])),
    ("body", lambda flights: feed.with_trailer([f"{flights[0]},more", *flights[1:]])),
    ("body", lambda flights: feed.with_trailer([flights[0].replace("2013", "", 1)])),
)


def groups():
    """Return the groups of four micro-batches, each with a bad one, and the days of the good ones."""
    found, good = [], []
    for day in range(16):
        flights = [
            FLIGHT.format(day=day + 1, late=late, carrier=carrier, number=number)
            for number, (carrier, late) in enumerate([("UA", day), ("AA", 20), ("UA", "NA")])
        ]
        if day % 4 == 1:
            reason, spoil = SPOILT[day // 4]
            found.append(feed.Group(spoil(flights), reason))
        else:
            found.append(feed.Group(feed.with_trailer(flights)))
            good.append(Day(f"2013-01-{day + 1:02}", flights))
    return found, good


@pytest.mark.parametrize("kills", [[SAMPLE], pytest.param(KILLS, marks=pytest.mark.nightly)], ids=["one", "all"])
def test_a_driver_that_is_killed_does_every_group_once(
    kills, own_queue_manager, spark_environment, monkeypatch, tmp_path
):
    q_mgr = own_queue_manager("QM4")
    mq = {"mq.queueManager": "QM4", "mq.channel": q_mgr.channel, "mq.connectionNameList": q_mgr.conn_name}
    for name, value in {**spark_environment, **q_mgr.environment()}.items():
        monkeypatch.setenv(name, value)
    folder = tmp_path / "results"
    program = Program(folder, tmp_path / "log", {"spark.master": "local[2]"}, mq, list(kills), lambda _: None)
    given, good = groups()
    with mqgroups.connect("QM4", q_mgr.channel, q_mgr.conn_name) as connection:
        with connection.group_producer(feed.QUEUE, name=feed.NAME) as producer:
            feed.put(producer, given)
        starts = 1
        while program.run():
            starts += 1
        assert (starts, program.kills) == (len(kills) + 1, [])
        bad = [group for group in given if group.reason is not None]
        assert list(compare.differences(folder, connection, compare.delays(good), bad)) == []


@pytest.fixture
def of_program(monkeypatch, tmp_path):
    """The functions of the program, by name. Its folder is ``tmp_path``."""
    monkeypatch.setattr(sys, "argv", [str(PROGRAM), str(tmp_path)])
    return runpy.run_path(str(PROGRAM))


def test_a_day_that_does_not_exist_rejects_its_group_and_does_not_end_the_query(spark, of_program):
    def message(key, number, text):
        return (text.encode(), key, key, number, number == 2, 8, 0, {})

    rows = []
    for key, day in ((b"good", 28), (b"bad", 32)):
        flight = FLIGHT.format(day=day, late=1, carrier="UA", number=1)
        rows += [message(key, 1, flight), message(key, 2, "TRAILER,1")]
    batch = of_program["parsed"](spark.createDataFrame(rows, ROWS)).persist()
    failed = of_program["failed"](batch)
    assert [(row.key, row.reason, row.detail) for row in failed.collect()] == [
        (b"bad", "body", "message 1 is no flight")
    ]
    flights = batch.join(failed, "key", "left_anti").where("trailer IS NULL").select("flight.*")
    (row,) = spark.sql(of_program["DELAYS"], flights=flights).collect()
    assert (str(row.date), row.carrier, row.flights) == ("2013-01-28", "UA", 1)


def test_a_table_has_only_what_the_last_attempt_at_a_micro_batch_has_written(spark, of_program, tmp_path):
    store = of_program["store"]
    rows = spark.createDataFrame([("G", "body"), ("H", "gap")], "key STRING, reason STRING")

    def stored():
        table = spark.read.parquet(str(tmp_path / "rejects"))
        return sorted((row.key, row.reason, row.query, row.batch) for row in table.collect())

    store("rejects", rows.limit(0), "Q", 0)
    assert stored() == []
    store("rejects", rows, "Q", 1)
    store("rejects", rows.where("key = 'G'"), "Q", 0)
    assert stored() == [("G", "body", "Q", 0), ("G", "body", "Q", 1), ("H", "gap", "Q", 1)]
    store("rejects", rows.where("key = 'H'"), "Q", 1)
    assert stored() == [("G", "body", "Q", 0), ("H", "gap", "Q", 1)]
    store("rejects", rows.limit(0), "Q", 1)
    assert stored() == [("G", "body", "Q", 0)]
