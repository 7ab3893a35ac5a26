"""What ``mqgroups pipeline`` prints: its report as tables."""

from __future__ import annotations

import io
from dataclasses import replace

from rich.console import Console

from mqgroups.cli.batch_lines import report_table, table_of_rejected
from mqgroups.spark.pipeline.report import report_of
from tests.spark.test_pipeline_report import BAD, FIRST, SECOND


def shown(renderable) -> str:
    text = io.StringIO()
    Console(file=text, width=120).print(renderable)
    return text.getvalue()


def test_the_table_says_how_much_how_late_and_what_was_rejected():
    report = report_of("P", [FIRST, SECOND])
    text = shown(report_table(report))
    for words in ("messages read", "80", "latency, median", "2.0 s", "groups rejected", "gap"):
        assert words in text
    assert "message 2: column a is no int" in shown(table_of_rejected(report))


def test_many_rejects_are_counted_and_the_first_shown():
    text = shown(table_of_rejected(report_of("P", [replace(FIRST, rejected=(BAD,) * 25)])))
    assert text.count("column a is no int") == 10
    assert "and 15 more" in text


def test_a_detail_is_shown_as_it_is_and_not_as_markup():
    bad = replace(BAD, detail="column [red] is no int[/bold]")
    assert bad.detail in shown(table_of_rejected(report_of("P", [replace(FIRST, rejected=(bad,))])))


def test_without_groups_that_passed_there_is_no_latency_and_without_rejects_no_table_of_them():
    report = report_of("P", [replace(FIRST, latencies_s=(), rejected=())])
    assert table_of_rejected(report) is None
    assert "latency, median" in shown(report_table(report))
