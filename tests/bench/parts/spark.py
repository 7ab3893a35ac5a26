"""Part ``spark``: the Spark source and sink against loops written by hand."""

from __future__ import annotations

import importlib.util

from tests.bench.figures import Figure
from tests.bench.parts import Bench

TITLE = "Spark source and sink against loops written by hand"


def run(bench: Bench) -> list[Figure]:
    """Measure; nothing if pyspark is not installed."""
    if importlib.util.find_spec("pyspark") is None:
        bench.console.print("Spark is left out: pyspark is not installed")
        return []
    from tests.bench import spark

    groups, messages, rounds = bench.of((20, 2_000, 5), (8, 500, 2))
    found = spark.measure(groups, messages, lambda side: bench.tell.rounds(side, rounds, seconds=100))
    spark.report(bench.console, found)
    bench.details |= found
    return [
        Figure(f"{side}, rows a second ÷ raw loops", found[side]["ratio"], at_least=goal)
        for side, goal in spark.AIMS.items()
    ]
