"""``Workers``: starts workers, restarts each worker that has ended, after a pause that grows, and stops all workers.

The thread that calls ``run`` does all this. It waits until a worker ends, a pause is over, or ``stop`` is called. A worker that
cannot be started counts as a worker that has ended. A supervisor never has two workers of the same name at once, because it
starts a worker again only after its end. If two supervisors have workers of one name, the status queue admits only one worker.

Not here: what a worker does (``worker.py``).
"""

from __future__ import annotations

import contextlib
import logging
import os
import pickle
import time
from collections.abc import Callable
from math import inf
from multiprocessing.connection import wait
from typing import overload

import tenacity

from mqgroups.errors import ConfigurationError
from mqgroups.get.group import IncomingGroup
from mqgroups.names import checked_name
from mqgroups.pages import Pages
from mqgroups.pipe import PipedGroup
from mqgroups.queue_manager import QueueManager
from mqgroups.setting import Whole, check_flag, checked_seconds
from mqgroups.status.hooks import checked_hook
from mqgroups.workers.health import health_pages
from mqgroups.workers.run import ProcessRun, Run, ThreadRun
from mqgroups.workers.status import Board, WorkerStatus
from mqgroups.workers.worker import MOST_WORKERS, Job, OpenConsumer, OpenPipe

_log = logging.getLogger("mqgroups.workers")
# The first and the longest pause before a worker is started again. Each pause is twice as long as the one before, plus a random
# part, so that workers that have failed together do not start together. After an error that does not go away by itself, the
# longest pause comes at once, because the queue manager may lock an account after many tries with a wrong password.
_FIRST_PAUSE_S = 0.5
_LONGEST_PAUSE_S = 60.0
_pauses = tenacity.wait_exponential(multiplier=_FIRST_PAUSE_S, max=_LONGEST_PAUSE_S) + tenacity.wait_random(
    0, _FIRST_PAUSE_S
)
# The supervisor checks all workers at least every ``_TURN_S`` seconds. After ``_DEAD_S`` seconds without a check it is not live.
_TURN_S = 1.0
_DEAD_S = 15.0


