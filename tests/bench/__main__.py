"""Compare the library with loops written by hand: ``python -m tests.bench [--short] [--cluster] …``, see ``--help``.

One run measures all loops in turns on one queue manager, client and server pinned to one core, and reports medians and
ratios. The queue manager counts the MQI calls. Then single calls are measured without Python on the client's side, and what
tracing and a restart cost; then groups on a cluster; and, but for the short form, several workers against one, Spark source and
sink against loops by hand, and the Spark source with up to 100,000 groups.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import json
import os
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.table import Table

from mqgroups.embedded import EmbeddedQueueManager
from mqgroups.embedded.libmqm.build import build, load
from tests.bench import restart, tracing, verbs

MQSC = """
DEFINE QLOCAL(BENCH) MAXDEPTH(999999999) DEFPSIST(YES) REPLACE
DEFINE QLOCAL(BENCH.STATUS) MAXDEPTH(10) DEFPSIST(YES) NOSHARE DEFSOPT(EXCL) REPLACE
"""


@contextlib.contextmanager
def _queue_manager() -> Iterator[EmbeddedQueueManager]:
    with tempfile.TemporaryDirectory() as directory:
        mqsc = Path(directory, "bench.mqsc")
        mqsc.write_text(MQSC)
        with EmbeddedQueueManager("BENCH", mqsc=[mqsc]) as qmgr:
            # Client and server take turns, never work at the same time: on one core the way between them is shortest
            # and, what counts more, always the same.
            cores = os.sched_getaffinity(0)
            os.sched_setaffinity(qmgr.pid, {min(cores)})
            os.sched_setaffinity(0, {min(cores)})
            yield qmgr
            os.sched_setaffinity(0, cores)


def _measure(qmgr: EmbeddedQueueManager, messages: int, every: int, rounds: int) -> dict[str, dict[str, list[float]]]:
    """Return seconds of each round by direction and loop, and the calls of one put and one get by ``mqgroups``."""
    from tests.bench.loops import LOOPS

    payloads = [b"%099d" % number for number in range(messages)]
    times: dict[str, dict[str, list[float]]] = {way: {loop.name: [] for loop in LOOPS} for way in ("put", "get")}
    calls: dict[str, dict[str, list[float]]] = {way: {loop.name: [] for loop in LOOPS} for way in ("put", "get")}
    for number in range(rounds + 1):
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


def main() -> None:
    """Run the benchmark; see the module's docstring."""
    parser = argparse.ArgumentParser(description="Compare mqgroups with loops written by hand.")
    parser.add_argument("--short", action="store_true", help="fewer messages and rounds")
    parser.add_argument("--long", action="store_true", help="restarts of a group of a million messages too")
    only = parser.add_mutually_exclusive_group()
    only.add_argument("--spark", action="store_true", help="only Spark source and sink")
    only.add_argument("--groups", action="store_true", help="only the Spark source with many groups")
    only.add_argument("--cluster", action="store_true", help="only groups on a cluster")
    only.add_argument("--workers", action="store_true", help="only several workers against one")
    parser.add_argument("--json", type=Path, default=Path("build/bench.json"), help="where the figures go")
    arguments = parser.parse_args()
    load(build())
    console = Console(width=140)
    summary: dict[str, object] = {}
    is_all = not (arguments.spark or arguments.groups or arguments.cluster or arguments.workers)
    if is_all:
        summary = _library(console, arguments)
    if is_all or arguments.cluster:
        summary["cluster"] = _cluster(console, short=arguments.short)
    if arguments.workers or (is_all and not arguments.short):
        summary["workers"] = _workers(console, short=arguments.short)
    if arguments.spark or (is_all and not arguments.short):
        summary["spark"] = _spark(console)
    if arguments.groups or (is_all and not arguments.short):
        summary["groups"] = _groups(console, short=arguments.short)
    arguments.json.parent.mkdir(parents=True, exist_ok=True)
    arguments.json.write_text(json.dumps(summary, indent=2) + "\n")
    print(f"figures in {arguments.json}")


