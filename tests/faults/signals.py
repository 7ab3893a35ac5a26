"""A phase: SIGINT at any time, real ones, while a program works through groups; it catches them and goes on.

``signal 7000042``: pattern, level (``going_on.py``), connection and times are drawn from the number. When the signals come is not
repeated exactly.
"""

from __future__ import annotations

import functools
import os
import random
import signal
import time
from collections.abc import Iterator
from dataclasses import replace

from mqgroups.errors import MQGroupsError
from tests.faults.extents import Sample, Task
from tests.faults.going_on import CONNECTIONS, LEVELS, PATIENCE_S, GoingOn
from tests.faults.machine import ENDED_BY_INTERRUPTION, ENDED_WITH_ERROR, MOST_STARTS, Machine
from tests.faults.patterns import PATTERNS, PLAIN_ROLES, AnyProgram
from tests.faults.result import Result
from tests.faults.site import Site

PHASE = "signal"
DRAWN = "SIGINT at any time"
# A program works for so long, about, seconds: signals come in that time.
_WORKS_S = 0.08
_MOST_SIGNALS = 8


def run(site: Site, seed: str) -> Result:
    """Run the case of this seed."""
    draw = random.Random(seed)
    pattern = draw.choice([one for one in PATTERNS.values() if one.role in PLAIN_ROLES])
    pattern = replace(pattern, groups=draw.randint(6, 15), messages=draw.randint(5, 15))
    machine = site.machine(pattern)
    program = machine.program(pattern)
    program.patience_s = PATIENCE_S
    result = Result(runs=1)
    going_on = GoingOn(machine, program, draw.choice(LEVELS), draw.choice(CONNECTIONS))
    with machine.prepared(program), machine.deadline(result):
        left = draw.randint(1, _MOST_SIGNALS)
        while result.starts < MOST_STARTS:
            result.starts += 1
            code, sent = _start(machine, program, going_on, draw, left)
            left -= sent
            result.fired += sent
            machine.wait_until_closed(program, patience_s=PATIENCE_S)
            if code == 0:
                break
            if code == ENDED_WITH_ERROR:
                error = program.errors.lines()[-1].decode()
                kind = error.partition(": ")[0]
                result.note(result.errors, kind)
                result.wrong.append(f"{kind} after a signal: {error}")
            elif code != ENDED_BY_INTERRUPTION:
                result.wrong.append(f"ended with exit code {code}")
        else:
            result.wrong.append(f"not done: after {MOST_STARTS} starts")
        machine.look(program, result, PATIENCE_S)
    return result


def _start(
    machine: Machine, program: AnyProgram, going_on: GoingOn, draw: random.Random, signals: int
) -> tuple[int, int]:
    """Start the program in a process of its own and send it signals; returns how it ended, and how many were sent."""
    pid = machine.fork(program, start=functools.partial(_started, machine, going_on))
    sent = 0
    while sent < signals:
        time.sleep(draw.uniform(0, _WORKS_S / signals))
        code = machine.has_ended(pid)
        if code is not None:
            return code, sent
        os.kill(pid, signal.SIGINT)
        sent += 1
    return machine.reap(pid), sent


def _started(machine: Machine, going_on: GoingOn) -> MQGroupsError | None:
    machine.watch.stand_aside()
    # Whoever waits for a program may wait for it in peace before it works: SIGINT is blocked until now.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGINT,))
    try:
        return machine.attempt(going_on.run)
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def tasks(count: int, sample: Sample) -> Iterator[Task]:
    """Yield cases that are drawn."""
    for number in range(count):
        yield Task(PHASE, DRAWN, (f"signal {sample.seed * 1_000_000 + number}",))
