"""Run the cases of the comparison: a program on a fresh queue, a fault, a supervisor that restarts the program, then the reader.

First each program runs undisturbed, and the queue manager counts its calls. Then each of these calls is disturbed
once in each way. Only the pairs of faults are random, by a seed that the table shows.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from mqembedded import EmbeddedQueueManager, Fault
from recipes.compare import worker
from recipes.compare.job import Job
from recipes.compare.reader import Found, Reader

MQSC = """
DEFINE QMODEL(MQGROUPS.STATUS.MODEL) DEFTYPE(PERMDYN) DEFPSIST(YES) NOSHARE DEFSOPT(EXCL) REPLACE
DEFINE QMODEL(COMPARE.MODEL) DEFTYPE(PERMDYN) DEFPSIST(YES) SHARE DEFSOPT(SHARED) REPLACE
"""
MESSAGES, EVERY = 6, 2
# A larger job, for what it costs.
MANY = 1_000, 100
# How often a supervisor restarts a program that did not report that it is done.
MOST_RESTARTS = 5
_Q_FULL = 2053

KINDS = {
    "SIGKILL before a call": ("kill_client", "before"),
    "SIGKILL after a call": ("kill_client", "after"),
    "connection lost before a call": ("drop", "before"),
    "connection lost after a call": ("drop", "after"),
    "reply of MQCMIT lost": ("drop", "after"),
    "MQPUT refused once": ("answer", "before"),
    "two faults at random": ("", ""),
}
_COMMIT_REPLY, _REFUSED, _RANDOM = list(KINDS)[4:]


@dataclass(frozen=True, slots=True)
class Case:
    """One disturbance of one program. ``seed`` is 0 unless the disturbance is random."""

    approach: str
    kind: str
    faults: tuple[Fault, ...]
    seed: int = 0

    def __str__(self) -> str:
        where = ", ".join(f"{fault.action} {fault.when} {fault.verb or 'call'} {fault.nth}" for fault in self.faults)
        return f"{self.approach}: {where}" + (f" (seed {self.seed})" if self.seed else "")


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a case: what the program reported at the end, and the messages on the queue."""

    case: Case
    said_done: bool
    found: Found

    @property
    def is_wrong_statement(self) -> bool:
        """Whether the program reported that the group is put although it is not right, or the other way round."""
        return self.said_done != self.found.is_right


@dataclass(frozen=True, slots=True)
class Price:
    """What a program costs: lines of its code; undisturbed, MQI calls and seconds for many messages."""

    lines: int
    calls: int
    seconds: float


class Campaign:
    """A queue manager to disturb programs on."""

    def __init__(self, q_mgr: EmbeddedQueueManager, directory: Path) -> None:
        self._q_mgr = q_mgr
        self._directory = directory
        self._reader = Reader(q_mgr.q_mgr_name, q_mgr.channel, q_mgr.conn_name)
        self._jobs = 0

    def cases(self, approach: str, *, every_nth: int, seeds: range) -> Iterator[Case]:
        """Return the cases of a program; with ``every_nth`` 1 each of its calls, with 4 every fourth.

        Raises:
            RuntimeError: undisturbed, the program does not do what it should.
        """
        calls, _ = self._undisturbed(approach, MESSAGES, EVERY)
        for kind, (action, when) in KINDS.items():
            if kind == _RANDOM:
                for seed in seeds:
                    yield Case(approach, kind, _drawn(seed, sum(calls.values())), seed)
                continue
            numbered = [(verb, nth) for verb, times in sorted(calls.items()) for nth in range(1, times + 1)]
            if kind == _COMMIT_REPLY:
                numbered = [(verb, nth) for verb, nth in numbered if verb == "MQCMIT"]
            elif kind == _REFUSED:
                numbered = [(verb, nth) for verb, nth in numbered if verb == "MQPUT"]
            elif (action, when) == KINDS[_COMMIT_REPLY]:
                numbered = [(verb, nth) for verb, nth in numbered if verb != "MQCMIT"]
            for verb, nth in numbered[::every_nth]:
                yield Case(approach, kind, (Fault(action, when, nth, verb, reason=_Q_FULL),))

    def run(self, case: Case) -> Outcome:
        """Disturb a program, restart it until it reports that it is done, and count the messages."""
        job = self._job(case.approach)
        self._q_mgr.clear_faults()
        for fault in case.faults:
            self._q_mgr.arm(fault)
        for _ in range(1 + MOST_RESTARTS):
            if worker.run(case.approach, job) == 0:
                break
        self._q_mgr.clear_faults()
        return Outcome(case, job.is_said_to_be_done, self._reader.look(job))

    def prices(self, approaches: Sequence[str], rounds: int) -> dict[str, Price]:
        """Return what a larger job costs, undisturbed; the programs take turns.

        Raises:
            RuntimeError: a program does not do what it should.
        """
        took_s: dict[str, list[float]] = {approach: [] for approach in approaches}
        calls: dict[str, int] = {}
        for _ in range(rounds):
            for approach in approaches:
                made, seconds = self._undisturbed(approach, *MANY)
                took_s[approach].append(seconds)
                calls[approach] = sum(made.values())
        return {
            approach: Price(worker.lines(approach), calls[approach], statistics.median(took_s[approach]))
            for approach in approaches
        }

    def close(self) -> None:
        """Disconnect the reader."""
        self._reader.close()

    def _undisturbed(self, approach: str, messages: int, every: int) -> tuple[dict[str, int], float]:
        """Return the calls that a program makes, and how many seconds it takes."""
        job = self._job(approach, messages, every)
        self._q_mgr.clear_faults()
        began_s = time.perf_counter()
        worker.run(approach, job)
        took_s = time.perf_counter() - began_s
        calls, found = self._q_mgr.calls(), self._reader.look(job)
        if not (job.is_said_to_be_done and found.is_right):
            raise RuntimeError(f"{approach} does not put {messages} messages even if nothing goes wrong: {found}")
        return calls, took_s

    def _job(self, approach: str, messages: int = MESSAGES, every: int = EVERY) -> Job:
        self._jobs += 1
        name, q_mgr = f"J{self._jobs}", self._q_mgr
        queue = self._reader.make_queue(f"COMPARE.{name}", "COMPARE.MODEL")
        second_queue = self._reader.make_queue(f"COMPARE.{name}.2", "COMPARE.MODEL")
        place = (q_mgr.q_mgr_name, q_mgr.channel, q_mgr.conn_name, queue, second_queue)
        job = Job(*place, name, messages, every, str(self._directory))
        if approach in worker.SUBSCRIBERS:
            self._reader.fill(job)
        return job


def _drawn(seed: int, calls: int) -> tuple[Fault, ...]:
    draw = random.Random(seed)
    return tuple(
        Fault(draw.choice(("kill_client", "drop")), draw.choice(("before", "after")), draw.randint(1, calls))
        for _ in range(2)
    )
