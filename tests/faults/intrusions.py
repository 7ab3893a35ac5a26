"""A phase: somebody else comes between two calls: a second thread that uses the same producer, consumer or pipe, or an
administrator.

``intrusion put/classic/plain close@23``: before the first thread's 23rd MQI call a second one calls ``close``, and is waited for.
It has to be refused at once, with ``GroupUsage``; nothing has changed then, and the group is whole in the end.

``intrusion put/classic/plain alter@23``: an administrator changes all queues with FORCE, which ends the handles of them all.
The program does not notice.

``race 17``: two threads put messages to one group as fast as they can. What was refused is put again; what was not is there once.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from mqgroups.core.modes import PutResponse
from mqgroups.errors import GroupUsage, MQGroupsError
from tests.faults.extents import Sample, Task, split
from tests.faults.going_on import PATIENCE_S
from tests.faults.machine import Machine, queues_of
from tests.faults.pattern import Pattern
from tests.faults.patterns import PATTERNS
from tests.faults.result import Result
from tests.faults.site import Site

PHASE = "intrusion"
RACES = "two threads at a time"
_ALTER = "alter"
_AT_ONCE_S = 2.0
_INTRUSIONS: dict[str, dict[str, Callable[[dict[str, Any]], object]]] = {
    "put": {
        "put": lambda hand: hand["group"].put(b"by another thread"),
        "group": lambda hand: hand["owner"].group(),
        "abandon": lambda hand: hand["group"].abandon(),
        "close": lambda hand: hand["owner"].close(),
    },
    "get": {
        "message": lambda hand: next(hand["messages"]),
        "group": lambda hand: next(hand["groups"]),
        "close": lambda hand: hand["owner"].close(),
    },
    "pipe": {
        "message": lambda hand: next(hand["messages"]),
        "group": lambda hand: next(hand["groups"]),
        "put": lambda hand: hand["outgoing"].put(b"by another thread"),
        "close": lambda hand: hand["owner"].close(),
    },
}
_MESSAGES_OF_EACH = 40
_TRIES = 2000


def run(site: Site, name: str, what: str) -> Result:
    """Run a case of an intrusion."""
    pattern = PATTERNS[name]
    machine = site.machine(pattern)
    program = machine.program(pattern)
    program.patience_s = PATIENCE_S
    result = Result(runs=1)
    call, _, nth = what.partition("@")
    intrude = _INTRUSIONS[pattern.role].get(call)

    def alter() -> None:
        result.fired = 1
        for queue in queues_of(program):
            machine.reader.end_handles(queue)

    def intrusion() -> None:
        if program.done or ("group" not in program.hand and "messages" not in program.hand):
            return
        result.fired = 1
        said: list[BaseException | None] = []

        def second() -> None:
            try:
                assert intrude is not None
                intrude(program.hand)
                said.append(None)
            except BaseException as error:
                said.append(error)

        thread = threading.Thread(target=second, daemon=True)
        thread.start()
        thread.join(_AT_ONCE_S)
        if not said:
            result.wrong.append(f"{call} by a second thread is not refused at once")
        elif not isinstance(said[0], GroupUsage):
            how = f"ended with {type(said[0]).__name__}" if said[0] is not None else "was done"
            result.wrong.append(f"{call} by a second thread {how}: {said[0]}")

    with machine.prepared(program), machine.deadline(result):
        machine.watch.begin(None, None)
        machine.watch.hooks["before", int(nth)] = alter if call == _ALTER else intrusion
        result.starts = 1
        error: Exception | None
        try:
            error = machine.run(program)
        except Exception as unforeseen:
            error = unforeseen
        if error is not None:
            result.wrong.append(f"the first thread ended with {type(error).__name__}: {error}")
            machine.drop_connections()
            machine.run(program)
        machine.look(program, result, PATIENCE_S)
    return result


def race(site: Site, seed: str) -> Result:
    """Run a case of a race."""
    machine, draw, result = site.single(), random.Random(seed), Result(runs=1, fired=1, starts=1)
    status, every = draw.choice(("classic", "segmented")), draw.choice((1, 2, 7, 100))
    response: PutResponse = "async" if draw.random() < 0.5 else "sync"
    pattern = Pattern("put", status, False, 1, every, put_response=response)
    program = machine.program(pattern)
    program.patience_s = PATIENCE_S
    with machine.prepared(program), machine.deadline(result):
        machine.watch.begin(None, None)
        put, unforeseen = _race(machine, program, result)
        if not machine.wait_until_closed(program, patience_s=PATIENCE_S):
            result.wrong.append("a queue is still open")
            machine.drop_connections()
        seen = machine.reader.browse(program.queue)
        there = [one.data for one in seen]
        if unforeseen:
            result.wrong.append(f"a thread ended with {type(unforeseen[0]).__name__}: {unforeseen[0]}")
        elif sorted(there) != sorted(put):
            result.wrong.append(f"{len(put)} messages were taken, {len(there)} are there")
        elif [one.msg_seq_number for one in seen] != list(range(1, len(seen) + 1)) or not seen[-1].is_last:
            result.wrong.append("the group of two threads is not whole")
    return result


def _race(machine: Machine, program: Any, result: Result) -> tuple[list[bytes], list[BaseException]]:
    """Have two threads put; returns what they have put, and what ended them."""
    put: list[bytes] = []
    unforeseen: list[BaseException] = []

    def work(group: Any, of: int) -> None:
        try:
            for number in range(_MESSAGES_OF_EACH):
                data = b"%d-%d" % (of, number)
                for tried in range(_TRIES):
                    try:
                        group.put(data)
                    except GroupUsage:
                        continue
                    put.append(data)
                    result.note(result.outcomes, f"a message {'was refused, and then' if tried else 'is'} taken")
                    break
        except BaseException as error:
            unforeseen.append(error)

    try:
        with machine.connect(PATIENCE_S) as connection, program.make(connection) as producer, producer.group() as group:
            threads = [threading.Thread(target=work, args=(group, of)) for of in range(2)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
    except MQGroupsError as error:
        unforeseen.append(error)
    return put, unforeseen


def tasks(
    undisturbed: Mapping[Pattern, list[tuple[str, int]]], share: float, races: int, sample: Sample
) -> Iterator[Task]:
    """Yield intrusions at each call of each pattern, and races."""
    for pattern, calls in undisturbed.items():
        cases = [
            f"intrusion {pattern.name} {call}@{nth}"
            for nth in range(1, len(calls) + 1)
            for call in (_ALTER, *_INTRUSIONS[pattern.role])
        ]
        yield from split(PHASE, pattern.name, sample.of(cases, share))
    yield from split(PHASE, RACES, (f"race {sample.seed * 1_000_000 + number}" for number in range(races)))
