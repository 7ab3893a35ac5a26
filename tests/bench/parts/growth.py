"""Part ``growth``: what a call costs with 100, 10,000 and 100,000 of something."""

from __future__ import annotations

from tests.bench import growing
from tests.bench.figures import Figure
from tests.bench.parts import Bench

TITLE = "what a call costs when there is more and more of something"
# A thousand times as much of it. Linear growth would be 1000; cold caches and deeper trees take less than twice as long.
_MOST = 2.0


def run(bench: Bench) -> list[Figure]:
    """Measure."""
    sizes, repeats, rounds = bench.of(((100, 10_000, 100_000), 200, 5), ((100, 10_000), 100, 3))
    found = []
    for case in growing.CASES:
        told = bench.tell.rounds(f"{case.things}: {case.calls}", rounds, seconds=5)
        found.append(growing.measure(case, sizes, repeats, told))
    growing.report(bench.console, found, sizes)
    bench.details["growth"] = [
        {"things": each.case.things, "calls": each.case.calls, "us": each.us, "ratio": each.ratio} for each in found
    ]
    return [
        Figure(f"{max(each.us):,} ÷ {min(each.us)} {each.case.things}: {each.case.calls}", each.ratio, at_most=_MOST)
        for each in found
    ]
