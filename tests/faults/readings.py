"""What IBM's texts leave open, as the embedded queue manager can follow it: the campaign runs under each reading."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping

import mqembedded
from tests.faults.pattern import Pattern
from tests.faults.patterns import CLUSTER_ROLES

# Under this one what a lost connection had stays hidden for a while.
_CLOSES_FIRST = ("lost connection", "closes handles, then backs out")
_COMBINATIONS = 4
_SETTINGS_OF_SHORT = 10
# What is put has properties.
_WITH_PROPERTIES = ("dressed-put", "dressed-get", "sent")


def all_readings() -> dict[str, tuple[str, ...]]:
    """Return the values of each reading by its name, the usual one first."""
    return dict(getattr(mqembedded, "READINGS", {}))


def hides_messages(readings: Mapping[str, str]) -> bool:
    """Whether messages that a lost connection had in its unit of work may come back when others have opened its queues."""
    name, value = _CLOSES_FIRST
    return readings.get(name) == value


def is_refused(pattern: Pattern, readings: Mapping[str, str]) -> bool:
    """Whether the library refuses a program: nobody learns where its group on a cluster queue went, or its segments have
    properties, which this queue manager does not take.
    """
    if pattern.role in CLUSTER_ROLES and readings.get("bind on group") == "tells nothing":
        return True
    has_properties = pattern.segmented and pattern.role in _WITH_PROPERTIES
    return has_properties and readings.get("properties on segments") == "refused with 2443"


def settings_of_readings(seed: int, *, short: bool) -> Iterator[dict[str, str]]:
    """Yield settings with values that are not the usual ones.

    The full form has each value alone, then combinations that are drawn from the seed. The short form deals all values out to a
    few settings, drawn too, so that each value is in one of them.
    """
    others = {name: values[1:] for name, values in all_readings().items()}
    alone = [(name, value) for name, values in others.items() for value in values]
    draw = random.Random(seed)
    if short:
        dealt: list[dict[str, str]] = [{} for _ in range(max(_SETTINGS_OF_SHORT, *map(len, others.values())))]
        for name, value in draw.sample(alone, len(alone)):
            min((setting for setting in dealt if name not in setting), key=len)[name] = value
        yield from dealt
        return
    seen = [{name: value} for name, value in alone]
    yield from seen
    for _ in range(_COMBINATIONS):
        names = draw.sample(sorted(others), draw.randint(2, len(others)))
        combination = {name: draw.choice(others[name]) for name in sorted(names)}
        if combination not in seen:
            seen.append(combination)
            yield combination
