"""One queue manager to do harm to, and one program at a time that is started again until it says that it is done.

A program runs in this process, on a new connection at each start, as long as nothing kills it; where a fault of the case
will, it runs in a process of its own (``forker.py``).
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import itertools
import os
import signal
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import FrameType
from typing import Any, TypeAlias, cast

import mqgroups
from mqembedded import ControlError, EmbeddedQueueManager, EmbeddedQueueManagerError
from mqgroups.errors import MQGroupsError
from tests.faults.application import PATIENCE_S, Program
from tests.faults.forker import Forker
from tests.faults.pattern import Pattern
from tests.faults.patterns import PROGRAMS, AnyProgram
from tests.faults.reader import Reader, Seen
from tests.faults.result import Result
from tests.faults.stranger.queue_manager import Address, Stranger
from tests.faults.watch import Watch

# What a queue manager needs for it.
MQSC = Path(__file__).with_name("faults.mqsc")
MOST_STARTS = 12
ENDED_WITH_ERROR = 3
ENDED_UNEXPECTEDLY = 4
ENDED_BY_INTERRUPTION = 5
# What ends a start without an error of the library's.
INTERRUPTIONS = (KeyboardInterrupt, SystemExit, MemoryError, asyncio.CancelledError, GeneratorExit)
# No case takes so long, whatever it waits for.
_STUCK_AFTER_S = 60
# Reconnecting and waiting for an owner is done in steps of this length: the other side is on this machine.
NAP_S = 0.001
# Longer than messages are hidden that a lost connection has, where its queues are closed first.
_HIDDEN_S = 0.25
_numbers = itertools.count(1)


AnyQueueManager: TypeAlias = EmbeddedQueueManager | Stranger


class Machine:
    """A queue manager, the reader on it, and the watch on this process's library."""

    def __init__(self, qmgr: AnyQueueManager, reader: Reader, watch: Watch, forker: Forker, names: str = "") -> None:
        """``names``: what the names of its programs and queues have, where others may have left theirs behind."""
        self.qmgr = qmgr
        self._forker = forker
        self._names = names
        self.reader = reader
        self.watch = watch
        self.connected = False
        # Whether messages that a lost connection had may come back when its queues can be opened already.
        self.hides = False
        self.raw: Any = None
        self._children: set[int] = set()
        self._mine = os.getpid()

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how a process of its own gets one: it connects to the same queue manager, and controls nothing."""
        qmgr = self.qmgr
        address = Address(qmgr.q_mgr_name, qmgr.channel, qmgr.conn_name, dict(credentials_of(qmgr)))
        return _far, (address, self.watch)

    def stop(self) -> None:
        """End the queue manager."""
        self.reader.close()
        self.qmgr.stop()

    # --- programs

    def program(self, pattern: Pattern, queue: str = "", kind: type[Any] | None = None) -> AnyProgram:
        """Return a program on a queue of its own, or on the one given; by default of the kind that the pattern names."""
        number = f"{self._names}{next(_numbers)}"
        program: AnyProgram = (kind or PROGRAMS[pattern.role])(pattern, queue or f"FAULTS.{number}", f"N{number}")
        program.wait_s = wait_s(self.hides)
        return program

    def connect(self, patience_s: float = PATIENCE_S, *, once: bool = False) -> mqgroups.QueueManager:
        """Connect as the programs do: patient, and brought back by hand when the queue manager is away.

        ``once``: a connection that is lost is lost for good.
        """
        qmgr = self.qmgr
        return mqgroups.connect(
            qmgr.q_mgr_name,
            qmgr.channel,
            qmgr.conn_name,
            **credentials_of(qmgr),
            connect_wait_s=patience_s,
            reconnect_wait_s=0 if once else patience_s,
            sleep=self.nap,
        )

    @contextlib.contextmanager
    def wrapped(self) -> Iterator[mqgroups.QueueManager]:
        """Connect by the binding's own means and wrap that, as an application does that has other uses for it.

        ``raw`` is its object meanwhile. It is disconnected at the end, whatever has happened; where the library refuses that
        because a group's messages are in the unit of work, these are backed out before.
        """
        self.raw = raw = self.watch.connect_raw(self.qmgr, credentials_of(self.qmgr))
        connection: mqgroups.QueueManager | None = None
        try:
            with mqgroups.wrap(raw, sleep=self.nap) as connection:
                yield connection
        finally:
            self.raw = None
            try:
                self._disconnect(raw, connection)
            except INTERRUPTIONS:
                self._disconnect(raw, connection)
                raise

    def _disconnect(self, raw: Any, connection: mqgroups.QueueManager | None) -> None:
        try:
            raw.disconnect()
        except MQGroupsError:
            if connection is not None:
                connection.close()
            raw.disconnect()
        except self.watch.raw_errors:
            # It is disconnected already, or that was refused.
            with contextlib.suppress(*self.watch.raw_errors):
                raw.disconnect()

    def nap(self, seconds: float) -> None:
        """Wait a moment; start the queue manager again if it was killed."""
        if not self.restart_if_killed():
            time.sleep(min(seconds, NAP_S))

    def restart_if_killed(self) -> bool:
        """Start the queue manager again if it does not run, and say whether that was so; its programs leave it to it."""
        if os.getpid() != self._mine or self.qmgr.is_running:
            return False
        self.reader.close()
        self.qmgr.wait()
        self.qmgr.start()
        return True

    def fired(self) -> int | None:
        """Return how many faults have fired; ``None`` if one of them killed the queue manager, which runs again then."""
        if not self.restart_if_killed():
            try:
                return self.qmgr.faults_fired()
            except (ControlError, EmbeddedQueueManagerError):
                # It was killed just now, and the system has not noticed yet.
                self.qmgr.wait()
                self.restart_if_killed()
        return None

    def run(self, program: Program, *, wrapped: bool = False) -> MQGroupsError | None:
        """Start the program in this process; returns the error it ended with, ``connected`` saying whether that came so far."""

        def start() -> None:
            with self.wrapped() if wrapped else self.connect() as connection:
                self.connected = True
                program.run(connection)

        self.connected = False
        return self.attempt(start)

    @staticmethod
    def attempt(start: Callable[[], None]) -> MQGroupsError | None:
        """Return the error that a start ends with."""
        try:
            start()
        except MQGroupsError as error:
            return error
        return None

    def fork(self, program: Program, stop_at: int = 0, start: Callable[[], MQGroupsError | None] | None = None) -> int:
        """Start the program in a process of its own; returns its number. ``start`` is what it does instead of ``run``.

        Its error, if it ends with one, is in its notebook of errors. All of it is pickled: what it changes, it changes there.
        """
        start = start or functools.partial(self.run, program)
        pid = self._forker.fork(functools.partial(_forked, self.watch, program, self.watch.hooks, stop_at, start))
        self._children.add(pid)
        return pid

    def has_ended(self, pid: int) -> int | None:
        """Return how a process that was forked ended; ``None`` if it lives."""
        ended, status = os.waitpid(pid, os.WNOHANG)
        self._children.discard(ended)
        return os.waitstatus_to_exitcode(status) if ended else None

    def reap_any(self) -> tuple[int, int]:
        """Wait for any process that was forked; returns which, and how it ended."""
        pid, status = os.wait()
        self._children.discard(pid)
        return pid, os.waitstatus_to_exitcode(status)

    def reap(self, pid: int, options: int = 0) -> int:
        """Wait for a process that was forked; returns how it ended, negative for a signal, -SIGSTOP if it stopped."""
        _, status = os.waitpid(pid, options)
        if not os.WIFSTOPPED(status):
            self._children.discard(pid)
        return -signal.SIGSTOP if os.WIFSTOPPED(status) else os.waitstatus_to_exitcode(status)

    def wait_until_closed(self, *programs: Program, patience_s: float = PATIENCE_S) -> bool:
        """Wait until nobody has the programs' queues open or uncommitted messages on them; false if somebody still has
        after a while. A connection that is lost may leave its messages hidden for longer than its queues open.
        """
        deadline_s = time.monotonic() + patience_s
        queues = [queue for one in programs for queue in queues_of(one)]
        while any(map(self.reader.is_in_use, queues)):
            if time.monotonic() > deadline_s:
                return False
            time.sleep(NAP_S)
        return True

    @contextlib.contextmanager
    def deadline(self, result: Result) -> Iterator[None]:
        """End a case that is stuck, and say where."""

        def stuck(_: int, frame: FrameType | None) -> None:
            raise Stuck("".join(traceback.format_stack(frame, 4)))

        before = signal.signal(signal.SIGALRM, stuck)
        signal.setitimer(signal.ITIMER_REAL, _STUCK_AFTER_S)
        try:
            yield
        except Stuck as error:
            result.wrong.append(f"stuck: {error}")
            for pid in self._children:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
            self._children.clear()
            self.drop_connections()
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)

    def drop_connections(self) -> None:
        """Have the queue manager drop all connections of this process: what a case left behind goes with them."""
        self.reader.close()
        self.qmgr.control.disconnect(os.getpid())

    # --- cases

    @contextlib.contextmanager
    def prepared(self, program: AnyProgram) -> Iterator[None]:
        """Have the program's queue there, and no fault armed before and after."""
        self.qmgr.clear_faults()
        program.prepare(self.reader)
        yield
        self.qmgr.clear_faults()
        self.reader.delete(program.queue)
        self.reader.delete(program.status_queue)
        for other in program.others:
            self.reader.delete(other)
        program.close()

    def look(self, program: AnyProgram, result: Result, patience_s: float = PATIENCE_S) -> None:
        """What the reader finds when the program is done."""
        if not self.wait_until_closed(program, patience_s=patience_s):
            result.wrong.append("a queue is still open")
            self.drop_connections()
            self.wait_until_closed(program)
        if not program.done:
            result.wrong.append("the program does not know that it is done")
        wrong = program.wrong(self.reader)
        if wrong:
            result.wrong.append(wrong)
        result.note_places(program.places)
        result.wrong += self.wrong_with_left(program)

    def wrong_with_left(self, program: AnyProgram) -> list[str]:
        """Say what is on the program's status queues and should not be.

        Who has found nothing and closed may have had behind him what a closing unit of work before him had: where that is hidden
        while others open the queue, a record that says nothing comes back with its anchor. The next start takes it away.
        """
        left = program.left_behind(self.reader)
        wrong = []
        if left and self.hides and all(map(program.may_come_back, left.values())):
            self.qmgr.clear_faults()
            error = self.run(program)
            if error is not None:
                wrong.append(f"the start after the last one ended with {type(error).__name__}: {error}")
            self.wait_until_closed(program)
            left = program.left_behind(self.reader)
        return wrong + [f"on the status queue {name}: {[one.data for one in seen]}" for name, seen in left.items()]

    def snapshot(self, program: Program) -> dict[str, list[Seen]]:
        """Return all that is committed on the program's queues."""
        self.wait_until_closed(program)
        return {queue: self.reader.browse(queue) for queue in queues_of(program)}


