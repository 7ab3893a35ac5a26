"""Compare the queues and files with the statistics from the table; each difference is a sentence."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import mqgroups
from examples.pipeline.delays import Delays
from examples.pipeline.feed import Group
from mqgroups.connection.holder import connection_of
from mqgroups.mqi import constants as mq
from mqgroups.mqi import structures as st
from mqgroups.spark.browse import BrowsedQueue
from mqgroups.spark.headers import taken_off
from mqgroups.spark.pipeline.outputs import REASON

# The sink's high-water mark: what stays of any number of micro-batches.
MARKS = 1


def parquet(path: Path, expected: Delays) -> Iterator[str]:
    """Yield what is different in the Parquet files."""
    import pyarrow.parquet

    rows = pyarrow.parquet.read_table(path, partitioning=None).to_pylist()
    found: Delays = {}
    for row in rows:
        row["date"] = row["date"].isoformat()
        found.setdefault(row["date"], []).append(row)
    for each in found.values():
        each.sort(key=lambda row: row["carrier"])
    yield from _differences("Parquet", found, expected)


def outgoing(q_mgr: mqgroups.QueueManager, queue: str, expected: Delays) -> Iterator[str]:
    """Yield what is different on the outgoing queue; it is empty afterwards."""
    found: Delays = {}
    with q_mgr.group_consumer(queue, name="PIPELINE.BALANCE", wait_s=0) as consumer:
        for group in consumer:
            messages = [json.loads(message.data) for message in group]
            dates = {message["date"] for message in messages}
            if len(dates) != 1:
                yield f"queue {queue}: a group has messages of {len(dates)} days"
            for date in dates & found.keys():
                yield f"queue {queue}: {date} has more than one group"
            found.update(dict.fromkeys(dates, messages))
    yield from _differences(f"queue {queue}", found, expected)


def quarantine(q_mgr: mqgroups.QueueManager, queue: str, expected: Iterable[Group]) -> Iterator[str]:
    """Yield what is different on the quarantine queue: whole groups, each message as it was, each with its reason."""
    wanted = Counter((tuple(group.messages), group.reason) for group in expected)
    found: Counter[tuple[tuple[str, ...], str | None]] = Counter()
    with BrowsedQueue(connection_of(q_mgr), queue, headers=True) as browsed:
        for head in browsed.heads():
            headed = [
                taken_off(
                    message.data, *(st.long_at(message.md, at) for at in (st.MD_ENCODING, st.MD_CODED_CHAR_SET_ID))
                )
                for message in browsed.messages(head)
            ]
            reasons = {each.properties.get(REASON) if each else None for each in headed}
            data = tuple(each.data.decode() if each else "" for each in headed)
            found[data, (reasons.pop() or b"").decode() if len(reasons) == 1 else None] += 1
    for messages, reason in wanted - found:
        yield f"queue {queue}: a group of {len(messages)} messages rejected for {reason} is missing"
    for messages, reason in found - wanted:
        yield f"queue {queue}: a group of {len(messages)} messages rejected for {reason} should not be there"


def depths(q_mgr: mqgroups.QueueManager, expected: dict[str, int]) -> Iterator[str]:
    """Yield what is different in how many messages queues hold."""
    for name, wanted in expected.items():
        queue = connection_of(q_mgr).open_queue(name, mq.MQOO_INQUIRE)
        depth = queue.inquire(mq.MQIA_CURRENT_Q_DEPTH)
        queue.close()
        if depth != wanted:
            yield f"queue {name} holds {depth} messages, expected {wanted}"


def _differences(where: str, found: Delays, expected: Delays) -> Iterator[str]:
    for date in sorted(expected.keys() - found.keys()):
        yield f"{where}: {date} is missing"
    for date in sorted(found.keys() - expected.keys()):
        yield f"{where}: {date} should not be there"
    for date in sorted(found.keys() & expected.keys()):
        if found[date] != expected[date]:
            yield f"{where}: {date} is different: {_first_difference(found[date], expected[date])}"


def _first_difference(found: list[dict[str, Any]], expected: list[dict[str, Any]]) -> str:
    if len(found) != len(expected):
        return f"{len(found)} rows, expected {len(expected)}"
    return next(f"{one}, expected {other}" for one, other in zip(found, expected, strict=True) if one != other)
