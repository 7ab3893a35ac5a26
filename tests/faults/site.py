"""What a worker of the campaign does harm to: a queue manager, and a cluster, each started when it is needed first."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mqembedded import EmbeddedCluster, EmbeddedQueueManager
from mqembedded.testing.under_test import given
from tests.faults.cluster import Member, embedded_cluster
from tests.faults.forker import Forker
from tests.faults.machine import MQSC, AnyQueueManager, Machine
from tests.faults.pattern import Pattern
from tests.faults.patterns import PROGRAMS
from tests.faults.reader import PROGRAM, Reader, begin_program
from tests.faults.readings import hides_messages
from tests.faults.stranger.injector import count_mqstat
from tests.faults.stranger.queue_manager import Stranger
from tests.faults.watch import Watch


class Site:
    """The queue managers of this process."""

    def __init__(self, directory: Path, readings: Mapping[str, str], *, stranger: bool = False) -> None:
        """``stranger``: work on the queue manager that the environment names, instead of embedded ones."""
        directory.mkdir(parents=True)
        # Only what is asked for.
        self._stranger = stranger
        if stranger:
            count_mqstat()
        # Nothing is known of a queue manager of somebody else, unless it is said.
        self._hides = hides_messages(readings) or (stranger and not readings)
        self._more: dict[str, Any] = {"readings": dict(readings)} if readings else {}
        self._directory = directory
        self._watch = Watch()
        self._watch.hides = self._hides
        self._watch.install()
        self._single: Machine | None = None
        self._cluster: EmbeddedCluster | None = None
        self._members: dict[str, Member] = {}
        begin_program()
        self._forker = Forker()

    def machine(self, pattern: Pattern) -> Machine:
        """Return the machine for programs of a pattern."""
        at = PROGRAMS[pattern.role].at
        return self.member(at) if at else self.single()

    def single(self) -> Machine:
        """Return the machine with the queue manager that is in no cluster."""
        if self._single is None and self._stranger:
            stranger = Stranger(given(os.environ), self._directory, PROGRAM)
            names = f"{int(time.time()) % 1_000_000}."
            self._single = Machine(stranger, Reader(stranger.address), self._watch, self._forker, names)
            self._single.hides = self._hides
        elif self._single is None:
            qmgr = EmbeddedQueueManager("QMF", data=self._directory / "data", mqsc=[MQSC], **self._more)
            qmgr.start()
            self._single = Machine(qmgr, Reader(qmgr), self._watch, self._forker)
            self._single.hides = self._hides
        return self._single

    def member(self, at: str) -> Member:
        """Return the machine with this queue manager of the cluster."""
        if self._cluster is None:
            self._cluster = embedded_cluster(self._directory / "cluster", MQSC, **self._more)
            self._cluster.start()
        if at not in self._members:
            self._members[at] = Member(self._cluster, at, self._watch, self._forker)
            self._members[at].hides = self._hides
        return self._members[at]

    def stop(self) -> None:
        """End all queue managers."""
        for machine in (self._single, *self._members.values()):
            if machine is not None:
                machine.stop()
        if self._cluster is not None:
            self._cluster.stop()
        self._forker.stop()

    def holdings(self) -> dict[str, int]:
        """Return memory (KiB) and open files of this process and of each queue manager, by who has them."""
        qmgrs: list[AnyQueueManager] = [self._single.qmgr] if self._single is not None else []
        if self._cluster is not None:
            qmgrs += self._cluster.queue_managers.values()
        held = {}
        for who, pid in (("worker", os.getpid()), *((f"queue manager {each.q_mgr_name}", each.pid) for each in qmgrs)):
            status = Path(f"/proc/{pid}/status").read_text()
            held[f"{who} {pid}: KiB"] = int(status.partition("VmRSS:")[2].split()[0])
            held[f"{who} {pid}: files"] = len(list(Path(f"/proc/{pid}/fd").iterdir()))
        return held
