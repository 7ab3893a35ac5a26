"""Spark killed: ``python -m tests.faults.spark.campaign [--short] [--seed N] [--json FILE] [--case SEED]``.

A case is one query, drawn from its seed: groups come to its input queue, the query is started from its checkpoint, and killed
at a point of the protocol (``points.py``) or after some number of MQI calls, again and again; in between single processes of
Python are killed, and connections lost. Then it is left to finish, and the independent reader looks: each key one whole group on
the output queue, each row once and in order, the input queue empty, one high-water mark on the sink's status queue, and on the
source's status queue what the checkpoint names.

The full form also runs queries on a standalone cluster (``examples/pipeline/cluster.py``; ``--cluster``: these alone), whose
executors and workers are killed at the points of their tasks. It ends with a zombie (``--zombie``): an executor of a local
cluster is stopped in the middle of a group, given up by Spark and replaced, and then goes on. Exit code 1 if anything was not
as it should be; ``--case`` runs the case of a failure again.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path

from rich.console import Console
from rich.table import Table

from examples.pipeline.cluster import SparkCluster
from mqembedded import EmbeddedQueueManager, Fault
from tests.faults.application import MODEL
from tests.faults.reader import Reader
from tests.faults.spark.cases import ZOMBIE, Case, Start, cases_of, cases_on_cluster, zombie
from tests.faults.spark.look import wrong_with_manifests, wrong_with_output, wrong_with_status
from tests.faults.spark.points import (
    DRIVER,
    PAUSE,
    POINTS,
    WHOM,
    is_java,
    kill_session,
    session_members,
)
from tests.faults.spark.points import kill as send
from tests.faults.spark.watched import JOB_VARIABLE, RESUME

ROOT = Path(__file__).parents[3]
MQSC = f"DEFINE QMODEL({MODEL}) DEFTYPE(PERMDYN) DEFPSIST(YES) SHARE DEFSOPT(SHARED) REPLACE\n"
AT_RANDOM = "after some MQI calls"
MESSAGES = 10
_LONGEST_START_S = 300
_LOOK_EVERY_S = 0.01
_CASES_ON_CLUSTER = 6


@dataclass
class Result:
    """What came of one case, or of many: kills by point and victim, those not reached, starts, lost connections."""

    kills: Counter[tuple[str, str]] = field(default_factory=Counter)
    not_reached: Counter[str] = field(default_factory=Counter)
    cases: int = 0
    starts: int = 0
    drops: int = 0
    groups: int = 0
    wrong: list[str] = field(default_factory=list)

    def add(self, other: Result) -> None:
        """Add what came of another case."""
        self.kills += other.kills
        self.not_reached += other.not_reached
        for name in ("cases", "starts", "drops", "groups"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.wrong += other.wrong


class Machine:
    """A queue manager, the reader on it, and what Spark's processes need to know."""

    def __init__(self, directory: Path) -> None:
        mqsc = directory / "faults.mqsc"
        mqsc.write_text(MQSC)
        files = [ROOT / "docker" / "20-mqgroups.mqsc", mqsc]
        self.directory = directory
        self.qmgr = EmbeddedQueueManager("QMS", data=directory / "data", mqsc=files, command_server=False)
        self.qmgr.start()
        self.reader = Reader(self.qmgr)
        self.numbers = itertools.count(1)
        self.sessions: list[int] = []
        self._cluster: SparkCluster | None = None

    def cluster(self) -> SparkCluster:
        """Return the cluster, started if this is the first query on it, with a worker for each one that was killed."""
        if self._cluster is None:
            self._cluster = SparkCluster(self.directory / "cluster")
            self._cluster.__enter__()
        self._cluster.replace_ended()
        return self._cluster

    def environment(self, job: Path) -> dict[str, str]:
        """Return the variables of a driver and of its workers."""
        return {
            **self.qmgr.environment(),
            JOB_VARIABLE: str(job),
            "PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH")))),
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_LOCAL_DIRS": str(self.directory / "spark"),
        }

    def run(self, case: Case) -> Result:
        """Run a case."""
        directory = self.directory / f"case-{case.seed}"
        directory.mkdir()
        return Query(self, case, directory).run()

    def stop(self) -> None:
        """End the queue manager and what is left of Spark."""
        for session in self.sessions:
            kill_session(session)
        if self._cluster is not None:
            self._cluster.stop()
        self.reader.close()
        self.qmgr.stop()


