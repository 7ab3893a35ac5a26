"""Tables that fit, and words for numbers, sizes and times."""

from __future__ import annotations

import io
from collections import Counter
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from embedded_tests.tables import table
from mqgroups.cli import words
from mqgroups.cli.table import Column, Listing

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


@table(("many", "said"), [(0, "0 groups"), (1, "1 group"), (2, "2 groups"), (12_000, "12,000 groups")])
def test_a_number_has_the_form_of_its_noun(many, said):
    assert words.number(many, "group") == said
    assert words.number(1, "entry", "entries") == "1 entry"


@table(
    ("seconds", "said"),
    [
        (0, "0 s"),
        (59.9, "59 s"),
        (60, "1 m"),
        (3725, "1 h 2 m"),
        (3600, "1 h"),
        (90_000, "1 d 1 h"),
        (86_400, "1 d"),
        (-5, "0 s"),
    ],
)
def test_a_span_has_at_most_two_units(seconds, said):
    assert words.span(seconds) == said


def test_put_times_are_read_and_written():
    assert words.put_time(NOW) == "2026010112000000"
    assert words.timestamp("2026010112000099") == "2026-01-01 12:00:00"
    assert words.age("2026010111590000", NOW) == "1 m"
    assert (words.age("", NOW), words.timestamp("today")) == ("-", "today")
    assert words.iso("2026010112000099") == "2026-01-01T12:00:00.99Z"
    assert words.iso("") is None


ROWS = st.lists(
    st.lists(st.text(st.characters(codec="ascii"), max_size=30), min_size=4, max_size=4), min_size=1, max_size=5
)
LISTING: Listing[list[str]] = Listing(
    [
        Column("one", lambda row: row[0]),
        Column("two", lambda row: row[1], rank=1),
        Column("three", lambda row: row[2], rank=2),
        Column("four", lambda row: row[3], rank=9),
    ],
    lambda row: dict(zip("abcd", row, strict=True)),
)


def drawn(rows, width):
    """Return the lines of a table, and the columns that it leaves out."""
    table, left_out = LISTING.table(rows, width)
    text = io.StringIO()
    Console(file=text, width=width).print(table)
    return [line.rstrip() for line in text.getvalue().splitlines()], left_out


@given(ROWS, st.integers(40, 200))
def test_no_line_is_longer_than_the_terminal_none_controls_it_and_nothing_that_is_shown_is_missing(rows, width):
    lines, left_out = drawn(rows, width)
    assert all(len(line) <= width and line.isprintable() for line in lines)
    shown = [at for at, column in enumerate(LISTING.columns) if column.header in lines[0].split()]
    texts = ["".join(each if each.isprintable() else "?" for each in row[at]) for row in rows for at in shown]
    printed = Counter("".join(lines[1:]).replace(" ", ""))
    assert printed == Counter("".join(texts).replace(" ", ""))
    # A column is shown, or it is said that it is left out, or there is nothing in it.
    for at, column in enumerate(LISTING.columns):
        assert at in shown or column.header in left_out or not any(row[at] for row in rows)


def test_the_least_important_columns_are_left_out_and_named():
    rows = [["a" * 12, "b" * 12, "c" * 12, "d" * 12]]
    assert drawn(rows, 60)[1] == []
    assert drawn(rows, 50)[1] == ["four"]
    assert drawn(rows, 30)[1] == ["three", "four"]
    assert drawn(rows, 20)[1] == ["two", "three", "four"]


def test_a_column_without_a_text_is_not_shown():
    lines, left_out = drawn([["a", "b", "", ""]], 60)
    assert (lines[0].split(), left_out) == (["one", "two"], [])


def test_a_long_text_is_wrapped():
    rows = [["a" * 100, "b", "", ""]]
    assert "".join(drawn(rows, 40)[0]).count("a") == 100
