"""Rates of messages, groups and commits, from two looks at a queue and at the status records of its owners.

A message that was put and got between two looks is seen by neither, so rates of messages and groups are lower bounds. Commits are
exact for owners that are the same in both looks, because records number their units of work.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

# An owner's instance: its identity and its epoch.
Instance = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Look:
    """A look at a queue.

    Attributes:
        at_s: when, in seconds of a clock that does not jump.
        messages, groups: how many are there.
        new_messages, new_groups: how many of them were put after the look before.
        units_of_work: the number of the last unit of work of each owner.
    """

    at_s: float
    messages: int
    groups: int
    new_messages: int = 0
    new_groups: int = 0
    units_of_work: Mapping[Instance, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Rates:
    """Per second: messages and groups that came and went, and commits."""

    messages_in: float = 0.0
    messages_out: float = 0.0
    groups_in: float = 0.0
    groups_out: float = 0.0
    commits: float = 0.0


def rates(before: Look, now: Look) -> Rates:
    """Return the rates between two looks; zeros if no time has passed."""
    passed_s = now.at_s - before.at_s
    if passed_s <= 0:
        return Rates()
    commits = 0
    for (name, epoch), number in now.units_of_work.items():
        # An owner that has started since has made all its commits since. The first epoch of a name has no unit of work before it.
        earlier = before.units_of_work.get((name, epoch), 0 if epoch == 1 else number)
        commits += max(0, number - earlier)
    return Rates(
        now.new_messages / passed_s,
        max(0, before.messages + now.new_messages - now.messages) / passed_s,
        now.new_groups / passed_s,
        max(0, before.groups + now.new_groups - now.groups) / passed_s,
        commits / passed_s,
    )
