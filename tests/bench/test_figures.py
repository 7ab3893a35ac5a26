"""The benchmark's table: goals, and rows that are replaced or kept in a document."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from embedded_tests.tables import table
from tests.bench import documents, parts
from tests.bench.__main__ import MEASUREMENTS, PERFORMANCE, README
from tests.bench.figures import COLUMNS, Figure, not_met
from tests.bench.tell import Tell


@table(
    ("figure", "goal", "now", "met"),
    [
        (Figure("a", 1.034, at_most=1.03), "≤ 1.03", "1.03", "yes"),
        (Figure("a", 1.036, at_most=1.03), "≤ 1.03", "1.04", "**no**"),
        (Figure("a", 4.96, at_least=5, digits=1), "≥ 5", "5.0", "yes"),
        (Figure("a", 0.894, at_least=0.9), "≥ 0.9", "0.89", "**no**"),
        (Figure("a", 9_123.4, unit="a second", digits=0), "", "9,123 a second", ""),
    ],
)
def test_a_goal_is_met_by_the_value_that_is_told(figure, goal, now, met):
    assert figure.row("client") == ("client", "a", goal, now, met)


def test_goals_that_are_not_met_are_told():
    rows = [Figure("fast", 2, at_least=1).row("client"), Figure("slow", 2, at_most=1).row("spark")]
    assert not_met(rows) == ["spark: slow: 2.00, goal ≤ 1"]


def test_a_table_is_read_as_it_was_written():
    rows = [("client", "a ÷ b", "≤ 1", "2.00", "**no**"), ("spark", "c", "", "3 a second", "")]
    assert documents.rows_of(documents.markdown(COLUMNS, rows, ("goal",))) == rows


def test_rows_of_a_part_that_was_measured_are_replaced_and_others_kept_in_order():
    before = [("spark", "1"), ("client", "2"), ("gone", "3"), ("latency", "4"), ("latency", "5")]
    found = documents.replaced(before, [("latency", "6")], ["latency"], ("client", "latency", "spark"))
    assert found == [("client", "2"), ("latency", "6"), ("spark", "1")]


def test_what_is_between_the_marks_of_a_document_is_replaced(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- bench:a -->\nold\n<!-- /bench:a -->\nafter\n<!-- bench:b -->\n<!-- /bench:b -->\n")
    assert (documents.read(page, "a"), documents.read(page, "b")) == ("old\n", "")
    documents.write(page, "a", "new\nlines\n")
    documents.write(page, "b", "more\n")
    assert page.read_text() == (
        "before\n<!-- bench:a -->\nnew\nlines\n<!-- /bench:a -->\nafter\n<!-- bench:b -->\nmore\n<!-- /bench:b -->\n"
    )
    with pytest.raises(ValueError, match="bench:c"):
        documents.read(page, "c")


@table(
    ("page", "name"),
    [
        (MEASUREMENTS, "figures"),
        (MEASUREMENTS, "runs"),
        (PERFORMANCE, "latency-put"),
        (PERFORMANCE, "latency-get"),
        (README, "headlines"),
    ],
)
def test_the_documents_have_the_marks_and_something_between_them(page, name):
    assert documents.read(page, name)


def test_the_documents_have_figures_of_parts_that_there_are():
    found = {row[0] for row in documents.rows_of(documents.read(MEASUREMENTS, "figures"))}
    assert found <= set(parts.ORDER)


def test_every_part_has_a_title_and_a_function_to_run(binding):
    for name in parts.names():
        part = parts.part(name)
        assert part.TITLE
        assert callable(part.run)


def test_rounds_end_when_their_time_is_over_and_are_three_at_least(clock, monkeypatch):
    monkeypatch.setattr("tests.bench.tell.time", clock)
    out = io.StringIO()
    tell = Tell(Console(file=out))
    tell.begin("client", "loops")
    clock.tick_s = 10
    assert list(tell.rounds("put", 50, seconds=5)) == [0, 1, 2, 3]
    clock.tick_s = 0
    assert list(tell.rounds("get", 5, seconds=5)) == [0, 1, 2, 3, 4, 5]
    said = out.getvalue().splitlines()
    assert said[0] == "client: loops"
    assert said[1].startswith("client: put, warming up, ")
