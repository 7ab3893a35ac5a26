"""The groups for the pipeline: valid groups with the flights of a day and a trailer that counts them, and invalid groups.

The invalid groups have flights of October, which the valid ones do not have. So none of their flights may appear in a result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from random import Random

from mqgroups import GroupProducer
from mqgroups.demo import source

QUEUE = "FLIGHTS"
NAME = "FLIGHTS.FEED"
EVERY = 500
DAYS_OF_JANUARY = 31
_DEP_DELAY, _TAILNUM = 5, 11


@dataclass(frozen=True, slots=True)
class Group:
    """A group of messages; ``reason`` is why it is bad, by the pipeline's word for it, ``None`` if it is good."""

    what: str
    messages: tuple[str, ...]
    reason: str | None = None


def groups(table: Path, days: int, chance: Random) -> list[Group]:
    """Return the groups of so many days of January, and among them, anywhere, one bad group of each kind."""
    found = list(source.days(table, DAYS_OF_JANUARY + len(_KINDS)))
    good = [Group(day.date, with_trailer(day.flights)) for day in found[:days]]
    bad = [
        Group(f"{day.date}, {what}", spoil(day.flights), reason)
        for day, (what, reason, spoil) in zip(found[DAYS_OF_JANUARY:], _KINDS, strict=True)
    ]
    mixed = [*good, *bad]
    chance.shuffle(mixed)
    return mixed


def put(producer: GroupProducer, groups: Iterable[Group]) -> int:
    """Put groups; returns how many messages."""
    count = 0
    for each in groups:
        with producer.group() as group:
            for message in each.messages:
                group.put(message)
        count += len(each.messages)
    return count


def with_trailer(flights: list[str], *, count: int | None = None) -> tuple[str, ...]:
    """Return flights and their trailer, which says ``count`` if that is given."""
    return (*flights, f"TRAILER,{len(flights) if count is None else count}")


def _malformed(flights: list[str]) -> tuple[str, ...]:
    return with_trailer([*flights[:4], _changed(flights[4], _DEP_DELAY, "2h"), *flights[5:]])


def _without_a_column(flights: list[str]) -> tuple[str, ...]:
    fields = flights[7].split(",")
    return with_trailer([*flights[:7], ",".join(fields[:_TAILNUM] + fields[_TAILNUM + 1 :]), *flights[8:]])


def _one_lost(flights: list[str]) -> tuple[str, ...]:
    return with_trailer(flights[:-1], count=len(flights))


def _cut_off(flights: list[str]) -> tuple[str, ...]:
    return tuple(flights[: len(flights) // 2])


def _one_twice(flights: list[str]) -> tuple[str, ...]:
    return with_trailer([*flights, flights[0]])


def _changed(flight: str, place: int, value: str) -> str:
    fields = flight.split(",")
    fields[place] = value
    return ",".join(fields)


_KINDS: tuple[tuple[str, str, Callable[[list[str]], tuple[str, ...]]], ...] = (
    ("a delay that is no number", "body", _malformed),
    ("a flight without a column", "body", _without_a_column),
    ("a flight less than the trailer says", "trailer", _one_lost),
    ("no trailer", "trailer", _cut_off),
    ("a flight twice", "unique", _one_twice),
)