class Workers:
    """A supervisor of consumers or pipes that work at the same time, each under its own name; see ``mqgroups.workers``."""

    @overload
    def __init__(
        self,
        handler: Callable[[IncomingGroup], object],
        *,
        connect: Callable[[], QueueManager],
        open: OpenConsumer,
        name: str,
        workers: int = ...,
        first: int = ...,
        threads: bool = ...,
        grace_s: float = ...,
        stuck_after_s: float | None = ...,
        setup: Callable[[], object] | None = ...,
    ) -> None: ...

    @overload
    def __init__(
        self,
        handler: Callable[[IncomingGroup, PipedGroup], object],
        *,
        connect: Callable[[], QueueManager],
        open: OpenPipe,
        name: str,
        workers: int = ...,
        first: int = ...,
        threads: bool = ...,
        grace_s: float = ...,
        stuck_after_s: float | None = ...,
        setup: Callable[[], object] | None = ...,
    ) -> None: ...

    def __init__(
        self,
        handler: Callable[..., object],
        *,
        connect: Callable[[], QueueManager],
        open: OpenConsumer | OpenPipe,
        name: str,
        workers: int = 2,
        first: int = 1,
        threads: bool = False,
        grace_s: float = 30.0,
        stuck_after_s: float | None = None,
        setup: Callable[[], object] | None = None,
    ) -> None:
        """Check the settings. ``run`` starts the workers.

        If workers are processes, ``handler``, ``connect``, ``open`` and ``setup`` are pickled. So they must be functions of a
        module, or a ``functools.partial`` of such a function. The main module must have ``if __name__ == "__main__":``.

        Args:
            handler: called with each group; for pipes with the incoming and the outgoing group. It must iterate over all
                messages. It can be an ``async def`` function, because each worker has an event loop. If it fails, the worker
                is started again and resumes the group. ``GroupAbandoned`` and ``GroupQuarantined`` are only logged.
            connect: makes the connection of a worker.
            open: makes the consumer or pipe of a worker. It must use the ``name`` and ``wait_s`` of its arguments, and the
                default status queues.
            name: a name of at most 31 characters. The workers are named ``<name>.1`` and so on.
            workers: the number of workers, 1 to 100. If an earlier run had more workers, the present workers also resume the
                interrupted groups of the names that are no longer used.
            first: the number of the first worker. Several supervisors can share a name if each has its own numbers.
            threads: whether to run workers in threads instead of processes, for handlers that mostly wait.
            grace_s: how many seconds workers have to stop before they are killed.
            stuck_after_s: a worker is killed and started again if it has not asked for a message, or waited for one, during
                this many seconds. The time must be longer than the handling of any message. It must also be longer than ten
                seconds, because a waiting worker wakes up every five seconds. With ``None``, no worker is killed. A stuck
                thread is not killed either; instead, ``/livez`` fails.
            setup: called first in each worker's process, for example to configure logging.

        Raises:
            ConfigurationError: a setting is invalid; or workers are processes, and one of the functions cannot be pickled.
        """
        for what, function in (("connect", connect), ("open", open), ("setup", setup or connect)):
            checked_hook(what, function)
        if not callable(handler):
            raise ConfigurationError(f"handler must be a function, got {handler!r}")
        Whole(1, MOST_WORKERS)("workers", workers)
        Whole(1, MOST_WORKERS)("first", first)
        if first + workers > MOST_WORKERS + 1:
            raise ConfigurationError(
                f"the numbers of workers are 1 to {MOST_WORKERS}, so {workers} cannot begin with {first}"
            )
        check_flag("threads", threads)
        checked_name(f"{name}.{MOST_WORKERS}")
        self._grace_s = checked_seconds("grace_s", grace_s)
        self._stuck_after_s = checked_seconds("stuck_after_s", inf if stuck_after_s is None else stuck_after_s)
        self._job = Job(handler, connect, open, name, range(first, first + workers), self._grace_s, setup)
        self._kind = ThreadRun if threads else ProcessRun
        if not threads:
            _check_can_be_pickled(self._job)
        self._slots = [_Slot(self._job, number, self._kind) for number in self._job.numbers]
        self._turned_s = float("-inf")
        self.stopping = False
        # A byte in this pipe wakes the supervisor. A signal handler can write it, because that takes no lock.
        self._woken, self._wake = os.pipe()
        os.set_blocking(self._wake, False)

    def __del__(self) -> None:
        for each in (getattr(self, "_woken", None), getattr(self, "_wake", None)):
            if each is not None:
                os.close(each)

    def stop(self) -> None:
        """Stop all workers at their next safe places, and return at once. Any thread and signal handlers can call this method."""
        self.stopping = True
        with contextlib.suppress(BlockingIOError):
            os.write(self._wake, b"\0")

    def run(self, *, http: tuple[str, int] | None = None) -> bool:
        """Work until ``stop`` is called. Workers that have not stopped by the end of the grace period (``grace_s``) are killed.

        Args:
            http: the host and port at which the pages ``/livez``, ``/readyz`` and ``/metrics`` are served.

        Returns:
            Whether all workers have stopped by themselves and without an error.

        Raises:
            OSError: the host and port cannot be used.
        """
        with contextlib.nullcontext() if http is None else Pages(http, health_pages(self)):
            try:
                while not self.stopping:
                    self._turned_s = time.monotonic()
                    for slot in self._slots:
                        slot.begin_if_due()
                    self._wait(min(slot.pause_s for slot in self._slots))
                    for slot in self._slots:
                        slot.look(self._stuck_after_s)
            finally:
                in_order = self._end()
        return in_order

    def status(self) -> tuple[WorkerStatus, ...]:
        """Return the state of each worker. Any thread can call this method."""
        return tuple(slot.status() for slot in self._slots)

    @property
    def is_ready(self) -> bool:
        """Whether all workers have opened their queues and are connected, and ``stop`` was not called."""
        return not self.stopping and all(slot.status().ready for slot in self._slots)

    @property
    def is_live(self) -> bool:
        """Whether the supervisor works and no thread is stuck. The supervisor can restart any worker except a stuck thread."""
        is_stuck = self._kind is ThreadRun and any(slot.status().quiet_s > self._stuck_after_s for slot in self._slots)
        return time.monotonic() - self._turned_s < _DEAD_S and not is_stuck

    def _end(self) -> bool:
        """Stop all workers. Return whether all of them have stopped in time and without an error."""
        self.stopping = True
        deadline_s = time.monotonic() + self._grace_s
        for slot in self._slots:
            slot.stop()
        while any(slot.is_running for slot in self._slots) and (left_s := deadline_s - time.monotonic()) > 0:
            self._turned_s = time.monotonic()
            self._wait(left_s)
        ends = [slot.end() for slot in self._slots]
        return all(ends)

    def _wait(self, at_most_s: float) -> None:
        sentinels = [slot.run.sentinel for slot in self._slots if slot.run is not None and slot.is_running]
        if self._woken in wait([self._woken, *sentinels], min(at_most_s, _TURN_S)):
            os.read(self._woken, 4096)


