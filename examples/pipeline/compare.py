"""The expected results of the pipeline, counted from the table in plain Python, and the differences, a sentence each."""

from __future__ import annotations

import csv
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import mqgroups
from examples.pipeline.feed import QUEUE, Group
from mqgroups.connection.holder import connection_of
from mqgroups.demo.source import Day
from mqgroups.mqi import constants as mq

DELAYS = "FLIGHTS.DELAYS"
_CARRIER, _DEP_TIME, _DEP_DELAY, _ARR_DELAY = 9, 3, 5, 8
_DELAYED_MINUTES = 15

# By date, a row for each carrier, in order of carriers.
Delays = dict[str, list[dict[str, Any]]]


def delays(days: Iterable[Day]) -> Delays:
    """Return the expected delays."""
    found: Delays = {}
    for day in days:
        flights: dict[str, list[list[str]]] = defaultdict(list)
        for fields in csv.reader(day.flights):
            flights[fields[_CARRIER]].append(fields)
        found[day.date] = [_of_carrier(day.date, carrier, flights[carrier]) for carrier in sorted(flights)]
    return found


def _of_carrier(date: str, carrier: str, flights: list[list[str]]) -> dict[str, Any]:
    departures = [int(fields[_DEP_DELAY]) for fields in flights if fields[_DEP_DELAY] != "NA"]
    arrivals = [int(fields[_ARR_DELAY]) for fields in flights if fields[_ARR_DELAY] != "NA"]
    return {
        "date": date,
        "carrier": carrier,
        "flights": len(flights),
        "cancelled": sum(fields[_DEP_TIME] == "NA" for fields in flights),
        "delayed": sum(minutes >= _DELAYED_MINUTES for minutes in departures),
        "mean_dep_delay": sum(departures) / len(departures) if departures else None,
        "max_dep_delay": max(departures, default=None),
        "mean_arr_delay": sum(arrivals) / len(arrivals) if arrivals else None,
    }


def differences(folder: Path, q_mgr: mqgroups.QueueManager, expected: Delays, bad: Iterable[Group]) -> Iterator[str]:
    """Yield the differences in the tables and on the queues. The queue of delays is empty afterwards."""
    import pyarrow.parquet

    found: Delays = defaultdict(list)
    for row in pyarrow.parquet.read_table(folder / "delays", partitioning=None).to_pylist():
        found[row["date"].isoformat()].append({**row, "date": row["date"].isoformat()})
    for of_day in found.values():
        of_day.sort(key=lambda row: str(row["carrier"]))
    yield from _of_delays("table delays", found, expected)

    # A whole group has all its messages, with one reason.
    rejects: dict[tuple[bytes, str | None], list[tuple[int, str]]] = defaultdict(list)
    for row in pyarrow.parquet.read_table(folder / "rejects", partitioning=None).to_pylist():
        rejects[row["group_id"], row["reason"]].append((row["msg_seq_number"], row["value"].decode()))
    groups = Counter((tuple(text for _, text in sorted(rows)), reason) for (_, reason), rows in rejects.items())
    wanted = Counter((group.messages, group.reason) for group in bad)
    for difference, what in ((wanted - groups, "is missing"), (groups - wanted, "should not be there")):
        for messages, reason in difference:
            yield f"table rejects: a group of {len(messages)} messages with reason {reason} {what}"

    found = {}
    with q_mgr.group_consumer(DELAYS, name="PIPELINE.BALANCE", wait_s=0) as consumer:
        for group in consumer:
            delays_of_day = [json.loads(message.data) for message in group]
            dates = {row["date"] for row in delays_of_day}
            if len(dates) != 1 or dates & found.keys():
                yield f"queue {DELAYS}: a group has messages of {len(dates)} days, or the second one of a day"
            found.update(dict.fromkeys(dates, delays_of_day))
    yield from _of_delays(f"queue {DELAYS}", found, expected)

    # After any number of micro-batches, only the sink's mark is left.
    for name, wanted_depth in ((QUEUE, 0), (f"MQGROUPS.SPARK.{DELAYS}", 1)):
        queue = connection_of(q_mgr).open_queue(name, mq.MQOO_INQUIRE)
        depth = queue.inquire(mq.MQIA_CURRENT_Q_DEPTH)
        queue.close()
        if depth != wanted_depth:
            yield f"queue {name} holds {depth} messages, expected {wanted_depth}"


def _of_delays(where: str, found: Delays, expected: Delays) -> Iterator[str]:
    for date in sorted(expected.keys() | found.keys()):
        if found.get(date) != expected.get(date):
            yield f"{where}: of {date} it has {found.get(date)}, expected {expected.get(date)}"
