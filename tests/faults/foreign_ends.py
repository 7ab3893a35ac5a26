"""A phase: somebody else ends the unit of work of a connection that the library shares with the application.

``foreign put/classic/plain MQCMIT-after@23 starts-again``: the binding's C function is called behind the library's 23rd call;
``raw.commit``, ``raw.backout`` and ``raw.disconnect`` are the methods of the object that was wrapped. Behind that the program
catches the library's errors and ``goes-on`` with what it has, or ends with them and ``starts-again``; or it is ``killed`` on the
spot.

What the library refuses has not happened. A foreign backout may end in an error; the next ``group()``, or start, resumes and
finishes. A foreign commit (MQDISC is one) does no harm, or it ends in a ``StatusError`` that names the operator's command, at
each start from then on. Nothing is lost, doubled, or looks whole and is not, without a word.
"""

from __future__ import annotations

import functools
import os
import signal
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from mqgroups import errors
from mqgroups.errors import MQGroupsError
from tests.faults.extents import Sample, Task, split
from tests.faults.going_on import PATIENCE_S
from tests.faults.machine import ENDED_WITH_ERROR, Machine, queues_of
from tests.faults.pattern import Pattern
from tests.faults.patterns import PATTERNS, AnyProgram
from tests.faults.result import Result
from tests.faults.site import Site

PHASE = "foreign end"
_COMMITS = ("raw.commit", "raw.disconnect", "MQCMIT", "MQDISC")
_BACKOUTS = ("raw.backout", "MQBACK")
_THEN = ("goes-on", "starts-again", "killed")
_STATUS_ERROR = "an operator is asked"
_COMMAND = "mqgroups salvage"
# Who stops for an operator has to do so each time; who has not finished by then never does.
_STOPS, _STARTS = 3, 5


def run(site: Site, name: str, what: str, then: str) -> Result:
    """Run a case."""
    pattern = replace(PATTERNS[name], stays=then == "goes-on")
    machine = site.machine(pattern)
    program = machine.program(pattern)
    program.patience_s = PATIENCE_S
    result = Result(runs=1)
    with machine.prepared(program), machine.deadline(result):
        _Case(machine, program, what, then, result).run()
    return result


class _Case:
    """One case."""

    def __init__(self, machine: Machine, program: AnyProgram, what: str, then: str, result: Result) -> None:
        self._machine = machine
        self._program = program
        self._result = result
        self._how, _, where = what.rpartition("-")
        self._when, _, nth = where.partition("@")
        self._nth = int(nth)
        self._is_killed = then == "killed"
        self._is_commit = self._how in _COMMITS
        self._stops: list[str] = []
        self._errors: list[str] = []
        self._refused = False

    def run(self) -> None:
        """Start the program until it ends in order, or stops for an operator."""
        machine, result = self._machine, self._result
        machine.watch.begin(None, None)
        machine.watch.hooks[self._when, self._nth] = self._end_it
        ended = False
        while not ended and result.starts < _STARTS and len(self._stops) < _STOPS:
            result.starts += 1
            ended = self._start()
            machine.watch.hooks.clear()
        if ended and self._leaves_a_record():
            # Somebody else has ended the unit of work of closing: a record that says nothing stays until the next start.
            result.starts += 1
            ended = self._start()
        if ended:
            machine.look(self._program, result, PATIENCE_S)
            result.wrong = [f"finished, but {wrong}" for wrong in result.wrong]
        else:
            self._look_at_what_stopped()
        how = "foreign commit" if self._is_commit else "foreign backout"
        end = "finished" if ended else _STATUS_ERROR if self._stops else "not done"
        after = " after an error" if ended and self._errors else ""
        result.note(result.outcomes, f"{how}{', refused' if self._refused else ''}: {end}{after}")

    def _start(self) -> bool:
        """One start; returns whether it ended in order."""
        machine, program, result = self._machine, self._program, self._result
        if self._is_killed and result.starts == 1:
            code = machine.reap(machine.fork(program, start=functools.partial(machine.run, program, wrapped=True)))
            machine.wait_until_closed(program)
            said = program.errors.lines()[-1].decode() if code == ENDED_WITH_ERROR else ""
            result.fired += code == -signal.SIGKILL
            ended = code == 0
        else:
            error: MQGroupsError | None = None
            unforeseen: Exception | None = None
            try:
                error = machine.run(program, wrapped=True)
            except Exception as other:
                unforeseen = other
            ended = error is None and unforeseen is None
            said = "" if ended else f"{type(error or unforeseen).__name__}: {error or unforeseen}"
            if unforeseen is not None:
                result.wrong.append(f"ended with {type(unforeseen).__name__}, none of the library's: {unforeseen}")
            if not machine.wait_until_closed(program, patience_s=PATIENCE_S):
                result.wrong.append("a queue is still open after an error")
                machine.drop_connections()
        if said:
            self._judge(said)
        return ended

    def _leaves_a_record(self) -> bool:
        status_queues = [queue for queue in queues_of(self._program) if queue.startswith("MQGROUPS.")]
        self._machine.wait_until_closed(self._program)
        return any(map(self._machine.reader.browse, status_queues))

    def _judge(self, said: str) -> None:
        kind = said.partition(": ")[0]
        self._result.note(self._result.errors, kind)
        self._errors.append(kind)
        if issubclass(getattr(errors, kind, MQGroupsError), errors.StatusError) and _COMMAND in said:
            self._stops.append(kind)
        elif self._stops:
            self._result.wrong.append(f"stopped for an operator, and later ended with {kind}: {said}")
        elif self._result.starts > 1:
            self._result.wrong.append(f"a later start ended with {kind}: {said}")

    def _look_at_what_stopped(self) -> None:
        machine, result = self._machine, self._result
        if not self._stops:
            result.wrong.append(f"not done: errors {self._errors}")
        elif not self._is_commit:
            result.wrong.append(f"an operator is asked after a foreign backout, by {self._stops[0]}")
        machine.wait_until_closed(self._program)
        wrong = self._program.wrong_on_the_way(machine.reader)
        if wrong:
            result.wrong.append(f"stopped, and {wrong}")

    def _end_it(self) -> None:
        """End the unit of work as somebody else, in the place of the application's own code."""
        machine, result = self._machine, self._result
        raw = machine.raw
        if raw is None:
            return
        method = self._how.partition(".")[2]
        act: Callable[[], object] = (
            getattr(raw, method) if method else lambda: machine.watch.call_c(self._how, raw.get_handle())
        )
        try:
            act()
        except MQGroupsError:
            self._refused = True
        except machine.watch.raw_errors:
            # It is not connected any more.
            pass
        result.fired += 1
        if self._is_killed:
            os.kill(os.getpid(), signal.SIGKILL)


def tasks(undisturbed: Mapping[Pattern, list[tuple[str, int]]], share: float, sample: Sample) -> Iterator[Task]:
    """Yield foreign ends of units of work at each call of each pattern; what comes then is drawn."""
    for pattern, calls in undisturbed.items():
        cases = [
            f"foreign {pattern.name} {how}-{when}@{nth}"
            for nth in range(1, len(calls) + 1)
            for how in (*_COMMITS, *_BACKOUTS)
            for when in ("before", "after")
        ]
        taken = (f"{case} {sample.drawing(f'{case} then').choice(_THEN)}" for case in sample.of(cases, share))
        yield from split(PHASE, pattern.name, taken)
