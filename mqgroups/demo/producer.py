"""The producer: puts flights to queue FLIGHTS, one group for each day, with units of work of 500 flights.

A group's name is its day. So a new instance knows where to continue, inside a day and between two days. When all flights are
put, the program makes a file *before* it removes the last name from the status record. Otherwise a later instance could not know
that the work is done. After the producer is closed, its status queue is empty.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from mqgroups import GroupProducer, QueueManager
from mqgroups.demo.program import EVERY, QUEUE, DemoProgress, arguments, connect, mark_done, run
from mqgroups.demo.source import DEFAULT_TABLE, Day, days

NAME = "FLIGHTS.LOADER"


def load(connection: QueueManager, producer: GroupProducer, table: Iterable[Day]) -> None:
    """Put all flights that are not put yet."""
    flights = {day.date: day.flights for day in table}
    remaining = list(producer.remaining(flights))
    complete = list(flights)[: len(flights) - len(remaining)]
    progress = DemoProgress(connection, sum(len(flights[date]) for date in complete))
    for date in remaining:
        with producer.group(date) as group:
            progress.position += group.resume_from
            if progress.position and date == remaining[0]:
                progress.resumed(f"{date} {group.resume_from}")
            for flight in flights[date][group.resume_from :]:
                group.put(flight)
                progress.step()
    progress.report()


def main() -> None:
    """Run the program."""
    parser = arguments("Put flights to queue FLIGHTS, one message group a day.")
    parser.add_argument("--data", type=Path, default=DEFAULT_TABLE, help="flights.csv.zip")
    parser.add_argument("--days", type=int, help="number of days to put; by default all")
    options = parser.parse_args()
    with connect(options) as q_mgr, q_mgr.group_producer(QUEUE, name=NAME, commit_every=EVERY) as producer:
        if not options.done.exists():
            load(q_mgr, producer, days(options.data, options.days))
            mark_done(options.done)
        producer.forget()


if __name__ == "__main__":
    run(main)
