"""Tables that fit, and words for numbers, sizes and times."""

from __future__ import annotations

import csv
import io
from datetime import UTC, datetime, timedelta

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from embedded_tests.tables import table
from mqgroups.cli import words
from mqgroups.cli.table import Column, Listing

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


@table(("many", "said"), [(0, "0 groups"), (1, "1 group"), (2, "2 groups"), (12_000, "12,000 groups")])
def test_a_number_has_the_form_of_its_noun(many, said):
    assert words.number(many, "group") == said
    assert words.number(1, "entry", "entries") == "1 entry"


@table(
    ("data_bytes", "said"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 KB"),
        (999_949, "999.9 KB"),
        (999_950, "1.0 MB"),
        (2_500_000_000, "2.5 GB"),
    ],
)
def test_a_size_is_written_in_its_unit(data_bytes, said):
    assert words.size(data_bytes) == said


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


@table(("text", "seconds"), [("90", 90), ("90s", 90), ("15m", 900), ("1h", 3600), ("2 d", 172_800), ("1.5h", 5400)])
def test_a_duration_is_a_number_with_a_unit(text, seconds):
    assert words.Duration().convert(text, None, None) == timedelta(seconds=seconds)


@table("text", ["", "h", "-1s", "1 week", "1h30m", "9" * 30 + "d"])
def test_what_is_no_duration_is_refused(text):
    with pytest.raises(click.BadParameter):
        words.Duration().convert(text, None, None)


ROWS = st.lists(
    st.lists(st.text(st.characters(codec="ascii"), max_size=30), min_size=4, max_size=4), min_size=1, max_size=5
)
LISTING: Listing[list[str]] = Listing(
    [
        Column("one", lambda row: row[0], may_cut=True),
        Column("two", lambda row: row[1], rank=1, may_cut=True),
        Column("three", lambda row: row[2], rank=2, may_cut=True, right=True),
        Column("four", lambda row: row[3], rank=9),
    ],
    lambda row: dict(zip("abcd", row, strict=True)),
)


@given(ROWS, st.integers(20, 200))
def test_no_line_is_longer_than_the_terminal_and_none_controls_it(rows, width):
    for line in LISTING.lines(rows, rows, width=width):
        text = "  ".join(part for part, _ in line)
        assert len(text) <= width
        assert text.isprintable()


@given(ROWS)
def test_everything_is_shown_where_there_is_room(rows):
    for width in (None, 150):
        first, *others = LISTING.lines(rows, rows, width=width)
        assert [part.strip() for part, _ in first] == ["one", "two", "three", "four"]
        for row, line in zip(rows, others, strict=True):
            shown = ["".join(each if each.isprintable() else "?" for each in text).strip() for text in row]
            assert [part.strip() for part, _ in line] == shown


def test_details_are_left_out_before_a_text_is_cut():
    rows = [["a" * 12, "b" * 12, "c" * 12, "d" * 12]]
    headers = {
        width: [part.strip() for part, _ in next(LISTING.lines(rows, rows, width=width))]
        for width in (60, 50, 40, 34, 30)
    }
    assert headers[60] == ["one", "two", "three", "four"]
    assert headers[50] == headers[40] == headers[34] == ["one", "two", "three"]
    assert headers[30] == ["one", "two"]


def test_a_column_without_a_text_is_left_out_before_a_text_is_cut():
    rows = [["a" * 12, "b" * 12, "", ""]]
    headers = {
        width: [part.strip() for part, _ in next(LISTING.lines(rows, rows, width=width))] for width in (60, 37, 36, 26)
    }
    assert headers[60] == ["one", "two", "three", "four"]
    assert headers[37] == headers[36] == headers[26] == ["one", "two"]


@table(
    ("value", "shown"),
    [("=cmd|'/c calc'!A1", "'=cmd|'/c calc'!A1"), ("@SUM(1)", "'@SUM(1)"), (-7, "-7"), ("a\x1b[2J\r", "a?[2J?")],
)
def test_a_value_of_csv_neither_controls_a_terminal_nor_is_a_formula(value, shown):
    row, titles = {"name": value}, {"name": shown}
    lines = list(Listing((), lambda values: values).csv_lines([row]))
    assert list(csv.DictReader(io.StringIO("\n".join(lines)))) == [titles]


def test_a_value_of_two_lines_stays_one_value_of_csv():
    row = {"do": "this\nand that", "name": "a"}
    lines = list(Listing((), lambda values: values).csv_lines([row]))
    assert list(csv.DictReader(io.StringIO("\n".join(lines)))) == [row]
