"""The groups for the pipeline: good ones with the flights of a day and a trailer that counts them, and bad ones.

The bad groups have flights of October, which the good ones do not have. So none of their flights may appear in a result.
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
    """A group of messages. ``reason``: why it is bad, in the pipeline's word; ``None`` if it is good."""

    messages: tuple[str, ...]
    reason: str | None = None


def groups(table: Path, days: int, chance: Random) -> list[Group]:
    """Return the groups of so many days of January, with one bad group of each kind at random places."""
    found = list(source.days(table, DAYS_OF_JANUARY + len(_KINDS)))
    mixed = [Group(with_trailer(day.flights)) for day in found[:days]]
    for day, (reason, spoil) in zip(found[DAYS_OF_JANUARY:], _KINDS, strict=True):
        mixed.append(Group(spoil(day.flights), reason))
    chance.shuffle(mixed)
    return mixed


def put(producer: GroupProducer, groups: Iterable[Group]) -> int:
    """Put groups; return the number of messages."""
    count = 0
    for each in groups:
        with producer.group() as group:
            for message in each.messages:
                group.put(message)
        count += len(each.messages)
    return count


def with_trailer(flights: list[str], *, count: int | None = None) -> tuple[str, ...]:
    """Return flights and their trailer; ``count``, if given, is the number in the trailer."""
    return (*flights, f"TRAILER,{len(flights) if count is None else count}")


def _changed(flight: str, place: int, *values: str) -> str:
    fields = flight.split(",")
    return ",".join([*fields[:place], *values, *fields[place + 1 :]])


_KINDS: tuple[tuple[str, Callable[[list[str]], tuple[str, ...]]], ...] = (
    # A delay that is no number; a flight without a column.
    ("body", lambda flights: with_trailer([*flights[:-1], _changed(flights[-1], _DEP_DELAY, "2h")])),
    ("body", lambda flights: with_trailer([_changed(flights[0], _TAILNUM), *flights[1:]])),
    # A flight less than the trailer says; no trailer.
    ("trailer", lambda flights: with_trailer(flights[:-1], count=len(flights))),
    ("trailer", lambda flights: tuple(flights[: len(flights) // 2])),
    # A flight twice.
    ("unique", lambda flights: with_trailer([*flights, flights[0]])),
)
