"""What a message put to a cluster queue costs: by binding, by number of instances, by number of open groups.

MQOO_BIND_ON_GROUP with groups is compared with MQOO_BIND_NOT_FIXED without: the same bytes in the same units of work, put by
hand as cheaply as Python can. Open groups are begun before one of them ends: by hand with a handle for each on one
connection, by the library with a producer and a connection for each; groups and messages are as many as with one open group.

Everything takes turns. Cost is processor time of all processes, until the messages are at the instances.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import pymqi
from pymqi import CMQC, pymqe
from rich.console import Console
from rich.table import Table

import mqgroups
from tests.bench.cluster import INSTANCES, Bench
from tests.bench.costs import LIBRARY, NOT_FIXED, ON_GROUP, WHO, Case, Load, Spent
from tests.bench.producers import PAYLOAD

_PUT = CMQC.MQPMO_SYNCPOINT | CMQC.MQPMO_SYNC_RESPONSE | CMQC.MQPMO_NEW_MSG_ID | CMQC.MQPMO_FAIL_IF_QUIESCING


def by_binding() -> list[Case]:
    """Return each way with each number of instances."""
    return [Case(way, instances) for way, instances in itertools.product((NOT_FIXED, ON_GROUP, LIBRARY), INSTANCES)]


def by_open_groups(way: str, numbers: Sequence[int]) -> list[Case]:
    """Return one way with so many open groups, at the largest number of instances."""
    return [Case(way, max(INSTANCES), number) for number in numbers]


class _Puts:
    """Groups put by hand, or messages without groups: structures are packed beforehand."""

    def __init__(self, q_mgr: Any, *, grouped: bool) -> None:
        self._hconn = q_mgr.get_handle()
        flags = (CMQC.MQMF_MSG_IN_GROUP, CMQC.MQMF_LAST_MSG_IN_GROUP) if grouped else (0, 0)
        self._middle, self._last = (
            bytearray(pymqi.MD(Version=2, Persistence=1, MsgFlags=flag).pack()) for flag in flags
        )
        order = CMQC.MQPMO_LOGICAL_ORDER if grouped else 0
        self._pmo = bytearray(pymqi.PMO(Version=2, Options=_PUT | order).pack())

    def __call__(self, handles: Sequence[int], load: Load) -> None:
        """Put groups through all handles in turn: the first message of each, then the second of each."""
        hconn, pmo, mqput, mqcmit = self._hconn, self._pmo, pymqe.MQPUT, pymqe.MQCMIT
        count = 0
        for _ in range(load.groups // len(handles)):
            for number in range(1, load.messages + 1):
                md = self._middle if number < load.messages else self._last
                for hobj in handles:
                    # The library writes into the bytes it is given: every call gets a copy of its own.
                    *_, comp, reason = mqput(hconn, hobj, bytes(md), bytes(pmo), PAYLOAD)
                    if comp:
                        raise RuntimeError(reason)
                    count += 1
                    if count % load.every == 0 and mqcmit(hconn)[0]:
                        raise RuntimeError("MQCMIT")


def measure(bench: Bench, cases: Sequence[Case], load: Load, rounds: Iterable[int]) -> dict[Case, list[Spent]]:
    """Return what each case took, for each round."""
    spent: dict[Case, list[Spent]] = {case: [] for case in cases}
    with ExitStack() as opened:
        works = {case: opened.enter_context(_work(bench, case, load)) for case in cases}
        for number in rounds:
            first = number % len(cases)
            for case in (*cases[first:], *cases[:first]):
                took = bench.spent(case.instances, works[case])
                bench.take_off(case.instances, load.groups * load.messages)
                if number:  # the first round warms up
                    spent[case].append(took)
    return spent


@contextmanager
def _work(bench: Bench, case: Case, load: Load) -> Iterator[Callable[[], float]]:
    """Open queues for a case; what is given puts the load and returns the processor time that it took."""
    name = f"BENCH.{case.instances}"
    with ExitStack() as opened:
        if case.way == LIBRARY:
            producers = [opened.enter_context(_producer(bench, case, each, load)) for each in range(case.open_groups)]
            yield lambda: _timed(lambda: _put_with(producers, load))
            return
        grouped = case.way == ON_GROUP
        puts = _Puts(bench.q_mgr, grouped=grouped)
        binding = CMQC.MQOO_BIND_ON_GROUP if grouped else CMQC.MQOO_BIND_NOT_FIXED
        queues = [pymqi.Queue(bench.q_mgr, name, CMQC.MQOO_OUTPUT | binding) for _ in range(case.open_groups)]
        handles = [queue.get_handle() for queue in queues]
        yield lambda: _timed(lambda: puts(handles, load))
        for queue in queues:
            queue.close()


def _timed(work: Callable[[], None]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


@contextmanager
def _producer(bench: Bench, case: Case, number: int, load: Load) -> Iterator[mqgroups.GroupProducer]:
    gateway = bench.gateway
    with mqgroups.connect(gateway.q_mgr_name, gateway.channel, gateway.conn_name) as q_mgr:
        name = f"BENCH.{case.instances}.{case.open_groups}.{number}"
        with q_mgr.group_producer(f"BENCH.{case.instances}", name=name, commit_every=load.every) as producer:
            yield producer


def _put_with(producers: Sequence[mqgroups.GroupProducer], load: Load) -> None:
    for _ in range(load.groups // len(producers)):
        with ExitStack() as open_groups:
            groups = [open_groups.enter_context(producer.group()) for producer in producers]
            for _ in range(load.messages):
                for group in groups:
                    group.put(PAYLOAD)


def report(console: Console, title: str, load: Load, rows: Sequence[dict[str, Any]]) -> None:
    """Print figures as a table."""
    table = Table(
        title=f"{title}: {load.groups:,} groups of {load.messages} messages of 100 bytes, units of work of {load.every}, "
        "embedded cluster (not IBM MQ)"
    )
    table.add_column("", no_wrap=True)
    for column in (
        "instances",
        "open groups",
        "CPU, µs",
        "client + sender + hosts",
        "÷ smallest",
        "÷ NOT_FIXED",
        "per batch",
        "elapsed, µs",
    ):
        table.add_column(column, justify="right", no_wrap=column.startswith("client"))
    for row in rows:
        parts = " + ".join(f"{row[f'{name}_cpu_us_per_message']:.0f}" for name in WHO[1:])
        table.add_row(
            row["way"],
            str(row["instances"]),
            f"{row['open_groups']:,}",
            f"{row['processor_cpu_us_per_message']:.0f}",
            parts,
            f"{row['ratio_to_smallest']:.2f}",
            f"{row['ratio_to_not_fixed']:.2f}" if "ratio_to_not_fixed" in row else "",
            f"{row['messages_per_batch']:.1f}",
            f"{row['us_per_message']:.0f}",
        )
    console.print(table)
    console.print(
        "Microseconds a message; medians of rounds. Ratios are of processor time, medians of those within a round. Per batch: "
        "messages in a batch of a channel, which is a unit of work at both of its ends."
    )
