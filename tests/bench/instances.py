"""Groups in a second with one, two and four instances and producers, and how they are spread over the instances.

A cell of the grid is so many producers, each a process, that put to a queue of so many instances. All cells have the same
number of groups and take turns. Every message is accounted for.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from rich.console import Console
from rich.table import Table

from tests.bench.cluster import INSTANCES, Bench
from tests.bench.costs import WHO, Load, Spent
from tests.bench.producers import Producers

PRODUCERS = (1, 2, 4)
_CELLS = [(instances, producers) for instances in INSTANCES for producers in PRODUCERS]


def measure(
    bench: Bench, producers: Producers, load: Load, rounds: Iterable[int]
) -> tuple[dict[tuple[int, int], list[Spent]], dict[tuple[int, int], list[int]]]:
    """Return by instances and producers what each round took, and the groups that each instance got in all rounds."""
    spent: dict[tuple[int, int], list[Spent]] = {cell: [] for cell in _CELLS}
    arrived = {cell: [0] * cell[0] for cell in _CELLS}
    for number in rounds:
        first = number % len(_CELLS)
        for cell in _CELLS[first:] + _CELLS[:first]:
            instances, processes = cell
            with producers.first(processes).ready(f"BENCH.{instances}", load) as work:
                took = bench.spent(instances, work)
            counts = bench.take_off(instances, load.groups * load.messages)
            if number:  # the first round warms up
                spent[cell].append(took)
                arrived[cell] = [before + more for before, more in zip(arrived[cell], counts, strict=True)]
    return spent, arrived


def report(console: Console, cells: list[dict[str, Any]], load: Load) -> None:
    """Print what was measured."""
    table = Table(
        title=f"{load.groups:,} groups of {load.messages} messages of 100 bytes, units of work of {load.every}, "
        "put by mqgroups with bind='group' at a queue manager without an instance; embedded cluster (not IBM MQ)"
    )
    for column in (
        "instances",
        "producers",
        "groups/s put",
        "arrived",
        "÷ 1, 1",
        "CPU, ms/group",
        "÷ 1, 1",
        "client + sender + hosts",
        "groups at each",
        "χ²",
        "p",
    ):
        table.add_column(column, justify="right", no_wrap=column.startswith("client"))
    for cell in cells:
        parts = " + ".join(f"{cell[f'{name}_cpu_ms_per_group']:.2f}" for name in WHO[1:])
        table.add_row(
            str(cell["instances"]),
            str(cell["producers"]),
            f"{cell['groups_put_per_s']:,.0f}",
            f"{cell['groups_arrived_per_s']:,.0f}",
            f"{1 / cell['ratio_of_time']:.2f}",
            f"{cell['processor_cpu_ms_per_group']:.2f}",
            f"{cell['ratio_of_cpu']:.2f}",
            parts,
            " ".join(map(str, cell["groups_by_instance"])),
            f"{cell['chi_square']:.2f}",
            f"{cell['p']:.3f}",
        )
    console.print(table)
    cores, processes = len(os.sched_getaffinity(0)), 1 + max(INSTANCES) + max(PRODUCERS)
    console.print(
        "Medians of rounds, and of the ratios within a round; groups at each instance of all rounds together. The queue manager "
        "takes instances in turn, so groups are spread more evenly than by chance and p is near 1; below 0.05 it would be a bias."
    )
    console.print(
        f"Up to {processes} processes share {cores} cores. Groups/s say how fast these cores do the work of all, not how a "
        "cluster with a machine for each queue manager would scale; what a group costs in processor time can be compared."
    )