class _Slot:
    """One worker: its name, its present run, and the time of its next start. Other threads can call only ``status``."""

    def __init__(self, job: Job, number: int, kind: Callable[[Job, int, Board], Run]) -> None:
        self._job = job
        self._number = number
        self._kind = kind
        self._board = Board()
        self._starts = 0
        self._failures = 0
        self._groups_before = 0
        self._due_s = float("-inf")
        self._runs = False
        self.run: Run | None = None

    @property
    def is_running(self) -> bool:
        """Whether the worker is running."""
        return self.run is not None and not self.run.ended

    @property
    def pause_s(self) -> float:
        """In how many seconds the worker has to be started; ``_TURN_S`` if the worker has been started already."""
        return _TURN_S if self.run is not None else max(0.0, self._due_s - time.monotonic())

    def begin_if_due(self) -> None:
        """Start the worker if it is not running and its pause is over."""
        if self.pause_s > 0:
            return
        self._groups_before = self._board.groups
        try:
            self.run = self._kind(self._job, self._number, self._board)
        except OSError as error:
            # This machine has no process, thread, memory or file descriptor left. The other workers continue.
            self._begin_later(f"cannot be started ({error.strerror})")
            return
        self._runs = True
        self._starts += 1

    def look(self, stuck_after_s: float) -> None:
        """Kill the worker if it is stuck. If the worker has ended, plan its next start."""
        if self.run is not None and isinstance(self.run, ProcessRun) and self._board.quiet_s > stuck_after_s:
            name = self._job.name_of(self._number)
            _log.error(
                "worker %s is stuck: no message was asked for in %.0f s. It is killed", name, self._board.quiet_s
            )
            self.run.kill()
        if self.run is None or not self.run.ended:
            return
        ended, is_hopeless = self.run.ended, self._board.is_hopeless
        self._let_go()
        self._begin_later(f"ended ({ended})", _LONGEST_PAUSE_S if is_hopeless else 0.0)

    def _begin_later(self, what: str, least_s: float = 0.0) -> None:
        # If the worker has handled a group since its start, earlier failures do not count.
        self._failures = 1 if self._board.groups > self._groups_before else self._failures + 1
        pause_s = max(_pause_s(self._failures), least_s)
        self._due_s = time.monotonic() + pause_s
        name = self._job.name_of(self._number)
        _log.warning("worker %s %s. It is started again in %.2g s", name, what, pause_s)

    def stop(self) -> None:
        """Ask the worker to stop."""
        if self.run is not None:
            self.run.stop()

    def end(self) -> bool:
        """Kill the worker if it is still running. Return whether it had ended already, and without an error."""
        if self.run is None:
            return True
        name, ended, failed = self._job.name_of(self._number), self.run.ended, self.run.failed
        if not ended:
            _log.error("worker %s did not stop in time. Its group is resumed at the next start", name)
            self.run.kill()
        elif failed:
            _log.error("worker %s failed while it stopped (%s). Its group is resumed at the next start", name, ended)
        if self.run.ended:
            self._let_go()
        return not failed

    def status(self) -> WorkerStatus:
        """Return the state of the worker. Any thread can call this method."""
        board, runs = self._board, self._runs
        name, restarts = self._job.name_of(self._number), max(0, self._starts - 1)
        return WorkerStatus(
            name, runs, runs and board.ready, board.groups, board.group_s, board.quiet_s if runs else 0.0, restarts
        )

    def _let_go(self) -> None:
        run, self.run = self.run, None
        self._runs = False
        self._board.clear()
        if run is not None:
            run.close()


def _pause_s(failures: int) -> float:
    """Return the pause in seconds after this number of failures in a row."""
    state = tenacity.RetryCallState(tenacity.Retrying(), None, (), {})
    state.attempt_number = failures
    return _pauses(state)


def _check_can_be_pickled(job: Job) -> None:
    try:
        pickle.dumps(job)
    except Exception as error:
        raise ConfigurationError(
            "handler, connect, open and setup are called in other processes, so they must be functions of a module, not a lambda "
            f"or a function in a function: {error}. Or give threads=True"
        ) from error
