"""Rows as a table that fits its terminal, and as JSON.

If a table is too wide, its least important columns are omitted, and their titles are returned. Texts are wrapped, so the text of
a shown column is complete. Columns without any text are not shown.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from mqgroups.operate.rules.findings import Severity
from mqgroups.printable import printable

if TYPE_CHECKING:
    from rich.table import Table

Row = TypeVar("Row")
Output = Literal["table", "json"]
COLOURS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.UNSEEN: "cyan", Severity.OK: "green"}

_BETWEEN = 2
# A column of longer texts is at least this wide.
_LEAST = 16


@dataclass(frozen=True, slots=True)
class Column(Generic[Row]):
    """A column of a table.

    Attributes:
        header: the title of the column.
        text: a function that returns the column's text for a row.
        rank: 0 if the column is always shown. Columns with the highest rank are omitted first.
        right: whether the text is aligned to the right, as numbers are.
        style: a function that returns the colour of this text; empty if the text has no colour.
    """

    header: str
    text: Callable[[Row], str]
    rank: int = 0
    right: bool = False
    style: Callable[[Row], str] = lambda _: ""


@dataclass(frozen=True, slots=True)
class Listing(Generic[Row]):
    """How rows of one kind are shown: the columns of a table, and the values of a row in JSON."""

    columns: Sequence[Column[Row]]
    values: Callable[[Row], dict[str, Any]]

    def table(self, rows: Sequence[Row], width: int) -> tuple[Table, list[str]]:
        """Return a table of this width, and the titles of the columns for which it has no room."""
        from rich.cells import cell_len
        from rich.table import Table
        from rich.text import Text

        texts = {column.header: [printable(column.text(row)) for row in rows] for column in self.columns}
        natural = {title: max(map(cell_len, (title, *found))) for title, found in texts.items()}
        chosen = [column for column in self.columns if not column.rank or any(texts[column.header])]
        left_out: list[str] = []
        for column in sorted(chosen, key=lambda each: -each.rank):
            least = (natural[each.header] if each.right else min(_LEAST, natural[each.header]) for each in chosen)
            if column.rank and sum(least) + _BETWEEN * (len(chosen) - 1) > width:
                chosen.remove(column)
                left_out.insert(0, column.header)
        # If a table is too wide, rich narrows the widest column that can be wrapped.
        table = Table(box=None, pad_edge=False, padding=(0, _BETWEEN, 0, 0), header_style="bold")
        for column in chosen:
            table.add_column(
                Text(column.header, no_wrap=True),
                justify="right" if column.right else "left",
                no_wrap=column.right,
                overflow="fold",
            )
        for number, row in enumerate(rows):
            cells = ((texts[column.header][number], column.style(row)) for column in chosen)
            table.add_row(*(Text(text, style=style) for text, style in cells))
        return table, left_out


def picked(thing: object, names: str) -> dict[str, Any]:
    """Return attributes of ``thing`` by name, for JSON. ``names`` has their names, separated by blanks."""
    return {name: getattr(thing, name) for name in names.split()}
