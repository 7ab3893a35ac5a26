"""A phase: a function of the application raises, one of each kind of exception, and the application goes on.

``function dressed-get/classic/segments/backwards before_commit StopIteration@2 owner wrapped``: the place where the library calls
the function, what it raises at its second call there, the level that catches it and the connection (``going_on.py``).

What the function raised comes out of the call that the application made, and nothing else does: not taken for an answer of the
queue manager, not for the end of a loop, and not redone. Only what would end a loop comes as the cause of a RuntimeError, as
PEP 479 has it. Then the application goes on as if nothing had been.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence

from mqembedded import Fault
from mqgroups import errors
from mqgroups.errors import mqi_error
from mqgroups.mqi import constants as mq
from tests.faults.dressed_programs import Functions
from tests.faults.extents import Sample, Task, split
from tests.faults.going_on import CONNECTIONS, PATIENCE_S, GoingOn
from tests.faults.machine import Machine, Stuck
from tests.faults.pattern import Pattern
from tests.faults.patterns import DRESSED_ROLES, PATTERNS
from tests.faults.reader import PROGRAM
from tests.faults.result import Result
from tests.faults.site import Site

PHASE = "function"
LEVELS = ("group", "owner", "connection")
PLACES = {
    "dressed-put": ("stream", "on_progress", "on_resume", "on_in_doubt"),
    "dressed-get": (
        *("decode", "before_commit", "before_commit-of-a-group", "sink", "before_forget"),
        *("on_abandon", "on_progress", "on_resume", "on_in_doubt"),
    ),
    "dressed-pipe": (
        *("decode", "before_commit-of-a-group"),
        *("on_abandon", "on_progress", "on_resume", "on_in_doubt"),
    ),
}
# ValueError is not among them: from a codec it says that the data is not valid.
_PLAIN = (
    *(StopIteration, StopAsyncIteration, GeneratorExit, KeyboardInterrupt, SystemExit, asyncio.CancelledError),
    *(MemoryError, RecursionError, RuntimeError, KeyError, OSError),
)
_OF_THE_MQI = (
    "CONNECTION_BROKEN",
    "CALL_INTERRUPTED",
    "BACKED_OUT",
    "OBJECT_IN_USE",
    "Q_FULL",
    "GET_INHIBITED",
    "NO_MSG_AVAILABLE",
)
_END_LOOPS = (StopIteration, StopAsyncIteration)


def _of_the_mqi(name: str) -> Callable[[], BaseException]:
    reason = getattr(mq, f"MQRC_{name}")
    return lambda: mqi_error("MQCMIT", "queue ELSEWHERE", mq.MQCC_FAILED, reason)


KINDS: dict[str, Callable[[], BaseException]] = {
    **{kind.__name__: kind for kind in _PLAIN},
    **{name: _of_the_mqi(name) for name in _OF_THE_MQI},
    "GroupUsage": lambda: errors.GroupUsage("of something else"),
    "Stopped": lambda: errors.Stopped("get ELSEWHERE", "ELSEWHERE", bytes(24), 0),
    "OwnershipLost": lambda: errors.OwnershipLost(
        "elsewhere", "taken-over", name="get ELSEWHERE", status_queue="ELSEWHERE", found=("", 0), expected=("", 0)
    ),
}
# What interrupts the group before it is resumed.
_INTERRUPTS = {"dressed-put": "on_progress", "dressed-get": "sink", "dressed-pipe": "on_progress"}


class _Foreseen(Exception):
    """Interrupts a group, so that another start resumes it."""


def run(site: Site, name: str, place: str, what: str, level: str, connection: str) -> Result:
    """Run a case."""
    pattern = PATTERNS[name]
    machine = site.machine(pattern)
    program = machine.program(pattern)
    program.patience_s = PATIENCE_S
    functions: Functions = program.functions  # type: ignore[union-attr]  # a dressed one
    kind, _, nth = what.partition("@")
    functions.armed[place.replace("-", " "), int(nth)] = KINDS[kind]()
    if place == "on_resume":
        functions.armed[_INTERRUPTS[pattern.role], 2] = _Foreseen()
    result = Result(runs=1, starts=1)
    with machine.prepared(program), machine.deadline(result):
        result.calls = machine.watch.begin(None, None).calls
        if place == "on_in_doubt":
            machine.qmgr.arm(Fault("drop", "after", 3, verb="MQCMIT", appl_name=PROGRAM))
        case = _Case(machine, functions, result)
        GoingOn(machine, program, level, connection, (BaseException,), case.caught).run()
        result.fired = sum(not isinstance(error, _Foreseen) for error in functions.raised)
        if case.came != functions.raised:
            result.wrong.append(f"raised {functions.raised}, came out {case.came}")
        machine.look(program, result, PATIENCE_S)
    return result


class _Case:
    """What comes out of the library's calls."""

    def __init__(self, machine: Machine, functions: Functions, result: Result) -> None:
        self._machine = machine
        self._functions = functions
        self._result = result
        self.came: list[BaseException] = []

    def caught(self, error: BaseException) -> None:
        """Note what came out, as the function raised it."""
        if isinstance(error, Stuck):
            raise error
        self._result.note(self._result.errors, type(error).__name__)
        cause = error.__cause__
        if type(error) is RuntimeError and isinstance(cause, _END_LOOPS):
            error = cause
        self.came.append(error)
        if len(self.came) > len(self._functions.raised) + 3:
            raise Stuck(f"errors again and again: {self.came}")


def tasks(patterns: Sequence[Pattern], share: float, sample: Sample) -> Iterator[Task]:
    """Yield each kind of exception at each place, at its first and its second call."""
    for pattern in patterns:
        if pattern.role not in DRESSED_ROLES:
            continue
        cases = [
            f"{PHASE} {pattern.name} {place} {kind}@{nth} {level} {connection}"
            for place in PLACES[pattern.role]
            for kind in KINDS
            for nth in (1, 2)
            for level in LEVELS
            for connection in CONNECTIONS
            # A wrapped connection that is lost is not made again, so nothing is found out on it.
            if (place, connection) != ("on_in_doubt", "wrapped")
        ]
        yield from split(PHASE, pattern.name, sample.of(cases, share))
