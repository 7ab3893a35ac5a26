"""A trace of the model run against the library on an embedded queue manager, call for call.

Each instance of the trace is a thread with a connection of its own, and one of them runs at a time: whatever it calls that the
model knows too waits at a gate until it is its turn in the trace. So a second owner starts at exactly that moment. Calls the
model does not have (MQINQ, MQOPEN of the data queue, MQBACK, browses) pass. A gate that sees another call than the trace
says has found that the library and the model do different things.

A kill is a connection that is lost and a thread that makes no call any more; for SIGKILL itself there is ``tests.faults``.
"""

from __future__ import annotations

import queue
import struct
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from mqgroups import errors
from mqgroups.connection.holder import connection_of
from mqgroups.embedded import Fault
from mqgroups.mqi import constants as mq
from mqgroups.queue_manager import QueueManager
from tests.ownership.explorer import Event, Explorer, Scenario, written
from tests.ownership.owners import Protocol
from tests.ownership.queue_manager import Reading

_ASKED_AGAIN = 3
BACKED_OUT = "unit of work is backed out"
GATED = ("MQOPEN", "MQPUT", "MQGET", "MQCMIT")
PATIENCE_S = 20


class Killed(BaseException):
    """An instance makes no call any more."""


class Diverged(AssertionError):
    """The library made another call, or got another answer, than the trace says."""


@dataclass(frozen=True)
class Case:
    """One way through a scenario, and where it leads to.

    Attributes:
        name: the first instance's call that a fault happens at, the fault, and who goes on first after it.
        trace: the steps.
        endings: how each instance has ended: "done", "killed", or its error.
        groups: the numbers of the messages of each group on the outgoing queue.
        records: how many status records are left.
    """

    name: str
    trace: list[Event]
    endings: dict[str, str]
    groups: list[list[int]]
    records: int


def cases(
    scenario: Scenario, protocol: Protocol, claims: int = 0, reading: Reading = Reading.AT_ONCE
) -> Iterator[Case]:
    """Yield a case for each fault at each call of the first instance; then either it goes on, or the second one starts.

    ``claims``: only faults after so many of its claims. ``reading``: AT_ONCE; or CLOSES_FIRST, where the unit of work of the lost
    connection is backed out when nobody can go on, or the last start is to begin.
    """
    names = [start.name for start in scenario.starts]
    for order in (names, names[::-1]):
        for fault in ("kill before", "kill in", "drop before", "lose answer"):
            for fate in ("MQCMIT takes effect", "MQCMIT never began"):
                yield from _cases(scenario, protocol, fault, fate, order, claims, reading)


def _cases(
    scenario: Scenario, protocol: Protocol, fault: str, fate: str, order: list[str], claims: int, reading: Reading
) -> Iterator[Case]:
    for number in range(1, 100):
        explorer = Explorer(scenario, protocol, reading)
        everybody = [*order, *(start.name for start in scenario.last)]
        script = _Script(number, fault, fate, everybody, scenario.starts[0].name, claims)
        trace, state = explorer.walk(script.choose)
        if script.reached_end:
            return
        if script.fired and (script.decided or fate == "MQCMIT takes effect"):
            lying = state.queue_manager.committed("OUT")
            groups = sorted(sorted(b[2] for b in lying if b[1] == group) for group in {body[1] for body in lying})
            records = sum(1 for message in state.queue_manager.messages if message.body[0] == "R")
            name = f"{fault} call {number}{', ' + fate if script.decided else ''}, then {order[0]}"
            yield Case(name, trace, explorer.endings(state), groups, records)


class _Script:
    """Chooses the steps: the first instance alone up to a fault, then each as far as it comes, in the order of ``order``."""

    def __init__(self, number: int, fault: str, fate: str, order: list[str], first: str, claims: int) -> None:
        self._left = number
        self._fault = fault
        self._fate = fate
        self._order = order
        self._first = first
        self._claims = claims
        self._asked: Counter[Event] = Counter()
        self.fired = self.reached_end = self.decided = False

    def choose(self, events: list[Event]) -> int | None:
        if not self.fired:
            return self._before(events)
        for number, event in enumerate(events):
            if event.outcome == self._fate:
                self.decided = True
                return number
        # Who only asks again and again waits for the queue manager.
        free = [
            (self._asked[event] > _ASKED_AGAIN, self._rank(event), number)
            for number, event in enumerate(events)
            if not event.fault
        ]
        if not free:
            return None
        chosen = min(free)[-1]
        self._asked[events[chosen]] += 1
        if events[chosen].who not in self._order:
            self._asked.clear()
        return chosen

    def _before(self, events: list[Event]) -> int | None:
        mine = [(number, event) for number, event in enumerate(events) if event.who == self._first]
        if not mine:
            self.reached_end = True
            return None
        self._left -= mine[0][1].verb in GATED
        if self._left:
            self._claims -= mine[0][1].object == "claim"
            return next(number for number, event in mine if not event.fault)
        here = [number for number, event in mine if event.fault == self._fault]
        self.fired = bool(here) and self._claims <= 0
        return here[0] if self.fired else None

    def _rank(self, event: Event) -> float:
        if event.outcome == BACKED_OUT:
            return self._order.index("last") - 0.5
        return -1 if event.who not in self._order else self._order.index(event.who)


