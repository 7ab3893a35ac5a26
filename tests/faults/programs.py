"""The applications of the campaign: what they do, what they write down, and what has to be true when they are done.

They do what an application should. A producer learns from its group where to go on; a consumer writes down what it handled
and, when it starts, cuts that back to its checkpoint. What is written down (``Notebook``) survives a program that is killed;
nothing else does.

A new pattern is a class like ``PutProgram``, and its name in ``patterns.py``. Those of clusters are in ``cluster_programs.py``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import mqgroups
from mqgroups.errors import MQGroupsError
from tests.faults.reader import Reader, Seen, got_so_far, looks_whole, places_of, put_so_far, wrong_with_group

SEGMENT_BYTES = 4
MODEL = "FAULTS.MODEL"
PATIENCE_S = 20
# A queue that stays full is waited for so long.
_FULL_WAIT_S = 0.2


@dataclass(frozen=True, slots=True)
class Pattern:
    """What a program does.

    Attributes:
        role: which program of ``patterns.PROGRAMS``.
        status: classic or segmented.
        segmented: whether messages are longer than a segment.
        messages, groups: messages in each group, and how many groups.
        every: how often it takes a syncpoint.
        stays: after an error the program goes on with the producer or consumer that it has, instead of ending.
    """

    role: str
    status: str
    segmented: bool
    messages: int
    every: int
    groups: int = 1
    stays: bool = False

    @property
    def name(self) -> str:
        """As it stands in tables and in the names of cases."""
        status = "one-unit-of-work" if self.every >= 100 else self.status
        return f"{self.role}/{status}/{'segments' if self.segmented else 'plain'}"

    def payloads(self) -> list[bytes]:
        """Return the data of the messages; with segments two of three messages are longer than one."""
        long = b"-segments" if self.segmented else b""
        return [b"%03d" % number + (long if number % 3 else b"") for number in range(1, self.messages + 1)]


class Notebook:
    """What a program has written down, line by line. Inherited over fork; a SIGKILL takes nothing of it."""

    def __init__(self) -> None:
        self._file = os.memfd_create("notebook")

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


class Program(Protocol):
    """An application and its notebook."""

    pattern: Pattern
    queue: str
    others: tuple[str, ...]
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
        asks_again: whether it is doing what may end with a lost connection, to be asked for again at its next start.
        places: where each group was found, as far as ``wrong`` asks.
        errors: the errors that its starts ended with, by class and text; a forked start leaves them here.
        patience_s: how long it waits for others, and for what ought to be there.
        hand: what of the library it has in hand: the producer, consumer or pipe, and the group; for other threads.
    """

    owner: Literal["put", "get"]
    at = ""
    patience_s: float = PATIENCE_S
    instances: tuple[str, ...] = ()

    def __init__(self, pattern: Pattern, queue: str, name: str) -> None:
        self.pattern = pattern
        self.queue = queue
        self.first_name = name
        self.others: tuple[str, ...] = ()
        self.asks_again = False
        self.places: dict[bytes, frozenset[str]] = {}
        self.notes = Notebook()
        self.errors = Notebook()
        self.hand: dict[str, Any] = {}
        self._done = Notebook()
        self._there = Notebook()
        self._payloads = pattern.payloads()
        self._patience = 5

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
        forget = getattr(owner, "forget_checkpoint", None)
        if forget is not None:
            forget()

    def wrong(self, reader: Reader) -> str:
        """Say what is not as it should be when the application is done; empty if nothing is."""
        raise NotImplementedError  # each program does its own

    def wrong_on_the_way(self, reader: Reader) -> str:
        """Say what must never be there, however far the application has come; empty if nothing is."""
        raise NotImplementedError  # each program does its own

    @property
    def name(self) -> str:
        """The name it works under at present."""
        return self.first_name

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

    def left_behind(self, reader: Reader) -> list[bytes]:
        """Return what is on its status queue and should not be, when it is done."""
        return [seen.data for seen in reader.browse(self.status_queue)]

    @property
    def is_there(self) -> bool:
        """Whether a producer, consumer or pipe of its present name was made."""
        return self._there.lines()[-1:] == [self.name.encode()]

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

    def _has_handled(self, count: int) -> None:
        """So many messages of a group are put, or processed."""

    def _settings(self) -> dict[str, Any]:
        pattern = self.pattern
        return {"name": self.name, "every": pattern.every, "status": pattern.status, "owner_wait_s": self.patience_s}


