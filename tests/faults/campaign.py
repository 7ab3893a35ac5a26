"""The fault campaign: ``python -m tests.faults.campaign [--short] [--seed N] [--pattern WORD] [--case NAME]``, and ``--help``.

Phases, each in a module of its own:

1. Single faults: at every MQI call of every pattern, everything that can happen there (``call_faults.py``). Thin layers have only
   the phases that disturb what is their own (``THIN_ROLES``).
2. Double faults: a second one at each call of the recovery from the first. On a queue manager of somebody else also lines that
   fall silent, which both ends notice by their heartbeats.
3. Zombies: each pattern stopped before each call, replaced by a successor, and let go on (``zombies.py``).
4. Interruptions: an exception at each line of the library, and the application goes on (``interruptions.py``).
5. Tasks of asyncio cancelled at each await, and a fault or another cancellation after it (``cancellations.py``).
6. ``stop()`` at each MQI call, and a fault while the program stops (``stops.py``).
7. A call that is refused, and the application goes on (``refusals.py``).
8. Functions of the application that raise (``functions.py``).
9. Two starts with different settings (``settings.py``).
10. Foreign ends of units of work, on connections that are shared with the application (``foreign_ends.py``).
11. A second thread in what the first one has in hand (``intrusions.py``).
12. SIGINT at any time (``signals.py``).
13. Cases drawn from the seed: several faults, several programs on one queue, a queue manager that is killed (``randomly.py``).
14. Single faults of the producers on clusters, with what keeps a group at one instance taken out: here groups have to split, or
   the campaign would not show anything about that.

After each case the independent reader looks at what is there. Exit code 1 if anything was not as it should be; each failure
is printed with the name of its case, which ``--case`` runs again with every call it makes. ``extents.py`` says what the short and
the full form take of all this.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, ProcessPoolExecutor, wait
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console

from mqembedded.readings import chosen_by
from mqembedded.testing.under_test import given
from tests.faults import (
    call_faults,
    cancellations,
    foreign_ends,
    functions,
    interruptions,
    intrusions,
    pool,
    randomly,
    refusals,
    settings,
    signals,
    stops,
    zombies,
)
from tests.faults.directory import temporary_directory
from tests.faults.extents import FULL, GLIMPSE, LOOK, SHORT, Extent, Extents, Sample, Task
from tests.faults.interrupter import Place
from tests.faults.pattern import Pattern
from tests.faults.patterns import CLUSTER_PUT_ROLES, CLUSTER_ROLES, PATTERNS, PLAIN_ROLES
from tests.faults.pool import Setting, worker_processes
from tests.faults.readings import is_refused, settings_of_readings
from tests.faults.report import TakenOut, print_report
from tests.faults.result import Result
from tests.faults.stranger import injector
from tests.faults.without import CLUSTER_SAFETIES, SAFETIES

PHASES = (
    call_faults.SINGLE,
    call_faults.DOUBLE,
    call_faults.SILENT,
    zombies.PHASE,
    interruptions.PHASE,
    cancellations.PHASE,
    stops.PHASE,
    refusals.PHASE,
    functions.PHASE,
    settings.PHASE,
    foreign_ends.PHASE,
    intrusions.PHASE,
    signals.PHASE,
    randomly.PHASE,
)
_NAMES = (*PATTERNS, *settings.NAMES, intrusions.RACES, signals.DRAWN, *randomly.DRAWN)
_SAY_AFTER_S = 60
# A case waits for three of them, and for no more than 20 s in all.
_LONGEST_HEARTBEAT_S = 5


class Campaign:
    """What there is to do, who does it, and what came of it."""

    def __init__(
        self,
        extents: Extents,
        seed: int,
        patterns: Sequence[Pattern],
        phases: Sequence[str],
        workers: ProcessPoolExecutor,
        *,
        stranger: bool = False,
        more_workers: Callable[[], ProcessPoolExecutor] | None = None,
    ) -> None:
        """``more_workers``: returns others where one of the workers has died. By default that ends the campaign."""
        self._is_stranger = stranger
        self._more_workers = more_workers
        self._all = extents
        self._extents = {pattern: extents.of(pattern) for pattern in patterns}
        self._plain = [pattern for pattern in patterns if pattern.role in PLAIN_ROLES]
        self._phases = phases
        self._sample = Sample(seed)
        self._workers = workers
        self._holdings: dict[str, list[int]] = {}
        self.results: dict[tuple[str, str], Result] = {}
        # Why a phase was left out, or what ended it.
        self.left_out: dict[str, str] = {}
        self.ended: dict[str, str] = {}

    def run(self, say: Callable[[str], None], after_phase: Callable[[], None] = lambda: None) -> None:
        """Do all of it, phase by phase. What ends a phase is told as a violation, and the next one begins."""
        names = [one.name for one in self._extents]
        calls = dict(zip(self._extents, self._workers.map(pool.undisturbed, names), strict=True))
        plain_calls = {pattern: calls[pattern] for pattern in self._plain}
        extents, plain, sample = self._extents, self._all.plain, self._sample
        races = plain.races if self._plain else 0
        made: dict[str, int] = {}

        def singles() -> Iterator[Task]:
            return call_faults.singles(calls, extents, sample)

        if self._takes(call_faults.SINGLE) or self._takes(call_faults.DOUBLE):
            self._phase(call_faults.SINGLE, singles, say, made)
            after_phase()
        # What each phase is made of is worked out when its turn comes.
        rest: tuple[tuple[str, Callable[[], Iterable[Task]]], ...] = (
            (call_faults.DOUBLE, lambda: call_faults.doubles(made, extents, sample)),
            (call_faults.SILENT, lambda: self._silences(plain_calls)),
            (zombies.PHASE, lambda: zombies.tasks(calls, extents, sample)),
            (interruptions.PHASE, self._interruptions),
            (cancellations.PHASE, self._cancellations),
            (stops.PHASE, lambda: stops.tasks(plain_calls, plain.stops, sample)),
            (refusals.PHASE, lambda: refusals.tasks(calls, plain.refusals, sample)),
            (functions.PHASE, lambda: functions.tasks(list(extents), self._all.other.functions, sample)),
            (settings.PHASE, lambda: settings.tasks(plain.settings if self._plain else 0, sample)),
            (foreign_ends.PHASE, lambda: foreign_ends.tasks(plain_calls, plain.foreign_ends, sample)),
            (intrusions.PHASE, lambda: intrusions.tasks(plain_calls, plain.intrusions, races, sample)),
            (signals.PHASE, lambda: signals.tasks(plain.signals if self._plain else 0, sample)),
            (randomly.PHASE, lambda: randomly.tasks(extents, sample)),
        )
        for phase, tasks in rest:
            if self._takes(phase):
                self._phase(phase, tasks, say)
                after_phase()

    def _takes(self, phase: str) -> bool:
        return not self._phases or phase in self._phases

    def _silences(self, calls: Mapping[Pattern, list[tuple[str, int]]]) -> Iterator[Task]:
        """Yield silent lines, where the campaign has a line of its own, and heartbeats are soon missed."""
        if not self._is_stranger or not self._all.plain.silences:
            return iter(())
        heartbeat_s, why = self._workers.submit(pool.heartbeat_s).result()
        if not 0 < heartbeat_s <= _LONGEST_HEARTBEAT_S:
            self.left_out[call_faults.SILENT] = (
                f"{why or f'HBINT of the channel is {heartbeat_s}'}; with 1 to {_LONGEST_HEARTBEAT_S} they end in time"
            )
            return iter(())
        return call_faults.silences(calls, self._all.plain.silences, self._sample)

    def _interruptions(self) -> Iterator[Task]:
        extent = self._all.plain
        if not extent.lines:
            return iter(())
        return interruptions.tasks(
            self._reached(opcodes=False), self._reached(opcodes=True), (extent.lines, extent.pairs), self._sample
        )

    def _cancellations(self) -> Iterator[Task]:
        those = [pattern for pattern in self._extents if cancellations.is_cancelled(pattern)]
        waits = self._workers.map(pool.waits, [pattern.name for pattern in those])
        return cancellations.tasks(dict(zip(those, waits, strict=True)), self._extents, self._sample)

    def _reached(self, *, opcodes: bool) -> dict[tuple[Pattern, str], dict[Place, int]]:
        every = [(pattern, connection) for pattern in self._plain for connection in interruptions.CONNECTIONS]
        found = self._workers.map(
            pool.reached,
            [pattern.name for pattern, _ in every],
            [connection for _, connection in every],
            [opcodes] * len(every),
        )
        return dict(zip(every, found, strict=True))

    def _phase(
        self,
        phase: str,
        tasks: Callable[[], Iterable[Task]],
        say: Callable[[str], None],
        calls: dict[str, int] | None = None,
    ) -> None:
        """Do a phase; what ends it is noted.

        ``calls`` gets the calls of each case, those of a killed program before it was started again too.
        """
        try:
            self._do(tasks(), say, {} if calls is None else calls)
        except Exception as error:
            self.ended[phase] = f"ended with {type(error).__name__}: {error}"
            say(f"{phase} {self.ended[phase]}")
            if isinstance(error, BrokenExecutor):
                if self._more_workers is None:
                    raise
                self._workers = self._more_workers()
        if phase in self.left_out:
            say(f"{phase} left out: {self.left_out[phase]}")

    def _do(self, tasks: Iterable[Task], say: Callable[[str], None], calls: dict[str, int]) -> None:
        todo = [task for task in tasks if task.cases]
        cases = sum(len(task.cases) for task in todo)
        begun_s = said_s = time.monotonic()
        for number, (task, result, made, held) in enumerate(self._done(todo), 1):
            self.results.setdefault((task.phase, task.pattern), Result()).add(result)
            for what, much in held.items():
                self._holdings.setdefault(what, []).append(much)
            for case, count in zip(task.cases, made, strict=True):
                is_killed = task.phase == call_faults.SINGLE and "kill_client" in case
                calls[case] = count + (int(case.rpartition("@")[2]) if is_killed else 0)
            for wrong in result.wrong:
                say(wrong)
            now_s = time.monotonic()
            if number == len(todo) or now_s - said_s > _SAY_AFTER_S:
                said_s = now_s
                say(f"{task.phase}: {len(calls):,} of {cases:,} cases in {now_s - begun_s:.0f} s")

    def _done(self, tasks: Sequence[Task]) -> Iterator[tuple[Task, Result, list[int], dict[str, int]]]:
        """Yield what comes of tasks as they are done."""
        pending: set[Future[tuple[Task, Result, list[int], dict[str, int]]]] = set()
        for task in tasks:
            pending.add(self._workers.submit(pool.run_task, task))
        while pending:
            done, pending = wait(pending, return_when=FIRST_COMPLETED)
            for future in done:
                yield future.result()

    def kept(self) -> list[str]:
        """Say what processes hold more of at the end than they should: files, and memory beyond 64 MiB.

        A connection is three files at the queue manager.

        Connections of the readers, and a worker's cluster, come when they are needed first; what is left behind by each case
        would be hundreds of files.
        """
        most = {"files": 24 + 3 * self.total().left, "KiB": 65_536}
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


class _Runs:
    """The campaign under one setting after the other, and its figures."""

    def __init__(self, arguments: argparse.Namespace, console: Console) -> None:
        self._arguments = arguments
        self._console = console
        self._patterns = [pattern for name, pattern in PATTERNS.items() if arguments.pattern in name]
        self._is_stranger = arguments.mq == "url"
        if self._is_stranger:
            # The clusters of the campaign are its own.
            self._patterns = [pattern for pattern in self._patterns if pattern.role not in CLUSTER_ROLES]
        self.figures: dict[str, Any] = {"seed": arguments.seed}
        self.violations = 0
        self.noticed = True

    def run(self, extents: Extents, setting: Setting, turn: int = 0) -> None:
        """Do all of it under one setting, and print what came of it; ``turn`` counts settings that share out the patterns."""
        arguments, console = self._arguments, self._console
        began_s = time.monotonic()
        count = 1 if self._is_stranger else arguments.workers

        with contextlib.ExitStack() as stack:

            def workers() -> ProcessPoolExecutor:
                return stack.enter_context(worker_processes(count, setting))

            patterns = [each for each in self._patterns if not is_refused(each, setting.readings)]
            campaign = Campaign(
                extents,
                arguments.seed,
                extents.among(patterns, turn),
                arguments.phase,
                workers(),
                stranger=self._is_stranger,
                more_workers=workers,
            )
            under = "".join(f", {name}: {value}" for name, value in setting.readings.items())
            campaign.run(self._say, lambda: self._keep(campaign, under, began_s))
        took_s = round(time.monotonic() - began_s)
        binding = setting.binding or os.environ.get("MQGROUPS_MQI", "pymqi")
        where = given(os.environ).q_mgr_name if self._is_stranger else "embedded queue manager (not IBM MQ)"
        title = f"Fault campaign, seed {arguments.seed}, {where}, {binding}{under}, {took_s} s"
        print_report(console, title, PHASES, _NAMES, campaign.total)
        kept = campaign.kept()
        for line in kept:
            console.print(line)
        self.violations += len(campaign.total().wrong) + len(kept) + len(campaign.ended)
        self._keep(campaign, under, began_s)

    def _keep(self, campaign: Campaign, under: str, began_s: float) -> None:
        """Write down what is known so far: what ends the campaign later does not take it away."""
        took_s = round(time.monotonic() - began_s)
        figures: dict[str, Any] = {"seconds": took_s, "total": _figures(campaign.total()), "kept": campaign.kept()}
        figures["left out"] = campaign.left_out | campaign.ended
        figures |= {f"phase {phase}": _figures(campaign.total(phase)) for phase in PHASES}
        figures |= {f"{phase}: {name}": asdict(result) for (phase, name), result in campaign.results.items()}
        if under:
            self.figures[f"under{under}"] = figures
        else:
            self.figures |= figures
        self._write()

    def without(self, safeties: Sequence[str], extent: Extent, setting: Setting) -> None:
        """Run single faults of the producers on clusters without these safeties."""
        arguments = self._arguments
        putting = [pattern for pattern in self._patterns if pattern.role in CLUSTER_PUT_ROLES]
        if not putting:
            return
        without = Setting(safeties, setting.binding, setting.readings)
        with worker_processes(arguments.workers, without) as workers:
            campaign = Campaign(Extents(extent, extent, extent, extent), arguments.seed, putting, (), workers)
            campaign.run(lambda _: None)
        taken_out = TakenOut(safeties, campaign.total())
        self._console.print(str(taken_out), highlight=False)
        self.figures[f"without: {' '.join(safeties)}"] = asdict(taken_out.total)
        self.noticed = self.noticed and taken_out.noticed

    def write(self) -> None:
        """Write the figures down, and say where."""
        self._write()
        self._console.print(f"{self.violations} violations; figures in {self._arguments.json}")

    def _write(self) -> None:
        path = self._arguments.json
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(self.figures) + "\n")

    def _say(self, text: str) -> None:
        self._console.print(text, highlight=False, markup=False, soft_wrap=True)


def _figures(result: Result) -> dict[str, Any]:
    return {**asdict(result), "wrong": len(result.wrong), "kinds": result.kinds()}


def _again(name: str, setting: Setting) -> int:
    """Run one case and print every call it makes in this process; returns the exit code."""
    with temporary_directory() as directory:
        pool.begin(directory, setting)
        result = pool.run_case(name)
        for number, (verb, reason) in enumerate(result.calls, 1):
            print(f"{number:4} {verb} {reason or ''}")
        for outcome in result.outcomes:
            print(outcome)
        print(f"{result.starts} starts, {result.fired} faults fired, errors {result.errors}")
        for wrong in result.wrong:
            print(wrong)
        pool.end()
    return bool(result.wrong)


def main() -> int:
    """Run the campaign; see the module's docstring."""
    parser = argparse.ArgumentParser(description="Faults at every MQI call of every pattern, and everywhere else.")
    parser.add_argument("--short", action="store_true", help="a sample of it, in a few minutes")
    parser.add_argument("--glimpse", action="store_true", help="a few cases of each phase, of one pattern of each role")
    parser.add_argument("--seed", type=int, default=1, help="of what is sampled and drawn")
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)), help="each with a queue manager")
    parser.add_argument("--pattern", default="", help="only patterns whose names contain this")
    parser.add_argument("--phase", action="append", choices=PHASES, default=[], help="only this one; repeatable")
    parser.add_argument("--json", type=Path, default=Path("build/faults.json"), help="where the figures go")
    parser.add_argument("--case", help="run one case by its name, and print its calls")
    parser.add_argument("--binding", choices=("pymqi", "ibmmq"), default="", help="else MQGROUPS_MQI says which")
    parser.add_argument(
        "--reading", action="append", default=[], metavar="NAME=VALUE", help="of the queue manager; repeatable"
    )
    parser.add_argument(
        "--readings", action="store_true", help="only what is done under the readings that are not the usual ones"
    )
    parser.add_argument(
        "--without", nargs="+", choices=SAFETIES, default=[], help="with these taken out of the library"
    )
    parser.add_argument(
        "--mq",
        choices=("embedded", "url"),
        default="embedded",
        help="url: the queue manager that MQTEST_QMGR and so on name, one worker, faults in the client and on the line",
    )
    arguments = parser.parse_args()
    setting = Setting(
        arguments.without, arguments.binding, chosen_by(arguments.reading), stranger=arguments.mq == "url"
    )
    if setting.stranger and not injector.is_loaded():
        with temporary_directory() as directory:
            environment = os.environ | injector.environment(Path(directory))
            return subprocess.run(
                [sys.executable, "-m", "tests.faults.campaign", *sys.argv[1:]], env=environment
            ).returncode
    if arguments.case:
        return _again(arguments.case, setting)
    extents, under_readings = (SHORT, GLIMPSE) if arguments.short else (FULL, LOOK)
    if arguments.glimpse:
        extents = GLIMPSE
    runs = _Runs(arguments, Console(width=190))
    is_whole = not (setting.stranger or arguments.pattern or arguments.phase or arguments.reading or setting.without)
    if not arguments.readings:
        runs.run(extents, setting)
        if not setting.without and not arguments.phase and not setting.stranger:
            for safeties in (CLUSTER_SAFETIES[:1], CLUSTER_SAFETIES):
                runs.without(safeties, extents.without, setting)
    if arguments.readings or is_whole:
        for turn, readings in enumerate(settings_of_readings(arguments.seed, short=arguments.short)):
            runs.run(under_readings, Setting(setting.without, setting.binding, readings), turn)
    runs.write()
    return bool(runs.violations) or not runs.noticed


if __name__ == "__main__":
    sys.exit(main())
