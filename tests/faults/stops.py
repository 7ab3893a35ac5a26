"""A phase: ``stop()`` at each MQI call, as from a signal handler or another thread, and a fault while the program stops.

``stop put/classic/plain before@23 drop-after@25``: before the 23rd MQI call the producer is asked to stop; then the 25th
call loses its reply. The start ends in order, or with ``Stopped``, which says how much is committed. The next starts finish.
"""

from __future__ import annotations

import functools
import signal
from collections.abc import Iterator, Mapping
from dataclasses import replace

from mqgroups.errors import MQGroupsError, Stopped
from tests.faults.cases import KILLED, LOST, fault_at
from tests.faults.extents import Sample, Task, split
from tests.faults.machine import ENDED_WITH_ERROR, MOST_STARTS, Machine
from tests.faults.pattern import Pattern
from tests.faults.patterns import PATTERNS, AnyProgram
from tests.faults.reader import PROGRAM
from tests.faults.result import Result
from tests.faults.site import Site

PHASE = "stop"
# The calls that a stop makes: the message that was under way, a status record, MQCMIT, and those of closing.
_CALLS_AFTER = 12


def run(site: Site, name: str, when_at: str, *faults: str) -> Result:
    """Run a case."""
    pattern = PATTERNS[name]
    machine = site.machine(pattern)
    program = machine.program(pattern)
    result = Result(runs=1)
    when, _, nth = when_at.partition("@")
    with machine.prepared(program), machine.deadline(result):
        for fault in faults:
            machine.qmgr.arm(replace(fault_at(fault), appl_name=PROGRAM))
        is_killed = any("kill_client" in fault for fault in faults)
        seen = machine.watch.begin(program, machine.reader)
        machine.watch.hooks[when, int(nth)] = functools.partial(_stop, program, result)
        _until_done(machine, program, result, is_killed=is_killed)
        result.calls = seen.calls
        result.in_doubt, result.verdicts, result.wrong_verdicts = seen.in_doubt, seen.verdicts, len(seen.wrong)
        result.wrong += seen.wrong
        machine.look(program, result)
    return result


def _stop(program: AnyProgram, result: Result) -> None:
    owner = program.hand.get("owner")
    if owner is not None:
        result.fired = 1
        owner.stop()


def _until_done(machine: Machine, program: AnyProgram, result: Result, *, is_killed: bool) -> None:
    """Start the program until it is done and one start has ended in order; only its first start is stopped."""
    while result.starts < MOST_STARTS:
        result.starts += 1
        if is_killed:
            code = machine.reap(machine.fork(program))
            machine.watch.hooks.clear()
            machine.wait_until_closed(program)
            ended = "killed" if code == -signal.SIGKILL else "in order" if code == 0 else "with an error"
            if code == ENDED_WITH_ERROR and program.errors.lines()[-1].startswith(Stopped.__name__.encode()):
                ended = "stopped"
            if ended == "with an error":
                result.wrong.append(f"ended with exit code {code}: {program.errors.lines()[-1:]}")
        else:
            ended = _judged(machine, program, machine.run(program), result)
        result.note(result.outcomes, ended)
        if ended == "in order" and program.done:
            return
    result.wrong.append(f"not done after {MOST_STARTS} starts")


def _judged(machine: Machine, program: AnyProgram, error: MQGroupsError | None, result: Result) -> str:
    """Say how a start ended, and compare that with what is on the status queue."""
    if not machine.connected:
        return "not connected"
    machine.wait_until_closed(program)
    record = machine.reader.record(program.status_queue)
    is_in_group = record is not None and record["state"] == "in group"
    there = (bytes.fromhex(record["group_id"]), record["msg_seq_number"]) if record and is_in_group else (bytes(24), 0)
    if error is None:
        if is_in_group:
            result.wrong.append(f"ended in order, and a group is interrupted at message {there[1]}")
        return "in order"
    if not isinstance(error, Stopped) or not result.fired or result.starts > 1:
        result.wrong.append(f"start {result.starts} ended with {type(error).__name__}: {error}")
    elif (error.group_id, error.msg_seq_number) != there:
        result.wrong.append(f"said {error}, and the record says {there[0].hex()}, message {there[1]}")
    return "stopped"


def tasks(undisturbed: Mapping[Pattern, list[tuple[str, int]]], share: float, sample: Sample) -> Iterator[Task]:
    """Yield a stop before each call of each pattern, and after it; and each with a fault while the program stops."""
    for pattern, calls in undisturbed.items():
        cases = []
        for nth in range(1, len(calls) + 1):
            for when in ("before", "after"):
                alone = f"stop {pattern.name} {when}@{nth}"
                behind = (f"{kind}@{nth + more}" for kind in (*LOST, *KILLED) for more in range(1, _CALLS_AFTER + 1))
                cases += [alone, *(f"{alone} {fault}" for fault in behind)]
        yield from split(PHASE, pattern.name, sample.of(cases, share))
