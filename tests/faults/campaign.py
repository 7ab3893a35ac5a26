"""The fault campaign: ``python -m tests.faults.campaign [--short] [--seed N] [--workers N] [--json FILE] [--case NAME]``.

1. Single faults: at every MQI call of every pattern, everything that can happen there.
2. Double faults: a second one at each call of the recovery from the first.
3. Zombies: each pattern stopped before each call, replaced by a successor, and let go on.
4. Cases drawn from the seed: several faults, several programs on one queue, a queue manager that is killed.

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
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tests.faults.cases import KILLED, LOST, case_name, fault_at, second_faults, single_faults
from tests.faults.machine import Machine, Result
from tests.faults.programs import PATTERNS, Pattern
from tests.faults.randomly import drawn_case, zombie

PHASES = ("single", "double", "zombie", "drawn")
_DRAWN = "drawn from the seed"
_SAY_AFTER_S = 60


@dataclass(frozen=True)
class Extent:
    """How much is done: shares of what there is, from 0 to 1, and a number of cases that are drawn."""

    single_kills: float
    double: float
    double_kills: float
    zombies: float
    drawn: int


SHORT = Extent(single_kills=0.2, double=0.03, double_kills=0.003, zombies=0.15, drawn=120)
FULL = Extent(single_kills=1, double=1, double_kills=0.1, zombies=1, drawn=4000)


@dataclass(frozen=True)
class Task:
    """A piece of work for a worker: cases of one pattern and phase, by name."""

    phase: str
    pattern: str
    cases: tuple[str, ...]


# --- in a worker

_machine: Machine


def _begin(directory: str) -> None:
    global _machine
    _machine = Machine(Path(directory, str(os.getpid())))
    atexit.register(_machine.stop)


def run_case(name: str) -> Result:
    """Run one case by its name."""
    what, *faults = name.split(" ")
    if what == "drawn":
        return drawn_case(_machine, int(faults[0]))
    if what == "zombie":
        return zombie(_machine, PATTERNS[faults[0]], int(faults[1]))
    return _machine.case(PATTERNS[what], [fault_at(fault) for fault in faults])


def _run(task: Task) -> tuple[Task, Result, list[int], dict[str, int]]:
    """Run a task; returns how many calls each case took, and the memory and handles of the two processes after it."""
    total, calls = Result(), []
    for name in task.cases:
        try:
            result = run_case(name)
        except Exception as error:
            result = Result(runs=1, wrong=[f"the case ended with {type(error).__name__}: {error}"])
        calls.append(len(result.calls))
        result.wrong = [f"{name}: {wrong}" for wrong in result.wrong]
        total.add(result)
    return task, total, calls, _holdings()


def _undisturbed(name: str) -> list[tuple[str, int]]:
    """Return the calls that a pattern makes when nothing goes wrong."""
    run_case(name)
    result = run_case(name)
    if result.wrong:
        raise RuntimeError(f"{name} goes wrong without a fault: {result.wrong}")
    return result.calls


def _holdings() -> dict[str, int]:
    """Return memory (KiB) and open files of this worker and of its queue manager."""
    held = {}
    for who, pid in (("worker", os.getpid()), ("queue manager", _machine.qmgr.pid)):
        status = Path(f"/proc/{pid}/status").read_text()
        held[f"{who} KiB"] = int(status.partition("VmRSS:")[2].split()[0])
        held[f"{who} files"] = len(list(Path(f"/proc/{pid}/fd").iterdir()))
    return {"pid": os.getpid(), "queue manager pid": _machine.qmgr.pid, **held}


# --- in the campaign's own process


class Campaign:
    """What there is to do, who does it, and what came of it."""

    def __init__(self, extent: Extent, seed: int, patterns: Sequence[Pattern], workers: ProcessPoolExecutor) -> None:
        self._extent = extent
        self._seed = seed
        self._patterns = patterns
        self._workers = workers
        self._holdings: dict[tuple[int, int], list[dict[str, int]]] = {}
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
            for nth in range(1, len(calls) + 1):
                cases = (case_name(pattern, [fault]) for fault in single_faults(calls, nth))
                yield Task(
                    "single",
                    pattern.name,
                    tuple(
                        case
                        for case in cases
                        if "kill_client" not in case or self._takes(case, self._extent.single_kills)
                    ),
                )

    def _doubles(self, calls: dict[str, int]) -> Iterator[Task]:
        """Yield pairs, given how many calls a program makes in all in each case of a single fault."""
        extent = self._extent
        for single, made in calls.items():
            name, first = single.split(" ")
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
            cases = (f"zombie {pattern.name} {nth}" for nth in range(made + 1, len(calls) + 1))
            yield Task("zombie", pattern.name, tuple(case for case in cases if self._takes(case, self._extent.zombies)))

    def _drawn(self) -> Iterator[Task]:
        numbers = range(self._extent.drawn)
        for number in numbers:
            yield Task("drawn", _DRAWN, (f"drawn {self._seed * 1_000_000 + number}",))

    def _phase(self, tasks: Iterable[Task], say: Callable[[str], None]) -> dict[str, int]:
        """Have tasks done; returns the calls of each case, those of a killed program before it was started again too."""
        calls: dict[str, int] = {}
        todo = [task for task in tasks if task.cases]
        cases = sum(len(task.cases) for task in todo)
        begun_s = said_s = time.monotonic()
        for number, (task, result, made, held) in enumerate(self._done(todo), 1):
            self.results.setdefault((task.phase, task.pattern), Result()).add(result)
            self._holdings.setdefault((held["pid"], held["queue manager pid"]), []).append(held)
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
        """Say what processes hold more of at the end than they should: files, and memory beyond 64 MiB."""
        wrong = []
        for held in self._holdings.values():
            for what, most in (("files", 4), ("KiB", 65_536)):
                for who in ("worker", "queue manager"):
                    first, last = (one[f"{who} {what}"] for one in (held[0], held[-1]))
                    if last > first + most:
                        wrong.append(f"{who} {held[0]['pid']}: {what} {first:,} at first, {last:,} at the end")
        return wrong

    def total(self, phase: str = "", pattern: str = "") -> Result:
        """Return the sum of results."""
        total = Result()
        for (one_phase, one_pattern), result in self.results.items():
            if phase in ("", one_phase) and pattern in ("", one_pattern):
                total.add(result)
        return total


def _report(campaign: Campaign, console: Console, title: str) -> None:
    table = Table(title=title)
    for column in ("pattern", *PHASES, "starts", "in doubt", "verdicts", "right", "errors", "violations"):
        table.add_column(column, justify="left" if column == "pattern" else "right")
    for name in (*PATTERNS, _DRAWN, ""):
        one = campaign.total(pattern=name)
        if not one.runs:
            continue
        counts = [campaign.total(phase, name).runs for phase in PHASES]
        right = f"{(one.verdicts - one.wrong_verdicts) / one.verdicts:.0%}" if one.verdicts else ""
        figures = (*counts, one.starts, one.in_doubt, one.verdicts)
        row = [name or "in all", *(f"{count:,}" for count in figures), right]
        table.add_row(*row, f"{sum(one.errors.values()):,}", str(len(one.wrong)), style="" if name else "bold")
    console.print(table)
    errors = sorted(campaign.total().errors.items(), key=lambda item: -item[1])
    console.print(
        "Errors that reached an application: " + (", ".join(f"{what} {count:,}" for what, count in errors) or "none")
    )


def _again(name: str) -> int:
    """Run one case and print every call it makes in this process; returns the exit code."""
    with _directory() as directory:
        _begin(directory)
        result = run_case(name)
        for number, (verb, reason) in enumerate(result.calls, 1):
            print(f"{number:4} {verb} {reason or ''}")
        print(f"{result.starts} starts, {result.fired} faults fired, errors {result.errors}")
        for wrong in result.wrong:
            print(wrong)
        _machine.stop()
    return bool(result.wrong)


@contextlib.contextmanager
def _directory() -> Iterator[str]:
    # What is killed here is a process, not the machine: where files are in memory they survive that as well, and sooner.
    memory = Path("/dev/shm")
    where = memory if memory.is_dir() and os.access(memory, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="mqgroups-faults-", dir=where, ignore_cleanup_errors=True) as directory:
        yield directory


def main() -> int:
    """Run the campaign; see the module's docstring."""
    parser = argparse.ArgumentParser(description="Faults at every MQI call of every pattern.")
    parser.add_argument("--short", action="store_true", help="a sample of it, in a few minutes")
    parser.add_argument("--seed", type=int, default=1, help="of what is sampled and drawn")
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)), help="each with a queue manager")
    parser.add_argument("--pattern", default="", help="only patterns whose names contain this")
    parser.add_argument("--json", type=Path, default=Path("build/faults.json"), help="where the figures go")
    parser.add_argument("--case", help="run one case by its name, and print its calls")
    arguments = parser.parse_args()
    if arguments.case:
        return _again(arguments.case)
    console = Console(width=170)
    patterns = [pattern for name, pattern in PATTERNS.items() if arguments.pattern in name]
    context = multiprocessing.get_context("spawn")
    began_s = time.monotonic()
    with (
        _directory() as directory,
        ProcessPoolExecutor(arguments.workers, context, initializer=_begin, initargs=(directory,)) as workers,
    ):
        campaign = Campaign(SHORT if arguments.short else FULL, arguments.seed, patterns, workers)
        campaign.run(lambda text: console.print(text, highlight=False, markup=False, soft_wrap=True))
    took_s = time.monotonic() - began_s
    _report(
        campaign, console, f"Fault campaign, seed {arguments.seed}, embedded queue manager (not IBM MQ), {took_s:.0f} s"
    )
    kept = campaign.kept()
    for line in kept:
        console.print(line)
    total = campaign.total()
    figures = {f"{phase}: {name}": asdict(result) for (phase, name), result in campaign.results.items()}
    arguments.json.parent.mkdir(parents=True, exist_ok=True)
    arguments.json.write_text(
        json.dumps({"seed": arguments.seed, "seconds": round(took_s), "total": asdict(total), "kept": kept, **figures})
        + "\n"
    )
    console.print(f"{len(total.wrong) + len(kept)} violations; figures in {arguments.json}")
    return bool(total.wrong or kept)


if __name__ == "__main__":
    sys.exit(main())