def _far(address: Address, watch: Watch) -> Machine:
    machine = Machine(cast("AnyQueueManager", address), cast("Reader", None), watch, cast("Forker", None))
    # Whoever started this process starts the queue manager again.
    machine._mine = 0
    return machine


def _forked(
    watch: Watch,
    program: Program,
    hooks: dict[tuple[str, int], Callable[[], None]],
    stop_at: int,
    start: Callable[[], MQGroupsError | None],
) -> int:
    """Run a program in a process of its own; returns its exit code."""
    try:
        watch.begin(None, None)
        watch.hooks = hooks
        if stop_at:
            watch.stop_before(stop_at)
        error = start()
        if error is not None:
            program.errors.write(_one_line(error))
    except INTERRUPTIONS:
        return ENDED_BY_INTERRUPTION
    except BaseException:
        traceback.print_exc()
        return ENDED_UNEXPECTEDLY
    return 0 if error is None else ENDED_WITH_ERROR


class Stuck(BaseException):
    """A case took too long."""


def credentials_of(qmgr: AnyQueueManager) -> Mapping[str, Any]:
    """Return the arguments with which its programs say who they are."""
    return qmgr.credentials if isinstance(qmgr, (Stranger, Address)) else {}


def queues_of(program: Program) -> tuple[str, ...]:
    """Return the names of all queues a program has open."""
    return program.queue, program.status_queue, *program.others


def wait_s(hides: bool) -> float:
    """Return how long a consumer waits for messages that a lost connection may have hidden still."""
    return _HIDDEN_S if hides else 0.0


def _one_line(error: MQGroupsError) -> bytes:
    return f"{type(error).__name__}: {error}".replace("\n", " ").encode()