class Gate:
    """Stands between a connection and its binding, and lets a call through when it is its turn."""

    def __init__(self, names: dict[str, str]) -> None:
        self._binding: Any = None
        self._names = names
        self._objects: dict[int, str] = {}
        self._held: dict[str, int] = {}
        self._hconn = 0
        self._turns: queue.Queue[str] = queue.Queue()
        # What has come to the gate: (verb, queue), or how the thread has ended.
        self.waiting: queue.Queue[tuple[str, str]] = queue.Queue()
        self.answers: queue.Queue[int] = queue.Queue()
        self._dead = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._binding, name)

    def stand_before(self, q_mgr: QueueManager) -> None:
        """Be what a connection of the library makes its calls through."""
        connection: Any = connection_of(q_mgr)
        self._binding, connection.binding = connection.binding, self

    def holds(self, name: str) -> bool:
        """Whether the connection of the call that waits has a status queue open."""
        return self._held.get(name) == self._hconn

    def let(self, turn: str) -> None:
        """Let what waits go on: "call", "die" after the call, or "poke": make another call before, and wait again."""
        self._turns.put(turn)

    def _through(self, verb: str, name: str, hconn: int, call: Callable[[], Any]) -> Any:
        while True:
            if self._dead:
                raise Killed
            self._hconn = hconn
            self.waiting.put((verb, name))
            turn = self._turns.get(timeout=PATIENCE_S)
            if turn == "poke":
                self.answers.put(self._binding.MQBACK(hconn)[1])
                continue
            answer = call()
            if turn == "die":
                self._dead = True
            self.answers.put(answer[-1])
            if self._dead:
                raise Killed
            return answer

    def MQOPEN(self, hconn: int, od: bytes, options: int) -> Any:
        name = self._names.get(od[12:60].split(b"\0")[0].decode().strip(), "")

        def call() -> Any:
            answer = self._binding.MQOPEN(hconn, od, options)
            self._objects[answer[0]] = name
            if answer[-1] == mq.MQRC_NONE and options & mq.MQOO_INPUT_EXCLUSIVE:
                self._held[name] = hconn
            return answer

        if options & mq.MQOO_INPUT_EXCLUSIVE and name not in ("IN", "OUT"):
            return self._through("MQOPEN", name, hconn, call)
        return call()

    def MQPUT(self, hconn: int, hobj: int, *rest: Any) -> Any:
        return self._through("MQPUT", self._objects[hobj], hconn, lambda: self._binding.MQPUT(hconn, hobj, *rest))

    def MQGET(self, hconn: int, hobj: int, md: bytes, gmo: bytes, *rest: Any) -> Any:
        (options,) = struct.unpack_from("<i", gmo, 8)
        browses = mq.MQGMO_BROWSE_FIRST | mq.MQGMO_BROWSE_NEXT
        if options & browses:
            return self._binding.MQGET(hconn, hobj, md, gmo, *rest)
        return self._through(
            "MQGET", self._objects[hobj], hconn, lambda: self._binding.MQGET(hconn, hobj, md, gmo, *rest)
        )

    def MQCMIT(self, hconn: int) -> Any:
        return self._through("MQCMIT", "", hconn, lambda: self._binding.MQCMIT(hconn))

    def _at_the_end(self, call: Callable[..., Any], *arguments: Any) -> Any:
        return (mq.MQCC_FAILED, mq.MQRC_CONNECTION_BROKEN) if self._dead else call(*arguments)

    def MQBACK(self, hconn: int) -> Any:
        return self._at_the_end(self._binding.MQBACK, hconn)

    def MQDISC(self, hconn: int) -> Any:
        return self._at_the_end(self._binding.MQDISC, hconn)

    def MQCLOSE(self, *arguments: Any) -> Any:
        return self._at_the_end(self._binding.MQCLOSE, *arguments)