class Query:
    """The query of a case: its queues, its checkpoint, what it has to have put in the end."""

    def __init__(self, machine: Machine, case: Case, directory: Path) -> None:
        self._machine = machine
        self._case = case
        self._directory = directory
        self._expected: dict[str, list[bytes]] = {}
        name = f"S{next(machine.numbers)}"
        self._in, self._out, self._status, self._manifests = (
            f"{name}.{part}" for part in ("IN", "OUT", "STATUS", "MANIFESTS")
        )
        self.result = Result(cases=1)

    def run(self) -> Result:
        """Do all starts, one more, and look."""
        reader = self._machine.reader
        for name in (self._in, self._out):
            reader.make_queue(name, MODEL)
        for number, start in enumerate(self._case.starts):
            self._start(number, start)
        if self._case.starts[-1].ends_driver:
            self._start(len(self._case.starts), Start(1))
        self._look()
        for name in (self._in, self._out, self._status, self._manifests):
            reader.delete(name)
        self.result.groups = len(self._expected)
        self.result.wrong = [f"case {self._case.seed}: {wrong}" for wrong in self.result.wrong]
        return self.result

    def _put(self, groups: int) -> None:
        for _ in range(groups):
            number = len(self._expected) // 2
            keys = (f"{number:03}a", f"{number:03}b")
            messages = [b"%s:%02d" % (keys[at % 2].encode(), at) for at in range(1, MESSAGES + 1)]
            self._machine.reader.put_group(self._in, [[data] for data in messages])
            for key in keys:
                self._expected[key] = [data for data in messages if data.startswith(key.encode())]

    def _job(self, number: int, start: Start) -> tuple[Path, Path]:
        fired = self._directory / f"{number}-fired"
        fired.mkdir()
        connection = {
            "mq.queueManager": self._machine.qmgr.q_mgr_name,
            "mq.channel": self._machine.qmgr.channel,
            "mq.connectionNameList": self._machine.qmgr.conn_name,
        }
        file = self._directory / f"{number}.json"
        environment = self._machine.environment(file)
        job = {
            "conf": self._conf(environment),
            "source": {
                **connection,
                "queue": self._in,
                "statusQueue": self._manifests,
                "maxGroupsPerTrigger": "2",
                "messagesPerUnitOfWork": "6",
            },
            "sink": {**connection, "queue": self._out, "statusQueue": self._status, "messagesPerUnitOfWork": "2"},
            "checkpoint": str(self._directory / "checkpoint"),
            "queues": {self._in: "in", self._out: "out", self._status: "status", self._manifests: "manifests"},
            "kills": [asdict(kill) for kill in start.kills],
            "fired": str(fired),
        }
        file.write_text(json.dumps(job))
        return file, fired

    def _conf(self, environment: dict[str, str]) -> dict[str, str]:
        if self._case.on_cluster:
            return self._case.conf | self._machine.cluster().settings(environment)
        return self._case.conf | {f"spark.executorEnv.{name}": value for name, value in environment.items()}

    def _start(self, number: int, start: Start) -> None:
        """Start the query, and wait for its end."""
        result, qmgr = self.result, self._machine.qmgr
        result.starts += 1
        self._put(start.groups)
        job, fired = self._job(number, start)
        qmgr.clear_faults()
        if start.drop:
            qmgr.arm(Fault("drop", nth=start.drop, verb=start.drop_verb))
        log = self._directory / f"{number}.log"
        at_random = False
        with log.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "tests.faults.spark.driver"],
                cwd=self._directory,
                env=os.environ | self._machine.environment(job),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                at_random = self._wait(process, start, fired)
            finally:
                self._machine.sessions.append(process.pid)
                self._end(process)
        result.drops += qmgr.faults_fired()
        # What has not fired is not for the reader.
        qmgr.clear_faults()
        reached = {int(file.name.partition("-")[0]) for file in fired.glob("*-*")}
        for index, kill in enumerate(start.kills):
            if index in reached:
                result.kills[kill.point, kill.whom] += 1
            else:
                result.not_reached[kill.point] += 1
        if at_random:
            result.kills[AT_RANDOM, "session"] += 1
        elif start.calls:
            result.not_reached[AT_RANDOM] += 1
        driver_killed = at_random or any(
            kill.whom in DRIVER for index, kill in enumerate(start.kills) if index in reached
        )
        if process.returncode and not driver_killed:
            tail = log.read_text(errors="replace")[-3000:]
            result.wrong.append(f"start {number} ended with {process.returncode}, and nobody killed it: {tail}")

    def _wait(self, process: subprocess.Popen[bytes], start: Start, fired: Path) -> bool:
        """Wait for the end of a start; returns whether it was killed after its number of calls."""
        deadline_s = time.monotonic() + _LONGEST_START_S
        awaited = any(kill.whom == PAUSE for kill in start.kills)
        while process.poll() is None:
            if time.monotonic() > deadline_s:
                self.result.wrong.append(f"a start did not end in {_LONGEST_START_S} s")
                kill_session(process.pid)
            if start.calls and sum(self._machine.qmgr.calls().values()) >= start.calls:
                kill_session(process.pid)
                process.wait()
                return True
            if awaited and (fired / "paused").exists():
                awaited = False
                self._go_on_as_a_zombie(fired, deadline_s)
            if self._case.on_cluster:
                self._machine.cluster()
            time.sleep(_LOOK_EVERY_S)
        return False

    def _go_on_as_a_zombie(self, fired: Path, deadline_s: float) -> None:
        """Wait until the groups of an executor that is paused were put by another one, then let it go on."""
        while time.monotonic() < deadline_s and self._groups_put() < len(self._expected):
            time.sleep(_LOOK_EVERY_S)
        # Non-blocking: fails if nobody waits to be told.
        os.close(os.open(fired / RESUME, os.O_WRONLY | os.O_NONBLOCK))
        while time.monotonic() < deadline_s and not (fired / "ended").exists():
            time.sleep(_LOOK_EVERY_S)
        for pid in json.loads((fired / "paused").read_text()):
            send(pid, signal.SIGCONT)
        error = json.loads((fired / "ended").read_text()) if (fired / "ended").exists() else "nothing"
        if error != "OwnershipLost":
            self.result.wrong.append(f"the zombie's task ended with {error or 'success'}, expected OwnershipLost")

    def _groups_put(self) -> int:
        return sum(message.is_last for message in self._machine.reader.browse(self._out))

    @staticmethod
    def _end(process: subprocess.Popen[bytes]) -> None:
        """End what is left of a start, but not what a killed JVM has left behind: that may go on, as it would elsewhere."""
        if process.poll() is None or any(is_java(pid) for pid in session_members(process.pid)):
            kill_session(process.pid)
            process.wait()

    def _look(self) -> None:
        reader, wrong = self._machine.reader, self.result.wrong
        wrong += wrong_with_output(reader.browse(self._out), self._expected)
        wrong += wrong_with_status(reader.browse(self._status))
        wrong += wrong_with_manifests(reader.browse(self._manifests), self._directory / "checkpoint")
        left = reader.browse(self._in)
        if left:
            wrong.append(f"{len(left)} messages left on the input queue")


