"""Workers under faults: ``python -m tests.faults.workers [--short] [--seed N] [--case NAME]``.

Two workers, or one, handle the groups of a queue; consumers write them to files, pipes put them to another queue. A case is named
by its kind, its role, and what happens at which MQI call of all workers together:

    processes get kill_client-before@23     the process that makes the 23rd call is killed; its supervisor starts it again
    processes pipe kill_client-after@23 kill_client-after@41
    threads get drop-after@23               the connection is lost in a thread, which fails, and is started again
    fewer pipe kill_client-before@23        three names have an interrupted group, others between them were never used, and one
                                            worker is started
    more get answer.2071-before@23          the same, and more workers than before are started; here the call fails
    stop get delay-before@23                all workers are asked to stop in the 23rd call
    supervisor get delay-before@23          the supervisor is killed then; its workers stop by themselves

Workers are started until one start ends in order and leaves nothing. Then each group must have been handled exactly once, in
order, and the status queues must be empty. Exit code 1 if anything was wrong.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import itertools
import multiprocessing
import os
import random
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import tenacity

import mqgroups
from mqembedded import EmbeddedQueueManager, Fault
from mqgroups.mqi import constants as mq
from mqgroups.workers import run as worker_run
from mqgroups.workers import supervisor, worker
from tests.faults.application import MODEL
from tests.faults.cases import fault_at
from tests.faults.directory import temporary_directory
from tests.faults.machine import MQSC
from tests.faults.pattern import wrong_with_groups
from tests.faults.reader import PROGRAM, Reader, begin_program
from tests.workers import handlers

# How many workers are started, and the numbers of the names that have an interrupted group. The others were never used.
_LEFT: dict[str, tuple[int, tuple[int, ...]]] = {"fewer": (1, (1, 3, 6)), "more": (3, (1, 5, 6))}
KINDS = ("processes", "threads", *_LEFT, "stop", "supervisor")
ROLES = ("get", "pipe")
_GROUPS, _MESSAGES, _EVERY = 3, 5, 2
_PAYLOADS = [b"%d" % number for number in range(_MESSAGES)]
_NAMES = 6
_MOST_STARTS = 8
_PATIENCE_S = 30.0
_NAP_S = 0.005
_DELAY_S = 0.3
_WHENS = ("before", "after")
# How many cases of each kind and role the short form has.
_SHORT = {"processes": 12, "threads": 12, "fewer": 8, "more": 8, "stop": 6, "supervisor": 2}
_numbers = itertools.count(1)

# Workers come from a server that has imported everything, pauses begin with a hundredth of a second, looks at names come twice in
# a second, and there are no names behind those of the cases: what is tried here is the same, and takes a tenth of the time.
_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(["mqgroups", "tests.workers.handlers", "tests.faults.reader"])
worker_run._context = _context  # type: ignore[assignment]  # as said above
supervisor._pauses = tenacity.wait_exponential(multiplier=0.01, max=1)  # type: ignore[assignment]  # as said above
worker.LOOK_S = 0.5
worker.MOST_WORKERS = _NAMES


@dataclass(frozen=True)
class Place:
    """What the workers of a case have: picklable, because the supervisor may be a process."""

    q_mgr_name: str
    channel: str
    conn_name: str
    role: str
    queue: str
    name: str
    directory: Path

    @property
    def target(self) -> str:
        """The queue that pipes put to."""
        return f"{self.queue}.OUT"

    def workers(self, count: int, *, threads: bool = False) -> mqgroups.Workers:
        """Return workers."""
        opens: Any = functools.partial(handlers.open_consumer, queue=self.queue, every=_EVERY)
        if self.role == "pipe":
            opens = functools.partial(handlers.open_pipe, queue=self.queue, target=self.target, every=_EVERY)
        handler = handlers.forward if self.role == "pipe" else handlers.write
        return mqgroups.Workers(
            functools.partial(handler, self.directory),
            connect=functools.partial(self.connect, reconnect_wait_s=0.0 if threads else 20.0),
            open=opens,
            name=self.name,
            workers=count,
            threads=threads,
            grace_s=_PATIENCE_S,
            setup=begin_program,
        )

    def connect(self, reconnect_wait_s: float) -> mqgroups.QueueManager:
        """Connect as the workers do."""
        return mqgroups.connect(self.q_mgr_name, self.channel, self.conn_name, reconnect_wait_s=reconnect_wait_s)

    def supervise(self) -> None:
        """Run workers in a process of their supervisor's own."""
        begin_program()
        self.workers(2).run()


@dataclass
class Found:
    """What came of cases: how many, faults that fired, starts of workers, and what was wrong."""

    cases: int = 0
    fired: int = 0
    starts: int = 0
    restarts: int = 0
    wrong: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return (
            f"{self.cases} cases, {self.starts} starts, {self.restarts} restarts of workers, {self.fired} faults fired, "
            f"{len(self.wrong)} violations"
        )


