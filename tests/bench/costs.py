"""What was measured on a cluster and what follows from it: values in, figures out."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.bench.spread import chi_square, p_value

ON_GROUP = "BIND_ON_GROUP, groups"
NOT_FIXED = "BIND_NOT_FIXED, no groups"
LIBRARY = "mqgroups, groups"
# Attributes of Spent: whose processor time.
WHO = ("processor", "client", "gateway", "hosts")


@dataclass(frozen=True, slots=True)
class Load:
    """What is put each time: so many groups of so many messages, a unit of work of so many."""

    groups: int
    messages: int
    every: int


@dataclass(frozen=True, slots=True)
class Spent:
    """What a piece of work took, in seconds.

    Attributes:
        put: until its last commit.
        arrived: until all of it was at the instances.
        client: processor time of who put.
        gateway: processor time of the queue manager they are connected to, which also sends.
        hosts: processor time of the queue managers that received.
        batches: how many batches the channels sent, each a unit of work at both ends.
    """

    put: float
    arrived: float
    client: float
    gateway: float
    hosts: float
    batches: int

    @property
    def processor(self) -> float:
        """Processor time of all."""
        return self.client + self.gateway + self.hosts


@dataclass(frozen=True, slots=True)
class Case:
    """One way to put it."""

    way: str
    instances: int
    open_groups: int = 1


def of_cells(
    groups: int, spent: Mapping[tuple[int, int], Sequence[Spent]], arrived: Mapping[tuple[int, int], Sequence[int]]
) -> list[dict[str, Any]]:
    """Return for each number of instances and of producers: groups in a second and milliseconds of processor time for a group,
    as medians of rounds; ratios to one of each, as medians of those within a round; and how groups are spread.

    Args:
        groups: how many were put in each round.
        spent: what it took in each round.
        arrived: groups at each instance, of all rounds.
    """
    one = spent[1, 1]
    rows = []
    for (instances, producers), rounds in spent.items():
        statistic = chi_square(arrived[instances, producers])
        row: dict[str, Any] = {"instances": instances, "producers": producers}
        row |= {f"groups_{until}_per_s": groups / _median(rounds, until) for until in ("put", "arrived")}
        row["ratio_of_time"] = _ratio(rounds, one, "arrived")
        row |= {f"{who}_cpu_ms_per_group": _median(rounds, who) / groups * 1e3 for who in WHO}
        row["ratio_of_cpu"] = _ratio(rounds, one, "processor")
        row["groups_by_instance"] = [*arrived[instances, producers]]
        rows.append({**row, "chi_square": statistic, "p": p_value(statistic, instances - 1)})
    return rows


def of_cases(load: Load, spent: Mapping[Case, Sequence[Spent]]) -> list[dict[str, Any]]:
    """Return for each case microseconds a message, as medians of rounds; and ratios of processor time, as medians of those
    within a round: to the smallest number of instances or open groups put the same way, which comes first, and to
    ``NOT_FIXED`` with as many instances."""
    messages = load.groups * load.messages
    rows = []
    for case, rounds in spent.items():
        smallest = next(other for other in spent if other.way == case.way)
        row: dict[str, Any] = {"way": case.way, "instances": case.instances, "open_groups": case.open_groups}
        row |= {f"{who}_cpu_us_per_message": _median(rounds, who) / messages * 1e6 for who in WHO}
        row["us_per_message"] = _median(rounds, "arrived") / messages * 1e6
        row["messages_per_batch"] = messages / _median(rounds, "batches")
        row["ratio_to_smallest"] = _ratio(rounds, spent[smallest], "processor")
        if (not_fixed := Case(NOT_FIXED, case.instances)) in spent:
            row["ratio_to_not_fixed"] = _ratio(rounds, spent[not_fixed], "processor")
        rows.append(row)
    return rows


def _median(rounds: Sequence[Spent], name: str) -> float:
    return statistics.median(getattr(one, name) for one in rounds)


def _ratio(rounds: Sequence[Spent], base: Sequence[Spent], name: str) -> float:
    ratios = (getattr(one, name) / getattr(other, name) for one, other in zip(rounds, base, strict=True))
    return statistics.median(ratios)
