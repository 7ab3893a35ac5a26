"""Part ``cluster``: groups on a cluster queue, by instances and producers, by binding, and by open groups."""

from __future__ import annotations

from typing import Any

from tests.bench import bindings, instances
from tests.bench.cluster import bench as cluster_bench
from tests.bench.costs import LIBRARY, ON_GROUP, Load, of_cases, of_cells
from tests.bench.figures import Figure
from tests.bench.parts import Bench
from tests.bench.producers import started

TITLE = "groups on clusters of one, two and four instances"
_ROUNDS = 7
# Of each of the four measurements; starting the cluster and opening a thousand handles comes to it.
_SECONDS = 50


def run(bench: Bench) -> list[Figure]:
    """Measure."""
    console, tell = bench.console, bench.tell
    one_each = Load(groups=bench.of(50, 10), messages=20, every=10)
    handles = bench.of((1, 10, 100, 1_000), (1, 10, 100))
    owners = bench.of((1, 10, 100), (1, 10))
    rounds = bench.of(_ROUNDS, 2)
    tell.now("starting a cluster")
    with cluster_bench() as cluster:
        with started(cluster.gateway, max(instances.PRODUCERS)) as producers:
            turns = tell.rounds("instances and producers", rounds, _SECONDS)
            spent, arrived = instances.measure(cluster, producers, one_each, turns)
        grid = of_cells(one_each.groups, spent, arrived)
        instances.report(console, grid, one_each)
        bench.details["instances"] = grid
        for title, cases, load in (
            ("Bindings", bindings.by_binding(), one_each),
            # A unit of work is of many groups in any case, so that only the number of open ones is different.
            ("Open groups by hand", bindings.by_open_groups(ON_GROUP, handles), Load(handles[-1], 4, 100)),
            ("Open groups", bindings.by_open_groups(LIBRARY, owners), Load(owners[-1], 10, 5)),
        ):
            turns = tell.rounds(title.lower(), rounds, _SECONDS)
            rows = of_cases(load, bindings.measure(cluster, cases, load, turns))
            bindings.report(console, title, load, rows)
            bench.details[title.lower()] = rows
    return _figures(bench.details)


def _figures(details: dict[str, Any]) -> list[Figure]:
    on_group = {row["instances"]: row for row in details["bindings"] if row["way"] == ON_GROUP}
    by_hand, by_owners = details["open groups by hand"][-1], details["open groups"][-1]
    four = max(on_group)
    figures = [
        Figure(
            f"a message with MQOO_BIND_ON_GROUP ÷ one with MQOO_BIND_NOT_FIXED, {number} instances",
            on_group[number]["ratio_to_not_fixed"],
        )
        for number in (1, four)
    ]
    figures += [
        Figure(f"a message at {four} instances ÷ one at 1 instance", on_group[four]["ratio_to_smallest"]),
        Figure(f"a message with {by_hand['open_groups']:,} groups open ÷ one with 1", by_hand["ratio_to_smallest"]),
        Figure(f"a message of {by_owners['open_groups']:,} producers ÷ one of 1", by_owners["ratio_to_smallest"]),
    ]
    spread = min(cell["p"] for cell in details["instances"])
    return [*figures, Figure("groups are spread evenly, smallest p of chi-square", spread, at_least=0.05)]