class Case:
    """One case."""

    def __init__(self, qmgr: EmbeddedQueueManager, reader: Reader, directory: Path, name: str) -> None:
        self._qmgr, self._reader = qmgr, reader
        self._kind, role, *self._faults = name.split(" ")
        self._workers, self._left = _LEFT.get(self._kind, (2, ()))
        number = next(_numbers)
        self._place = Place(
            qmgr.q_mgr_name,
            qmgr.channel,
            qmgr.conn_name,
            role,
            f"WORKERS.{number}",
            f"W{number}",
            directory / str(number),
        )
        self.found = Found(cases=1)

    def run(self) -> Found:
        """Run it."""
        place, reader = self._place, self._reader
        place.directory.mkdir()
        for queue in self._queues[:2]:
            reader.make_queue(queue, MODEL)
        for _ in range(_GROUPS):
            reader.put_group(place.queue, [[payload] for payload in _PAYLOADS])
        for number in self._left:
            self._interrupt(f"{place.name}.{number}")
        self._qmgr.clear_faults()
        for fault in self._faults:
            self._qmgr.arm(_armed(fault))
        self._until_done()
        self._qmgr.clear_faults()
        for queue in self._queues:
            reader.delete(queue)
        return self.found

    @property
    def _queues(self) -> list[str]:
        place = self._place
        status = [
            f"MQGROUPS.{role}.{place.name}.{number}" for role in ("GET", "PUT") for number in range(1, _NAMES + 1)
        ]
        return [place.queue, place.target, *status]

    def _until_done(self) -> None:
        if self._kind == "supervisor":
            self._kill_supervisor()
        for start in range(_MOST_STARTS):
            in_order = self._start(stops=self._kind == "stop" and start == 0)
            fired = self._qmgr.faults_fired()
            if not in_order and fired == self.found.fired:
                self.found.wrong.append("workers did not stop in order, without a fault")
            self.found.fired = fired
            self._wait_until(lambda: not any(map(self._reader.is_in_use, self._queues)), "a queue is still open")
            if (
                in_order
                and not any(map(self._reader.browse, self._queues[2:]))
                and not self._reader.browse(self._place.queue)
            ):
                wrong = self._wrong()
                if wrong:
                    self.found.wrong.append(wrong)
                return
        self.found.wrong.append(f"not done after {_MOST_STARTS} starts")

    def _start(self, *, stops: bool) -> bool:
        """Run workers until nothing is left to do, or, if it ``stops``, until the fault fires; returns what ``run`` did."""
        self.found.starts += 1
        workers = self._place.workers(self._workers, threads=self._kind == "threads")
        ended: list[bool] = []
        thread = threading.Thread(target=lambda: ended.append(workers.run()))
        thread.start()

        def is_enough() -> bool:
            if stops and self._qmgr.faults_fired():
                return True
            return workers.is_ready and self._is_handled() and not self._is_left(self._workers)

        self._wait_until(is_enough, "groups are not handled")
        workers.stop()
        thread.join(2 * _PATIENCE_S)
        self.found.restarts += sum(one.restarts for one in workers.status())
        return ended == [True]

    def _kill_supervisor(self) -> None:
        process = multiprocessing.get_context("spawn").Process(target=self._place.supervise)
        process.start()
        self._wait_until(
            lambda: self._is_handled() or bool(self._qmgr.faults_fired()), "the supervisor's workers do nothing"
        )
        process.kill()
        process.join()
        self.found.fired = self._qmgr.faults_fired()
        self._wait_until(
            lambda: not any(map(self._reader.is_in_use, self._queues)), "workers do not stop without their supervisor"
        )

    def _interrupt(self, name: str) -> None:
        """Leave a group of a name interrupted after its first unit of work, and three messages of it handled."""
        place = self._place
        with place.connect(0) as q_mgr:
            if place.role == "pipe":
                pipe = handlers.open_pipe(q_mgr, name=name, wait_s=0, queue=place.queue, target=place.target)
                group, out = next(iter(pipe))
            else:
                consumer = handlers.open_consumer(q_mgr, name=name, wait_s=0, queue=place.queue)
                group, out = next(iter(consumer)), None
            with handlers.file_of(place.directory, group) as line:
                for message in group:
                    line(message.data)
                    if out is not None:
                        out.put(message.data)
                    if message.msg_seq_number == _EVERY + 1:
                        break

    # --- what is there

    def _wait_until(self, condition: Callable[[], bool], wrong: str) -> None:
        deadline_s = time.monotonic() + _PATIENCE_S
        while not condition():
            if time.monotonic() > deadline_s:
                self.found.wrong.append(f"{wrong} after {_PATIENCE_S:g} s")
                return
            time.sleep(_NAP_S)

    def _is_handled(self) -> bool:
        return not self._wrong()

    def _wrong(self) -> str:
        """Say what keeps the output from being each group once, in order; empty if nothing does."""
        if self._place.role == "pipe":
            return wrong_with_groups(self._reader.browse(self._place.target), _PAYLOADS, _GROUPS)
        files = [path.read_bytes().split() for path in self._place.directory.iterdir()]
        return "" if files == [_PAYLOADS] * _GROUPS else f"handled: {files}"

    def _is_left(self, workers: int) -> bool:
        """Whether anything is on the queue, or on the status queues of names beyond so many workers'."""
        place, browse = self._place, self._reader.browse
        beyond = [
            f"MQGROUPS.{role}.{place.name}.{number}"
            for role in ("GET", "PUT")
            for number in range(workers + 1, _NAMES + 1)
        ]
        return any(map(browse, (place.queue, *beyond)))


