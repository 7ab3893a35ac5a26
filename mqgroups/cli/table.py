"""Rows as a table that fits its terminal, as CSV, and as JSON.

A table shows the columns that fit. If they do not all fit, columns without any text are left out, then the least important ones,
and then long texts are cut. ``wide`` shows all columns, uncut. CSV and JSON have all values, whatever the table shows. Rows are
printed as they come; only the first ones of a table are collected, to find its widths.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, Generic, Literal, TypeVar

from mqgroups.cli.console import TableConsole
from mqgroups.printable import printable

Row = TypeVar("Row")
Output = Literal["table", "wide", "json", "csv"]

_BETWEEN = "  "
# What a formula begins with (OWASP, "CSV Injection").
_FORMULA = ("=", "+", "-", "@")
# A column whose texts may be cut has at least this width.
_LEAST = 10
# A column with this rank or a higher one is a detail.
_DETAIL = 5
# Widths are found from so many rows; later rows with longer texts are cut.
_SAMPLE = 500


@dataclass(frozen=True, slots=True)
class Column(Generic[Row]):
    """A column of a table.

    Attributes:
        header: its title.
        text: what a row shows in it.
        rank: 0 if the column is always there; otherwise a column with a higher rank is left out before those with a lower one.
        right: whether it is aligned to the right, as numbers are.
        may_cut: whether its texts may be cut.
        style: the colour of a row's text; empty for none.
        wide: what a row shows in it with ``wide``; by default the same.
    """

    header: str
    text: Callable[[Row], str]
    rank: int = 0
    right: bool = False
    may_cut: bool = False
    style: Callable[[Row], str] = lambda _: ""
    wide: Callable[[Row], str] | None = None

    def shown(self, row: Row, *, wide: bool) -> str:
        """Return the text of a row."""
        return printable((self.wide if wide and self.wide else self.text)(row))


@dataclass(frozen=True, slots=True)
class Listing(Generic[Row]):
    """How rows of one kind are shown.

    Attributes:
        columns: the columns of the table.
        values: of a row, for CSV and JSON.
        titles: the names of these values, for CSV without rows.
    """

    columns: Sequence[Column[Row]]
    values: Callable[[Row], dict[str, Any]]
    titles: Sequence[str] = ()

    def print_table(self, rows: Iterable[Row], *, wide: bool) -> int:
        """Print a table; nothing if there are no rows. Returns the number of rows."""
        rest = iter(rows)
        sample = list(islice(rest, _SAMPLE))
        if not sample:
            return 0
        console = TableConsole()
        number = -1
        for line in self.lines(chain(sample, rest), sample, width=None if wide else console.width):
            console.print_line(line)
            number += 1
        return number

    def lines(
        self, rows: Iterable[Row], sample: Sequence[Row], *, width: int | None
    ) -> Iterator[list[tuple[str, str]]]:
        """Yield the lines of a table: texts with their styles, padded. ``width``: of the terminal; ``None`` shows everything."""
        wide = width is None
        chosen = [
            (column, max(len(column.header), *(len(column.shown(row, wide=wide)) for row in sample)))
            for column in self.columns
        ]
        if width is not None and _width(chosen) > width:
            # Columns without a text say nothing, so they go first.
            chosen = [
                each for each in chosen if not each[0].rank or any(each[0].shown(row, wide=wide) for row in sample)
            ]
            chosen = _fitting(chosen, width)
        yield [(_padded(column.header, most, column.right), "bold") for column, most in chosen]
        for row in rows:
            texts = [(column, column.shown(row, wide=wide), most) for column, most in chosen]
            yield [
                (_padded(text if wide else _cut(text, most), most, column.right), column.style(row))
                for column, text, most in texts
            ]

    def csv_lines(self, rows: Iterable[Row]) -> Iterator[str]:
        """Yield the lines of a CSV file, the first one with titles. Lists and objects are written as JSON."""
        titles: Sequence[str] = ()
        for row in rows:
            values = self.values(row)
            if not titles:
                titles = [*values]
                yield _csv_line(titles)
            yield _csv_line([_plain(value) for value in values.values()])
        if not titles and self.titles:
            yield _csv_line(self.titles)

    def json_lines(self, rows: Iterable[Row]) -> Iterator[str]:
        """Yield each row as JSON."""
        return (json.dumps(self.values(row)) for row in rows)


def _csv_line(values: Sequence[Any]) -> str:
    out = io.StringIO()
    # A value with a line end is quoted only if the writer's own line end has that character.
    csv.writer(out, lineterminator="\r\n").writerow(values)
    return out.getvalue().removesuffix("\r\n")


def _plain(value: Any) -> Any:
    """Return a value as CSV shows it. A text is somebody else's, and spreadsheets take some texts for formulas."""
    if isinstance(value, (list, dict, bool)):
        return json.dumps(value)
    if not isinstance(value, str):
        return value
    text = "\n".join(map(printable, value.split("\n")))
    return f"'{text}" if text.startswith(_FORMULA) else text


def _width(columns: list[tuple[Column[Row], int]]) -> int:
    return sum(most for _, most in columns) + len(_BETWEEN) * (len(columns) - 1)


def _fitting(columns: list[tuple[Column[Row], int]], width: int) -> list[tuple[Column[Row], int]]:
    """Return the columns that fit, with their widths."""
    chosen = list(columns)

    def too_long() -> int:
        return _width(chosen) - width

    def cuttable() -> int:
        return sum(max(0, most - _LEAST) for column, most in chosen if column.may_cut)

    while too_long() > 0:
        last = max(chosen, key=lambda each: each[0].rank)
        # Details are left out before anything is cut; other columns only if cutting is not enough.
        if last[0].rank < _DETAIL and (last[0].rank == 0 or too_long() <= cuttable()):
            break
        chosen.remove(last)
    while (over := too_long()) > 0 and cuttable():
        at = max(
            (index for index, (column, most) in enumerate(chosen) if column.may_cut and most > _LEAST),
            key=lambda index: chosen[index][1],
        )
        column, most = chosen[at]
        chosen[at] = (column, max(_LEAST, most - min(over, 1)))
    return chosen


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _padded(text: str, most: int, right: bool) -> str:
    return text.rjust(most) if right else text.ljust(most)
