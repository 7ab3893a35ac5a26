"""The job of every program: put one group of messages, and report when it is done."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Job:
    """One group to put.

    Attributes:
        q_mgr_name, channel, conn_name: the queue manager and how to connect.
        queue: the queue for the group; empty before the first start.
        second_queue: a STATUS queue; or, for a subscriber, the queue with one message for each that it is to put.
        name: the unique name of this job.
        messages: the number of messages of the group; message n has the data ``payload(n)``.
        every: messages in a unit of work, if the program uses units of work.
        directory: the folder for the programs' own files.
    """

    q_mgr_name: str
    channel: str
    conn_name: str
    queue: str
    second_queue: str
    name: str
    messages: int
    every: int
    directory: str

    @property
    def is_said_to_be_done(self) -> bool:
        """Whether the program has said that the group is put."""
        return self._done.exists()

    def say_done(self) -> None:
        """Say that the group is put: the first thing that a program does when it knows."""
        self._done.touch()

    @property
    def progress(self) -> int:
        """How many messages the program has noted as put, in a file beside the queue manager; 0 at first."""
        return int(self._progress.read_text()) if self._progress.exists() else 0

    def note_progress(self, number: int) -> None:
        """Note that messages up to this number are put."""
        self._progress.write_text(str(number))

    @property
    def _done(self) -> Path:
        return Path(self.directory) / f"{self.name}.done"

    @property
    def _progress(self) -> Path:
        return Path(self.directory) / f"{self.name}.progress"


def payload(number: int) -> bytes:
    """Return the data of a message."""
    return b"message %d" % number
