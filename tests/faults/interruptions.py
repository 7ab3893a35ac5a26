"""A phase: an exception out of nowhere at each line of the library, and the application goes on at one level or another.

``interruption put/classic/plain group connected KeyboardInterrupt@producer.py:321.2 KeyboardInterrupt+57``: the pattern, the
level that catches it and the connection (``going_on.py``), and the points (``interrupter.py``).

Allowed is that it is caught where the application catches it, and that work is done again as far as it is not committed. No error
of the library's is: the application has done nothing wrong, and neither has anybody else.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import random
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from mqgroups.errors import MQGroupsError
from tests.faults.extents import Sample, Task, split
from tests.faults.going_on import CONNECTIONS, LEVELS, PATIENCE_S, GoingOn
from tests.faults.interrupter import EXCEPTIONS, Interrupter, Place, Point, point_at
from tests.faults.machine import ENDED_BY_INTERRUPTION, ENDED_WITH_ERROR, MOST_STARTS, Machine
from tests.faults.pattern import Pattern
from tests.faults.patterns import PATTERNS, AnyProgram
from tests.faults.result import Result
from tests.faults.site import Site

PHASE = "interruption"
# Of what is drawn beside KeyboardInterrupt; and how many lines a recovery may have.
_OTHERS = tuple(EXCEPTIONS)[1:]
_MOST_LINES_AFTER = 600
# Of what is taken of lines.
_OPCODES_SHARE = 0.1


def run(site: Site, name: str, level: str, connection: str, *points: str) -> Result:
    """Run a case."""
    pattern = PATTERNS[name]
    machine = site.machine(pattern)
    program = machine.program(pattern)
    program.patience_s = PATIENCE_S
    result = Result(runs=1)
    with machine.prepared(program), machine.deadline(result):
        machine.watch.begin(None, None)
        handles = _handles()
        going_on = GoingOn(machine, program, level, connection)
        parts = [(point_at(point),) for point in points] if level == "process" else [tuple(map(point_at, points))]
        while result.starts < MOST_STARTS:
            result.starts += 1
            here = _in_a_process if level == "process" else _here
            if here(machine, program, going_on, parts.pop(0) if parts else (), result):
                break
        else:
            result.wrong.append(f"not done: after {MOST_STARTS} starts")
        machine.look(program, result, PATIENCE_S)
        # What nobody has any more goes when it is collected.
        gc.collect()
        if _handles() > handles:
            result.wrong.append("a connection is left open")
            machine.drop_connections()
    return result


def _here(machine: Machine, program: AnyProgram, going_on: GoingOn, points: Sequence[Point], result: Result) -> bool:
    """One start in this process; returns whether it ended in order."""
    if not points:
        error = machine.attempt(going_on.run)
    else:
        with Interrupter(points) as interrupter:
            error = machine.attempt(going_on.run)
        result.fired += interrupter.fired
    if error is not None:
        _judge(f"{type(error).__name__}: {error}", result)
        if not machine.wait_until_closed(program, patience_s=PATIENCE_S):
            machine.drop_connections()
    return error is None


def _in_a_process(
    machine: Machine, program: AnyProgram, going_on: GoingOn, points: Sequence[Point], result: Result
) -> bool:
    """One start in a process of its own; returns whether it ended in order."""
    code = machine.reap(machine.fork(program, start=functools.partial(_started, machine, going_on, points)))
    machine.wait_until_closed(program, patience_s=PATIENCE_S)
    if code == ENDED_BY_INTERRUPTION:
        result.fired += 1
    elif code == ENDED_WITH_ERROR:
        _judge(program.errors.lines()[-1].decode(), result)
    elif code:
        result.wrong.append(f"ended with exit code {code}")
    return not code


def _started(machine: Machine, going_on: GoingOn, points: Sequence[Point]) -> MQGroupsError | None:
    if not points:
        return machine.attempt(going_on.run)
    with Interrupter(points):
        return machine.attempt(going_on.run)


def _judge(error: str, result: Result) -> None:
    kind = error.partition(": ")[0]
    result.note(result.errors, kind)
    result.wrong.append(f"{kind} after an interruption: {error}")


def _handles() -> int:
    """Return how many sockets this process has."""
    count = 0
    for each in Path("/proc/self/fd").iterdir():
        # The one of the directory itself is gone.
        with contextlib.suppress(FileNotFoundError):
            count += str(each.readlink()).startswith("socket:")
    return count


# --- what there is


def reached(site: Site, pattern: Pattern, connection: str, *, opcodes: bool) -> dict[Place, int]:
    """Return what a pattern reaches of the library, and how often, when nothing interrupts it."""
    machine = site.machine(pattern)
    program = machine.program(pattern)
    with machine.prepared(program):
        machine.watch.begin(None, None)
        with Interrupter(opcodes=opcodes) as interrupter:
            GoingOn(machine, program, "group", connection).run()
    return {place: count for place, count in interrupter.reached.items() if (place.offset >= 0) == opcodes}


def tasks(
    lines: Mapping[tuple[Pattern, str], dict[Place, int]],
    opcodes: Mapping[tuple[Pattern, str], dict[Place, int]],
    shares: tuple[float, float],
    sample: Sample,
) -> Iterator[Task]:
    """Yield interruptions: at each line on each kind of connection, one of its times, caught at one level; all drawn."""
    share, share_of_pairs = shares
    for places, part in ((lines, 1.0), (opcodes, _OPCODES_SHARE)):
        for (pattern, connection), counts in places.items():
            at = {f"{PHASE} {pattern.name} {connection} {place}": place for place in counts}
            cases = []
            for pair, much in ((False, share), (True, share_of_pairs)):
                for what in sample.of(at, much * part):
                    draw = sample.drawing(f"{what} {pair}")
                    cases.append(_drawn(draw, pattern, connection, at[what], counts[at[what]], pair=pair))
            yield from split(PHASE, pattern.name, cases)


def _drawn(draw: random.Random, pattern: Pattern, connection: str, place: Place, count: int, *, pair: bool) -> str:
    points = [Point(_exception(draw), place, draw.randint(1, count))]
    if pair:
        points.append(Point(_exception(draw), None, int(_MOST_LINES_AFTER ** draw.random())))
    level = draw.choices(LEVELS, (4, 2, 3, 2, 1))[0]
    return " ".join((PHASE, pattern.name, level, connection, *map(str, points)))


def _exception(draw: random.Random) -> str:
    return "KeyboardInterrupt" if draw.random() < 0.7 else draw.choice(_OTHERS)


__all__ = ["CONNECTIONS", "PHASE", "reached", "run", "tasks"]