class PutProgram(Application):
    """Puts groups. Its checkpoint is the number of the group and of the message in it, so it knows what is complete."""

    owner = "put"
    bind = "group"

    def prepare(self, reader: Reader) -> None:
        self._make_queue(reader)

    def _make(self, connection: mqgroups.QueueManager) -> Any:
        segment_bytes = SEGMENT_BYTES if self.pattern.segmented else None
        settings = self._settings()
        return connection.group_producer(
            self.queue, segment_bytes=segment_bytes, full_wait_s=_FULL_WAIT_S, bind=self.bind, **settings
        )

    def work(self, producer: Any) -> None:
        group_number, message_number = producer.checkpoint or (1, 0)
        if message_number == len(self._payloads):
            group_number += 1
        for number in range(group_number, self.pattern.groups + 1):
            with producer.group() as group:
                self.hand["group"] = group
                for count, payload in enumerate(self._payloads[group.resume_from :], group.resume_from + 1):
                    group.put(payload, checkpoint=[number, count])
                    self._has_handled(count)

    def progress(self, reader: Reader, group_id: bytes) -> tuple[int, int]:
        return put_so_far(reader.browse(self.queue), group_id)

    def wrong(self, reader: Reader) -> str:
        seen = reader.browse(self.queue)
        if self.instances:
            self.places = places_of(seen)
        return wrong_with_groups(seen, self._payloads, self.pattern.groups)

    def wrong_on_the_way(self, reader: Reader) -> str:
        return wrong_with_whole_groups(reader.browse(self.queue), self._payloads)


class GetProgram(Application):
    """Gets groups until there are none, and writes down the data of each message. Its checkpoint counts the lines."""

    owner = "get"

    def prepare(self, reader: Reader) -> None:
        self._make_queue(reader)
        for _ in range(self.pattern.groups):
            reader.put_group(self.queue, [_cut(payload, self.pattern.segmented) for payload in self._payloads])

    def _make(self, connection: mqgroups.QueueManager) -> Any:
        return connection.group_consumer(
            self.queue, wait_s=0, group_wait_s=self.patience_s, stream=self.pattern.segmented, **self._settings()
        )

    def work(self, consumer: Any) -> None:
        self.notes.cut(consumer.checkpoint or 0)
        handled = len(self.notes.lines())
        groups = self.hand["groups"] = iter(consumer)
        for group in groups:
            messages = self.hand["messages"] = iter(group)
            for message in messages:
                for chunk in message.chunks():
                    self.notes.write(b"%s %s" % (group.group_id.hex().encode(), chunk))
                    handled += 1
                    group.set_checkpoint(handled)
                self._has_handled(message.msg_seq_number)

    def progress(self, reader: Reader, group_id: bytes) -> tuple[int, int]:
        return got_so_far(reader.browse(self.queue), group_id, len(self._payloads))

    def wrong(self, reader: Reader) -> str:
        left = reader.browse(self.queue)
        if left:
            return f"{len(left)} messages left on the queue"
        return wrong_with_handled(self.notes.lines(), self.pattern)

    def wrong_on_the_way(self, reader: Reader) -> str:
        doubled = wrong_with_whole_groups(reader.browse(self.queue), None)
        return doubled or wrong_with_handled(self.notes.lines(), self.pattern, complete=False)


