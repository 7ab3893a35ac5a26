"""Part ``embedded``: single MQI calls of the embedded queue manager, from C, without a binding."""

from __future__ import annotations

from tests.bench import verbs
from tests.bench.figures import Figure
from tests.bench.parts import Bench
from tests.bench.site import on_one_core, queue_manager

TITLE = "single MQI calls of the embedded queue manager, from C"


def run(bench: Bench) -> list[Figure]:
    """Measure."""
    calls, rounds = bench.of((2_000, 21), (1_000, 5))
    with queue_manager() as qmgr, on_one_core(qmgr):
        found = verbs.measure(qmgr, calls, bench.tell.rounds("each kind of call", rounds, seconds=120))
    verbs.report(bench.console, found)
    bench.details |= found
    return [
        Figure(what, 1e6 / row["us_per_call"], unit="a second", digits=0)
        for what, row in found.items()
        if what.startswith(("MQPUT", "MQGET"))
    ]
