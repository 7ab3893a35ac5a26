"""A phase: a program is stopped before a call and its connection dropped; a successor takes over; then the zombie goes on.

``zombie pipe/classic/plain stop@23``: stopped before its 23rd call, be that of a start, a group, a commit or of closing. More may
be said: ``first:drop-after@12`` disturbs the zombie's own way there, so that it is stopped in its recovery;
``successor:kill_client-before@9`` kills the successor, and ``successor:drop-after@9`` cuts it off, before the zombie wakes.

Where both the zombie and a successor had the name, the zombie has to end with an error that says so, unless it had no more to do
than to close. It may commit nothing, and nor may anybody when the successor has come to the end. One that was stopped before it
had the name starts later. In the end everything is there once.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Mapping
from dataclasses import replace

from mqgroups.errors import (
    CommitOutcomeUnknown,
    ConnectionBroken,
    MQGroupsError,
    OwnerActive,
    OwnershipLost,
)
from tests.faults.cases import KILLED, LOST, fault_at
from tests.faults.extents import Extent, Sample, Task, split
from tests.faults.machine import ENDED_WITH_ERROR, MOST_STARTS, Machine
from tests.faults.pattern import Pattern
from tests.faults.patterns import PATTERNS, AnyProgram
from tests.faults.reader import PROGRAM, Seen, says_nothing
from tests.faults.result import Result
from tests.faults.site import Site

PHASE = "zombie"
# What tells it that somebody else has the name.
_TOLD = {error.__name__ for error in (OwnershipLost, OwnerActive)}
# Its connection is gone; who waits for a queue may end with that and be started again.
_CUT_OFF = {error.__name__ for error in (ConnectionBroken, CommitOutcomeUnknown)}


def run(site: Site, name: str, *parts: str) -> Result:
    """Run a case."""
    return zombie(site.machine(PATTERNS[name]), PATTERNS[name], *parts)


def zombie(machine: Machine, pattern: Pattern, *parts: str) -> Result:
    """Run a case of this pattern: the stop, and what else there is."""
    result = Result(runs=1)
    program = machine.program(pattern)
    with machine.prepared(program), machine.deadline(result):
        machine.watch.begin(program, machine.reader)
        _Zombie(machine, program, parts, result).run()
        machine.look(program, result)
    return result


class _Zombie:
    """One case."""

    def __init__(self, machine: Machine, program: AnyProgram, parts: tuple[str, ...], result: Result) -> None:
        self._machine = machine
        self._program = program
        self._result = result
        said: dict[str, list[str]] = {"first": [], "successor": []}
        self._stop_at = 0
        for part in parts:
            what, _, fault = part.partition(":")
            if fault:
                said[what].append(fault)
            else:
                self._stop_at = int(part.partition("@")[2])
        self._first, self._successor = said["first"], said["successor"]
        # Whether somebody has come to the end, closing included.
        self._ended = False

    def run(self) -> None:
        """Stop it, replace it, wake it; then have done what is left to do."""
        machine, program, result = self._machine, self._program, self._result
        for fault in self._first:
            machine.qmgr.arm(replace(fault_at(fault), appl_name=PROGRAM))
        pid = machine.fork(program, stop_at=self._stop_at)
        result.starts = 1
        code = machine.reap(pid, os.WUNTRACED)
        if code == -signal.SIGSTOP:
            result.fired = 1
            self._while_stopped(pid)
        elif code:
            self._ended_early(code)
        else:
            self._ended = True
        if not self._ended:
            self._finish()

    def _while_stopped(self, pid: int) -> None:
        machine, program, result = self._machine, self._program, self._result
        was_done, was_there = program.done, program.is_there
        machine.qmgr.control.disconnect(pid)
        machine.qmgr.clear_faults()
        replaced = self._replace()
        before = machine.snapshot(program)
        os.kill(pid, signal.SIGCONT)
        code = machine.reap(pid)
        after = machine.snapshot(program)
        said = program.errors.lines()[-1].decode() if code == ENDED_WITH_ERROR else ""
        kind = said.partition(": ")[0]
        has_to_stop = was_there and replaced and not was_done
        result.note(
            result.outcomes, f"a zombie {'had to stop' if has_to_stop else 'was early or done'}: {kind or code}"
        )
        if code not in (0, ENDED_WITH_ERROR):
            result.wrong.append(f"the zombie ended with exit code {code}")
        elif kind and kind not in _TOLD and not (kind in _CUT_OFF and (was_done or not was_there)):
            result.wrong.append(f"the zombie ended with {kind}: {said}")
        elif not kind and has_to_stop:
            result.wrong.append("the zombie ended in order, although it was replaced")
        if not has_to_stop:
            # All is done, and taking records away is all that is left to do: anybody may what nobody would miss, and a zombie its
            # own if it has come back to the queue beside its successor's.
            for queue in program.status_queues:
                taken = [seen for seen in before[queue] if seen not in after[queue]]
                own = machine.hides and says_nothing(taken)
                if (self._ended or own) and all(seen in before[queue] for seen in after[queue]):
                    before[queue] = after[queue]
        if (self._ended or (was_there and replaced)) and after != before:
            result.wrong.append(f"the zombie committed something: {_difference(before, after)}")

    def _replace(self) -> bool:
        """Have a successor start; returns whether it came so far as to have the name."""
        machine, program, result = self._machine, self._program, self._result
        there = program.times_there
        for fault in self._successor:
            machine.qmgr.arm(replace(fault_at(fault), appl_name=PROGRAM))
        result.starts += 1
        if any("kill_client" in fault for fault in self._successor):
            code = machine.reap(machine.fork(program))
            self._ended = code == 0
            if code not in (0, -signal.SIGKILL, ENDED_WITH_ERROR):
                result.wrong.append(f"the successor ended with exit code {code}")
        else:
            error: MQGroupsError | None = machine.run(program)
            while error is not None and self._asks_again and result.starts < MOST_STARTS:
                result.starts += 1
                error = machine.run(program)
            self._ended = error is None
            if error is not None:
                result.wrong.append(f"the successor ended with {type(error).__name__}: {error}")
        machine.qmgr.clear_faults()
        return program.times_there > there

    @property
    def _asks_again(self) -> bool:
        """Whether a start in this process may end with a lost connection: it was connecting, or repairing."""
        return self._program.asks_again or not self._machine.connected

    def _ended_early(self, code: int) -> None:
        said = self._program.errors.lines()[-1:]
        if code == ENDED_WITH_ERROR and self._first:
            return
        self._result.wrong.append(f"the program ended with exit code {code}: {said!r}")

    def _finish(self) -> None:
        """Start the program until it ends in order."""
        machine, program, result = self._machine, self._program, self._result
        while result.starts < MOST_STARTS:
            result.starts += 1
            error = machine.run(program)
            if error is None:
                return
            if not self._asks_again:
                result.wrong.append(f"the start after the zombie ended with {type(error).__name__}: {error}")
        result.wrong.append("not done: after the zombie")


def _difference(before: Mapping[str, list[Seen]], after: Mapping[str, list[Seen]]) -> str:
    return "; ".join(
        f"{queue} had {len(before[queue])} messages, has {len(after[queue])}"
        for queue in before
        if before[queue] != after[queue]
    )


def tasks(
    undisturbed: Mapping[Pattern, list[tuple[str, int]]], extents: Mapping[Pattern, Extent], sample: Sample
) -> Iterator[Task]:
    """Yield zombies at each call of each pattern, and variants of them, drawn."""
    for pattern, calls in undisturbed.items():
        extent = extents[pattern]
        every = [f"{PHASE} {pattern.name} stop@{nth}" for nth in range(1, len(calls) + 1)]
        cases = [*sample.of(every, extent.zombies)]
        for nth, stopped in enumerate(every, 1):
            draw = sample.drawing(f"{stopped} variants")
            count = int(extent.zombie_variants) + (draw.random() < extent.zombie_variants % 1)
            for _ in range(count):
                what = draw.choice((*LOST, *KILLED))
                at = draw.randint(1, len(calls) + 5)
                if draw.random() < 0.25:
                    # Stopped so many calls later, in the recovery or behind it.
                    first = f"first:{draw.choice(LOST)}@{nth}"
                    cases.append(
                        f"{PHASE} {pattern.name} {first} stop@{nth + draw.randint(1, 12)} successor:{what}@{at}"
                    )
                else:
                    cases.append(f"{stopped} successor:{what}@{at}")
        yield from split(PHASE, pattern.name, cases)
