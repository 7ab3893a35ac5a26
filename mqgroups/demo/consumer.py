"""The consumer: gets groups from queue FLIGHTS and writes each group to a separate file, with a line for each message.

``mqgroups.FileSink`` writes each file exactly once. The files are numbered in the order in which their groups arrive. Like
the producer, this program makes the file that reports its end before it removes the checkpoint.
"""

from __future__ import annotations

from itertools import islice
from pathlib import Path

from mqgroups import FileSink, GroupConsumer, IncomingGroup, QueueManager
from mqgroups.demo.program import EVERY, QUEUE, DemoProgress, arguments, connect, mark_done, run

NAME = "FLIGHTS.SINK"


def drain(connection: QueueManager, consumer: GroupConsumer, directory: Path, groups: int) -> None:
    """Write each group to a file, until ``directory`` has ``groups`` files."""

    def name_of(group: IncomingGroup) -> str:
        return f"{len(_whole(directory)) + 1:04}-{group.name}.csv"

    is_new = consumer.checkpoint is None
    sink = FileSink(directory, consumer, name_of=name_of)
    whole = _whole(directory)
    progress = DemoProgress(connection, sum(path.read_bytes().count(b"\n") for path in whole))
    if not is_new:
        progress.resumed(f"file {len(whole) + 1}")
    for group in islice(consumer, groups - len(whole)):
        progress.position += group.resume_from
        with sink.file(group) as file:
            for message in group:
                file.write(message.data + b"\n")
                progress.step()
    progress.report()


def _whole(directory: Path) -> list[Path]:
    """Return the files of whole groups. The file of an incomplete group is hidden."""
    return list(directory.glob("[0-9]*"))


def main() -> None:
    """Run the program."""
    parser = arguments("Get flights from queue FLIGHTS, one file a message group.")
    parser.add_argument("--to", type=Path, required=True, help="directory for the files")
    parser.add_argument("--groups", type=int, required=True, help="number of groups to get")
    options = parser.parse_args()
    with connect(options) as q_mgr, q_mgr.group_consumer(QUEUE, name=NAME, commit_every=EVERY) as consumer:
        if not options.done.exists():
            drain(q_mgr, consumer, options.to, options.groups)
            mark_done(options.done)
        consumer.forget()


if __name__ == "__main__":
    run(main)
