"""Part ``latency``: putting and getting over a slow line, and the plot of it."""

from __future__ import annotations

import importlib.util
import statistics

from tests.bench import slow_get, slow_put
from tests.bench.documents import markdown
from tests.bench.figures import Figure
from tests.bench.parts import Bench
from tests.bench.site import ROOT
from tests.bench.slow_put import ASYNC, FASTSTREAM, FEWEST, RAW, SEGMENTED, SYNC

TITLE = "putting and getting over a slow line"
PLOT = ROOT / "docs" / "_static" / "latency.svg"
# Seconds for putting and for getting at each latency.
_PUT_S, _GET_S = 20, 30
_FROM_THE_FASTEST = (
    (FEWEST, "#999999", "o:"),
    (RAW, "#222222", "s--"),
    (SEGMENTED, "#7fb2e5", "^-"),
    (ASYNC, "#1f5fa8", "o-"),
    (SYNC, "#d1495b", "o-"),
    (FASTSTREAM, "#b08900", "v-"),
)


def run(bench: Bench) -> list[Figure]:
    """Measure."""
    return [*_put(bench), *_get(bench)]


def _put(bench: Bench) -> list[Figure]:
    latencies = bench.of(slow_put.LATENCIES_MS, (0.0, 1.0))
    rounds = bench.of(15, 1)
    measured = {
        latency: slow_put.measure(bench.tell, latency, rounds, seconds=bench.of(_PUT_S, 5)) for latency in latencies
    }
    names = slow_put.ways()
    if FASTSTREAM not in names:
        bench.console.print("faststream-mq is left out: `bash tools/setup.sh compare` installs it")
    rates = {name: [1 / statistics.median(times[name]) for times in measured.values()] for name in names}
    columns = ["messages a second", *(f"{latency:g} ms" for latency in latencies)]
    rows = [[name, *(f"{rate:,.0f}" for rate in rates[name])] for name in names]
    bench.documents["latency-put"] = markdown(columns, rows, columns[1:])
    bench.details["put"] = {name: dict(zip(map(str, latencies), rates[name], strict=True)) for name in names}
    figures = []
    for latency, times in measured.items():
        at = f"put at {latency:g} ms, "
        aim = 5.0 if latency == 1 else None
        headline = "put, 1 ms in each direction: asynchronous {} times as fast as synchronous" if aim else ""
        figures += [
            Figure(f"{at}async ÷ sync", slow_put.ratio(times, SYNC, ASYNC), at_least=aim, digits=1, headline=headline),
            Figure(
                f"{at}async ÷ raw asynchronous loop, the same calls", slow_put.ratio(times, RAW, ASYNC), at_least=0.9
            ),
            Figure(f"{at}async ÷ raw asynchronous loop, the fewest calls", slow_put.ratio(times, FEWEST, ASYNC)),
            Figure(
                f"{at}async, segmented status ÷ the fewest calls",
                slow_put.ratio(times, FEWEST, SEGMENTED),
                at_least=0.9,
            ),
        ]
    if not bench.short:
        if importlib.util.find_spec("matplotlib") is None:
            bench.console.print("the plot is left out: matplotlib is not installed (the extra `test`)")
        else:
            from tests.bench import plot

            plot.draw(PLOT, latencies, rates, _FROM_THE_FASTEST)
    return figures


def _get(bench: Bench) -> list[Figure]:
    latencies = bench.of(slow_get.LATENCIES_MS, (1.0,))
    rounds = bench.of(9, 1)
    measured = {
        latency: slow_get.medians(slow_get.measure(bench.tell, latency, rounds, seconds=bench.of(_GET_S, 5)))
        for latency in latencies
    }
    columns = ["rows of 100 bytes a second", *(f"{latency:g} ms" for latency in latencies)]
    rows = [[way.name, *(f"{rates[way]:,.0f}" for rates in measured.values())] for way in slow_get.WAYS]
    bench.documents["latency-get"] = markdown(columns, rows, columns[1:])
    bench.details["get"] = {
        way.name: {str(latency): rates[way] for latency, rates in measured.items()} for way in slow_get.WAYS
    }
    most = slow_get.WAYS[-1]
    return [
        Figure(
            f"get at {latency:g} ms, {most.at_a_time} groups at a time ÷ one",
            rates[most] / rates[slow_get.ONE],
            digits=1,
        )
        for latency, rates in measured.items()
    ]
