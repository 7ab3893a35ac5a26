"""Part ``spark``: the Spark source and sink against loops written by hand, and the flights pipeline against its source."""

from __future__ import annotations

import importlib.util
from dataclasses import asdict

from tests.bench.figures import Figure
from tests.bench.parts import Bench

TITLE = "Spark source and sink against loops written by hand, and a pipeline against its source"


def run(bench: Bench) -> list[Figure]:
    """Measure; nothing if pyspark is not installed."""
    if importlib.util.find_spec("pyspark") is None:
        bench.console.print("Spark is left out: pyspark is not installed")
        return []
    from tests.bench import spark, spark_pipeline, spark_slow

    groups, messages, rounds = bench.of((20, 2_000, 5), (8, 500, 2))
    found = spark.measure(groups, messages, lambda side: bench.tell.rounds(side, rounds, seconds=100))
    spark.report(bench.console, found)
    bench.details |= found
    groups, messages, rounds = bench.of((8, 1_000, 3), (8, 100, 2))
    slow = spark_slow.measure(groups, messages, lambda side: bench.tell.rounds(side, rounds, seconds=60))
    bench.details |= {"read_at_1_ms": slow.read, "write_at_1_ms": slow.write}
    for what, rates in (("partitions", slow.read), ("putResponse", slow.write)):
        words = ", ".join(f"{name}: {rate:,.0f}" for name, rate in rates.items())
        bench.console.print(f"{groups} groups of {messages:,} messages at 1 ms, rows a second by {what}: {words}")
    pipeline = []
    # The larger micro-batches first: the JVM has then compiled what there is to compile.
    for size in bench.of((14, 4), (2,)):
        one = spark_pipeline.measure(size, lambda side: bench.tell.rounds(side, bench.of(3, 1), seconds=120))
        spark_pipeline.report(bench.console, one)
        bench.details[f"pipeline, {size} groups"] = asdict(one)
        for what, ratio in (("rows a second", one.rows), ("by processor time", one.processor)):
            label = f"pipeline, {size} groups at a time ÷ source, {what}"
            pipeline.append(Figure(label, ratio, at_least=bench.of(0.5, None)))
    # In the short form Spark's own fraction of a second for each action counts for much.
    at_1_ms = bench.of(3.0, None)
    return [
        *(
            Figure(f"{side}, rows a second ÷ raw loops", found[side]["ratio"], at_least=goal)
            for side, goal in spark.AIMS.items()
        ),
        Figure("source at 1 ms, four partitions ÷ one", slow.read[4] / slow.read[1], at_least=at_1_ms, digits=1),
        Figure("sink at 1 ms, async ÷ sync", slow.write["async"] / slow.write["sync"], at_least=at_1_ms, digits=1),
        *pipeline,
    ]
