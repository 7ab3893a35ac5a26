"""Runs ``pipeline.py`` as it is, and kills it and the processes that it runs on, when files of its folder appear.

The program reports nothing for that: Spark's checkpoint and the tables show how far it is.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from random import Random

from examples.pipeline.cluster import JVM_OPTIONS, SparkCluster
from mqembedded import EmbeddedQueueManager
from mqgroups.demo.supervisor import DemoFailed

PROGRAM = Path(__file__).with_name("pipeline.py")
# A micro-batch is planned, or done; the rejects, or the delays, are in their table.
PLANNED, DONE = "checkpoint/offsets/{}", "checkpoint/commits/{}"
REJECTS, DELAYS = "rejects/query=*/batch={}", "delays/query=*/batch={}"
_LOOK_EVERY_S = 0.02
_LONGEST_S = 900.0
# Compiled code of a session takes longer to make than to run here.
_SQL = {"codegen.wholeStage": "false", "codegen.factoryMode": "NO_CODEGEN", "shuffle.partitions": "2"}


class Kind(Enum):
    """The kinds of victims."""

    DRIVER = "driver, JVM and Python workers"
    EXECUTOR = "an executor"
    WORKER = "a worker, whose executors end with it"
    QUEUE_MANAGER = "the queue manager"


@dataclass(frozen=True, slots=True)
class Kill:
    """One kill, some time after a path appears in the folder. ``place`` chooses one of several, from 0 to less than 1."""

    kind: Kind
    batch: int
    path: str = PLANNED
    after_s: float = 0.0
    place: float = 0.0

    def __str__(self) -> str:
        return f"kill -9 {self.kind.value}, {self.after_s * 1000:.0f} ms after {self.path.format(self.batch)}"


def any_kill(chance: Random, kind: Kind, batches: Sequence[int]) -> Kill:
    """Return a kill in one of these micro-batches."""
    path, batch = chance.choice((PLANNED, DONE)), chance.choice(batches)
    # About as long as a micro-batch takes.
    return Kill(kind, batch, path, chance.uniform(0, 4), chance.random())


@dataclass
class Program:
    """The program and its surroundings. ``kills`` are those to come; ``tell`` gets each."""

    folder: Path
    log: Path
    settings: Mapping[str, str]
    mq: Mapping[str, str]
    kills: list[Kill]
    tell: Callable[[object], None]
    cluster: SparkCluster | None = None
    q_mgr: EmbeddedQueueManager | None = None

    def run(self) -> bool:
        """Run the program to its end, or until its driver is killed; return whether it was killed. Raises DemoFailed."""
        with self.log.open("ab") as log:
            # In a process group of its own, the driver and its JVM are killed in one step, and the others end with them.
            environment, command = self._environment(), self.command()
            process = subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True)
        seen_s: dict[Kill, float] = {}
        deadline_s = time.monotonic() + _LONGEST_S
        try:
            while process.poll() is None:
                for kill in self._due(seen_s):
                    self.kills.remove(kill)
                    self.tell(kill)
                    if kill.kind is Kind.DRIVER:
                        return True
                    self._kill(kill)
                if time.monotonic() > deadline_s:
                    raise DemoFailed(f"the program did not end in {_LONGEST_S:g} s; its log is {self.log}")
                time.sleep(_LOOK_EVERY_S)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        if process.returncode:
            raise DemoFailed(f"the program ended with exit code {process.returncode}; its log is {self.log}")
        return False

    def command(self) -> list[str]:
        """Return the command of the program."""
        # Without pyspark the example ends in words of its own (``year.check``), so it is not imported above.
        import pyspark

        settings = {**{f"spark.sql.{name}": value for name, value in _SQL.items()}, **self.settings}
        words = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
        submit = str(Path(pyspark.__file__).parent / "bin" / "spark-submit")
        return [submit, *words, str(PROGRAM), str(self.folder), *(f"{name}={self.mq[name]}" for name in self.mq)]

    def _environment(self) -> dict[str, str]:
        return {
            **os.environ,
            "PYSPARK_PYTHON": sys.executable,
            "PYTHONPATH": str(PROGRAM.parents[2]),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_SUBMIT_OPTS": JVM_OPTIONS,
        }

    def _due(self, seen_s: dict[Kill, float]) -> list[Kill]:
        now_s = time.monotonic()
        for kill in self.kills:
            if kill not in seen_s and any(self.folder.glob(kill.path.format(kill.batch))):
                seen_s[kill] = now_s
        return [kill for kill in self.kills if now_s >= seen_s.get(kill, now_s + 1) + kill.after_s]

    def _kill(self, kill: Kill) -> None:
        if kill.kind is Kind.QUEUE_MANAGER and self.q_mgr is not None:
            self.q_mgr.kill()
            self.q_mgr.start()
        elif kill.kind is Kind.EXECUTOR and self.cluster is not None:
            self.cluster.kill_executor(kill.place)
        elif self.cluster is not None:
            self.cluster.kill_worker(kill.place)
