"""The producer: puts the flights of one airport to cluster queue CLUSTER.ORDERS, a group for each day and airline.

    python -m examples.cluster.producer --qmgr QM1 --conn-name 'localhost(1414)' --airport EWR --done /tmp/EWR.done

``bind="group"`` sends each group whole to one instance of the queue. It is the default; nothing else here concerns the cluster.
The names tell which groups are put. The file that reports the end is made before the last name is forgotten, so a program that
starts later finds the file.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from examples.cluster import airports
from examples.cluster.program import CONNECT_WAIT_S, EVERY, QUEUE, GroupProgress
from examples.year import TABLE
from mqgroups import GroupProducer
from mqgroups.demo.program import arguments, connect, mark_done, run


def load(producer: GroupProducer, groups: Sequence[airports.Group], progress: GroupProgress) -> None:
    """Put the groups that are not put yet."""
    flights = {each.name: each.flights for each in groups}
    remaining = list(producer.remaining(flights))
    progress.position = sum(len(each.flights) for each in groups[: len(groups) - len(remaining)])
    for name in remaining:
        with producer.group(name) as group:
            progress.position += group.resume_from
            for flight in flights[name][group.resume_from :]:
                group.put(flight)
                progress.step()
    progress.report()


def main() -> None:
    """Run the program."""
    parser = arguments(f"Put the flights of an airport to queue {QUEUE}, a message group for each day and airline.")
    parser.add_argument("--airport", choices=airports.AIRPORTS, required=True)
    parser.add_argument("--data", type=Path, default=TABLE, help="flights.csv.zip")
    parser.add_argument("--days", type=int, default=1, help="so many days")
    options = parser.parse_args()
    with connect(options, CONNECT_WAIT_S) as q_mgr:
        progress = GroupProgress(q_mgr)
        with q_mgr.group_producer(
            QUEUE,
            name=f"FLIGHTS.{options.airport}",
            commit_every=EVERY,
            bind="group",
            on_resume=progress.found,
            on_in_doubt=progress.settled,
        ) as producer:
            if not options.done.exists():
                groups = airports.groups(options.data, options.days)
                load(producer, airports.of_airport(groups, options.airport), progress)
                mark_done(options.done)
            producer.forget()


if __name__ == "__main__":
    run(main)
