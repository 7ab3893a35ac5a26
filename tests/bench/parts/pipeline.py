"""Part ``pipeline``: the flights pipeline on Spark against its source alone."""

from __future__ import annotations

import importlib.util
from dataclasses import asdict

from tests.bench.figures import Figure
from tests.bench.parts import Bench

TITLE = "a pipeline on Spark against its source alone"
# Groups in a micro-batch, and the goal. The larger ones first: the JVM has then compiled what there is to compile. What Spark
# does for each micro-batch, whatever is in it, is too much for four groups.
_GOALS = {14: 0.5, 4: None}


def run(bench: Bench) -> list[Figure]:
    """Measure; nothing if pyspark is not installed."""
    if importlib.util.find_spec("pyspark") is None:
        bench.console.print("the pipeline is left out: pyspark is not installed")
        return []
    from tests.bench import spark_pipeline

    figures = []
    for groups, goal in bench.of(_GOALS, {2: None}).items():
        found = spark_pipeline.measure(groups, lambda side: bench.tell.rounds(side, bench.of(3, 1), seconds=120))
        spark_pipeline.report(bench.console, found)
        bench.details[f"{groups} groups"] = asdict(found)
        for what, ratio in (("rows a second", found.rows), ("by processor time", found.processor)):
            figures.append(Figure(f"{groups} groups at a time ÷ source, {what}", ratio, at_least=goal))
    return figures