def _spark(console: Console) -> dict[str, object]:
    """Measure Spark; nothing where there is none."""
    if importlib.util.find_spec("pyspark") is None:
        console.print("Spark is left out: pyspark is not installed")
        return {}
    from tests.bench import spark

    found = spark.measure(groups=20, messages=2_000, rounds=5)
    spark.report(console, found)
    return found


def _groups(console: Console, *, short: bool) -> list[dict[str, object]]:
    """Measure the Spark source with many groups; nothing where there is no Spark."""
    if importlib.util.find_spec("pyspark") is None:
        return []
    from tests.bench import spark_groups

    cases: list[tuple[int, int, float]] = [(1_000, 10, 0), (1_000, 10, 1)]
    if not short:
        cases += [(10_000, 10, 0), (100_000, 3, 0)]
    found = [spark_groups.measure(*case) for case in cases]
    spark_groups.report(console, found)
    return spark_groups.as_json(found)


def _workers(console: Console, *, short: bool) -> list[dict[str, float]]:
    """Measure one, two and four workers on a slow line."""
    from tests.bench import workers

    rows = workers.summary(
        workers.measure((1, 2, 4), groups=40 if short else 100, rounds=1 if short else 5, latency_ms=1)
    )
    workers.report(console, rows, latency_ms=1)
    return rows


def _cluster(console: Console, *, short: bool) -> dict[str, object]:
    """Measure groups on a cluster: by instances and producers, by binding, by open groups."""
    from tests.bench import bindings, instances
    from tests.bench.cluster import bench
    from tests.bench.costs import LIBRARY, ON_GROUP, Load, of_cases, of_cells
    from tests.bench.producers import started

    one_each = Load(groups=10 if short else 50, messages=20, every=10)
    handles = (1, 10, 100) if short else (1, 10, 100, 1_000)
    owners = (1, 10) if short else (1, 10, 100)
    rounds = 2 if short else 7
    found: dict[str, object] = {}
    with bench() as cluster:
        with started(cluster.gateway, max(instances.PRODUCERS)) as producers:
            spent, arrived = instances.measure(cluster, producers, one_each, rounds)
        grid = of_cells(one_each.groups, spent, arrived)
        instances.report(console, grid, one_each)
        found["instances"] = grid
        for title, cases, load in (
            ("Bindings", bindings.by_binding(), one_each),
            # A unit of work is of many groups in any case, so that only the number of open ones is different.
            ("Open groups by hand", bindings.by_open_groups(ON_GROUP, handles), Load(handles[-1], 4, 100)),
            ("Open groups", bindings.by_open_groups(LIBRARY, owners), Load(owners[-1], 10, 5)),
        ):
            rows = of_cases(load, bindings.measure(cluster, cases, load, rounds))
            bindings.report(console, title, load, rows)
            found[title.lower()] = rows
    return found


def _library(console: Console, arguments: argparse.Namespace) -> dict[str, object]:
    """Measure the library's own loops, single calls and restarts."""
    # Many short rounds: what else runs on the machine changes from one second to the next, less so within a round.
    messages, every, rounds = (1_000, 250, 21) if arguments.short else (2_000, 500, 61)
    with _queue_manager() as qmgr:
        results = _measure(qmgr, messages, every, rounds)
        single = verbs.measure(qmgr, messages, 5 if arguments.short else 21)
        sizes = [10**power for power in range(2, 6 + arguments.long)]
        traced = tracing.measure(qmgr, messages, every, rounds // 2)
        restarts = restart.measure(qmgr, sizes[:3] if arguments.short else sizes, 21)
    summary = _report(console, results, messages, every)
    verbs.report(console, single)
    summary["verbs"] = single
    summary["tracing"] = tracing.report(console, traced, messages, every)
    restart.report(console, restarts)
    summary["restarts"] = restarts
    return summary


if __name__ == "__main__":
    main()
