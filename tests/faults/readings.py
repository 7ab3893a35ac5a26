"""What IBM's texts leave open, as the embedded queue manager can follow it: the campaign runs under each reading."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator, Mapping

import mqgroups.embedded
from tests.faults.patterns import CLUSTER_ROLES

# Under this one what a lost connection had stays hidden for a while.
_CLOSES_FIRST = ("lost connection", "closes handles, then backs out")
_COMBINATIONS = 4


def all_readings() -> dict[str, tuple[str, ...]]:
    """Return the values of each reading by its name, the usual one first."""
    return dict(getattr(mqgroups.embedded, "READINGS", {}))


def hides_messages(readings: Mapping[str, str]) -> bool:
    """Whether messages that a lost connection had in its unit of work may come back when others have opened its queues."""
    name, value = _CLOSES_FIRST
    return readings.get(name) == value


def refused_under(readings: Mapping[str, str]) -> Collection[str]:
    """Return the roles whose programs the library refuses: where nobody learns where a group on a cluster queue went."""
    return CLUSTER_ROLES if readings.get("bind on group") == "tells nothing" else ()


def settings_of_readings(seed: int, *, combined: bool) -> Iterator[dict[str, str]]:
    """Yield each value that is not the usual one alone, then, if asked for, combinations that are drawn from the seed."""
    others = {name: values[1:] for name, values in all_readings().items()}
    seen = []
    for name, values in others.items():
        for value in values:
            seen.append({name: value})
            yield seen[-1]
    draw = random.Random(seed)
    for _ in range(_COMBINATIONS if combined else 0):
        names = draw.sample(sorted(others), draw.randint(2, len(others)))
        combination = {name: draw.choice(others[name]) for name in sorted(names)}
        if combination not in seen:
            seen.append(combination)
            yield combination
