"""Where a query is killed: the points of its protocol, and who dies there. Values only, and the killing itself.

A *phase* is what a method of source or sink does in one process; a point lies at its beginning, at its end, or before or after
its n-th call of a verb on a queue. ``whom``: the whole session of the driver, as when its machine goes; the driver's JVM
alone, whose Python processes notice when they notice; or the process that has come there. On a cluster: the executor's JVM
above that process, or the worker above the executor, with which all its executors end.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

DRIVER = ("session", "jvm")
ON_CLUSTER = ("executor", "worker")
WHOM = (*DRIVER, "process", *ON_CLUSTER)
PAUSE = "pause"


@dataclass(frozen=True, slots=True)
class Kill:
    """One kill.

    Attributes:
        point: its name in tables.
        phase: plan, partitions, removal, remover, mark, read, write or complete.
        when: ``begin`` or ``end`` of the phase; ``before`` or ``after`` a call.
        verb, queue: which calls count: of this verb, on the queue with this part (``in``, ``manifests``, ``out``, ``status``,
            ``lock``).
        nth: fires at this one, counted from 1 in each process.
        whom: who is killed; ``pause`` stops an executor instead.
    """

    point: str
    phase: str
    when: str
    verb: str = ""
    queue: str = ""
    nth: int = 1
    whom: str = "session"


@dataclass(frozen=True, slots=True)
class Point:
    """A point, and from which call to which (0: the same) kills are drawn."""

    name: str
    phase: str
    when: str
    verb: str = ""
    queue: str = ""
    first: int = 1
    last: int = 0

    def drawn(self, draw: random.Random, whom: str) -> Kill:
        """Return a kill at this point."""
        nth = draw.randint(self.first, max(self.first, self.last))
        when = draw.choice(("before", "after")) if self.when == "call" else self.when
        return Kill(self.name, self.phase, when, self.verb, self.queue, nth, whom)


# Groups that are put have five messages in units of work of two: four commits with the claim's.
POINTS = (
    Point("source: browsing for groups", "plan", "call", "MQGET", "in", 1, 6),
    Point("source: putting a manifest", "plan", "call", "MQPUT", "manifests", 1, 3),
    Point("source: before a manifest's commit", "plan", "before", "MQCMIT", "", 1, 3),
    Point("source: after a manifest's commit", "plan", "after", "MQCMIT", "", 1, 3),
    Point("source: planned, before the offset log", "plan", "end"),
    Point("source: in the offset log, not read", "partitions", "end"),
    Point("source: in the offset log, before removal", "removal", "begin"),
    Point("source: removal begun", "removal", "end"),
    Point("remover: opening the queue", "remover", "call", "MQOPEN", "", 1, 2),
    Point("remover: getting", "remover", "call", "MQGET", "in", 1, 20),
    Point("remover: noting that a beginning is gone", "remover", "call", "MQPUT", "manifests"),
    Point("remover: before a commit", "remover", "before", "MQCMIT", "", 1, 4),
    Point("remover: after a commit", "remover", "after", "MQCMIT", "", 1, 4),
    Point("source: marking what is removed", "mark", "call", "MQPUT", "manifests", 1, 2),
    Point("source: marked", "mark", "after", "MQCMIT", "", 1, 2),
    Point("task: reading", "read", "call", "MQGET", "in", 1, 15),
    Point("task: read, putting its sign", "read", "call", "MQPUT", "manifests"),
    Point("task: the group is locked", "write", "after", "MQOPEN", "lock", 1, 2),
    Point("task: claiming", "write", "call", "MQPUT", "status", 1, 2),
    Point("task: claimed", "write", "after", "MQCMIT", "", 1),
    Point("task: in a unit of work", "write", "call", "MQPUT", "out", 1, 9),
    Point("task: before a commit", "write", "before", "MQCMIT", "", 2, 4),
    Point("task: after a commit", "write", "after", "MQCMIT", "", 2, 4),
    Point("task: between groups", "write", "after", "MQCMIT", "", 4),
    Point("task: done", "write", "end"),
    Point("sink: all tasks done", "complete", "begin"),
    Point("sink: high-water mark put", "complete", "after", "MQPUT", "status"),
    Point("sink: high-water mark committed", "complete", "after", "MQCMIT"),
    Point("sink: taking records away", "complete", "before", "MQCMIT", "", 2),
    Point("sink: batch completed", "complete", "end"),
)


# What tasks do, and executors therefore.
POINTS_OF_TASKS = tuple(point for point in POINTS if point.phase in ("read", "write"))


def pause(point: str) -> Kill:
    """Return what stops an executor in the middle of its second unit of work."""
    return Kill(point, "write", "after", "MQPUT", "out", 3, PAUSE)


# --- processes


def _stat(pid: int) -> list[str]:
    """Return the fields of /proc/PID/stat behind the name: state, parent, group, session ..."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    return []


def session_members(session: int) -> Iterator[int]:
    """Yield the processes of a session that live."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            fields = _stat(int(entry.name))
            if fields and fields[0] not in "ZX" and int(fields[3]) == session:
                yield int(entry.name)


def is_java(pid: int) -> bool:
    """Whether a process is a JVM."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_text().strip() == "java"
    return False


def ancestors(pid: int) -> Iterator[int]:
    """Yield the parent of a process, its parent, and so on."""
    while (fields := _stat(pid)) and (pid := int(fields[1])) > 1:
        yield pid


def kill(pid: int, number: signal.Signals = signal.SIGKILL) -> None:
    """Send a signal to a process that may be gone."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def kill_session(session: int) -> None:
    """Kill all of a session, as the end of its machine would; who does it himself goes last."""
    while others := [pid for pid in session_members(session) if pid != os.getpid()]:
        for pid in others:
            kill(pid)
    if os.getsid(0) == session:
        kill(os.getpid())


def kill_as_told(whom: str) -> None:
    """Kill whom a kill says, in a process of the driver or, for those of a cluster, of a task."""
    session = os.getsid(0)
    if whom == "session":
        kill_session(session)
    elif whom in ON_CLUSTER:
        executor = processes_above()[-1]
        kill(executor if whom == "executor" else next(ancestors(executor)))
    elif whom == "jvm":
        # The oldest is the driver's; executors of a local cluster are JVMs as well.
        kill(min(pid for pid in session_members(session) if is_java(pid)))
    else:
        kill(os.getpid())


def processes_above() -> list[int]:
    """Return what is above this task's worker, up to its executor's JVM."""
    found = []
    for pid in ancestors(os.getpid()):
        found.append(pid)
        if is_java(pid):
            break
    return found
