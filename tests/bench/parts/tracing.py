"""Part ``tracing``: what OpenTelemetry's spans and metrics cost."""

from __future__ import annotations

from tests.bench import tracing
from tests.bench.figures import Figure
from tests.bench.parts import Bench
from tests.bench.site import on_one_core, queue_manager

TITLE = "producer and consumer with and without tracing"


def run(bench: Bench) -> list[Figure]:
    """Measure."""
    messages, every, rounds = bench.of((2_000, 500, 30), (1_000, 250, 3))
    with queue_manager() as qmgr, on_one_core(qmgr):
        times = tracing.measure(qmgr, messages, every, bench.tell.rounds("put and get", rounds, seconds=210))
    bench.details |= tracing.report(bench.console, times, messages, every)
    return [
        Figure(
            f"{way}, {name}: processor time ÷ no tracing code",
            bench.details[f"{way} {name}, processor time"],
            at_most=tracing.LIMITS.get(name),
        )
        for way in ("put", "get")
        for name in tracing.SETTINGS
        if name != tracing.NOTHING
    ]
