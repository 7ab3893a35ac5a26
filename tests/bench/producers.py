"""Producer processes: each puts groups with the library, and all begin at once.

    with started(qmgr, 4) as producers:
        with producers.first(2).ready("BENCH.4", Load(groups=100, messages=20, commit_every=10)) as work:
            processor_time = work()

Queues are opened before and closed after what is timed.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from multiprocessing.connection import Connection

import mqgroups
from mqgroups.embedded import EmbeddedQueueManager
from mqgroups.embedded.libmqm.build import build
from mqgroups.embedded.libmqm.build import load as load_library
from tests.bench.costs import Load

PAYLOAD = b"x" * 100


class Producers:
    """Some of the processes."""

    def __init__(self, pipes: list[Connection]) -> None:
        self._pipes = pipes

    def first(self, number: int) -> Producers:
        """Return so many of them."""
        return Producers(self._pipes[:number])

    @contextmanager
    def ready(self, queue: str, load: Load) -> Iterator[Callable[[], float]]:
        """Open queues; what is given puts the groups, shared out, and returns the processor time that it took."""
        share, more = divmod(load.groups, len(self._pipes))
        for number, pipe in enumerate(self._pipes):
            pipe.send((queue, replace(load, groups=share + (number < more))))
        self._answers()

        def work() -> float:
            for pipe in self._pipes:
                pipe.send("put")
            return sum(self._answers())

        yield work
        for pipe in self._pipes:
            pipe.send("close")
        self._answers()

    def _answers(self) -> list[float]:
        return [pipe.recv() for pipe in self._pipes]


@contextmanager
def started(qmgr: EmbeddedQueueManager, number: int) -> Iterator[Producers]:
    """Start so many processes."""
    context = multiprocessing.get_context("spawn")
    pipes, processes = [], []
    for each in range(number):
        mine, its = context.Pipe()
        address = (qmgr.q_mgr_name, qmgr.channel, qmgr.conn_name)
        process = context.Process(target=_produce, args=(its, f"BENCH.{each}", address), daemon=True)
        process.start()
        # Of its end this process must not keep one: a process that dies would be waited for.
        its.close()
        pipes.append(mine)
        processes.append(process)
    yield Producers(pipes)
    for pipe in pipes:
        pipe.send(None)
    for process in processes:
        process.join()


def _produce(pipe: Connection, name: str, address: tuple[str, str, str]) -> None:
    load_library(build())
    with mqgroups.connect(*address) as q_mgr:
        while (asked := pipe.recv()) is not None:
            queue, load = asked
            with q_mgr.group_producer(queue, name=name, commit_every=load.every) as producer:
                pipe.send(0.0)
                pipe.recv()
                began = time.process_time()
                for _ in range(load.groups):
                    with producer.group() as group:
                        for _ in range(load.messages):
                            group.put(PAYLOAD)
                pipe.send(time.process_time() - began)
                pipe.recv()
            pipe.send(0.0)
