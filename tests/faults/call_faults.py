"""Two phases: a fault at each MQI call of each pattern; and a second one at each call of the recovery from the first."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from mqembedded import Fault
from mqgroups.errors import CommandRefused, CommitOutcomeUnknown, MQGroupsError, MQIError, RepairRefused
from mqgroups.mqi.reasons import COMMIT_OUTCOME_UNKNOWN
from tests.faults.application import Program
from tests.faults.cases import KILLED, LOST, REDONE, case_name, faults_at, second_faults, single_faults
from tests.faults.extents import Extent, Sample, Task, split
from tests.faults.machine import ENDED_WITH_ERROR, MOST_STARTS, Machine
from tests.faults.pattern import Pattern
from tests.faults.patterns import PATTERNS
from tests.faults.reader import PROGRAM
from tests.faults.result import Result
from tests.faults.site import Site

SINGLE, DOUBLE, SILENT = "single", "double", "silent line"


def run(site: Site, name: str, *faults: str) -> Result:
    """Run a case of either phase."""
    pattern = PATTERNS[name]
    return case(site.machine(pattern), pattern, [each for fault in faults for each in faults_at(fault)])


def singles(
    undisturbed: Mapping[Pattern, list[tuple[str, int]]], extents: Mapping[Pattern, Extent], sample: Sample
) -> Iterator[Task]:
    """Yield single faults, given the calls that each pattern makes without any."""
    for pattern, calls in undisturbed.items():
        extent = extents[pattern]
        cases = [case_name(pattern, [fault]) for nth in range(1, len(calls) + 1) for fault in single_faults(calls, nth)]
        yield from _split(SINGLE, pattern.name, cases, (extent.single, extent.single_kills), sample)


def doubles(made: Mapping[str, int], extents: Mapping[Pattern, Extent], sample: Sample) -> Iterator[Task]:
    """Yield pairs, given how many calls a program makes in all in each case of a single fault."""
    for single, calls in made.items():
        name, first = single.split(" ")
        extent = extents[PATTERNS[name]]
        what, _, nth = first.partition("@")
        if what not in (*LOST, *KILLED):
            continue
        cases = [f"{single} {second}" for second in second_faults((*LOST, *KILLED), int(nth), calls)]
        yield from _split(DOUBLE, name, cases, (extent.double, extent.double_kills), sample)


def silences(undisturbed: Mapping[Pattern, list[tuple[str, int]]], share: float, sample: Sample) -> Iterator[Task]:
    """Yield lines that fall silent at a call of each pattern, but for the first, which has none yet."""
    for pattern, calls in undisturbed.items():
        every = (f"freeze-{when}@{nth}" for nth in range(2, len(calls) + 1) for when in ("before", "after"))
        yield Task(SILENT, pattern.name, sample.of([case_name(pattern, [fault]) for fault in every], share))


def _split(
    phase: str, pattern: str, cases: Sequence[str], shares: tuple[float, float], sample: Sample
) -> Iterator[Task]:
    """Yield tasks of what is taken: with nobody killed, and with somebody."""
    for is_kill, share in zip((False, True), shares, strict=True):
        yield from split(phase, pattern, sample.of([case for case in cases if ("kill_" in case) is is_kill], share))


# --- a case


def case(machine: Machine, pattern: Pattern, faults: Sequence[Fault]) -> Result:
    """Run one program under these faults until it is done, and look at what is there then."""
    result = Result(runs=1)
    program = machine.program(pattern)
    program.faults = len(faults)
    with machine.prepared(program):
        for fault in faults:
            machine.qmgr.arm(replace(fault, appl_name=PROGRAM))
        kills = sum(fault.action == "kill_client" for fault in faults)
        seen = machine.watch.begin(program, machine.reader)
        _until_done(machine, program, faults, kills, result)
        result.calls = seen.calls
        result.in_doubt, result.verdicts = seen.in_doubt, seen.verdicts
        result.wrong_verdicts = len(seen.wrong)
        result.wrong += seen.wrong
        machine.look(program, result)
    return result


def _until_done(machine: Machine, program: Program, faults: Sequence[Fault], kills: int, result: Result) -> None:
    """Start the program as a supervisor would, until one start ends in order."""
    fired: int | None = 0
    while result.starts < MOST_STARTS:
        result.starts += 1
        before, code, error = fired, 0, None
        if kills:
            code = machine.reap(machine.fork(program))
        else:
            error = machine.run(program)
        fired = machine.fired()
        if not code and error is None:
            result.fired = len(faults) if fired is None else fired
            return
        if error is not None:
            _judge(machine, error, program, result)
            if before == fired:
                result.wrong.append(f"an error without a fault: {error!r} {error}")
            # An operator who was refused because the command server could not be asked, asks again.
            is_refused = isinstance(error, (CommandRefused, RepairRefused)) and faults[0].reason in REDONE
            foreseen = program.asks_again or is_refused or not all(_loses_connection(fault) for fault in faults)
            if machine.connected and not foreseen:
                result.wrong.append(f"a lost connection reached the application: {error!r} {error}")
        elif code == -signal.SIGKILL:
            kills -= 1
            machine.wait_until_closed(program)
        elif code != ENDED_WITH_ERROR:
            result.wrong.append(f"the program ended with exit code {code}")
    result.wrong.append(f"not done after {MOST_STARTS} starts")


def _judge(machine: Machine, error: MQGroupsError, program: Program, result: Result) -> None:
    """Count an error that reached the application, and compare what it says with what is there."""
    name = f"{type(error).__name__} {error.reason}" if isinstance(error, MQIError) else type(error).__name__
    result.errors[name] = result.errors.get(name, 0) + 1
    said = _said(error)
    if said is None:
        return
    machine.wait_until_closed(program)
    record = machine.reader.record(program.status_queue)
    there = 0
    if record is not None and record["state"] == "in group":
        there = program.progress(machine.reader, bytes.fromhex(record["group_id"]))[0]
    completed = record is not None and record["state"] == "completed" and isinstance(error, CommitOutcomeUnknown)
    if there != said and not completed and not (isinstance(error, CommitOutcomeUnknown) and there > said):
        result.wrong.append(f"said that {said} messages are committed, {there} are: {error}")


def _said(error: MQGroupsError) -> int | None:
    """Return how many messages an error says are known to be committed; ``None`` if it says nothing of that."""
    context = error.context if isinstance(error, MQIError) else ""
    if "No message of the group is known to be committed" in context:
        return 0
    before, found, _ = context.partition(" is the last of the group that is known to be committed")
    return int(before.rpartition("Message ")[2]) if found else None


def _loses_connection(fault: Fault) -> bool:
    """Whether the library makes good for it by itself, once it is connected."""
    return fault.action != "answer" or fault.verb == "MQCONNX" or fault.reason in COMMIT_OUTCOME_UNKNOWN | REDONE
