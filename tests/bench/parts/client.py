"""Part ``client``: the library's producer and consumer against loops written by hand, and what a restart costs.

All loops take turns on one queue manager, client and server on one core. The queue manager counts the MQI calls.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Iterable
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

import mqgroups
from mqembedded import EmbeddedQueueManager
from tests.bench import opcodes, restart
from tests.bench.figures import Figure
from tests.bench.parts import Bench
from tests.bench.site import on_one_core, processor_s, queue_manager

TITLE = "the library against loops written by hand, and restarts"
GOALS = {"put": 1.06, "get": 1.10}
OFTEN = 10  # messages of a unit of work for somebody who commits often; its end is then most of what the library does
GOAL_OFTEN = 1.18
_SECONDS = 170
_SECONDS_OFTEN = 60


def run(bench: Bench) -> list[Figure]:
    """Measure."""
    messages, every, rounds = bench.of((2_000, 500, 61), (1_000, 250, 5))
    sizes = [10**power for power in range(2, 6 + bench.long)]
    with queue_manager() as qmgr, on_one_core(qmgr):
        results = _measure(qmgr, messages, every, bench.tell.rounds("put and get", rounds, _SECONDS))
        fewer = messages // 2
        told = bench.tell.rounds(f"a unit of work every {OFTEN} messages", rounds // 2, _SECONDS_OFTEN)
        often = _measure(qmgr, fewer, OFTEN, told)
        bench.tell.now("restarts")
        restarts = restart.measure(qmgr, sizes[:3] if bench.short else sizes, bench.of(21, 5))
        counted = _opcodes(qmgr)
    bench.details |= _report(bench.console, results, messages, every)
    bench.details["often"] = in_small = _report(bench.console, often, fewer, OFTEN)
    restart.report(bench.console, restarts)
    bench.details["restarts"] = restarts
    figures = [
        Figure(f"{way}, opcodes of the library per message", count, digits=0)
        for way, count in zip(GOALS, counted, strict=True)
    ]
    for way, goal in GOALS.items():
        found = bench.details[f"{way} mqgroups"]
        headline = f"{way}: {{}} times the processor time of a loop written by hand with the same MQI calls"
        figures += [
            Figure(f"{way}, processor time ÷ raw loop", found["ratio_to_raw_loop"], at_most=goal, headline=headline),
            Figure(f"{way}, processor time ÷ loop with pymqi's classes", found["ratio_to_pymqi_loop"], at_most=1),
            Figure(
                f"{way}, a unit of work every {OFTEN} messages, processor time ÷ raw loop",
                in_small[f"{way} mqgroups"]["ratio_to_raw_loop"],
                at_most=GOAL_OFTEN,
            ),
        ]
    last = restarts[str(max(map(int, restarts)))]
    figures.append(Figure("restart, MQI calls to its first commit", last["mqi_calls"], at_most=16, digits=0))
    return figures


def _opcodes(qmgr: EmbeddedQueueManager) -> tuple[float, float]:
    with (
        mqgroups.connect(qmgr.q_mgr_name, qmgr.channel, qmgr.conn_name) as putting,
        mqgroups.connect(qmgr.q_mgr_name, qmgr.channel, qmgr.conn_name) as getting,
        putting.group_producer(restart.QUEUE, name="BENCH", commit_every=1000) as producer,
        getting.group_consumer(restart.QUEUE, name="BENCH", commit_every=1000) as consumer,
    ):
        return opcodes.to_put_and_get(producer, consumer)


class _Spent(NamedTuple):
    """What one loop took in one round: seconds of processor time of client and server, seconds that passed, MQI calls."""

    processor: float
    passed: float
    calls: int


def _measure(
    qmgr: EmbeddedQueueManager, messages: int, every: int, rounds: Iterable[int]
) -> dict[str, dict[str, list[_Spent]]]:
    """Return what each round took, by direction and loop."""
    from tests.bench.loops import LOOPS

    payloads = [b"%099d" % number for number in range(messages)]
    spent: dict[str, dict[str, list[_Spent]]] = {way: {loop.name: [] for loop in LOOPS} for way in ("put", "get")}
    for number in rounds:
        # Another order in every round, so that no loop always runs behind the same one.
        order = LOOPS[number % len(LOOPS) :] + LOOPS[: number % len(LOOPS)]
        for kind in order:
            loop = kind(qmgr)
            for way, argument in (("put", payloads), ("get", messages)):
                with getattr(loop, way)(argument, every) as work:
                    qmgr.clear_faults()
                    gc.collect()  # what the loop before left is not this one's
                    began = time.process_time() + processor_s(qmgr), time.perf_counter()
                    work()
                    passed = time.perf_counter() - began[1]
                    processor = time.process_time() + processor_s(qmgr) - began[0]
                    made = sum(qmgr.calls().values())
                if number:  # the first round warms up
                    spent[way][kind.name].append(_Spent(processor, passed, made))
            loop.close()
    return spent


def _report(console: Console, results: dict[str, dict[str, list[_Spent]]], messages: int, every: int) -> dict[str, Any]:
    units = -(-messages // every)
    # The library keeps a record from an owner's first call to its last; IBM's pattern has none after a group's end.
    by_hand = messages + 3 * units - 2
    expected = {"mqgroups": messages + 3 * units, "raw loop": by_hand, "pymqi loop": by_hand}
    table = Table(
        title=f"{messages:,} messages of 100 bytes in {units} units of work, embedded queue manager (not IBM MQ), "
        f"median of {len(next(iter(results['put'].values())))} rounds"
    )
    columns = ("", "loop", "µs/message", "of processor time", "÷ raw loop", "÷ pymqi loop", "MQI calls", "expected")
    for column in columns:
        table.add_column(column, justify="left" if column in columns[:2] else "right")
    summary: dict[str, Any] = {"messages": messages, "units_of_work": units}
    for way, by_loop in results.items():
        for name, rounds in by_loop.items():
            us, processor_us = (statistics.median(spent[i] for spent in rounds) / messages * 1e6 for i in (1, 0))
            calls = int(statistics.median(spent.calls for spent in rounds))
            to_raw, to_user = (
                statistics.median(
                    mine.processor / other.processor for mine, other in zip(rounds, by_loop[than], strict=True)
                )
                for than in ("raw loop", "pymqi loop")
            )
            told = (
                f"{us:.1f}",
                f"{processor_us:.1f}",
                f"{to_raw:.3f}",
                f"{to_user:.3f}",
                f"{calls:,}",
                f"{expected[name]:,}",
            )
            table.add_row(way, name, *told)
            summary[f"{way} {name}"] = {
                "us_per_message": round(us, 2),
                "processor_us_per_message": round(processor_us, 2),
                "ratio_to_raw_loop": round(to_raw, 4),
                "ratio_to_pymqi_loop": round(to_user, 4),
                "mqi_calls": calls,
                "expected_calls": expected[name],
            }
    console.print(table)
    console.print(
        "Ratios are of processor time of client and server, medians of those within a round. Opening and closing are not timed. "
        "Expected: N + 3U calls of mqgroups, N + 3U - 2 by hand."
    )
    return summary
