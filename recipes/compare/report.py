"""Show the figures: as tables, on a terminal and in a page, and as a picture."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from recipes.compare.campaign import KINDS, Outcome, Price

_BEGIN, _END = "<!-- figures: make compare -->", "<!-- end of figures -->"


@dataclass(slots=True)
class Tally:
    """Sums over cases."""

    cases: int = 0
    lost: int = 0
    doubled: int = 0
    torn: int = 0
    wrong: int = 0
    wronged: int = 0
    grouped: bool = True

    def add(self, outcome: Outcome) -> None:
        """Count one case."""
        found = outcome.found
        self.cases += 1
        self.lost += found.lost
        self.doubled += found.doubled
        self.torn += found.torn
        self.wrong += outcome.is_wrong_statement
        self.wronged += not found.is_right
        self.grouped = self.grouped and (found.grouped or found.lost > 0)

    @property
    def row(self) -> list[str]:
        """The cells of a table's row."""
        torn = str(self.torn) if self.grouped else "no groups"
        return [str(self.cases), str(self.lost), str(self.doubled), torn, str(self.wronged), str(self.wrong)]


_PRICE = ["lines", "MQI calls", "seconds"]
_HEAD = ["cases", "messages lost", "messages doubled", "groups torn", "cases gone wrong", "wrong statements"]


def totals(outcomes: Sequence[Outcome], prices: Mapping[str, Price]) -> list[list[str]]:
    """One row for each approach."""
    rows = [
        [
            approach,
            str(price.lines),
            f"{price.calls:,}",
            f"{price.seconds:.1f}",
            *_tally(outcome for outcome in outcomes if outcome.case.approach == approach).row,
        ]
        for approach, price in prices.items()
    ]
    return [["approach", *_PRICE, *_HEAD], *rows]


def by_kind(outcomes: Sequence[Outcome]) -> list[list[str]]:
    """One row for each kind of fault: in how many cases of how many each approach went wrong."""
    approaches = list(dict.fromkeys(outcome.case.approach for outcome in outcomes))
    table = [["went wrong after", *approaches]]
    for kind in KINDS:
        row = [kind]
        for approach in approaches:
            tally = _tally(
                outcome for outcome in outcomes if (outcome.case.approach, outcome.case.kind) == (approach, kind)
            )
            row.append(f"{tally.wronged} of {tally.cases}" if tally.cases else "none")
        table.append(row)
    return table


def _tally(outcomes: Iterable[Outcome]) -> Tally:
    tally = Tally()
    for outcome in outcomes:
        tally.add(outcome)
    return tally


def text(table: list[list[str]]) -> str:
    """Return a table for a terminal."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if at else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in table
    )


def markdown(table: list[list[str]]) -> str:
    """Return a table for a page."""
    rows = ["| " + " | ".join(row) + " |" for row in table]
    return "\n".join([rows[0], "|---|" + "---:|" * (len(table[0]) - 1), *rows[1:]])


def write(page: Path, figures: str) -> None:
    """Put the figures in their place in a page."""
    before, _, rest = page.read_text(encoding="utf-8").partition(_BEGIN)
    _, found, after = rest.partition(_END)
    if not found:
        raise ValueError(f"{page} has no place for figures ({_BEGIN} ... {_END})")
    page.write_text(f"{before}{_BEGIN}\n\n{figures}\n\n{_END}{after}", encoding="utf-8")


# It is shown on light pages and on dark ones.
_PICTURE = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 {height}" role="img" aria-label="{label}">
<style>text {{ font: 14px system-ui, sans-serif; fill: #24292f; }} .gone {{ fill: #cf222e; }} .all {{ fill: #d8dee4; }}
@media (prefers-color-scheme: dark) {{ text {{ fill: #e6edf3; }} .gone {{ fill: #f85149; }} .all {{ fill: #373e47; }} }}</style>
<text x="0" y="18">{label}</text>
{bars}</svg>
"""
_LABEL = "Runs with one fault or two, after which messages were lost or doubled, or the group was torn"
_BAR = """\
<text x="0" y="{text}">{approach}</text>
<rect class="all" x="230" y="{top}" width="380" height="14" rx="3"/>
<rect class="gone" x="230" y="{top}" width="{width:.0f}" height="14" rx="3"/>
<text x="620" y="{text}">{wronged} of {cases}</text>
"""


def picture(outcomes: Sequence[Outcome]) -> str:
    """Return an SVG with a bar for each approach: how many of its cases went wrong."""
    bars = []
    for number, approach in enumerate(dict.fromkeys(outcome.case.approach for outcome in outcomes)):
        tally = _tally(outcome for outcome in outcomes if outcome.case.approach == approach)
        top = 36 + 26 * number
        bars.append(
            _BAR.format(
                approach=approach,
                top=top,
                text=top + 12,
                width=380 * tally.wronged / tally.cases,
                wronged=tally.wronged,
                cases=tally.cases,
            )
        )
    return _PICTURE.format(height=40 + 26 * len(bars), label=_LABEL, bars="".join(bars))
