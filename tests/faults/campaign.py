"""The fault campaign: ``python -m tests.faults.campaign [--short] [--seed N] [--pattern WORD] [--case NAME]``, and ``--help``.

1. Single faults: at every MQI call of every pattern, everything that can happen there.
2. Double faults: a second one at each call of the recovery from the first.
3. Zombies: each pattern stopped before each call, replaced by a successor, and let go on.
4. Cases drawn from the seed: several faults, several programs on one queue, a queue manager that is killed.
5. Single faults of the producers on clusters, with what keeps a group at one instance taken out: here groups have to split, or
   the campaign would not show anything about that.

After each case the independent reader looks at what is there. Exit code 1 if anything was not as it should be; each failure
is printed with the name of its case, which ``--case`` runs again with every call it makes. ``Extent`` says what the short and
the full form take of all this.
"""

from __future__ import annotations

import argparse
import atexit
import contextlib
import json
import multiprocessing
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console

from tests.faults.cases import KILLED, LOST, case_name, fault_at, second_faults, single_faults
from tests.faults.machine import Result
from tests.faults.patterns import CLUSTER_PUT_ROLES, CLUSTER_ROLES, PATTERNS
from tests.faults.programs import Pattern
from tests.faults.randomly import drawn_case, drawn_on_cluster, zombie
from tests.faults.report import TakenOut, print_report
from tests.faults.site import Site
from tests.faults.without import SAFETIES, take_out

_DRAWN = "drawn from the seed"
_DRAWN_ON_CLUSTER = "drawn, on the cluster"
_SAY_AFTER_S = 60


@dataclass(frozen=True)
class Extent:
    """How much is done: shares of what there is, from 0 to 1, and a number of cases that are drawn."""

    single: float
    single_kills: float
    double: float
    double_kills: float
    zombies: float
    drawn: int


@dataclass(frozen=True)
class Extents:
    """How much is done of the patterns of one queue manager, of those of clusters, and of producers there without a safety."""

    plain: Extent
    cluster: Extent
    without: Extent


SHORT = Extents(
    plain=Extent(single=1, single_kills=0.2, double=0.03, double_kills=0.003, zombies=0.15, drawn=120),
    cluster=Extent(single=0.05, single_kills=0.05, double=0.01, double_kills=0.001, zombies=0.05, drawn=20),
    without=Extent(single=0.03, single_kills=0.03, double=0, double_kills=0, zombies=0, drawn=0),
)
FULL = Extents(
    plain=Extent(single=1, single_kills=1, double=1, double_kills=0.1, zombies=1, drawn=4000),
    cluster=Extent(single=1, single_kills=1, double=0.05, double_kills=0.005, zombies=1, drawn=400),
    without=Extent(single=0.3, single_kills=0.3, double=0, double_kills=0, zombies=0, drawn=0),
)


@dataclass(frozen=True)
class Task:
    """A piece of work for a worker: cases of one pattern and phase, by name."""

    phase: str
    pattern: str
    cases: tuple[str, ...]


# --- in a worker

_site: Site


def _begin(directory: str, without: Collection[str]) -> None:
    global _site
    take_out(without)
    _site = Site(Path(directory, str(os.getpid())))
    atexit.register(_site.stop)


def run_case(name: str) -> Result:
    """Run one case by its name."""
    what, *faults = name.split(" ")
    if what == "drawn":
        return drawn_case(_site.single(), int(faults[0]))
    if what == "drawn-cluster":
        return drawn_on_cluster(_site, int(faults[0]))
    pattern = PATTERNS[faults[0] if what == "zombie" else what]
    machine = _site.machine(pattern)
    if what == "zombie":
        return zombie(machine, pattern, int(faults[1]))
    return machine.case(pattern, [fault_at(fault) for fault in faults])


def _run(task: Task) -> tuple[Task, Result, list[int], dict[str, int]]:
    """Run a task; returns how many calls each case took, and the memory and handles of the processes after it."""
    total, calls = Result(), []
    for name in task.cases:
        try:
            result = run_case(name)
        except Exception as error:
            result = Result(runs=1, wrong=[f"the case ended with {type(error).__name__}: {error}"])
        calls.append(len(result.calls))
        result.wrong = [f"{name}: {wrong}" for wrong in result.wrong]
        total.add(result)
    return task, total, calls, _site.holdings()


def _undisturbed(name: str) -> list[tuple[str, int]]:
    """Return the calls that a pattern makes when nothing goes wrong."""
    run_case(name)
    result = run_case(name)
    if result.wrong:
        raise RuntimeError(f"{name} goes wrong without a fault: {result.wrong}")
    return result.calls


# --- in the campaign's own process


