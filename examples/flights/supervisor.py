"""Programs that are killed and started again until they are done.

A program is killed when its progress reaches a number drawn beforehand; as it goes on working while that line is on its way
here, it is somewhere behind that number when the signal comes. Nothing here sleeps: everything follows from lines of progress
and from processes that end.
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

from examples.flights.program import EXIT_TRY_AGAIN


class DemoFailed(Exception):
    """The demo cannot go on; the message says why."""


@dataclass
class Program:
    """One program, with the numbers of its life.

    Attributes:
        name: ``producer`` or ``consumer``.
        command: how to start it, but for the queue manager's address, which may change.
        total: messages it has to do.
        kill_at: progress at which it is killed, ascending.
        log: file for its standard error.
    """

    name: str
    command: Sequence[str]
    total: int
    kill_at: list[int]
    log: Path
    position: int = 0
    starts: int = 0
    kills: int = 0
    resumes: int = 0
    generation: int = 0
    went_on: int = 0
    units_of_work: int = 0
    done: bool = False
    dying: bool = False
    process: subprocess.Popen[bytes] | None = None
    _unread: bytes = field(default=b"", repr=False)

    def start(self, conn_name: str, environment: dict[str, str]) -> IO[bytes]:
        """Start it; return its standard output."""
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [*self.command, "--conn-name", conn_name], stdout=subprocess.PIPE, stderr=log, env=environment
            )
        self.starts += 1
        self.dying = False
        self.generation = 0
        self._unread = b""
        assert self.process.stdout is not None
        return self.process.stdout

    def kill(self) -> None:
        """SIGKILL. What it has said before is still to be read."""
        assert self.process is not None
        self.dying = True
        self.process.kill()

    def end(self) -> int:
        """Wait for it after its output ended; return its exit code."""
        assert self.process is not None
        assert self.process.stdout is not None
        self.process.stdout.close()
        code = self.process.wait()
        self.process = None
        return code

    def lines(self, data: bytes) -> list[list[str]]:
        """Return the words of each line of progress that is complete with ``data``."""
        *complete, self._unread = (self._unread + data).split(b"\n")
        return [line.decode().split(maxsplit=1) for line in complete]

    def last_words(self) -> str:
        """Return the last line of its log."""
        return (self.log.read_text().strip().splitlines() or ["nothing on standard error"])[-1]


class Supervisor:
    """Keeps programs going, through their own deaths and the queue manager's."""

    def __init__(
        self,
        programs: Sequence[Program],
        *,
        conn_name: Callable[[], str],
        environment: dict[str, str],
        kill_q_mgr: Callable[[], None],
        start_q_mgr: Callable[[], None],
        kill_q_mgr_at: int,
        tell: Callable[[str], None],
        moved: Callable[[Program], None],
        silence_s: float = 120.0,
    ) -> None:
        """Take what to keep going.

        Args:
            programs: the last of them decides when the queue manager is killed.
            conn_name: where the queue manager is; asked at every start of a program.
            environment: of the programs.
            kill_q_mgr, start_q_mgr: end the queue manager with SIGKILL, and start it again.
            kill_q_mgr_at: progress of the last program at which that happens.
            tell: is told what happens, a sentence each time.
            moved: is told of progress.
            silence_s: give up when nothing at all happens for so long, seconds.
        """
        self._programs = programs
        self._conn_name = conn_name
        self._environment = environment
        self._kill_q_mgr, self._start_q_mgr = kill_q_mgr, start_q_mgr
        self._kill_q_mgr_at = kill_q_mgr_at
        self._tell, self._moved = tell, moved
        self._silence_s = silence_s
        self._selector = selectors.DefaultSelector()
        self.q_mgr_kills = 0

    def run(self) -> None:
        """Return when all programs are done.

        Raises:
            DemoFailed: a program ended as none should, or nothing moves any more.
        """
        try:
            for program in self._programs:
                self._start(program)
            while not all(program.done for program in self._programs):
                ready = self._selector.select(self._silence_s)
                if not ready:
                    raise DemoFailed(f"nothing has moved for {self._silence_s:g} s: {self._where()}")
                for key, _ in ready:
                    self._read(key.data, key.fd)
        finally:
            for program in self._programs:
                if program.process is not None:
                    program.kill()
                    program.end()
            self._selector.close()

    def _start(self, program: Program) -> None:
        self._selector.register(program.start(self._conn_name(), self._environment), selectors.EVENT_READ, program)

    def _read(self, program: Program, descriptor: int) -> None:
        data = os.read(descriptor, 65536)
        if not data:
            self._ended(program)
            return
        for word, rest in program.lines(data):
            if word == "at":
                position, generation = map(int, rest.split())
                program.position = position
                if generation > program.generation:
                    program.generation = generation
                    program.went_on += 1
                    self._tell(f"{program.name} has connected again, and goes on")
                self._moved(program)
                self._kill_what_is_due(program)
            elif word == "resumed":
                program.resumes += 1
                self._tell(f"{program.name} goes on from {rest}")
            elif word == "finished":
                program.units_of_work = int(rest)

    def _kill_what_is_due(self, program: Program) -> None:
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

    def _where(self) -> str:
        return ", ".join(f"{program.name} at {program.position:,} of {program.total:,}" for program in self._programs)