def _armed(fault: str) -> Fault:
    """Return a fault at a call of the workers; ``count`` fires at each call and does nothing."""
    if fault == "count":
        return Fault("delay", times=0, appl_name=PROGRAM)
    return replace(fault_at(fault), appl_name=PROGRAM, delay_s=_DELAY_S if "delay" in fault else 0.0)


class Campaign:
    """The queue manager, the cases on it, and what came of them by kind and role."""

    def __init__(self, qmgr: EmbeddedQueueManager, directory: Path) -> None:
        self._qmgr, self._directory = qmgr, directory
        self._reader = Reader(qmgr)
        self.found: dict[str, Found] = {}

    def run(self, name: str) -> Found:
        """Run a case."""
        try:
            found = Case(self._qmgr, self._reader, self._directory, name).run()
        except Exception as error:
            found = Found(1, wrong=[f"the case ended with {type(error).__name__}: {error}"])
            self._reader.close()
        total = self.found.setdefault(" ".join(name.split(" ")[:2]), Found())
        for each in ("cases", "fired", "starts", "restarts"):
            setattr(total, each, getattr(total, each) + getattr(found, each))
        total.wrong += [f"{name}: {wrong}" for wrong in found.wrong]
        for wrong in found.wrong:
            print(f"{name}: {wrong}", flush=True)
        return found

    def every(self, kind: str, role: str) -> list[str]:
        """Return a case for each call of a kind and role, before it and after it."""
        # Each call fires this, and goes on; a worker that waits makes more calls.
        disturbed = kind if kind in ("threads", *_LEFT) else "processes"
        calls = Case(self._qmgr, self._reader, self._directory, f"{disturbed} {role} count").run().fired
        action = {"threads": "drop", "stop": "delay", "supervisor": "delay"}.get(kind, "kill_client")
        faults = [f"{action}-{when}" for when in _WHENS]
        if kind in _LEFT:
            faults.append(f"answer.{mq.MQRC_STORAGE_NOT_AVAILABLE}-before")
        return [f"{kind} {role} {fault}@{nth}" for nth in range(1, calls + 1) for fault in faults]

    def pairs(self, role: str, count: int, draw: random.Random) -> list[str]:
        """Return so many cases of two kills."""
        singles = self.every("processes", role)
        most = len(singles) // len(_WHENS)
        return [
            f"{draw.choice(singles)} kill_client-{draw.choice(_WHENS)}@{draw.randint(1, 2 * most)}"
            for _ in range(count)
        ]


@contextlib.contextmanager
def campaign() -> Iterator[Campaign]:
    """Start a queue manager, and run cases on it."""
    with temporary_directory() as directory:
        begin_program()
        with EmbeddedQueueManager("QMW", mqsc=[MQSC], data=Path(directory, "data")) as qmgr:
            os.environ.update(qmgr.environment())
            yield Campaign(qmgr, Path(directory))


def main() -> int:
    """Run the cases, and print what came of them."""
    parser = argparse.ArgumentParser(description="Workers killed, stopped and disconnected at every MQI call.")
    parser.add_argument("--short", action="store_true", help="a sample, in about a minute")
    parser.add_argument("--seed", type=int, default=1, help="of what is sampled and drawn")
    parser.add_argument("--kind", choices=KINDS, action="append", default=[], help="only this kind; repeatable")
    parser.add_argument("--part", default="1/1", metavar="K/N", help="only every N-th case, from the K-th one on")
    parser.add_argument("--case", help="run one case by its name")
    arguments = parser.parse_args()
    draw = random.Random(arguments.seed)
    began_s = time.monotonic()
    with campaign() as cases:
        if arguments.case:
            found = cases.run(arguments.case)
            print(found)
            return bool(found.wrong)
        for kind, role in itertools.product(arguments.kind or KINDS, ROLES):
            every = cases.every(kind, role)
            if kind == "processes":
                every += cases.pairs(role, len(every) // 2, draw)
            if kind == "supervisor":
                # Each takes seconds, and where in its workers' calls the supervisor dies makes little difference.
                every = draw.sample(every, len(every) // 4)
            if arguments.short:
                every = draw.sample(every, _SHORT[kind])
            first, step = map(int, arguments.part.split("/"))
            for name in every[first - 1 :: step]:
                cases.run(name)
            total = cases.found[f"{kind} {role}"]
            took_s = time.monotonic() - began_s
            print(f"{kind} {role}: {total}, {took_s:.0f} s so far", flush=True)
        violations = sum(len(found.wrong) for found in cases.found.values())
    print(f"{violations} violations")
    return bool(violations)


if __name__ == "__main__":
    sys.exit(main())