class Replay:
    """Runs one trace.

    Args:
        run: an instance's program, given the gate to put in its connection's binding.
        names: the model's name of each queue by its own.
        faults: the embedded queue manager, to arm faults.
        wait_until_backed_out: waits until the queue manager has backed out what a lost connection had.
    """

    def __init__(
        self,
        run: dict[str, Callable[[Gate], None]],
        names: dict[str, str],
        faults: Any,
        wait_until_backed_out: Callable[[], None] = lambda: None,
    ) -> None:
        self._run = run
        self._names = names
        self._faults = faults
        self._wait_until_backed_out = wait_until_backed_out
        self._gates: dict[str, Gate] = {}
        self._at: dict[str, tuple[str, str]] = {}
        self._threads: list[threading.Thread] = []

    def follow(self, trace: list[Event]) -> dict[str, str]:
        """Go the way of a trace; returns how each instance has ended: "done", "killed", or its error's name.

        Raises:
            Diverged: the library went another way.
        """
        last = {event.who: number for number, event in enumerate(trace)}
        for number, event in enumerate(trace):
            try:
                if event.outcome == BACKED_OUT:
                    self._wait_until_backed_out()
                if event.who in self._run and (event.verb in GATED or event.fault):
                    self._step(event, trace[number + 1 :])
                if event.who in self._run and last[event.who] == number:
                    self._end(event.who)
            except Diverged as error:
                raise Diverged(f"{error}, at the end of\n{written(trace[: number + 1])}") from None
        for thread in self._threads:
            thread.join(PATIENCE_S)
        return {name: how for name, (_, how) in self._at.items()}

    def _step(self, event: Event, rest: list[Event]) -> None:
        gate = self._begun(event.who)
        if event.fault == "drop before":
            self._faults.arm(Fault("drop", "before", verb="MQBACK"))
            gate.let("poke")
            gate.answers.get(timeout=PATIENCE_S)
            self._arrive(event.who)
            return
        queue_name = "" if event.verb == "MQCMIT" else event.object.split()[0]
        if event.verb not in GATED:
            raise Diverged(f"no fault of the library's: {event}")
        wanted = (event.verb, queue_name)
        # What is open already the model opens again, and the library does not.
        if event.verb == "MQOPEN" and self._at[event.who] != wanted and gate.holds(queue_name):
            return
        while True:
            if self._at[event.who] != wanted:
                raise Diverged(f"{event.who} is at {self._at[event.who]}, expected {wanted}")
            if event.fault:
                happened = event.fault == "lose answer"
                if event.verb == "MQCMIT" and event.fault != "kill before":
                    happened = next(e.outcome for e in rest if e.outcome.startswith("MQCMIT")).endswith("effect")
                self._faults.arm(Fault("drop", "after" if happened else "before", verb=event.verb))
            gate.let("die" if event.fault.startswith("kill") else "call")
            reason = gate.answers.get(timeout=PATIENCE_S)
            self._arrive(event.who)
            expected = mq.MQRC_CONNECTION_BROKEN if event.fault else int(event.outcome)
            if reason == expected:
                return
            # The queue manager is about to clean up after a lost connection; the library tries again.
            if reason not in (mq.MQRC_OBJECT_IN_USE, mq.MQRC_NO_MSG_AVAILABLE) or expected:
                raise Diverged(f"{event.who} {wanted} was answered {reason}, expected {expected}")

    def _end(self, name: str) -> None:
        """Let an instance end: of a pipe that has lost its ownership, the library still tidies up one of the two sides."""
        for _ in range(3):
            verb, what = self._at[name]
            if verb == "ended":
                return
            if (verb, what) not in (("MQGET", "P"), ("MQCMIT", "")):
                break
            self._gates[name].let("call")
            self._gates[name].answers.get(timeout=PATIENCE_S)
            self._arrive(name)
        raise Diverged(f"{name} has not ended, but is at {self._at[name]}")

    def _begun(self, name: str) -> Gate:
        if name not in self._gates:
            gate = self._gates[name] = Gate(self._names)
            thread = threading.Thread(target=self._program, args=(name, gate), daemon=True)
            self._threads.append(thread)
            thread.start()
            self._arrive(name)
        return self._gates[name]

    def _arrive(self, name: str) -> None:
        self._at[name] = self._gates[name].waiting.get(timeout=PATIENCE_S)

    def _program(self, name: str, gate: Gate) -> None:
        how = "done"
        try:
            self._run[name](gate)
        except Killed:
            how = "killed"
        except errors.MQGroupsError as error:
            how = type(error).__name__
        except Exception as error:
            how = repr(error)
        gate.waiting.put(("ended", how))
