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
    from tests.bench import spark, spark_slow

    groups, messages, rounds = bench.of((20, 2_000, 5), (8, 500, 1))
    found = spark.measure(groups, messages, lambda side: bench.tell.rounds(side, rounds, seconds=100))
    spark.report(bench.console, found)
    bench.details |= found
    groups, messages, rounds = bench.of((8, 1_000, 3), (8, 100, 1))
    slow = spark_slow.measure(groups, messages, lambda side: bench.tell.rounds(side, rounds, seconds=60))
    bench.details |= {"read_at_1_ms": slow.read, "write_at_1_ms": slow.write}
    for what, rates in (("partitions", slow.read), ("putResponse", slow.write)):
        words = ", ".join(f"{name}: {rate:,.0f}" for name, rate in rates.items())
        bench.console.print(f"{groups} groups of {messages:,} messages at 1 ms, rows a second by {what}: {words}")
    # In the short form Spark's own fraction of a second for each action counts for much.
    at_1_ms = bench.of(3.0, None)
    return [
        *(
            Figure(f"{side}, rows a second ÷ raw loops", found[side]["ratio"], at_least=goal)
            for side, goal in spark.AIMS.items()
        ),
        Figure("source at 1 ms, four partitions ÷ one", slow.read[4] / slow.read[1], at_least=at_1_ms, digits=1),
        Figure("sink at 1 ms, async ÷ sync", slow.write["async"] / slow.write["sync"], at_least=at_1_ms, digits=1),
    ]
