"""A phase: an aio program is cancelled at each of its awaits, and something else happens while it recovers.

``cancellation aio-put/classic/plain owner under-way@7 drop-after@3``: at its seventh wait the task is cancelled, while its
call is under way; ``done@7``: when the call is done and nobody has its result. It goes on with a new owner (``aio_programs.py``
has the levels). From the cancellation on, the third MQI call loses its reply. The second may also be a kill, or ``done@3``:
another cancellation, at the third wait from the first one.

Allowed is that work is done again as far as it is not committed. No error of the library's is, but one that ends
``connect``: the connection that a start is making may be lost.
"""

from __future__ import annotations

import asyncio
import functools
import itertools
import os
import signal
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from mqembedded import Fault
from mqgroups.errors import ConnectionBroken, MQGroupsError
from tests.aio.canceller import Cancellation, Canceller
from tests.faults.aio_programs import AioGetProgram, AioPipeProgram, AioPutProgram
from tests.faults.cases import KILLED, LOST, fault_at
from tests.faults.extents import Extent, Sample, Task, split
from tests.faults.machine import ENDED_BY_INTERRUPTION, MOST_STARTS, Machine
from tests.faults.pattern import Pattern
from tests.faults.patterns import PATTERNS, PROGRAMS
from tests.faults.reader import PROGRAM
from tests.faults.result import Result
from tests.faults.site import Site

_Program: TypeAlias = AioPutProgram | AioGetProgram | AioPipeProgram
PHASE = "cancellation"
LEVELS = ("group", "owner", "connection")
WHENS = ("under-way", "done")
# How many MQI calls, and waits, of the recovery have a second fault.
_CALLS_AFTER, _WAITS_AFTER = 12, 8


def run(site: Site, name: str, level: str, *points: str) -> Result:
    """Run a case."""
    machine, program = _program(site, PATTERNS[name])
    program.level = level
    cancellations = [_cancellation(point) for point in points if point.startswith(WHENS)]
    faults = [fault_at(point) for point in points if not point.startswith(WHENS)]
    is_killed = any(fault.action == "kill_client" for fault in faults)
    result = Result(runs=1)
    then = functools.partial(_then, machine, faults)
    program.canceller = canceller = Canceller(*cancellations, then=then)
    with machine.prepared(program), machine.deadline(result):
        machine.watch.begin(program, machine.reader)
        while result.starts < MOST_STARTS:
            result.starts += 1
            ended = _in_a_process(machine, program) if is_killed else _here(machine, program)
            # What the first process has not reached, the next ones do not either; this one's object knows nothing of it.
            program.canceller = Canceller() if is_killed else canceller
            machine.wait_until_closed(program)
            result.note(result.outcomes, ended.partition(": ")[0])
            result.fired += ended == "killed"
            if ended == "in order":
                break
            if ended not in ("cancelled", "killed", "not connected"):
                result.wrong.append(ended)
        else:
            result.wrong.append(f"not done: after {MOST_STARTS} starts")
        result.fired += canceller.came + (machine.fired() or 0)
        seen = machine.watch.seen
        result.calls, result.in_doubt, result.verdicts = seen.calls, seen.in_doubt, seen.verdicts
        result.wrong_verdicts = len(seen.wrong)
        result.wrong += seen.wrong
        machine.look(program, result)
    return result


def _then(machine: Machine, faults: Sequence[Fault]) -> None:
    """Have the faults come that are counted from the cancellation on."""
    for fault in faults:
        if fault.action == "kill_client":
            nth = len(machine.watch.seen.calls) + fault.nth
            machine.watch.hooks[fault.when, nth] = lambda: os.kill(os.getpid(), signal.SIGKILL)
        else:
            machine.qmgr.arm(replace(fault, appl_name=PROGRAM))


def _here(machine: Machine, program: _Program) -> str:
    """One start in this process; returns how it ended."""
    try:
        error = machine.run(program)
    except asyncio.CancelledError:
        return "cancelled"
    if isinstance(error, ConnectionBroken) and not machine.connected:
        return "not connected"
    return "in order" if error is None else f"{type(error).__name__}: {error}"


def _in_a_process(machine: Machine, program: _Program) -> str:
    """One start in a process of its own; returns how it ended."""
    code = machine.reap(machine.fork(program))
    if code in (0, ENDED_BY_INTERRUPTION, -signal.SIGKILL):
        return {0: "in order", ENDED_BY_INTERRUPTION: "cancelled"}.get(code, "killed")
    return f"exit code {code}: {program.errors.lines()[-1:]}"


def waits(site: Site, pattern: Pattern) -> int:
    """Return how often the task of a pattern waits when nothing goes wrong."""
    machine, program = _program(site, pattern)
    program.canceller = canceller = Canceller()
    with machine.prepared(program):
        machine.watch.begin(None, None)
        error: MQGroupsError | None = machine.run(program)
        if error is not None:
            raise error
    return canceller.waits


def tasks(waits: Mapping[Pattern, int], extents: Mapping[Pattern, Extent], sample: Sample) -> Iterator[Task]:
    """Yield a cancellation at each wait of each pattern, at each level; each alone, and with a second fault that is drawn."""
    seconds = [f"{kind}@{more}" for kind in (*LOST, *KILLED) for more in range(1, _CALLS_AFTER + 1)]
    seconds += [f"{again}@{more}" for again in WHENS for more in range(1, _WAITS_AFTER + 1)]
    for pattern, count in waits.items():
        cases = []
        for when, nth, level in itertools.product(WHENS, range(1, count + 1), LEVELS):
            alone = f"{PHASE} {pattern.name} {level} {when}@{nth}"
            cases += [alone, f"{alone} {sample.drawing(alone).choice(seconds)}"]
        yield from split(PHASE, pattern.name, sample.of(cases, extents[pattern].cancellations))


def is_cancelled(pattern: Pattern) -> bool:
    """Whether the programs of a pattern have a task."""
    return issubclass(PROGRAMS[pattern.role], _Program)


def _program(site: Site, pattern: Pattern) -> tuple[Machine, _Program]:
    machine = site.machine(pattern)
    program = machine.program(pattern)
    assert isinstance(program, _Program)
    return machine, program


def _cancellation(text: str) -> Cancellation:
    when, _, nth = text.partition("@")
    return Cancellation(when, int(nth))
