"""What ``mqgroups pipeline`` prints: its report."""

from __future__ import annotations

from dataclasses import replace

from mqgroups.cli.batch_lines import report_lines
from mqgroups.spark.pipeline.report import report_of
from tests.spark.test_pipeline_report import BAD, FIRST, SECOND


def shown(report) -> str:
    return "\n".join(report_lines(report))


def test_the_report_says_how_much_how_late_and_what_was_rejected():
    text = shown(report_of("P", [FIRST, SECOND]))
    for words in ("messages read", "80", "latency, median", "2.0 s", "groups rejected", "gap"):
        assert words in text
    assert "message 2: column a is no int" in text


def test_many_rejects_are_counted_and_the_first_shown():
    text = shown(report_of("P", [replace(FIRST, rejected=(BAD,) * 25)]))
    assert text.count("column a is no int") == 10
    assert "and 15 more" in text


def test_without_groups_that_passed_there_is_no_latency_and_without_rejects_none_is_shown():
    text = shown(report_of("P", [replace(FIRST, latencies_s=(), rejected=())]))
    assert "latency, median" in text
    assert "rejected " not in text.partition("groups rejected")[2]
