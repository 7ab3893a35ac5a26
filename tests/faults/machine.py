"""One queue manager to do harm to, and one program at a time that is started again until it says that it is done.

A program runs in this process, on a new connection at each start, as long as nothing kills it; where a fault of the case
will, it runs in a fork of this process.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import mqgroups
from mqgroups.embedded import ControlError, EmbeddedQueueManager, EmbeddedQueueManagerError, Fault
from mqgroups.errors import COMMIT_OUTCOME_UNKNOWN, CommitOutcomeUnknown, MQGroupsError, MQIError
from tests.faults.patterns import PROGRAMS
from tests.faults.programs import PATIENCE_S, GetProgram, Pattern, Program, PutProgram
from tests.faults.reader import PROGRAM, Reader
from tests.faults.watch import Watch

MQSC = """
DEFINE QMODEL(MQGROUPS.STATUS.MODEL) DEFTYPE(PERMDYN) DEFPSIST(YES) NOSHARE DEFSOPT(EXCL) REPLACE
DEFINE QMODEL(FAULTS.MODEL) DEFTYPE(PERMDYN) DEFPSIST(YES) SHARE DEFSOPT(SHARED) REPLACE
"""
MOST_STARTS = 12
ENDED_WITH_ERROR = 3
ENDED_UNEXPECTEDLY = 4
# Reconnecting and waiting for an owner is done in steps of this length: the other side is on this machine.
NAP_S = 0.001
_numbers = itertools.count(1)


@dataclass
class Result:
    """What came of one case, or of many.

    Attributes:
        runs: cases.
        fired: faults that fired.
        starts: how often programs were started.
        in_doubt, verdicts: commits in doubt, and conclusions about them that were compared with the queues.
        errors: errors that reached an application, by class and reason code.
        places: groups of cluster queues, by the queue managers they were found at; "QM1 QM2" is a split one.
        wrong: what is not as it should be, each with the name of its case.
        calls: of the library in this process, (verb, reason); of one case only.
    """

    runs: int = 0
    fired: int = 0
    starts: int = 0
    in_doubt: int = 0
    verdicts: int = 0
    wrong_verdicts: int = 0
    errors: dict[str, int] = field(default_factory=dict)
    places: dict[str, int] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    calls: list[tuple[str, int]] = field(default_factory=list)

    def add(self, other: Result) -> None:
        """Add another result's counts to these."""
        for name in ("runs", "fired", "starts", "in_doubt", "verdicts", "wrong_verdicts"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for mine, others in ((self.errors, other.errors), (self.places, other.places)):
            for what, count in others.items():
                mine[what] = mine.get(what, 0) + count
        self.wrong += other.wrong

    def note_places(self, places: Mapping[bytes, frozenset[str]]) -> None:
        """Count groups by where they were found."""
        for found in places.values():
            where = " ".join(sorted(found))
            self.places[where] = self.places.get(where, 0) + 1

    @property
    def groups(self) -> int:
        """How many groups of cluster queues were found."""
        return sum(self.places.values())

    @property
    def split(self) -> int:
        """How many groups were found at more than one queue manager."""
        return sum(count for places, count in self.places.items() if " " in places)


class Machine:
    """A queue manager, the reader on it, and the watch on this process's library."""

    def __init__(self, qmgr: EmbeddedQueueManager, reader: Reader, watch: Watch) -> None:
        self.qmgr = qmgr
        self.reader = reader
        self.watch = watch
        self.connected = False
        self._mine = os.getpid()

    def stop(self) -> None:
        """End the queue manager."""
        self.reader.close()
        self.qmgr.stop()

    # --- programs

    def program(self, pattern: Pattern, queue: str = "") -> PutProgram | GetProgram:
        """Return a program on a queue of its own, or on the one given."""
        number = next(_numbers)
        return PROGRAMS[pattern.role](pattern, queue or f"FAULTS.{number}", f"N{number}")

    def connect(self) -> mqgroups.QueueManager:
        """Connect as the programs do: patient, and brought back by hand when the queue manager is away."""
        qmgr = self.qmgr
        return mqgroups.connect(
            qmgr.q_mgr_name,
            qmgr.channel,
            qmgr.conn_name,
            connect_wait_s=PATIENCE_S,
            reconnect_wait_s=PATIENCE_S,
            sleep=self.nap,
        )

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

    def _fired(self) -> int | None:
        """Return how many faults have fired; ``None`` if one of them killed the queue manager, which runs again then."""
        if not self.restart_if_killed():
            try:
                return self.qmgr.faults_fired()
            except (ControlError, EmbeddedQueueManagerError):
                # It was killed just now, and the system has not noticed yet.
                self.qmgr.wait()
                self.restart_if_killed()
        return None

    def run(self, program: Program) -> MQGroupsError | None:
        """Start the program in this process; returns the error it ended with, ``connected`` saying whether that came so far."""
        self.connected = False
        try:
            with self.connect() as connection:
                self.connected = True
                program.run(connection)
        except MQGroupsError as error:
            return error
        return None

    def fork(self, program: Program, stop_at: int = 0) -> int:
        """Start the program in a process of its own; returns its number."""
        pid = os.fork()
        if pid:
            return pid
        code = ENDED_UNEXPECTEDLY
        try:
            self.watch.begin(None, None)
            self.watch.stop_at = stop_at
            error = self.run(program)
            code = 0 if error is None else ENDED_WITH_ERROR
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)

    def reap(self, pid: int, options: int = 0) -> int:
        """Wait for a process that was forked; returns how it ended, negative for a signal, -SIGSTOP if it stopped."""
        _, status = os.waitpid(pid, options)
        return -signal.SIGSTOP if os.WIFSTOPPED(status) else os.waitstatus_to_exitcode(status)

    def wait_until_closed(self, *programs: Program) -> bool:
        """Wait until nobody has the programs' queues open; false if somebody still has after a while."""
        deadline_s = time.monotonic() + PATIENCE_S
        while any(self.reader.open_handles(queue) for one in programs for queue in queues_of(one)):
            if time.monotonic() > deadline_s:
                return False
            time.sleep(NAP_S)
        return True

    # --- cases

    @contextlib.contextmanager
    def prepared(self, program: PutProgram | GetProgram) -> Iterator[None]:
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

    def case(self, pattern: Pattern, faults: Sequence[Fault]) -> Result:
        """Run one program under these faults until it is done, and look at what is there then."""
        result = Result(runs=1)
        program = self.program(pattern)
        with self.prepared(program):
            for fault in faults:
                self.qmgr.arm(replace(fault, appl_name=PROGRAM))
            kills = sum(fault.action == "kill_client" for fault in faults)
            seen = self.watch.begin(program, self.reader)
            self._until_done(program, faults, kills, result)
            result.calls = seen.calls
            result.in_doubt, result.verdicts = seen.in_doubt, seen.verdicts
            result.wrong_verdicts = len(seen.wrong)
            result.wrong += seen.wrong
            self.look(program, result)
        return result

    def _until_done(self, program: Program, faults: Sequence[Fault], kills: int, result: Result) -> None:
        """Start the program as a supervisor would, until one start ends in order."""
        fired: int | None = 0
        while result.starts < MOST_STARTS:
            result.starts += 1
            before, code, error = fired, 0, None
            if kills:
                code = self.reap(self.fork(program))
            else:
                error = self.run(program)
            fired = self._fired()
            if not code and error is None:
                result.fired = len(faults) if fired is None else fired
                return
            if error is not None:
                self._judge(error, program, result)
                if before == fired:
                    result.wrong.append(f"an error without a fault: {error!r} {error}")
                if self.connected and not program.asks_again and all(_loses_connection(fault) for fault in faults):
                    result.wrong.append(f"a lost connection reached the application: {error!r} {error}")
            elif code == -signal.SIGKILL:
                kills -= 1
                self.wait_until_closed(program)
            elif code != ENDED_WITH_ERROR:
                result.wrong.append(f"the program ended with exit code {code}")
        result.wrong.append(f"not done after {MOST_STARTS} starts")

    def _judge(self, error: MQGroupsError, program: Program, result: Result) -> None:
        """Count an error that reached the application, and compare what it says with what is there."""
        name = f"{type(error).__name__} {error.reason}" if isinstance(error, MQIError) else type(error).__name__
        result.errors[name] = result.errors.get(name, 0) + 1
        said = _said(error)
        if said is None:
            return
        self.wait_until_closed(program)
        record = self.reader.record(program.status_queue)
        there = 0
        if record is not None and record["state"] == "in group":
            there = program.progress(self.reader, bytes.fromhex(record["group_id"]))[0]
        completed = record is not None and record["state"] == "completed" and isinstance(error, CommitOutcomeUnknown)
        if there != said and not completed and not (isinstance(error, CommitOutcomeUnknown) and there > said):
            result.wrong.append(f"said that {said} messages are committed, {there} are: {error}")

    def look(self, program: PutProgram | GetProgram, result: Result) -> None:
        """What the reader finds when the program is done."""
        if not self.wait_until_closed(program):
            result.wrong.append("a queue is still open")
        if not program.done:
            result.wrong.append("the program does not know that it is done")
        wrong = program.wrong(self.reader)
        if wrong:
            result.wrong.append(wrong)
        result.note_places(program.places)
        left = self.reader.browse(program.status_queue)
        if left:
            result.wrong.append(f"on the status queue: {[seen.data for seen in left]}")


def queues_of(program: Program) -> tuple[str, ...]:
    """Return the names of all queues a program has open."""
    return program.queue, program.status_queue, *program.others


def _said(error: MQGroupsError) -> int | None:
    """Return how many messages an error says are known to be committed; ``None`` if it says nothing of that."""
    context = error.context if isinstance(error, MQIError) else ""
    if "No message of the group is known to be committed" in context:
        return 0
    before, found, _ = context.partition(" is the last of the group that is known to be committed")
    return int(before.rpartition("Message ")[2]) if found else None


def _loses_connection(fault: Fault) -> bool:
    """Whether the library makes good for it by itself, once it is connected."""
    return fault.action != "answer" or fault.reason in COMMIT_OUTCOME_UNKNOWN