class Campaign:
    """What there is to do, who does it, and what came of it."""

    def __init__(
        self, plain: Extent, cluster: Extent, seed: int, patterns: Sequence[Pattern], workers: ProcessPoolExecutor
    ) -> None:
        self._extents = {pattern: cluster if pattern.role in CLUSTER_ROLES else plain for pattern in patterns}
        # Cases that are drawn, by what they are called, and how their names begin.
        self._draws = {
            _DRAWN: ("drawn", plain.drawn if any(each.role not in CLUSTER_ROLES for each in patterns) else 0),
            _DRAWN_ON_CLUSTER: (
                "drawn-cluster",
                cluster.drawn if any(each.role in CLUSTER_ROLES for each in patterns) else 0,
            ),
        }
        self._seed = seed
        self._patterns = patterns
        self._workers = workers
        self._holdings: dict[str, list[int]] = {}
        self.results: dict[tuple[str, str], Result] = {}

    def run(self, say: Callable[[str], None]) -> None:
        """Do all of it, phase by phase."""
        undisturbed = dict(
            zip(self._patterns, self._workers.map(_undisturbed, [one.name for one in self._patterns]), strict=True)
        )
        calls = self._phase(self._singles(undisturbed), say)
        self._phase(self._doubles(calls), say)
        self._phase(self._zombies(undisturbed), say)
        self._phase(self._drawn(), say)

    def _takes(self, case: str, share: float) -> bool:
        return share >= 1 or random.Random(f"{self._seed} {case}").random() < share

    def _singles(self, undisturbed: dict[Pattern, list[tuple[str, int]]]) -> Iterator[Task]:
        for pattern, calls in undisturbed.items():
            extent = self._extents[pattern]
            for nth in range(1, len(calls) + 1):
                cases = (case_name(pattern, [fault]) for fault in single_faults(calls, nth))
                taken = (
                    case
                    for case in cases
                    if self._takes(case, extent.single_kills if "kill_client" in case else extent.single)
                )
                yield Task("single", pattern.name, tuple(taken))

    def _doubles(self, calls: dict[str, int]) -> Iterator[Task]:
        """Yield pairs, given how many calls a program makes in all in each case of a single fault."""
        for single, made in calls.items():
            name, first = single.split(" ")
            extent = self._extents[PATTERNS[name]]
            what, _, nth = first.partition("@")
            if what not in (*LOST, *KILLED):
                continue
            cases = []
            for second in second_faults((*LOST, *KILLED), int(nth), made):
                killed = "kill_client" in first + second
                case = f"{single} {second}"
                if self._takes(case, extent.double_kills if killed else extent.double):
                    cases.append(case)
            yield Task("double", name, tuple(cases))

    def _zombies(self, undisturbed: dict[Pattern, list[tuple[str, int]]]) -> Iterator[Task]:
        for pattern, calls in undisturbed.items():
            # The first commit claims the name, and the calls after it open the queue: then the producer or consumer is there.
            verbs = [verb for verb, _ in calls]
            made = verbs.index("MQCMIT") + 1
            while verbs[made] in ("MQOPEN", "MQINQ"):
                made += 1
            # Who is taken over from is there until it gives up.
            last = verbs.index("MQBACK") if pattern.role.endswith("takeover") else len(calls)
            share = self._extents[pattern].zombies
            cases = (f"zombie {pattern.name} {nth}" for nth in range(made + 1, last + 1))
            yield Task("zombie", pattern.name, tuple(case for case in cases if self._takes(case, share)))

    def _drawn(self) -> Iterator[Task]:
        for called, (begins, count) in self._draws.items():
            for number in range(count):
                yield Task("drawn", called, (f"{begins} {self._seed * 1_000_000 + number}",))

    def _phase(self, tasks: Iterable[Task], say: Callable[[str], None]) -> dict[str, int]:
        """Have tasks done; returns the calls of each case, those of a killed program before it was started again too."""
        calls: dict[str, int] = {}
        todo = [task for task in tasks if task.cases]
        cases = sum(len(task.cases) for task in todo)
        begun_s = said_s = time.monotonic()
        for number, (task, result, made, held) in enumerate(self._done(todo), 1):
            self.results.setdefault((task.phase, task.pattern), Result()).add(result)
            for what, much in held.items():
                self._holdings.setdefault(what, []).append(much)
            for case, count in zip(task.cases, made, strict=True):
                killed_at = int(case.rpartition("@")[2]) if task.phase == "single" and "kill_client" in case else 0
                calls[case] = killed_at + count
            for wrong in result.wrong:
                say(wrong)
            now_s = time.monotonic()
            if number == len(todo) or now_s - said_s > _SAY_AFTER_S:
                said_s = now_s
                say(f"{task.phase}: {len(calls):,} of {cases:,} cases in {now_s - begun_s:.0f} s")
        return calls

    def _done(self, tasks: Sequence[Task]) -> Iterator[tuple[Task, Result, list[int], dict[str, int]]]:
        """Yield what comes of tasks as they are done."""
        pending: set[Future[tuple[Task, Result, list[int], dict[str, int]]]] = set()
        for task in tasks:
            pending.add(self._workers.submit(_run, task))
        while pending:
            done, pending = wait(pending, return_when=FIRST_COMPLETED)
            for future in done:
                yield future.result()

    def kept(self) -> list[str]:
        """Say what processes hold more of at the end than they should: files, and memory beyond 64 MiB.

        Connections of the readers, and a worker's cluster, come when they are needed first; what is left behind by each case
        would be hundreds of files.
        """
        most = {"files": 24, "KiB": 65_536}
        return [
            f"{what} {held[0]:,} at first, {held[-1]:,} at the end"
            for what, held in self._holdings.items()
            if held[-1] > held[0] + most[what.rpartition(" ")[2]]
        ]

    def total(self, phase: str = "", pattern: str = "") -> Result:
        """Return the sum of results."""
        total = Result()
        for (one_phase, one_pattern), result in self.results.items():
            if phase in ("", one_phase) and pattern in ("", one_pattern):
                total.add(result)
        return total