class PipeProgram(GetProgram):
    """Gets groups from one queue and puts them, each message changed, to another, in the same units of work."""

    def __init__(self, pattern: Pattern, queue: str, name: str) -> None:
        super().__init__(pattern, queue, name)
        self.target = f"{queue}.OUT"
        self.others = (self.target, f"MQGROUPS.PUT.{name}")

    def prepare(self, reader: Reader) -> None:
        super().prepare(reader)
        reader.make_queue(self.target, MODEL)

    def _make(self, connection: mqgroups.QueueManager) -> Any:
        return connection.group_pipe(
            self.queue,
            self.target,
            wait_s=0,
            group_wait_s=self.patience_s,
            full_wait_s=_FULL_WAIT_S,
            **self._settings(),
        )

    def work(self, pipe: Any) -> None:
        groups = self.hand["groups"] = iter(pipe)
        for incoming, outgoing in groups:
            self.hand["outgoing"] = outgoing
            messages = self.hand["messages"] = iter(incoming)
            for message in messages:
                outgoing.put(changed(message.data))

    def wrong(self, reader: Reader) -> str:
        left = reader.browse(self.queue)
        if left:
            return f"{len(left)} messages left on the queue"
        wrong = wrong_with_groups(reader.browse(self.target), self._changed, self.pattern.groups)
        records = reader.browse(self.others[-1])
        return wrong or (
            f"on the status queue of the outgoing side: {[one.data for one in records]}" if records else ""
        )

    def wrong_on_the_way(self, reader: Reader) -> str:
        return wrong_with_whole_groups(reader.browse(self.target), self._changed)

    @property
    def _changed(self) -> list[bytes]:
        return [changed(payload) for payload in self._payloads]


def changed(payload: bytes) -> bytes:
    """Return what a pipe makes of a message."""
    return payload[::-1]


def wrong_with_groups(seen: Sequence[Seen], payloads: Sequence[bytes], groups: int) -> str:
    """Say what keeps messages from being so many whole groups of these payloads; empty if nothing does."""
    found = list(_by_group(seen))
    if len(found) != groups:
        return f"{len(found)} groups, {groups} were to be put: {[(one.msg_seq_number, one.offset) for one in seen]}"
    return next((wrong for group in found if (wrong := wrong_with_group(group, payloads))), "")


def wrong_with_whole_groups(seen: Sequence[Seen], payloads: Sequence[bytes] | None) -> str:
    """Say what is wrong with groups that a consumer would take for whole ones, and with any that has a message twice.

    Without payloads nothing is known of what makes a group whole.
    """
    for group in _by_group(seen):
        if len({(one.msg_seq_number, one.offset) for one in group}) < len(group):
            return f"doubled: {[(one.msg_seq_number, one.offset) for one in group]}"
        if payloads is not None and looks_whole(group) and (wrong := wrong_with_group(group, payloads)):
            return f"a group looks whole and is not: {wrong}"
    return ""


def _by_group(seen: Sequence[Seen]) -> Iterator[list[Seen]]:
    by_group: dict[bytes, list[Seen]] = {}
    for message in seen:
        by_group.setdefault(message.group_id, []).append(message)
    yield from by_group.values()


def wrong_with_handled(lines: Sequence[bytes], pattern: Pattern, *, complete: bool = True) -> str:
    """Say what keeps the lines of notebooks from being each message of each group once, in order; empty if nothing does.

    Where they need not be ``complete``, groups may end early.
    """
    handled: dict[bytes, list[bytes]] = {}
    for line in lines:
        group_id, data = line.split(b" ", 1)
        handled.setdefault(group_id, []).append(data)
    expected = [chunk for payload in pattern.payloads() for chunk in _cut(payload, pattern.segmented)]
    wrong = [data for data in handled.values() if data != (expected if complete else expected[: len(data)])]
    if wrong:
        return f"handled {wrong[0]}, expected {expected}"
    if not complete:
        return ""
    return "" if len(handled) == pattern.groups else f"{len(handled)} groups handled, {pattern.groups} put"


def _cut(payload: bytes, segmented: bool) -> list[bytes]:
    step = SEGMENT_BYTES if segmented else len(payload)
    return [payload[start : start + step] for start in range(0, len(payload), step)]
