"""The table of flights, divided into groups: the departures of one airline from one airport on one day."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from mqgroups.demo.source import date_of, days

AIRPORTS = ("EWR", "JFK", "LGA")
_CARRIER, _ORIGIN = 9, 12


@dataclass(frozen=True, slots=True)
class Group:
    """A message group, as it should arrive: its name, ``2013-01-31 EWR UA``, its airport, and its flights in order."""

    name: str
    airport: str
    flights: tuple[str, ...]


def name_of(flight: str) -> str:
    """Return the name of the group of a flight's line; empty for another line."""
    fields = flight.split(",")
    if len(fields) <= _ORIGIN:
        return ""
    return f"{date_of(flight)} {fields[_ORIGIN]} {fields[_CARRIER]}"


def groups(table: Path, count: int) -> list[Group]:
    """Return the groups of the first ``count`` days, those of a day by name."""
    found = []
    for day in days(table, count):
        flights: dict[str, list[str]] = {}
        for flight in day.flights:
            flights.setdefault(name_of(flight), []).append(flight)
        found += [Group(name, name.split()[1], tuple(flights[name])) for name in sorted(flights)]
    return found


def of_airport(found: list[Group], airport: str) -> list[Group]:
    """Return the groups of one airport."""
    return [group for group in found if group.airport == airport]
