"""Part ``groups``: the Spark source with many groups in one micro-batch."""

from __future__ import annotations

import importlib.util

from tests.bench.figures import Figure
from tests.bench.parts import Bench

TITLE = "The Spark source with many groups"


def run(bench: Bench) -> list[Figure]:
    """Measure; nothing if pyspark is not installed."""
    if importlib.util.find_spec("pyspark") is None:
        bench.console.print("Spark is left out: pyspark is not installed")
        return []
    from tests.bench import spark_groups

    few = [(1_000, 10, 0), (1_000, 10, 1)]
    found = [spark_groups.measure(*case) for case in bench.of([*few, (10_000, 10, 0), (100_000, 3, 0)], few[:1])]
    spark_groups.report(bench.console, found)
    bench.details["groups"] = spark_groups.as_json(found)
    return []
