"""The consumer: gets groups from queue FLIGHTS and writes each to a separate file, with a line for each message.

A file is not part of the unit of work: after a crash it may have lines of messages that were backed out. So before
each commit the file is made durable (fsync), and its length becomes the checkpoint, which is committed with the
messages. A new instance truncates the file to that length, deletes later files, and continues. The order matters: if
the commit came first, a crash of the machine between the two would lose lines whose messages are no longer on the
queue.

Files are numbered in the order in which their groups arrive. The file that reports the end is made before the
checkpoint is cleared, as in the producer.
"""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from mqgroups import GroupConsumer, IncomingGroup, QueueManager
from mqgroups.demo.program import EVERY, QUEUE, Progress, arguments, connect, mark_done, run, sync_directory
from mqgroups.demo.source import SourceError, date_of

NAME = "FLIGHTS.SINK"


@dataclass(slots=True)
class Written:
    """What is written; as a dict, the checkpoint.

    Attributes:
        file: the newest file's name; names are in order.
        bytes: its length.
        whole: whether its group is whole in it.
        groups, flights: in all files, whole groups and lines.
        units_of_work: how many it took.
    """

    file: str = ""
    bytes: int = 0
    whole: bool = True
    groups: int = 0
    flights: int = 0
    units_of_work: int = 0


class Files:
    """The files of one directory, one for each group."""

    def __init__(self, directory: Path, checkpoint: dict[str, Any] | None) -> None:
        """Bring the directory back to what ``checkpoint`` says."""
        self._directory = directory
        self._file: BinaryIO | None = None
        self.written = Written(**checkpoint or {})
        for path in directory.iterdir():
            if path.name > self.written.file:
                path.unlink()
        if self.written.file:
            os.truncate(directory / self.written.file, self.written.bytes)

    def begin(self, first_flight: str) -> None:
        """Begin the file of a new group."""
        written = self.written
        if not written.whole:
            raise SourceError(f"{written.file} is not whole, and another group begins")
        written.file = f"{written.groups + 1:04}-{date_of(first_flight)}.csv"
        written.bytes = 0
        written.whole = False
        self._file = (self._directory / written.file).open("xb")
        sync_directory(self._directory)

    def go_on(self) -> None:
        """Open the file of an interrupted group again."""
        self._file = (self._directory / self.written.file).open("ab")

    def write(self, flight: str, *, last: bool) -> None:
        """Write a line; with the group's last, the file is whole."""
        assert self._file is not None
        line = f"{flight}\n".encode()
        self._file.write(line)
        self.written.bytes += len(line)
        self.written.flights += 1
        if last:
            self.written.groups += 1
            self.written.whole = True

    def before_commit(self, group: IncomingGroup) -> None:
        """Make the lines durable, and say in the checkpoint how many there are."""
        assert self._file is not None
        self._file.flush()
        os.fsync(self._file.fileno())
        self.written.units_of_work += 1
        group.set_checkpoint(asdict(self.written))

    def close(self) -> None:
        """Close the newest file."""
        assert self._file is not None
        self._file.close()


def drain(connection: QueueManager, consumer: GroupConsumer, directory: Path, groups: int) -> None:
    """Write so many groups to files."""
    checkpoint = consumer.checkpoint
    assert checkpoint is None or isinstance(checkpoint, dict)  # it is set by Files
    files = Files(directory, checkpoint)
    consumer.before_commit(files.before_commit)
    progress = Progress(connection, files.written.flights)
    if checkpoint is not None:
        progress.resumed(f"{files.written.file} at byte {files.written.bytes}")
    for group in islice(consumer, groups - files.written.groups):
        if group.resume_from:
            files.go_on()
        for message in group:
            flight = message.text
            if message.msg_seq_number == 1:
                files.begin(flight)
            files.write(flight, last=message.is_last)
            progress.step()
        files.close()
    progress.finished(files.written.units_of_work)


def main() -> None:
    """Run the program."""
    parser = arguments("Get flights from queue FLIGHTS, one file a message group.")
    parser.add_argument("--to", type=Path, required=True, help="directory for the files")
    parser.add_argument("--groups", type=int, required=True, help="end after so many groups")
    options = parser.parse_args()
    with connect(options) as q_mgr, q_mgr.group_consumer(QUEUE, name=NAME, commit_every=EVERY) as consumer:
        if not options.done.exists():
            drain(q_mgr, consumer, options.to, options.groups)
            mark_done(options.done)
        consumer.forget_checkpoint()


if __name__ == "__main__":
    run(main)
