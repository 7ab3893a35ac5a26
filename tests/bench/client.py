"""Part ``client``: the library's producer and consumer against loops written by hand: the client's own processor time.

The work of the queue manager is left out: the embedded one's says nothing of IBM MQ's, and would dilute both sides.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from tests.bench.loops import Loop, Ours, Pymqi, Raw, ratio, take_turns
from tests.bench.run import Run
from tests.bench.site import on_one_core, queue_manager

# Messages of a unit of work, and the seconds that their rounds may take.
_UNITS_OF_WORK = {500: 170, 100: 60, 10: 60}


def measure(run: Run) -> dict[str, float]:
    """Measure: ratios of the client's processor time."""
    messages, rounds = run.of((2_000, 61), (1_000, 5))
    payloads = [b"%099d" % number for number in range(messages)]
    figures = {}
    with queue_manager() as qmgr, on_one_core(qmgr):
        loops: dict[str, Callable[[], Loop]] = {
            "ours": partial(Ours, qmgr),
            "ours, sync": partial(Ours, qmgr, {"put_response": "sync"}),
            "raw": partial(Raw, qmgr),
            "pymqi": partial(Pymqi, qmgr),
        }
        for every, seconds in _UNITS_OF_WORK.items():
            told = run.rounds(f"units of work of {every} messages", rounds, seconds)
            spent = take_turns(loops, ("put", "get"), payloads, every, told)
            for way, name, ours in (("put", "put", "ours"), ("put", "put sync", "ours, sync"), ("get", "get", "ours")):
                took = spent[way]
                figures[f"{name} {every}"] = ratio(took[ours], took["raw"])
                figures.setdefault(f"{name} pymqi", ratio(took[ours], took["pymqi"]))
    return figures
