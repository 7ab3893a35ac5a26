"""Records of micro-batches, and the report made of them: a value, and JSON."""

import json
from dataclasses import replace

import pytest

from embedded_tests.tables import table
from mqgroups.spark.errors import CheckpointUnusable
from mqgroups.spark.pipeline.records import BatchRecord, BatchRecords, Rejected
from mqgroups.spark.pipeline.report import Latency, quantile, report_of, write_json

BAD = Rejected(group="47" * 24, reason="body", detail="message 2: column a is no int", messages=10)
FIRST = BatchRecord(
    query="q",
    batch=0,
    began_s=100.0,
    done_s=102.0,
    groups=3,
    messages=40,
    rows=27,
    rows_out=4,
    groups_out=2,
    latencies_s=(3.0, 1.0),
    rejected=(BAD,),
)
SECOND = replace(
    FIRST, batch=1, began_s=110.0, done_s=111.0, latencies_s=(2.0,), rejected=(BAD, replace(BAD, reason="gap"))
)


def test_records_come_back_as_they_were_added(tmp_path):
    records = BatchRecords(tmp_path / "report")
    assert records.open() == []
    records.add(FIRST)
    records.add(SECOND)
    assert BatchRecords(tmp_path / "report").open() == [FIRST, SECOND]


@pytest.mark.parametrize("left", [1, 20, 200])
def test_half_a_line_is_cut_off_and_the_next_record_is_whole(tmp_path, left):
    records = BatchRecords(tmp_path)
    records.open()
    records.add(FIRST)
    records.add(SECOND)
    path = tmp_path / "batches.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + lines[1][:left])
    assert records.read() == [FIRST]
    assert records.open() == [FIRST]
    records.add(SECOND)
    assert records.read() == [FIRST, SECOND]


@pytest.mark.parametrize("line", ["{}", "[]", "7", "?", '{"query": "q"}'])
def test_a_line_of_something_else_is_told_with_its_number(tmp_path, line):
    records = BatchRecords(tmp_path)
    records.open()
    records.add(FIRST)
    with (tmp_path / "batches.jsonl").open("a") as file:
        file.write(line + "\n")
    with pytest.raises(CheckpointUnusable, match=r"line 2 of .*batches.jsonl"):
        records.open()


def test_records_of_another_checkpoint_are_refused(tmp_path):
    records = BatchRecords(tmp_path)
    records.check_query("q", None)
    records.check_query("q", SECOND)
    with pytest.raises(CheckpointUnusable, match=r"of query q, but the checkpoint is of query r.*--new-checkpoint"):
        records.check_query("r", SECOND)


def test_a_report_is_the_sum_of_its_micro_batches():
    report = report_of("P", [FIRST, SECOND])
    assert (report.micro_batches, report.groups, report.messages, report.rows) == (2, 6, 80, 54)
    assert (report.rows_out, report.groups_out, report.busy_s) == (8, 4, 3.0)
    assert report.latency == Latency(median_s=2.0, p95_s=3.0, max_s=3.0)
    assert report.lag_s == 1.0
    assert report.reasons == {"body": 2, "gap": 1}
    assert report.rate == pytest.approx(80 / 3)


@table(("part", "expected"), [(0.5, 2), (0.95, 4), (0.0, 1), (1.0, 4)])
def test_a_quantile_is_one_of_the_values(part, expected):
    assert quantile([1, 2, 3, 4], part) == expected


def test_json_has_the_sums_and_each_micro_batch(tmp_path):
    path = write_json(report_of("P", [FIRST, SECOND]), [FIRST, SECOND], tmp_path)
    found = json.loads(path.read_text())
    assert (found["pipeline"], found["messages"], found["latency"]["p95_s"]) == ("P", 80, 3.0)
    assert found["reasons"] == {"body": 2, "gap": 1}
    assert [batch["batch"] for batch in found["batches"]] == [0, 1]
    assert found["rejected"][0] == {
        "group": "47" * 24,
        "reason": "body",
        "detail": "message 2: column a is no int",
        "messages": 10,
    }


def test_without_groups_that_passed_there_is_no_latency():
    report = report_of("P", [replace(FIRST, latencies_s=(), rejected=())])
    assert report.latency is None
    assert report.lag_s is None


@table(("latencies_s", "lag_s"), [((2.5, 7.25), 5.25), ((2.0,), 0.0), ((1.5,), 0.0)])
def test_the_lag_is_the_longest_latency_without_the_time_of_the_micro_batch(latencies_s, lag_s):
    assert report_of("P", [replace(FIRST, latencies_s=latencies_s)]).lag_s == lag_s
