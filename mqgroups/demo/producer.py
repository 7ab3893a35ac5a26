"""The producer: puts flights to queue FLIGHTS, one group for each day, with units of work of 500 flights.

Its checkpoint is the day and the number of its flights that are put, committed with the messages. So a new instance
knows where to continue, inside a day and between two days. When all flights are put, it makes a file *before* it
clears the checkpoint; otherwise an instance that starts later could not know that the work is done. An instance that
finds the file only clears the checkpoint, if necessary. When the producer is closed after that, its status queue is
empty.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from mqgroups import GroupProducer, QueueManager
from mqgroups.demo.program import EVERY, QUEUE, Progress, arguments, connect, mark_done, run
from mqgroups.demo.source import DEFAULT_TABLE, Day, SourceError, days

NAME = "FLIGHTS.LOADER"


def load(connection: QueueManager, producer: GroupProducer, table: Iterable[Day]) -> None:
    """Put what is not put yet."""
    progress = Progress(connection)
    checkpoint = producer.checkpoint
    assert checkpoint is None or isinstance(checkpoint, dict)  # it is set below
    if checkpoint is not None:
        progress.resumed(f"{checkpoint['day']} {checkpoint['flights']}")
    for day in table:
        if checkpoint is not None:
            # Days before the checkpoint's are on the queue, and so is that day itself if all of it is.
            is_last_one = day.date == checkpoint["day"]
            if not is_last_one or checkpoint["flights"] == len(day.flights):
                progress.position += len(day.flights)
                checkpoint = None if is_last_one else checkpoint
                continue
            checkpoint = None
        with producer.group(name=day.date) as group:
            progress.position += group.resume_from
            for number, flight in enumerate(day.flights[group.resume_from :], group.resume_from + 1):
                group.set_checkpoint({"day": day.date, "flights": number})
                group.put(flight)
                progress.step()
    if checkpoint is not None:
        raise SourceError(f"the last committed day was {checkpoint['day']}, and the table does not have it")
    progress.report()


def main() -> None:
    """Run the program."""
    parser = arguments("Put flights to queue FLIGHTS, one message group a day.")
    parser.add_argument("--data", type=Path, default=DEFAULT_TABLE, help="flights.csv.zip")
    parser.add_argument("--days", type=int, help="only so many days; all, unless given")
    options = parser.parse_args()
    with connect(options) as q_mgr, q_mgr.group_producer(QUEUE, name=NAME, commit_every=EVERY) as producer:
        if not options.done.exists():
            load(q_mgr, producer, days(options.data, options.days))
            mark_done(options.done)
        producer.forget()


if __name__ == "__main__":
    run(main)
