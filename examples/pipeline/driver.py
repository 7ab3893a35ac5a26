"""Run the pipeline's process until it ends, or kill it at a point of its protocol, together with its JVM and its workers."""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import IO, Any

from mqgroups.demo.supervisor import DemoFailed

# What a micro-batch tells of (mqgroups/spark/pipeline/micro_batch.py): each, and one with a good group in it.
STEPS_OF_ANY = ("began", "counted", "done")
STEPS_OF_GOOD = (*STEPS_OF_ANY, "parquet", "outgoing")
_SILENCE_S = 300.0


@dataclass(frozen=True, slots=True)
class Point:
    """A point of the protocol: a time after a step of a micro-batch was reported."""

    batch: int
    step: str
    after_s: float = 0.0

    def __str__(self) -> str:
        return f"{self.after_s * 1000:.0f} ms after {self.step!r} of micro-batch {self.batch}"

    def is_at(self, line: Mapping[str, Any]) -> bool:
        """Return whether a line of the pipeline reports this step."""
        return line.get("batch") == self.batch and self.step in (line.get("step"), line["event"])


def any_point(chance: Random, have_good: Sequence[bool]) -> Point:
    """Return a point in one of the micro-batches, of which it is said whether they have a good group."""
    batch = chance.randrange(len(have_good))
    return Point(batch, chance.choice(STEPS_OF_GOOD if have_good[batch] else STEPS_OF_ANY), chance.uniform(0, 0.5))


class Driver:
    """Runs ``mqgroups pipeline run`` with lines of JSON; ``tell`` is told of each line."""

    def __init__(
        self, command: Sequence[str], environment: Mapping[str, str], log: Path, tell: Callable[[dict[str, Any]], None]
    ) -> None:
        self._command = command
        self._environment = environment
        self._log = log
        self._tell = tell

    def run(self, kill_at: Point | None = None) -> bool:
        """Run it to its end, or to ``kill_at``; returns whether it was killed.

        Raises:
            DemoFailed: it ended as it should not, or was silent for five minutes.
        """
        with self._log.open("ab") as log:
            # A process group of its own: what belongs to it is killed in one step.
            process = subprocess.Popen(
                self._command, env=self._environment, stdout=subprocess.PIPE, stderr=log, start_new_session=True
            )
        assert process.stdout is not None
        killed = False
        try:
            for line in _lines(process.stdout):
                self._tell(line)
                if kill_at is not None and not killed and kill_at.is_at(line):
                    time.sleep(kill_at.after_s)
                    os.killpg(process.pid, signal.SIGKILL)
                    killed = True
            code = process.wait()
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            process.stdout.close()
        if code != (-signal.SIGKILL if killed else 0):
            words = (self._log.read_text().strip().splitlines() or ["nothing on standard error"])[-1]
            raise DemoFailed(f"the pipeline ended with exit code {code}: {words}")
        return killed


def _lines(stdout: IO[bytes]) -> Any:
    """Yield what is said, a line of JSON each, until all that could say more have ended."""
    selector = selectors.DefaultSelector()
    selector.register(stdout, selectors.EVENT_READ)
    unread = b""
    while True:
        if not selector.select(_SILENCE_S):
            raise DemoFailed(f"the pipeline has said nothing for {_SILENCE_S:g} s")
        data = os.read(stdout.fileno(), 65536)
        if not data:
            return
        *complete, unread = (unread + data).split(b"\n")
        yield from map(json.loads, complete)
