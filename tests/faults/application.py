"""An application of the campaign, taken apart: what all of them have, and what they write down.

What is written down (``Notebook``) survives a program that is killed; nothing else does.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Literal, Protocol

import mqgroups
from mqgroups.errors import MQGroupsError
from tests.faults.pattern import Pattern
from tests.faults.reader import Reader, Seen, says_nothing

MODEL = "FAULTS.MODEL"
BACKOUT_MODEL, BACKOUT_QUEUE = "FAULTS.BACKOUT.MODEL", "FAULTS.BACKOUT"
PATIENCE_S = 20


class Notebook:
    """What a program has written down, line by line. Other processes share it; a SIGKILL takes nothing of it."""

    def __init__(self) -> None:
        self._file = os.memfd_create("notebook")

    def __reduce__(self) -> tuple[Any, ...]:
        return _shared, (f"/proc/{os.getpid()}/fd/{self._file}",)

    def lines(self) -> list[bytes]:
        """Return what is written down."""
        return os.pread(self._file, os.fstat(self._file).st_size, 0).splitlines()

    def write(self, line: bytes) -> None:
        """Write one line more."""
        os.pwrite(self._file, line + b"\n", os.fstat(self._file).st_size)

    def cut(self, lines: int) -> None:
        """Strike out what comes behind so many lines."""
        kept = self.lines()[:lines]
        os.ftruncate(self._file, sum(len(line) + 1 for line in kept))

    def close(self) -> None:
        """Throw it away."""
        os.close(self._file)


def _shared(path: str) -> Notebook:
    notebook = Notebook.__new__(Notebook)
    notebook._file = os.open(path, os.O_RDWR)
    return notebook


def forget(owner: Any) -> None:
    """Have a producer or consumer take its last checkpoint away, where it would be kept; a pipe has none."""
    forget = getattr(owner, "forget", None)
    if forget is not None:
        forget()


class Program(Protocol):
    """An application and its notebook."""

    pattern: Pattern
    queue: str
    others: tuple[str, ...]
    faults: int
    asks_again: bool
    errors: Notebook

    @property
    def status_queue(self) -> str:
        """The status queue it works with at present."""

    def prepare(self, reader: Reader) -> None:
        """Make the queue, and put on it what is to be there."""

    def run(self, connection: mqgroups.QueueManager) -> None:
        """One start of the application, to its end."""

    @property
    def done(self) -> bool:
        """Whether the application knows that there is no more to do."""

    def progress(self, reader: Reader, group_id: bytes) -> tuple[int, int]:
        """Return how much of a group is committed, as the data queue shows: messages, and bytes of the one after them."""

    def wrong(self, reader: Reader) -> str:
        """Say what is not as it should be when the application is done; empty if nothing is."""

    def wrong_on_the_way(self, reader: Reader) -> str:
        """Say what must never be there, however far the application has come; empty if nothing is."""


class Application:
    """What all of them have.

    ``run`` is one start of it; cases in which it goes on after something take it apart: ``make``, ``work``, ``is_done``,
    ``forget``.

    Attributes:
        owner: put or get, as the names of status queues have it.
        at, instances: of a cluster: the queue manager where it runs, and those that have an instance of its queue.
        others: other queues of the program, status queues last.
        faults: how many disturb it, if they are at calls.
        asks_again: whether it is doing what may end with a lost connection, to be asked for again at its next start.
        places: where each group was found, as far as ``wrong`` asks.
        errors: the errors that its starts ended with, by class and text; a start in a process of its own leaves them here.
        patience_s: how long it waits for others, and for what ought to be there.
        wait_s: how long it waits for a group before it takes it that there is none.
        hand: what of the library it has in hand: the producer, consumer or pipe, and the group; for other threads.
    """

    owner: Literal["put", "get"]
    at = ""
    patience_s: float = PATIENCE_S
    wait_s: float = 0
    instances: tuple[str, ...] = ()

    def __init__(self, pattern: Pattern, queue: str, name: str) -> None:
        self.pattern = pattern
        self.queue = queue
        self.name = name
        self.others: tuple[str, ...] = ()
        self.asks_again = False
        self.faults = 1
        self.places: dict[bytes, frozenset[str]] = {}
        self.notes = Notebook()
        self.errors = Notebook()
        self.hand: dict[str, Any] = {}
        self._done = Notebook()
        self._there = Notebook()
        self._payloads = pattern.payloads()
        self._patience = 5

    def __getstate__(self) -> dict[str, Any]:
        """Return what a process of its own gets: all but what of the library is in hand here."""
        return {**self.__dict__, "hand": {}}

    def run(self, connection: mqgroups.QueueManager) -> None:
        """One start of the application, to its end."""
        with self.make(connection) as owner:
            while not self.done:
                try:
                    self.work(owner)
                except MQGroupsError:
                    if not self._goes_on():
                        raise
                else:
                    if getattr(owner, "stopping", False):
                        return
                    # Before closing takes the record of the completed group away.
                    self.is_done()
            self.forget(owner)

    def make(self, connection: mqgroups.QueueManager) -> Any:
        """Return the producer, consumer or pipe of one start."""
        self.hand = {"owner": self._make(connection)}
        self._there.write(self.name.encode())
        return self.hand["owner"]

    def _make(self, connection: mqgroups.QueueManager) -> Any:
        raise NotImplementedError  # each program makes its own

    def work(self, owner: Any) -> None:
        """Do what the last commit does not cover, with what ``make`` has made."""
        raise NotImplementedError  # each program does its own

    def forget(self, owner: Any) -> None:
        """Have the checkpoint of a completed group forgotten: this application knows by itself that it is done."""
        forget(owner)

    def wrong(self, reader: Reader) -> str:
        """Say what is not as it should be when the application is done; empty if nothing is."""
        raise NotImplementedError  # each program does its own

    def wrong_on_the_way(self, reader: Reader) -> str:
        """Say what must never be there, however far the application has come; empty if nothing is."""
        raise NotImplementedError  # each program does its own

    @property
    def status_queue(self) -> str:
        return f"MQGROUPS.{self.owner.upper()}.{self.name}"

    @property
    def done(self) -> bool:
        return bool(self._done.lines())

    def is_done(self) -> None:
        """Write down that there is no more to do."""
        if not self.done:
            self._done.write(b"done")

    @property
    def status_queues(self) -> tuple[str, ...]:
        """All that it has worked with."""
        return (self.status_queue,)

    def left_behind(self, reader: Reader) -> dict[str, list[Seen]]:
        """Return what is on its status queues and should not be, when it is done; of those that are not empty."""
        found = {name: reader.browse(name) for name in self.status_queues}
        return {name: seen for name, seen in found.items() if seen}

    def may_come_back(self, seen: Sequence[Seen]) -> bool:
        """Whether it is what a unit of work hides that closes, and what its next start takes away."""
        return says_nothing(seen)

    @property
    def is_there(self) -> bool:
        """Whether a producer, consumer or pipe was made."""
        return self.times_there > 0

    @property
    def times_there(self) -> int:
        """How often one was made."""
        return len(self._there.lines())

    def close(self) -> None:
        """Throw the notebooks away."""
        for each in (self.notes, self.errors, self._done, self._there):
            each.close()

    def _goes_on(self) -> bool:
        """Whether the program goes on after an error; not for ever."""
        self._patience -= 1
        return self.pattern.stays and self._patience > 0

    def _make_queue(self, reader: Reader) -> None:
        if self.instances:
            reader.make_cluster_queue(self.queue, self.instances)
        else:
            reader.make_queue(self.queue, MODEL)

    def _settings(self) -> dict[str, Any]:
        pattern = self.pattern
        return {
            "name": self.name,
            "commit_every": pattern.every,
            "status_layout": pattern.status,
            "owner_wait_s": self.patience_s,
        }
