"""Part ``client``: the library's producer and consumer against loops written by hand, and what a restart costs.

All loops take turns on one queue manager, client and server on one core. The queue manager counts the MQI calls.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterable

from rich.console import Console
from rich.table import Table

import mqgroups
from mqgroups.embedded import EmbeddedQueueManager
from tests.bench import opcodes, restart
from tests.bench.figures import Figure
from tests.bench.parts import Bench
from tests.bench.site import on_one_core, queue_manager

TITLE = "the library against loops written by hand, and restarts"
GOALS = {"put": 1.03, "get": 1.05}
_SECONDS = 170


def run(bench: Bench) -> list[Figure]:
    """Measure."""
    messages, every, rounds = bench.of((2_000, 500, 61), (1_000, 250, 21))
    sizes = [10**power for power in range(2, 6 + bench.long)]
    with queue_manager() as qmgr, on_one_core(qmgr):
        results = _measure(qmgr, messages, every, bench.tell.rounds("put and get", rounds, _SECONDS))
        bench.tell.now("restarts")
        restarts = restart.measure(qmgr, sizes[:3] if bench.short else sizes, 21)
        counted = _opcodes(qmgr)
    bench.details |= _report(bench.console, results, messages, every)
    restart.report(bench.console, restarts)
    bench.details["restarts"] = restarts
    figures = [
        Figure(f"{way}, opcodes of the library per message", count, digits=0)
        for way, count in zip(GOALS, counted, strict=True)
    ]
    for way, goal in GOALS.items():
        found = bench.details[f"{way} mqgroups"]
        headline = f"{way}: {{}} times as long as a loop written by hand with the same MQI calls"
        figures += [
            Figure(f"{way}, time ÷ raw loop", found["ratio_to_raw_loop"], at_most=goal, headline=headline),
            Figure(f"{way}, time ÷ loop with pymqi's classes", found["ratio_to_pymqi_loop"], at_most=1),
        ]
    last = restarts[str(max(map(int, restarts)))]
    figures.append(Figure("restart, MQI calls to its first commit", last["mqi_calls"], at_most=15, digits=0))
    return figures


def _opcodes(qmgr: EmbeddedQueueManager) -> tuple[float, float]:
    with (
        mqgroups.connect(qmgr.q_mgr_name, qmgr.channel, qmgr.conn_name) as putting,
        mqgroups.connect(qmgr.q_mgr_name, qmgr.channel, qmgr.conn_name) as getting,
        putting.group_producer(restart.QUEUE, name="BENCH", commit_every=1000) as producer,
        getting.group_consumer(restart.QUEUE, name="BENCH", commit_every=1000) as consumer,
    ):
        return opcodes.to_put_and_get(producer, consumer)


def _measure(
    qmgr: EmbeddedQueueManager, messages: int, every: int, rounds: Iterable[int]
) -> dict[str, dict[str, list[float]]]:
    """Return seconds of each round by direction and loop, and the calls of one put and one get by ``mqgroups``."""
    from tests.bench.loops import LOOPS

    payloads = [b"%099d" % number for number in range(messages)]
    times: dict[str, dict[str, list[float]]] = {way: {loop.name: [] for loop in LOOPS} for way in ("put", "get")}
    calls: dict[str, dict[str, list[float]]] = {way: {loop.name: [] for loop in LOOPS} for way in ("put", "get")}
    for number in rounds:
        # Another order in every round, so that no loop always runs behind the same one.
        order = LOOPS[number % len(LOOPS) :] + LOOPS[: number % len(LOOPS)]
        for kind in order:
            loop = kind(qmgr)
            for way, argument in (("put", payloads), ("get", messages)):
                with getattr(loop, way)(argument, every) as work:
                    qmgr.clear_faults()
                    began = time.perf_counter()
                    work()
                    took = time.perf_counter() - began
                    made = sum(qmgr.calls().values())
                if number:  # the first round warms up
                    times[way][kind.name].append(took)
                    calls[way][kind.name].append(made)
            loop.close()
    return {"put": times["put"], "get": times["get"], "put calls": calls["put"], "get calls": calls["get"]}


def _report(
    console: Console, results: dict[str, dict[str, list[float]]], messages: int, every: int
) -> dict[str, object]:
    units = -(-messages // every)
    # The library keeps a record from an owner's first call to its last; IBM's pattern has none after a group's end.
    by_hand = messages + 3 * units - 2
    expected = {"mqgroups": messages + 3 * units, "raw loop": by_hand, "pymqi loop": by_hand}
    table = Table(
        title=f"{messages:,} messages of 100 bytes in {units} units of work, embedded queue manager (not IBM MQ), "
        f"median of {len(next(iter(results['put'].values())))} rounds"
    )
    for column in (
        "",
        "loop",
        "µs/message",
        "range",
        "÷ raw loop",
        "÷ pymqi loop",
        "MQI calls",
        "expected",
    ):
        table.add_column(column, justify="left" if column in ("", "loop") else "right")
    summary: dict[str, object] = {"messages": messages, "units_of_work": units}
    for way in ("put", "get"):
        medians = {name: statistics.median(values) for name, values in results[way].items()}
        for name, values in results[way].items():
            calls = int(statistics.median(results[f"{way} calls"][name]))
            by_round = zip(values, results[way]["raw loop"], results[way]["pymqi loop"], strict=True)
            ratios = [(mine / raw, mine / user) for mine, raw, user in by_round]
            to_raw, to_user = (statistics.median(column) for column in zip(*ratios, strict=True))
            per_message = [value / messages * 1e6 for value in values]
            table.add_row(
                way,
                name,
                f"{medians[name] / messages * 1e6:.1f}",
                f"{min(per_message):.1f}-{max(per_message):.1f}",
                f"{to_raw:.3f}",
                f"{to_user:.3f}",
                f"{calls:,}",
                f"{expected[name]:,}",
            )
            summary[f"{way} {name}"] = {
                "us_per_message": round(medians[name] / messages * 1e6, 2),
                "ratio_to_raw_loop": round(to_raw, 4),
                "ratio_to_pymqi_loop": round(to_user, 4),
                "mqi_calls": calls,
                "expected_calls": expected[name],
                "rounds_s": [round(value, 4) for value in values],
            }
    console.print(table)
    console.print(
        "Ratios are medians of those within a round. Opening and closing are not timed. Expected: N + 3U calls of mqgroups, "
        "N + 3U - 2 by hand."
    )
    return summary
