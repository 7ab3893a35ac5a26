"""Restarts programs until they are done, and kills them meanwhile.

``Supervisor`` restarts programs that were killed, or that can resume. ``Killer`` is a supervisor that kills a program after given
numbers of messages. The program works until the signal arrives, so it dies a few messages later. There are no sleeps, because the
supervisor only reacts to lines of progress and to the end of a process.
"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from mqgroups.demo.program import EXIT_TRY_AGAIN


class DemoFailed(Exception):
    """The demo cannot continue. The error's text has the reason."""


@dataclass
class Program:
    """One program, with its history.

    Attributes:
        name: ``producer`` or ``consumer``.
        command: the command that starts the program.
        log: the file for the program's standard error.
        total: the number of messages to process; 0 if unknown.
        kill_at: the numbers of messages after which the program is killed, in ascending order.
    """

    name: str
    command: Sequence[str]
    log: Path
    total: int = 0
    kill_at: list[int] = field(default_factory=list)
    position: int = 0
    kills: int = 0
    resumes: int = 0
    generation: int = 0
    went_on: int = 0
    done: bool = False
    dying: bool = False
    process: subprocess.Popen[bytes] | None = None
    _unread: bytes = field(default=b"", repr=False)

    def start(self, environment: dict[str, str]) -> IO[bytes]:
        """Start the program, and return its standard output."""
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, stderr=log, env=environment)
        self.dying = False
        self.generation = 0
        self._unread = b""
        assert self.process.stdout is not None
        return self.process.stdout

    def kill(self) -> None:
        """Send SIGKILL. Earlier output of the program can still be read."""
        assert self.process is not None
        self.dying = True
        self.process.kill()

    def end(self) -> int:
        """Wait for the end of the program, and return its exit code. Call this method after the end of the program's output."""
        assert self.process is not None
        assert self.process.stdout is not None
        self.process.stdout.close()
        code = self.process.wait()
        self.process = None
        return code

    def lines(self, data: bytes) -> list[list[str]]:
        """Take the next output. Return the lines that are complete now, each as a list of its first word and the rest."""
        *complete, self._unread = (self._unread + data).split(b"\n")
        return [line.decode().split(maxsplit=1) for line in complete]

    def last_words(self) -> str:
        """Return the last line of the program's log."""
        return (self.log.read_text().strip().splitlines() or ["nothing on standard error"])[-1]


class Supervisor:
    """A supervisor that starts programs again if they were killed, or if their exit code shows that they can resume."""

    def __init__(
        self,
        programs: Sequence[Program],
        *,
        environment: dict[str, str],
        tell: Callable[[str], None],
        silence_s: float = 120.0,
    ) -> None:
        """Take the programs.

        Args:
            programs: the programs to run until all are done.
            environment: the environment variables of the programs.
            tell: called with a sentence for each event.
            silence_s: the demo fails after this many seconds without output of any program.
        """
        self._programs = programs
        self._environment = environment
        self._tell = tell
        self._silence_s = silence_s
        self._heard_s = 0.0
        self._selector = selectors.DefaultSelector()

    def run(self) -> None:
        """Run all programs until they are done.

        Raises:
            DemoFailed: a program has failed, or the programs make no progress any longer.
        """
        self._heard_s = time.monotonic()
        try:
            for program in self._programs:
                self._start(program)
            while not all(program.done for program in self._programs):
                self._step()
        finally:
            for program in self._programs:
                if program.process is not None:
                    program.kill()
                    program.end()
            self._selector.close()

    def _step(self) -> None:
        """Wait for the next event, and handle it."""
        self._listen(self._silence_s)

    def _moved(self, program: Program) -> None:
        """Handle progress of a program. Do nothing here; subclasses override this method."""

    def _start(self, program: Program) -> None:
        self._selector.register(program.start(self._environment), selectors.EVENT_READ, program)

    def _listen(self, timeout_s: float) -> None:
        """Wait up to ``timeout_s`` seconds for output of programs, and handle it. Raises DemoFailed after a long silence."""
        ready = self._selector.select(timeout_s)
        if ready:
            self._heard_s = time.monotonic()
        elif time.monotonic() - self._heard_s >= self._silence_s:
            where = ", ".join(f"{program.name} at {program.position:,}" for program in self._programs)
            raise DemoFailed(f"nothing has moved for {self._silence_s:g} s: {where}")
        for key, _ in ready:
            self._read(key.data, key.fd)

    def _read(self, program: Program, descriptor: int) -> None:
        data = os.read(descriptor, 65536)
        if not data:
            self._ended(program)
            return
        for word, rest in program.lines(data):
            self._said(program, word, rest)

    def _said(self, program: Program, word: str, rest: str) -> None:
        """Handle a line of progress."""
        if word == "at":
            position, generation = map(int, rest.split())
            program.position = position
            if generation > program.generation:
                program.generation = generation
                program.went_on += 1
                self._tell(f"{program.name} has reconnected")
            self._moved(program)
        elif word == "resumed":
            program.resumes += 1
            self._tell(f"{program.name} resumes from {rest}")

    def _ended(self, program: Program) -> None:
        assert program.process is not None
        assert program.process.stdout is not None
        self._selector.unregister(program.process.stdout)
        code = program.end()
        if code == 0:
            program.done = True
            self._tell(f"{program.name} is done")
        elif code == EXIT_TRY_AGAIN:
            self._tell(f"{program.name} ended: {program.last_words()}")
        elif code == -signal.SIGKILL:
            program.kills += 1
        else:
            raise DemoFailed(f"{program.name} ended with exit code {code}: {program.last_words()}")
        if not program.done:
            self._start(program)


class Killer(Supervisor):
    """A supervisor that also kills programs, and kills the queue manager once."""

    def __init__(
        self,
        programs: Sequence[Program],
        *,
        environment: dict[str, str],
        kill_q_mgr: Callable[[], None],
        start_q_mgr: Callable[[], None],
        kill_q_mgr_at: int,
        tell: Callable[[str], None],
        moved: Callable[[Program], None],
    ) -> None:
        """Take the programs, and functions that kill and start the queue manager.

        Args:
            programs: the programs. The progress of the last program decides when the queue manager is killed.
            environment, tell: see ``Supervisor``.
            kill_q_mgr, start_q_mgr: functions that kill the queue manager with SIGKILL, and start it again.
            kill_q_mgr_at: the queue manager is killed when the last program has processed this number of messages.
            moved: called with a program that has made progress.
        """
        super().__init__(programs, environment=environment, tell=tell)
        self._kill_q_mgr, self._start_q_mgr = kill_q_mgr, start_q_mgr
        self._kill_q_mgr_at = kill_q_mgr_at
        self._tell_moved = moved
        self.q_mgr_kills = 0

    def _moved(self, program: Program) -> None:
        self._tell_moved(program)
        if program.dying:
            return
        if program.kill_at and program.position >= program.kill_at[0]:
            program.kill_at.pop(0)
            self._tell(f"kill -9 {program.name}, at about message {program.position:,}")
            program.kill()
        elif program is self._programs[-1] and not self.q_mgr_kills and program.position >= self._kill_q_mgr_at:
            self.q_mgr_kills += 1
            self._tell("kill -9 queue manager")
            self._kill_q_mgr()
            began_s = time.monotonic()
            self._start_q_mgr()
            self._tell(f"queue manager started again, in {time.monotonic() - began_s:.2f} s")
