"""A phase: the queue manager refuses one call for a reason after which nothing is redone, and the application goes on.

``refusal put/classic/plain answer.2071-before@23 owner wrapped``: the fault, the level that catches the library's error, and the
connection (``going_on.py``). The application goes on at once with what it has at that level.

Allowed is one error, which names the reason that was refused. After it the unit of work is nobody's: on a wrapped connection the
application commits, which must neither be refused nor commit any part of what failed. Then everything goes on as if nothing had
been. Only where MQBACK itself is refused the connection is of no more use, and a wrapped one is made anew.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from mqgroups.errors import MQGroupsError
from mqgroups.mqi import constants as mq
from tests.faults.cases import fault_at
from tests.faults.extents import Sample, Task, split
from tests.faults.going_on import CONNECTIONS, PATIENCE_S, GoingOn
from tests.faults.machine import Machine
from tests.faults.pattern import Pattern
from tests.faults.patterns import CLUSTER_ROLES, PATTERNS, THIN_ROLES, AnyProgram
from tests.faults.reader import PROGRAM
from tests.faults.result import Result
from tests.faults.site import Site

PHASE = "refusal"
LEVELS = ("group", "owner", "connection")
# It says nothing of the connection, and nobody waits until it goes away.
_REASON = mq.MQRC_STORAGE_NOT_AVAILABLE
_MOST_ERRORS = 8


def run(site: Site, name: str, fault: str, level: str, connection: str) -> Result:
    """Run a case."""
    pattern = PATTERNS[name]
    machine = site.machine(pattern)
    program = machine.program(pattern)
    program.patience_s = PATIENCE_S
    result = Result(runs=1, starts=1)
    with machine.prepared(program), machine.deadline(result):
        result.calls = machine.watch.begin(None, None).calls
        machine.qmgr.arm(replace(fault_at(fault), appl_name=PROGRAM))
        case = _Case(machine, program, result)
        case.going_on = GoingOn(machine, program, level, connection, (MQGroupsError,), case.caught)
        try:
            case.going_on.run()
        except MQGroupsError as error:
            result.wrong.append(f"does not go on: {type(error).__name__}: {error}")
        result.fired = machine.fired() or 0
        result.left = sum(call == ("MQBACK", _REASON) for call in result.calls)
        machine.look(program, result, PATIENCE_S)
    return result


class _Case:
    """What the application gets to see."""

    going_on: GoingOn

    def __init__(self, machine: Machine, program: AnyProgram, result: Result) -> None:
        self._machine = machine
        self._program = program
        self._result = result
        self._errors = 0

    def caught(self, error: BaseException) -> None:
        """Judge an error; commit, where the connection is the application's own."""
        machine, result = self._machine, self._result
        self._errors += 1
        result.note(result.errors, type(error).__name__)
        if self._errors > _MOST_ERRORS:
            raise error
        refused = {verb for verb, reason in result.calls if reason == _REASON}
        if "MQBACK" in refused:
            if machine.raw is not None and self.going_on.level != "connection":
                # What is in the unit of work can only go with the connection.
                self.going_on.level = "connection"
                raise error
            return
        if str(_REASON) not in str(error) or self._errors > 1:
            result.wrong.append(f"error {self._errors} after one refusal: {type(error).__name__}: {error}")
        if machine.raw is None:
            return
        try:
            machine.raw.commit()
        except Exception as other:
            result.wrong.append(f"the application's own commit is refused: {type(other).__name__}: {other}")
        if wrong := self._program.wrong_on_the_way(machine.reader):
            result.wrong.append(f"committed by the application: {wrong}")


def tasks(undisturbed: Mapping[Pattern, list[tuple[str, int]]], share: float, sample: Sample) -> Iterator[Task]:
    """Yield a refusal of each call of each pattern, at each level, on each kind of connection."""
    for pattern, calls in undisturbed.items():
        if pattern.role in CLUSTER_ROLES or "refusals" not in THIN_ROLES.get(pattern.role, ("refusals",)):
            continue
        cases = [
            f"{PHASE} {pattern.name} answer.{_REASON}-before@{nth} {level} {connection}"
            for nth, (verb, _) in enumerate(calls, 1)
            # An application makes MQCONNX itself on a wrapped connection. After MQDISC there is nothing to go on with.
            if verb not in ("MQCONNX", "MQDISC")
            for level in LEVELS
            for connection in CONNECTIONS
        ]
        yield from split(PHASE, pattern.name, sample.of(cases, share))
