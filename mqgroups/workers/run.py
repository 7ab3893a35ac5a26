"""One run of a worker, in a process or in a thread of its own.

The supervisor sends SIGTERM to stop a worker in a process. The worker ignores SIGINT, because Ctrl-C in a terminal reaches the
supervisor, too. If the supervisor dies, the worker stops, because another supervisor may start workers of the same names. If the
worker has not stopped after the grace period, it kills itself, because no supervisor is left that could kill it.

A thread cannot be killed. A thread that does not end in time ends with the process, and the queue manager backs out.
"""

from __future__ import annotations

import errno
import multiprocessing
import os
import signal
import sys
import threading
import time
from multiprocessing import connection
from types import FrameType
from typing import TypeAlias

from mqgroups.telemetry.child_process import traced_as
from mqgroups.workers.status import Board
from mqgroups.workers.worker import Job, Worker, tell_failure

# Processes are spawned, because a forked process would inherit connection handles that are not valid in it.
_context = multiprocessing.get_context("spawn")


class ProcessRun:
    """One run of a worker, in a process.

    Attributes:
        sentinel: a file descriptor that becomes readable when the worker has ended.
    """

    def __init__(self, job: Job, number: int, board: Board) -> None:
        """Start the worker. Raises OSError if the machine has no process, thread, memory or file descriptor left for it."""
        name = job.name_of(number)
        self._process = _context.Process(target=_work, args=(job, number, board), name=name)
        with traced_as(name):
            self._process.start()
        self.sentinel = self._process.sentinel

    @property
    def ended(self) -> str:
        """How the worker ended, in words; empty if the worker is running."""
        code = self._process.exitcode
        if code is None:
            return ""
        return f"exit code {code}" if code >= 0 else f"signal {-code}"

    @property
    def failed(self) -> bool:
        """Whether the worker has ended with an error, or has not ended."""
        # Before the worker handles SIGTERM, the signal ends the process. The worker has not begun to work then.
        return self._process.exitcode not in (0, -signal.SIGTERM)

    def stop(self) -> None:
        self._process.terminate()

    def kill(self) -> None:
        self._process.kill()
        self._process.join()

    def close(self) -> None:
        self._process.close()


class ThreadRun:
    """One run of a worker, in a thread of this process. ``kill`` does nothing."""

    def __init__(self, job: Job, number: int, board: Board) -> None:
        self.sentinel, self._end = os.pipe()
        self._error: BaseException | None = None
        self._worker = Worker(job, number, board)
        self._thread = threading.Thread(target=self._work, name=job.name_of(number), daemon=True)
        try:
            self._thread.start()
        except RuntimeError as error:
            os.close(self.sentinel)
            os.close(self._end)
            raise OSError(errno.EAGAIN, str(error)) from error

    def _work(self) -> None:
        try:
            self._worker.run()
        except BaseException as error:
            self._error = error
            tell_failure(self._thread.name, error)
        finally:
            os.close(self._end)

    @property
    def ended(self) -> str:
        if self._thread.is_alive():
            return ""
        return f"{type(self._error).__name__}" if self._error is not None else "in order"

    @property
    def failed(self) -> bool:
        return self._thread.is_alive() or self._error is not None

    def stop(self) -> None:
        self._worker.stop()

    def kill(self) -> None:
        return

    def close(self) -> None:
        os.close(self.sentinel)


Run: TypeAlias = ProcessRun | ThreadRun


def _work(job: Job, number: int, board: Board) -> None:
    """Run a worker. This is the main function of the worker's process."""
    worker = Worker(job, number, board)

    def stop(_number: int, _frame: FrameType | None) -> None:
        worker.stop()
        if worker.can_leave:
            sys.exit(0)

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, stop)
    threading.Thread(target=_stop_without_supervisor, args=(job.grace_s,), daemon=True).start()
    if job.setup is not None:
        job.setup()
    try:
        worker.run()
    except Exception as error:
        tell_failure(job.name_of(number), error)
        sys.exit(1)


def _stop_without_supervisor(grace_s: float) -> None:
    supervisor = multiprocessing.parent_process()
    if supervisor is not None:
        connection.wait([supervisor.sentinel])
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(grace_s)
        os.kill(os.getpid(), signal.SIGKILL)
