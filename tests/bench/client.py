"""Part ``client``: the library's producer and consumer against loops written by hand, client and server on one core."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from tests.bench.loops import Loop, Ours, Pymqi, Raw, ratio, take_turns
from tests.bench.run import Run
from tests.bench.site import on_one_core, queue_manager

# Messages of a unit of work, and the seconds that their rounds may take.
_UNITS_OF_WORK = {500: 170, 100: 60, 10: 60}


def measure(run: Run) -> dict[str, float]:
    """Measure: ratios of the processor time of client and server."""
    messages, rounds = run.of((2_000, 61), (1_000, 5))
    payloads = [b"%099d" % number for number in range(messages)]
    figures = {}
    with queue_manager() as qmgr, on_one_core(qmgr):
        loops: dict[str, Callable[[], Loop]] = {
            "ours": partial(Ours, qmgr),
            "raw": partial(Raw, qmgr),
            "pymqi": partial(Pymqi, qmgr),
        }
        for every, seconds in _UNITS_OF_WORK.items():
            told = run.rounds(f"units of work of {every} messages", rounds, seconds)
            for way, spent in take_turns(qmgr, loops, ("put", "get"), payloads, every, told).items():
                figures[f"{way} {every}"] = ratio(spent["ours"], spent["raw"])
                figures.setdefault(f"{way} pymqi", ratio(spent["ours"], spent["pymqi"]))
    return figures