def _report(console: Console, total: Result, title: str) -> None:
    table = Table(title=title)
    for column in ("point", *WHOM, PAUSE, "not reached"):
        table.add_column(column, justify="left" if column == "point" else "right")
    for name in (*(point.name for point in POINTS), AT_RANDOM, ZOMBIE, ""):
        counts = [
            sum(number for (point, who), number in total.kills.items() if name in ("", point) and who == whom)
            for whom in (*WHOM, PAUSE)
        ]
        missed = sum(number for point, number in total.not_reached.items() if name in ("", point))
        table.add_row(name or "in all", *map(str, (*counts, missed)), style="" if name else "bold")
    console.print(table)
    console.print(
        f"{total.cases} queries, {sum(total.kills.values())} kills, {total.starts} starts, {total.drops} connections lost, "
        f"{total.groups} groups put"
    )


def main() -> int:
    """Run the campaign; see the module's docstring."""
    parser = argparse.ArgumentParser(description="Spark queries that are killed at each point of their protocol.")
    parser.add_argument("--short", action="store_true", help="a sample of it, in a few minutes")
    parser.add_argument("--seed", type=int, default=1, help="of what is drawn")
    parser.add_argument("--cases", type=int, help="how many queries (2; 6 in full)")
    parser.add_argument("--zombie", action="store_true", help="only the zombie")
    parser.add_argument("--case", type=int, help="run the case of this seed again")
    parser.add_argument("--json", type=Path, default=Path("build/faults-spark.json"), help="where the figures go")
    parser.add_argument("--cluster", action="store_true", help="only the queries on a standalone cluster")
    arguments = parser.parse_args()
    number, starts, processes = (2, 1, 6) if arguments.short else (6, 3, 6)
    number = 0 if arguments.zombie or arguments.cluster else arguments.cases or number
    cases = list(cases_of(arguments.seed, number, starts, processes))
    if arguments.cluster or not (arguments.zombie or arguments.short):
        on_cluster = arguments.cases if arguments.cluster and arguments.cases else _CASES_ON_CLUSTER
        cases += cases_on_cluster(arguments.seed, on_cluster, starts=1, kills=10)
    if arguments.zombie or not (arguments.cluster or arguments.short):
        cases.append(zombie(arguments.seed))
    if arguments.case is not None:
        cases = [case for case in cases if case.seed == arguments.case]
    console = Console(width=140)
    total, began_s = Result(), time.monotonic()
    with tempfile.TemporaryDirectory(prefix="mqgroups-faults-spark-", ignore_cleanup_errors=True) as directory:
        machine = Machine(Path(directory))
        try:
            for case in cases:
                result = machine.run(case)
                total.add(result)
                for wrong in result.wrong:
                    console.print(wrong, highlight=False, markup=False, soft_wrap=True)
                console.print(
                    f"case {case.seed}: {sum(result.kills.values())} kills in {result.starts} starts, "
                    f"{len(result.wrong)} violations; {time.monotonic() - began_s:.0f} s so far",
                    highlight=False,
                )
        except KeyboardInterrupt:
            console.print("interrupted; what follows is of the cases that were done")
        finally:
            machine.stop()
    took_s = time.monotonic() - began_s
    _report(console, total, f"Spark killed, seed {arguments.seed}, embedded queue manager (not IBM MQ), {took_s:.0f} s")
    figures = {
        "seed": arguments.seed,
        "seconds": round(took_s),
        "queries": total.cases,
        "starts": total.starts,
        "kills": sum(total.kills.values()),
        "connections_lost": total.drops,
        "groups": total.groups,
        "by_point": [{"point": point, "whom": whom, "kills": number} for (point, whom), number in total.kills.items()],
        "not_reached": total.not_reached,
        "violations": total.wrong,
    }
    arguments.json.parent.mkdir(parents=True, exist_ok=True)
    arguments.json.write_text(json.dumps(figures, indent=2) + "\n")
    console.print(f"{len(total.wrong)} violations; figures in {arguments.json}")
    return bool(total.wrong)


if __name__ == "__main__":
    sys.exit(main())
