"""A phase: cases drawn from a seed: anything at any call, several programs on one queue, zombies. The same seed gives the same
case, but for what runs at the same time.
"""

from __future__ import annotations

import random
import signal
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from mqembedded import Fault
from mqgroups.mqi import constants as mq
from tests.faults.call_faults import case
from tests.faults.cases import IN_DOUBT
from tests.faults.extents import Extent, Sample, Task
from tests.faults.machine import ENDED_WITH_ERROR, MOST_STARTS, Machine
from tests.faults.pattern import Pattern, wrong_with_groups, wrong_with_handled
from tests.faults.patterns import CLUSTER_ROLES, PLAIN_ROLES, PROGRAMS, AnyProgram
from tests.faults.reader import PROGRAM, places_of
from tests.faults.result import Result
from tests.faults.site import Site
from tests.faults.zombies import zombie

PHASE = "drawn"
# By what the cases are called, and how their names begin.
DRAWN = {"drawn from the seed": "drawn", "drawn, on the cluster": "drawn-cluster"}
_WHEN = ("before", "after")
_MOST_CALLS = 70


def drawn_case(machine: Machine, seed: int) -> Result:
    """Run the case of this seed."""
    draw = random.Random(seed)
    kind = draw.choices(("one", "server", "several", "zombie"), (6, 1, 2, 2))[0]
    pattern = _pattern(draw, ("put", "get") if kind == "several" else PLAIN_ROLES)
    if kind == "server":
        when = draw.choice(_WHEN)
        return case(machine, pattern, [Fault("kill_server", when, draw.randint(1, _MOST_CALLS))])
    if kind == "several":
        return several(machine, replace(pattern, groups=draw.randint(1, 6)), draw)
    if kind == "zombie":
        return zombie(machine, replace(pattern, stays=False), f"stop@{draw.randint(1, 45)}")
    return case(machine, pattern, [_fault(draw) for _ in range(draw.randint(1, 6))])


def drawn_on_cluster(site: Site, seed: int) -> Result:
    """Run the case of this seed on the cluster, with a channel that is disturbed too."""
    draw = random.Random(seed)
    kind = draw.choices(("one", "server", "several"), (6, 1, 2))[0]
    pattern = _pattern(draw, CLUSTER_ROLES if kind == "one" else ("cluster-put",))
    machine = site.member(PROGRAMS[pattern.role].at)
    with machine.disturbed(draw):
        if kind == "server":
            return case(machine, pattern, [Fault("kill_server", draw.choice(_WHEN), draw.randint(1, _MOST_CALLS))])
        if kind == "several":
            return several(machine, pattern, draw)
        return case(machine, pattern, [_fault(draw) for _ in range(draw.randint(1, 6))])


def _pattern(draw: random.Random, roles: Sequence[str]) -> Pattern:
    return Pattern(
        role=draw.choice(roles),
        status=draw.choice(("classic", "segmented")),
        segmented=draw.random() < 0.4,
        messages=draw.randint(1, 12),
        every=draw.choice((1, 2, 3, 5, 100)),
        groups=draw.randint(1, 3),
        stays=draw.random() < 0.5,
        put_response="async" if draw.random() < 0.3 else "sync",
    )


def _fault(draw: random.Random) -> Fault:
    nth = draw.randint(1, _MOST_CALLS)
    action = draw.choices(("drop", "kill_client", "commit", "refuse", "delay"), (5, 2, 4, 2, 1))[0]
    if action == "commit":
        return Fault("answer", draw.choice(_WHEN), draw.randint(1, 9), verb="MQCMIT", reason=draw.choice(IN_DOUBT))
    if action == "refuse":
        reason = draw.choice((mq.MQRC_Q_FULL, mq.MQRC_STORAGE_MEDIUM_FULL, mq.MQRC_SYNCPOINT_LIMIT_REACHED))
        return Fault("answer", "before", draw.randint(1, 20), verb="MQPUT", reason=reason)
    if action == "delay":
        return Fault("delay", draw.choice(_WHEN), nth, delay_s=draw.uniform(0, 0.02))
    return Fault(action, draw.choice(_WHEN), nth)


def several(machine: Machine, pattern: Pattern, draw: random.Random, programs: int = 3) -> Result:
    """Run several programs of different names on one queue at the same time, with faults at any of their calls."""
    result = Result(runs=1)
    first = machine.program(pattern)
    others = [machine.program(pattern, first.queue) for _ in range(programs - 1)]
    every = [first, *others]
    faults = [
        Fault(draw.choice(("drop", "kill_client")), draw.choice(_WHEN), draw.randint(1, programs * _MOST_CALLS // 2))
        for _ in range(draw.randint(1, 6))
    ]
    with machine.prepared(first):
        for fault in faults:
            machine.qmgr.arm(replace(fault, appl_name=PROGRAM))
        _run_all(machine, every, result)
        result.fired = machine.qmgr.faults_fired()
        if not machine.wait_until_closed(*every):
            result.wrong.append("a queue is still open")
        wrong = _wrong_with_all(machine, every, result)
        if wrong:
            result.wrong.append(wrong)
        for program in every:
            result.wrong += machine.wrong_with_left(program)
        for program in others:
            machine.reader.delete(program.status_queue)
            program.close()
    return result


def _run_all(machine: Machine, programs: Sequence[AnyProgram], result: Result) -> None:
    """Start all, and each again until it ends in order."""
    running = {machine.fork(program): program for program in programs}
    result.starts = len(programs)
    while running:
        pid, code = machine.reap_any()
        program = running.pop(pid)
        if code not in (0, -signal.SIGKILL, ENDED_WITH_ERROR):
            result.wrong.append(f"a program ended with exit code {code}")
        elif code:
            if result.starts > MOST_STARTS * len(programs):
                result.wrong.append("not done after too many starts")
            else:
                result.starts += 1
                running[machine.fork(program)] = program


def _wrong_with_all(machine: Machine, programs: Sequence[AnyProgram], result: Result) -> str:
    pattern, on_queue = programs[0].pattern, machine.reader.browse(programs[0].queue)
    if programs[0].instances:
        result.note_places(places_of(on_queue))
    if not all(program.done for program in programs):
        return "a program does not know that it is done"
    if pattern.role == "get":
        handled = [line for program in programs for line in program.notes.lines()]
        return f"{len(on_queue)} messages left" if on_queue else wrong_with_handled(handled, pattern)
    return wrong_with_groups(on_queue, pattern.payloads(), len(programs) * pattern.groups)


def tasks(extents: Mapping[Pattern, Extent], sample: Sample) -> Iterator[Task]:
    """Yield drawn cases: as many as there are to be if one of the patterns is of the kind they are drawn from."""
    single = max((extent.drawn for pattern, extent in extents.items() if pattern.role not in CLUSTER_ROLES), default=0)
    cluster = max((extent.drawn for pattern, extent in extents.items() if pattern.role in CLUSTER_ROLES), default=0)
    for (called, begins), count in zip(DRAWN.items(), (single, cluster), strict=True):
        for number in range(count):
            yield Task(PHASE, called, (f"{begins} {sample.seed * 1_000_000 + number}",))
