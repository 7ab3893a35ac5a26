"""A standalone cluster of Spark on this machine: a master and workers, each a process with executors of its own, on loopback.

The cluster shares only the file system with the program that starts it. Its workers have no variables of an MQ client and no
path to the package. Executors get theirs from ``spark.executorEnv`` of the application, as on a cluster of machines.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from mqgroups.demo.supervisor import DemoFailed

_DEPLOY = "org.apache.spark.deploy"
_EXECUTOR = b"org.apache.spark.executor.CoarseGrainedExecutorBackend"
_URL = r"Starting Spark master at (spark://\S+)"
_REGISTERED = r"Successfully registered with (master)"
_STARTS_WITHIN_S = 120.0
_LOOK_EVERY_S = 0.1
# Options for JVMs that live a minute and share two cores.
JVM_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


@dataclass
class SparkCluster:
    """A master and workers of one core, which run until the block ends. ``work`` is an empty folder for logs and their files."""

    work: Path
    workers: int = 2
    url: str = field(default="", init=False)
    _master: list[subprocess.Popen[bytes]] = field(default_factory=list, init=False, repr=False)
    _running: list[subprocess.Popen[bytes]] = field(default_factory=list, init=False, repr=False)

    def __enter__(self) -> SparkCluster:
        """Start the master and the workers, and wait until all are registered. Raises DemoFailed."""
        self.work.mkdir(parents=True, exist_ok=True)
        try:
            log = self.work / "master.log"
            self._master.append(self._process(log, "master.Master", "--port", "0"))
            self.url = _awaited(_URL, self._master[0], log)
            for log, process in [self._worker() for _ in range(self.workers)]:
                _awaited(_REGISTERED, process, log)
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """End all of it."""
        self.stop()

    def settings(self, environment: Mapping[str, str]) -> dict[str, str]:
        """Return the settings of an application on this cluster, whose executors get ``environment``."""
        return {
            "spark.master": self.url,
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.executor.memory": "512m",
            "spark.executor.cores": "1",
            "spark.cores.max": str(self.workers),
            "spark.executor.extraJavaOptions": JVM_OPTIONS,
            # An application is given up after ten lost executors otherwise.
            "spark.deploy.maxExecutorRetries": "-1",
            **{f"spark.executorEnv.{name}": value for name, value in environment.items()},
        }

    def kill_executor(self, place: float) -> None:
        """SIGKILL one executor, chosen by a fraction: 0 is the oldest. Waits for one. Raises DemoFailed."""
        deadline_s = time.monotonic() + _STARTS_WITHIN_S
        while not (executors := self._executors()):
            if time.monotonic() > deadline_s:
                raise DemoFailed(f"no executor was started in {_STARTS_WITHIN_S:g} s")
            time.sleep(_LOOK_EVERY_S)
        _kill(executors[int(place * len(executors))])

    def kill_worker(self, place: float) -> None:
        """SIGKILL one worker, and start another one. Its executors end by themselves."""
        (worker := self._running[int(place * len(self._running))]).kill()
        worker.wait()
        self.replace_ended()

    def replace_ended(self) -> None:
        """Start a worker for each one that has ended."""
        for worker in [worker for worker in self._running if worker.poll() is not None]:
            self._running.remove(worker)
            self._worker()

    def stop(self) -> None:
        """SIGKILL master, workers and executors."""
        executors = self._executors()
        for process in [*self._running, *self._master]:
            process.kill()
            process.wait()
        for pid in executors:
            _kill(pid)
        self._running.clear()
        self._master.clear()

    def _executors(self) -> list[int]:
        """Return the executors that live, the JVMs below a worker: not their Python processes."""
        workers = {worker.pid for worker in self._running}
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                parent = int((entry / "stat").read_text().rpartition(") ")[2].split()[1])
                if parent in workers and _EXECUTOR in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
        return sorted(found)

    def _worker(self) -> tuple[Path, subprocess.Popen[bytes]]:
        log = self.work / f"worker-{len(list(self.work.glob('worker-*.log'))) + 1}.log"
        options = ("--port", "0", "--cores", "1", "--memory", "1g", "--work-dir", str(log.with_suffix("")))
        process = self._process(log, "worker.Worker", *options, self.url)
        self._running.append(process)
        return log, process

    def _process(self, log: Path, name: str, *options: str) -> subprocess.Popen[bytes]:
        # Imported here: without pyspark, the example ends with its own message (``year.check``).
        import pyspark

        home = Path(pyspark.__file__).parent
        command = [str(home / "bin" / "spark-class"), f"{_DEPLOY}.{name}", "--host", "127.0.0.1", "--webui-port", "0"]
        environment = {
            "PATH": os.environ.get("PATH", os.defpath),
            "JAVA_HOME": os.environ.get("JAVA_HOME", ""),
            "SPARK_HOME": str(home),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_LOCAL_DIRS": str(self.work / "local"),
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": JVM_OPTIONS,
        }
        with log.open("wb") as out:
            return subprocess.Popen(
                [*command, *options],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )


def _awaited(pattern: str, process: subprocess.Popen[bytes], log: Path) -> str:
    """Return what the group of a pattern matches in a log; raises DemoFailed if the process ends before, or takes too long."""
    deadline_s = time.monotonic() + _STARTS_WITHIN_S
    while (found := re.search(pattern, log.read_text(errors="replace"))) is None:
        if process.poll() is not None or time.monotonic() > deadline_s:
            raise DemoFailed(f"a process of Spark's cluster did not start; its log is {log}")
        time.sleep(_LOOK_EVERY_S)
    return found[1]


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
