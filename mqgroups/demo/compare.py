"""Compares the table with the messages that arrived, and finds messages that are still on the queues."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import mqgroups
from mqgroups.connection.holder import connection_of
from mqgroups.demo.source import Day
from mqgroups.mqi import constants as mq


def differences(table: Iterable[Day], directory: Path) -> list[str]:
    """Return a sentence for each difference between the table and the consumer's files.

    A file has the messages of one group. So if there are no differences, every flight has arrived once and in order, and all
    groups are whole and in order.
    """
    found = {path.name: path for path in directory.iterdir()}
    sentences = []
    for number, day in enumerate(table, 1):
        name = f"{number:04}-{day.date}.csv"
        path = found.pop(name, None)
        if path is None:
            sentences.append(f"{name} is missing: group {number} should have brought {len(day.flights):,} flights")
        else:
            sentences.extend(_differences_of_day(name, day.flights, path.read_text(encoding="utf-8").split("\n")))
    sentences.extend(f"{name} should not be there" for name in sorted(found))
    return sentences


def _differences_of_day(name: str, expected: list[str], lines: list[str]) -> Iterable[str]:
    if lines == [*expected, ""]:
        return
    if lines[-1]:
        yield f"{name} ends in the middle of a line: {lines[-1]!r}"
    found = lines[:-1]
    missing, surplus = Counter(expected) - Counter(found), Counter(found) - Counter(expected)
    if missing:
        yield f"{name}: flights missing: {missing.total():,}, the first is {next(iter(missing))!r}"
    if surplus:
        yield f"{name}: lines too many: {surplus.total():,}, the first is {next(iter(surplus))!r}"
    if not missing and not surplus and found != expected:
        line = next(number for number, (a, b) in enumerate(zip(expected, found, strict=True), 1) if a != b)
        yield f"{name}: the flights are not in order, from line {line} on"


def left_on_queues(q_mgr: mqgroups.QueueManager, queues: Iterable[str]) -> list[str]:
    """Return a sentence for each queue that has messages. CurrentQDepth does not count messages of uncommitted gets."""
    sentences = []
    for name in queues:
        queue = connection_of(q_mgr).open_queue(name, mq.MQOO_INQUIRE)
        depth = queue.inquire(mq.MQIA_CURRENT_Q_DEPTH)
        queue.close()
        if depth:
            sentences.append(f"queue {name} should be empty and holds {depth} messages")
    return sentences
