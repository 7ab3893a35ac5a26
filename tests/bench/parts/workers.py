"""Part ``workers``: one, two and four workers on a slow line."""

from __future__ import annotations

from tests.bench import workers
from tests.bench.figures import Figure
from tests.bench.parts import Bench

TITLE = "Several workers against one, with 1 ms of latency in each direction"
_LATENCY_MS = 1


def run(bench: Bench) -> list[Figure]:
    """Measure; the queue manager must not be busy for the goal to be met."""
    groups, rounds = bench.of((60, 3), (40, 1))
    rows = workers.summary(workers.measure((1, 2, 4), groups, rounds, latency_ms=_LATENCY_MS))
    workers.report(bench.console, rows, latency_ms=_LATENCY_MS)
    bench.details["workers"] = rows
    return [
        Figure(f"{row['workers']:g} workers ÷ as many times one", row["share_of_linear"], at_least=0.9)
        for row in rows
        if row["workers"] > 1
    ]
