"""The expected result of the pipeline: delays by day and carrier, computed from the table in plain Python."""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from mqgroups.demo.source import Day

_CARRIER, _DEP_TIME, _DEP_DELAY, _ARR_DELAY = 9, 3, 5, 8
_DELAYED_MINUTES = 15

Delays = dict[str, list[dict[str, Any]]]


def delays(days: Iterable[Day]) -> Delays:
    """Return, by date, a row for each carrier, in order of carriers."""
    return {day.date: _of_day(day) for day in days}


def _of_day(day: Day) -> list[dict[str, Any]]:
    flights: dict[str, list[list[str]]] = defaultdict(list)
    for fields in csv.reader(day.flights):
        flights[fields[_CARRIER]].append(fields)
    return [_of_carrier(day.date, carrier, flights[carrier]) for carrier in sorted(flights)]


def _of_carrier(date: str, carrier: str, flights: list[list[str]]) -> dict[str, Any]:
    departures = [int(fields[_DEP_DELAY]) for fields in flights if fields[_DEP_DELAY] != "NA"]
    arrivals = [int(fields[_ARR_DELAY]) for fields in flights if fields[_ARR_DELAY] != "NA"]
    return {
        "date": date,
        "carrier": carrier,
        "flights": len(flights),
        "cancelled": sum(fields[_DEP_TIME] == "NA" for fields in flights),
        "delayed": sum(minutes >= _DELAYED_MINUTES for minutes in departures),
        "mean_dep_delay": sum(departures) / len(departures) if departures else None,
        "max_dep_delay": max(departures, default=None),
        "mean_arr_delay": sum(arrivals) / len(arrivals) if arrivals else None,
    }
