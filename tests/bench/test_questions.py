"""The benchmark's table: goals, rows that are replaced or kept, and the documents that it is written into."""

from __future__ import annotations

import importlib

import pytest

from embedded_tests.tables import table
from tests.bench import documents, growth, questions
from tests.bench.documents import MEASUREMENTS, PERFORMANCE, README
from tests.bench.questions import PARTS, QUESTIONS, Question
from tests.bench.run import Run


def question(**fields):
    return Question("client", "put", "What?", "a ÷ b", **fields)


@table(
    ("asked", "value", "goal", "told"),
    [
        (question(at_most=1.03), 1.034, "≤ 1.03", "1.03"),
        (question(at_most=1.03), 1.036, "≤ 1.03", "**1.04**"),
        (question(at_least=5, digits=1), 4.96, "≥ 5", "5.0"),
        (question(at_least=0.9), 0.894, "≥ 0.9", "**0.89**"),
        (question(unit="s", digits=0), 9_123.4, "", "9,123 s"),
    ],
)
def test_a_goal_is_met_by_the_value_that_is_told(asked, value, goal, told):
    assert (asked.goal, asked.told(value)) == (goal, told)


def test_a_row_has_the_new_figure_or_that_of_the_same_question_or_none(monkeypatch):
    measured, kept, changed = (Question("client", name, name, "a ÷ b", headline="{} times") for name in "abc")
    monkeypatch.setattr(questions, "QUESTIONS", (measured, kept, changed))
    before = [
        ("client", "a", "a ÷ b", "", "1"),
        ("client", "b", "a ÷ b", "", "**2**"),
        ("client", "c", "b ÷ a", "", "3"),
    ]
    rows = questions.table({("client", "a"): 4.0}, before)
    assert [row[-1] for row in rows] == ["4.00", "**2**", questions.UNKNOWN]
    assert questions.headlines(rows) == ["- 4.00 times", "- 2 times"]


def test_a_table_is_read_as_it_was_written():
    rows = [("client", "a ÷ b", "≤ 1", "**2.00**"), ("spark", "c", "", "3 s")]
    assert documents.rows_of(documents.markdown(("part", "measured", "goal", "now"), rows, ("now",))) == rows


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


def test_the_documents_have_the_rows_of_the_benchmark():
    before = documents.rows_of(documents.read(MEASUREMENTS, "figures"))
    rows = questions.table({}, before)
    assert before == rows
    assert documents.read(README, "headlines").splitlines() == questions.headlines(rows)
    assert {row[0] for row in documents.rows_of(documents.read(MEASUREMENTS, "runs"))} <= set(PARTS)
    assert all(documents.read(PERFORMANCE, name) for name in ("latency-put", "latency-get"))


def test_a_question_has_a_name_of_its_own_and_a_part_to_measure_it(binding):
    assert len({(each.part, each.name) for each in QUESTIONS} | {each.head for each in QUESTIONS}) == 2 * len(QUESTIONS)
    assert all(callable(importlib.import_module(f"tests.bench.{part}").measure) for part in PARTS)


def test_rounds_end_when_their_time_is_over_and_are_three_at_least(clock, monkeypatch):
    monkeypatch.setattr("tests.bench.run.time", clock)
    clock.tick_s = 10
    assert list(Run().rounds("put", 50, seconds=5)) == [0, 1, 2, 3]
    clock.tick_s = 0
    assert list(Run().rounds("get", 5, seconds=5)) == [0, 1, 2, 3, 4, 5]


@table("case", list(growth.CASES))
def test_a_case_of_growth_leaves_things_as_they_were_with_few_of_everything(case):
    assert growth.measured(case, 2, 4, 3, range(3)) > 0