def _without(safeties: Sequence[str], extent: Extent, seed: int, patterns: Sequence[Pattern], workers: int) -> TakenOut:
    """Run the campaign without these safeties."""
    with _worker_processes(workers, safeties) as pool:
        campaign = Campaign(extent, extent, seed, patterns, pool)
        campaign.run(lambda _: None)
    return TakenOut(safeties, campaign.total())


def _again(name: str, without: Sequence[str]) -> int:
    """Run one case and print every call it makes in this process; returns the exit code."""
    with _directory() as directory:
        _begin(directory, without)
        result = run_case(name)
        for number, (verb, reason) in enumerate(result.calls, 1):
            print(f"{number:4} {verb} {reason or ''}")
        print(f"{result.starts} starts, {result.fired} faults fired, errors {result.errors}")
        for wrong in result.wrong:
            print(wrong)
        _site.stop()
    return bool(result.wrong)


@contextlib.contextmanager
def _directory() -> Iterator[str]:
    # What is killed here is a process, not the machine: where files are in memory they survive that as well, and sooner.
    memory = Path("/dev/shm")
    where = memory if memory.is_dir() and os.access(memory, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="mqgroups-faults-", dir=where, ignore_cleanup_errors=True) as directory:
        yield directory


@contextlib.contextmanager
def _worker_processes(count: int, without: Sequence[str]) -> Iterator[ProcessPoolExecutor]:
    context = multiprocessing.get_context("spawn")
    with (
        _directory() as directory,
        ProcessPoolExecutor(count, context, initializer=_begin, initargs=(directory, without)) as workers,
    ):
        yield workers


def main() -> int:
    """Run the campaign; see the module's docstring."""
    parser = argparse.ArgumentParser(description="Faults at every MQI call of every pattern.")
    parser.add_argument("--short", action="store_true", help="a sample of it, in a few minutes")
    parser.add_argument("--seed", type=int, default=1, help="of what is sampled and drawn")
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)), help="each with a queue manager")
    parser.add_argument("--pattern", default="", help="only patterns whose names contain this")
    parser.add_argument("--json", type=Path, default=Path("build/faults.json"), help="where the figures go")
    parser.add_argument("--case", help="run one case by its name, and print its calls")
    parser.add_argument(
        "--without", nargs="+", choices=SAFETIES, default=[], help="with these taken out of the library"
    )
    arguments = parser.parse_args()
    if arguments.case:
        return _again(arguments.case, arguments.without)
    console = Console(width=170)
    patterns = [pattern for name, pattern in PATTERNS.items() if arguments.pattern in name]
    extents = SHORT if arguments.short else FULL
    began_s = time.monotonic()
    with _worker_processes(arguments.workers, arguments.without) as workers:
        campaign = Campaign(extents.plain, extents.cluster, arguments.seed, patterns, workers)
        campaign.run(lambda text: console.print(text, highlight=False, markup=False, soft_wrap=True))
    took_s = time.monotonic() - began_s
    title = f"Fault campaign, seed {arguments.seed}, embedded queue manager (not IBM MQ), {took_s:.0f} s"
    print_report(console, title, (*PATTERNS, _DRAWN, _DRAWN_ON_CLUSTER), campaign.total)
    kept = campaign.kept()
    for line in kept:
        console.print(line)
    putting = [pattern for pattern in patterns if pattern.role in CLUSTER_PUT_ROLES]
    taken_out = [
        _without(safeties, extents.without, arguments.seed, putting, arguments.workers)
        for safeties in (SAFETIES[:1], SAFETIES)
        if putting and not arguments.without
    ]
    for each in taken_out:
        console.print(str(each), highlight=False)
    total = campaign.total()
    figures = {f"{phase}: {name}": asdict(result) for (phase, name), result in campaign.results.items()}
    figures |= {f"without: {' '.join(each.safeties)}": asdict(each.total) for each in taken_out}
    arguments.json.parent.mkdir(parents=True, exist_ok=True)
    arguments.json.write_text(
        json.dumps({"seed": arguments.seed, "seconds": round(took_s), "total": asdict(total), "kept": kept, **figures})
        + "\n"
    )
    console.print(f"{len(total.wrong) + len(kept)} violations; figures in {arguments.json}")
    return bool(total.wrong or kept) or not all(each.noticed for each in taken_out)


if __name__ == "__main__":
    sys.exit(main())
