"""Every interleaving of a scenario's instances, its faults and its queue manager, and what has to hold in each state.

A state is what is in the queue manager, where each instance stands, and how many faults are left. Instances are generators and
run only once from each place to the next: where one stands is told by its frames, and from equal places equal calls follow.

In each state:

    each message of a group is there once and none is left out; an interrupted group has exactly one record, with its position
    as many anchors as records are committed
and of each instance:
    what it concludes of a commit without an answer is true, and stays true
    it is told that it has lost its ownership only when somebody else has committed something in its place
    it commits nothing after that
    it never stops for an operator: nobody has tampered with anything
and from each state, without another fault, an end can be reached, with nothing interrupted.
"""

from __future__ import annotations

import gc
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from mqgroups.core.steps import Lost
from tests.ownership.bodies import INCOMING, Bodies, World, frames, records_of
from tests.ownership.programs import LENGTH
from tests.ownership.queue_manager import COMMITTED, OK, Body, Call, Message, QueueManager, Reading
from tests.ownership.safeties import Protocol, programs


@dataclass(frozen=True)
class Start:
    """A program that is started: what it is called, and with which status queues."""

    name: str
    statuses: tuple[str, ...]


@dataclass(frozen=True)
class Scenario:
    """Who starts, each not before the one before him; then, when all have ended, a last one without faults.

    Attributes:
        starts: who starts.
        last: who starts at the very end.
        faults: how many, in all.
        kills, losses, interruptions: whether programs are killed, lose connections and answers, are interrupted.
    """

    name: str
    starts: tuple[Start, ...]
    last: Start
    faults: int
    kills: bool = True
    losses: bool = True
    interruptions: bool = False


class Instance(NamedTuple):
    """Where an instance stands.

    ``node`` is its place in its program, ``begun`` whether it has made a call; ``cut`` whether its connection is lost and it does
    not know; ``fate`` what became of a commit without an answer; ``owns`` whether its start is done; ``replaced`` whether
    somebody else has committed since.
    """

    node: int
    begun: bool = False
    connection: int = 0
    cut: bool = False
    fate: str = ""
    owns: bool = False
    replaced: bool = False


class State(NamedTuple):
    """A state of everything."""

    queue_manager: QueueManager
    instances: tuple[Instance, ...]
    faults: int


class Event(NamedTuple):
    """A step from one state to the next, in MQI's terms.

    ``fault`` is empty, or names one. ``then``: calls that follow at once, because nobody else sees them.
    """

    who: str
    verb: str
    object: str
    outcome: str
    fault: str = ""
    then: tuple[Event, ...] = ()

    def __str__(self) -> str:
        return f"{self.who:<14} {self.verb:<12} {self.object:<34} {self.outcome}"


def written(trace: list[Event]) -> str:
    """Return a trace as lines: who, verb, object, outcome."""
    return "\n".join(map(str, trace))


class Violation(Exception):
    """Something does not hold."""


@dataclass
class Explored:
    """What an exploration found.

    Attributes:
        states: how many states there are.
        trace: the shortest sequence of steps to what does not hold.
        broken: what that is; empty if everything holds.
    """

    states: int
    broken: str = ""
    trace: list[Event] = field(default_factory=list)


class Program:
    """An instance's generator as a table: from a place, by an answer, to the next place.

    Attributes:
        calls: what is called next at each place; ("ended", how) at an end.
    """

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make
        self._histories: list[tuple[Any, ...]] = []
        self._stopped: list[Any] = []
        self._again: list[tuple[int, tuple[Any, ...]]] = []
        self.calls: list[Call] = []
        self._nodes: dict[Any, int] = {}
        self._next: dict[tuple[int, Any], int] = {}
        self._at(())

    def step(self, node: int, answer: Any) -> int:
        """Return where an answer leads to."""
        step = (node, answer)
        if step not in self._next:
            # The generator goes on once; the other ways from there are run from the start.
            generator, self._stopped[node] = self._stopped[node], None
            self._next[step] = self._at((*self._histories[node], answer), generator)
        return self._next[step]

    def check(self) -> int:
        """Check that the way to a place does not matter: who has come another way goes on as the table says.

        Returns how many did.

        Raises:
            Violation: an instance knows something that its frames do not show.
        """
        answers: dict[int, list[Any]] = {}
        for node, answer in self._next:
            answers.setdefault(node, []).append(answer)
        checked = 0
        for node, history in self._again:
            for answer in answers.get(node, ()):
                call, place, _ = self._run((*history, answer))
                if self._nodes.get(place) != self._next[node, answer]:
                    raise Violation(f"behind {history} and {answer} comes {call}, which the frames do not tell")
                checked += 1
        return checked

    def _at(self, history: tuple[Any, ...], generator: Any = None) -> int:
        call, place, generator = self._run(history, generator)
        if place in self._nodes:
            self._again.append((self._nodes[place], history))
        else:
            self._nodes[place] = len(self.calls)
            self.calls.append(call)
            self._histories.append(history)
            self._stopped.append(generator)
        return self._nodes[place]

    def _run(self, history: tuple[Any, ...], generator: Any = None) -> tuple[Call, Any, Any]:
        """Run from the start; or one answer further, if a generator is given that stands before it."""
        try:
            if generator is None:
                generator = self._make()
                call = next(generator)
            else:
                history = history[-1:]
            for answer in history:
                call = generator.throw(_raised(answer)) if isinstance(answer, type) else generator.send(answer)
        except StopIteration:
            call = ("ended", "done")
            return call, call, None
        except Exception as error:
            if type(error).__name__ != "Ended":
                raise
            call = ("ended", *error.args)
            return call, call, None
        return call, (call, frames(generator)), generator


def _raised(kind: type[BaseException]) -> BaseException:
    return Lost(RuntimeError("2009")) if kind is Lost else kind()


class Explorer:
    """Explores one scenario."""

    def __init__(self, scenario: Scenario, protocol: Protocol, reading: Reading) -> None:
        self._scenario = scenario
        self._reading = reading
        self._starts = (*scenario.starts, scenario.last)
        self._bodies = Bodies()
        self._anchors = protocol.anchors
        shipped = programs(protocol)
        self._interrupted: Any = shipped.Interrupted
        self._programs = [
            Program(partial(shipped.owner, World(self._bodies, number, protocol.ways), start.statuses))
            for number, start in enumerate(self._starts, 1)
        ]
        self._statuses = sorted({status for start in self._starts for status in start.statuses})
        self._gets = "G" in self._statuses
        self._puts = any(status != "G" for status in self._statuses)
        self._exceptions: list[Any] = [Lost] * scenario.losses + [shipped.Interrupted] * scenario.interruptions
        self._unseen: dict[tuple[int, int], bool] = {}
        self._checked: dict[tuple[tuple[str, Body], ...], str] = {}

    # --- all states

    def explore(self, most: int = 5_000_000) -> Explored:
        """Visit every state, nearest first, until something does not hold."""
        # Nothing here is in a circle, and the collector would look for one through all states again and again.
        collects = gc.isenabled()
        gc.disable()
        try:
            return self._explore(most)
        finally:
            if collects:
                gc.enable()

    def _explore(self, most: int) -> Explored:
        first = self._first()
        numbers = {first: 0}
        states = [first]
        came: list[tuple[int, Event] | None] = [None]
        freely: list[list[int]] = [[]]
        ends: list[int] = []
        at = 0
        while at < len(states):
            state = states[at]
            free = ended = False
            try:
                for event, after in self._successors(state):
                    number = numbers.get(after)
                    if number is None:
                        number = numbers[after] = len(states)
                        states.append(after)
                        came.append((at, event))
                        freely.append([])
                        self._check(after.queue_manager)
                    if not event.fault and number != at:
                        free = True
                        freely[number].append(at)
                ended = not free
                if ended:
                    self._check_end(state)
                    ends.append(at)
            except _Found as found:
                return Explored(len(states), str(found), [*_trace(came, at), found.event])
            except Violation as violation:
                return Explored(len(states), str(violation), _trace(came, at if ended else len(states) - 1))
            if len(states) > most:
                raise MemoryError(f"more than {most} states")
            at += 1
        stuck = _not_reached(freely, ends)
        if stuck is not None:
            return Explored(len(states), "no end can be reached without another fault", _trace(came, stuck))
        return Explored(len(states))

    def _first(self) -> State:
        incoming = [Message("IN", ("m", INCOMING, number)) for number in range(1, LENGTH + 1)] if self._gets else []
        instances = tuple(Instance(0) for _ in self._starts)
        return State(QueueManager(tuple(sorted(incoming))), instances, self._scenario.faults)

    # --- steps

    def _successors(self, state: State) -> Iterator[tuple[Event, State]]:
        for number in range(len(self._starts)):
            if self._may_run(state, number):
                yield from self._calls(state, number)
        yield from self._clean_up(state)

    def _clean_up(self, state: State) -> Iterator[tuple[Event, State]]:
        for after, ghost, what in state.queue_manager.clean_up(self._reading):
            number = ghost.connection[0] - 1
            event = Event("queue manager", "", f"connection {ghost.connection[1]} of {self._name(number)}", what)
            instances = state.instances
            if what.startswith("MQCMIT"):
                done = what.endswith("effect")
                if done:
                    instances = self._after_commit(state, number, ghost.connection, ghost.committing, event)
                fate = "committed" if done else "backed out"
                one = instances[number]
                if one.fate == f"under way by {ghost.connection[1]}":
                    instances = _with(instances, number, one._replace(fate=fate))
                elif done and one.fate == f"not by {ghost.connection[1]}":
                    self._found("a commit that was concluded to be backed out took effect", event)
            yield event, State(after, instances, state.faults)

    def _may_run(self, state: State, number: int) -> bool:
        if self._has_ended(state, number):
            return False
        before = range(number)
        if number >= len(self._scenario.starts):
            return all(self._has_ended(state, other) for other in before)
        return number == 0 or state.instances[number - 1].begun

    def _has_ended(self, state: State, number: int) -> bool:
        node = state.instances[number].node
        return node < 0 or self._programs[number].calls[node][0] == "ended"

    def _calls(self, state: State, number: int) -> Iterator[tuple[Event, State]]:
        queue_manager, one = state.queue_manager, state.instances[number]
        call = self._programs[number].calls[one.node]
        connection = (number + 1, one.connection)
        if one.cut:
            yield self._loses(state, number, "2009", queue_manager, state.instances, "")
            return
        if call[0] in ("MQGET", "MQPUT") and call[1] in self._statuses:
            assert any(h[:2] == (call[1], connection) for h in queue_manager.handles), call
        for after, answer in queue_manager.perform(connection, call):
            event = self._event(number, call, answer if isinstance(answer, str) else OK)
            instances = state.instances
            if call[0] == "MQCMIT":
                instances = self._after_commit(state, number, connection, call[2], event)
            moved = instances[number]._replace(node=self._programs[number].step(one.node, answer), begun=True)
            yield self._on(State(after, _with(instances, number, moved), state.faults), number, event)
        if not state.faults or number >= len(self._scenario.starts) or not one.begun:
            return
        spent = state._replace(faults=state.faults - 1)
        commits = call[2] if call[0] == "MQCMIT" else ""
        if self._scenario.kills:
            killed = _with(state.instances, number, Instance(-1, True))
            lost = queue_manager.lost(connection)
            yield (
                self._event(number, call, "killed before it", "kill before"),
                spent._replace(queue_manager=lost, instances=killed),
            )
            if commits:
                yield (
                    self._event(number, call, "killed in it", "kill in"),
                    spent._replace(queue_manager=queue_manager.lost(connection, commits), instances=killed),
                )
        if self._scenario.interruptions:
            event = self._event(number, call, "interrupted before it", "interrupt before")
            fate = "backed out" if commits else one.fate
            yield self._ends(spent, number, self._interrupted, queue_manager, one._replace(fate=fate), event)
            for after, _ in queue_manager.perform(connection, call):
                if after != queue_manager:
                    event = self._event(number, call, "interrupted after it", "interrupt after")
                    instances = state.instances
                    if commits:
                        instances = self._after_commit(state, number, connection, commits, event)
                        fate = "committed"
                    yield self._ends(
                        spent._replace(instances=instances),
                        number,
                        self._interrupted,
                        after,
                        instances[number]._replace(fate=fate),
                        event,
                    )
        if self._scenario.losses:
            if not queue_manager.is_free(connection):
                cut = _with(state.instances, number, one._replace(cut=True))
                yield (
                    self._event(number, call, "its connection is dropped before it", "drop before"),
                    spent._replace(queue_manager=queue_manager.lost(connection), instances=cut),
                )
            if commits:
                yield self._loses(
                    spent, number, "2009", queue_manager.lost(connection, commits), state.instances, "lose answer"
                )
            else:
                for after, _ in queue_manager.perform(connection, call):
                    if after != queue_manager:
                        yield self._loses(spent, number, "2009", after.lost(connection), state.instances, "lose answer")

    def _loses(
        self,
        state: State,
        number: int,
        reason: str,
        queue_manager: QueueManager,
        instances: tuple[Instance, ...],
        fault: str,
    ) -> tuple[Event, State]:
        one = instances[number]
        program = self._programs[number]
        call = program.calls[one.node]
        event = self._event(number, call, reason, fault)
        others = (n for n in range(99) if n != one.connection or not fault)
        connection = next(n for n in others if queue_manager.is_free((number + 1, n)))
        fate = f"under way by {one.connection}" if fault and call[0] == "MQCMIT" else one.fate
        moved = one._replace(node=program.step(one.node, Lost), connection=connection, cut=False, fate=fate)
        return self._on(State(queue_manager, _with(instances, number, moved), state.faults), number, event)

    def _on(self, state: State, number: int, event: Event) -> tuple[Event, State]:
        """Go over the notes that an instance makes before its next call, and over calls that nobody sees."""
        state = self._noted(state, number, event)
        program = self._programs[number]
        then: tuple[Event, ...] = ()
        while self._is_unseen(number, state.instances[number].node):
            one = state.instances[number]
            call = program.calls[one.node]
            ((after, answer),) = state.queue_manager.perform((number + 1, one.connection), call)
            then = (*then, self._event(number, call, answer))
            moved = one._replace(node=program.step(one.node, answer))
            state = State(after, _with(state.instances, number, moved), state.faults)
        return event._replace(then=then) if then else event, state

    def _is_unseen(self, number: int, node: int) -> bool:
        """Whether a call is an MQPUT, and a fault at it leads to the same place as the same fault at the next call.

        Nobody sees what is put before it is committed, so it does not matter when it is put.
        """
        key = number, node
        if key not in self._unseen:
            program = self._programs[number]
            self._unseen[key] = False
            if program.calls[node][0] == "MQPUT":
                after = program.step(node, OK)
                self._unseen[key] = program.calls[after][0][:2] == "MQ" and all(
                    program.step(node, how) == program.step(after, how) for how in self._exceptions
                )
        return self._unseen[key]

    def _ends(
        self, state: State, number: int, how: Any, queue_manager: QueueManager, one: Instance, event: Event
    ) -> tuple[Event, State]:
        """End a call by an exception."""
        moved = one._replace(node=self._programs[number].step(one.node, how))
        return self._on(State(queue_manager, _with(state.instances, number, moved), state.faults), number, event)

    def _after_commit(
        self, state: State, number: int, connection: tuple[int, int], what: str, event: Event
    ) -> tuple[Instance, ...]:
        queue_manager = state.queue_manager
        # A claim that takes effect late takes nobody's place: it finds its queue as another's.
        in_time = any(handle[1] == connection for handle in queue_manager.handles)
        lives = [("got", connection), ("put", connection)][: 1 + in_time]
        touched = {m.queue for m in queue_manager.messages if m.life in lives and m.queue in self._statuses}
        instances = state.instances
        if what == "unit of work" and instances[number].replaced:
            self._found("a unit of work is committed by an instance that was replaced", event)
        for other, one in enumerate(instances):
            # Who takes away what says nothing is in nobody's place.
            if what != "close" and other != number and one.owns and touched & set(self._starts[other].statuses):
                instances = _with(instances, other, one._replace(replaced=True))
        return instances

    def _found(self, what: str, event: Event) -> None:
        raise _Found(what, event)

    def _noted(self, state: State, number: int, event: Event) -> State:
        """Go over the notes an instance makes before its next call, and over its end."""
        program = self._programs[number]
        while program.calls[state.instances[number].node][0] == "note":
            one = state.instances[number]
            _, what, value = program.calls[one.node]
            if what == "stops":
                self._found(f"{self._name(number)} stops for an operator: {value}", event)
            if what == "owns":
                one = one._replace(owns=True, replaced=False, fate="")
            elif what == "ownership lost" and not one.replaced:
                self._found(f"{self._name(number)} is told it has lost its ownership, and has not", event)
            elif what == "committed" and one.owns and one.fate != "committed":
                self._found(f"{self._name(number)} takes a unit of work for committed that was not", event)
            elif what == "backed out" and one.fate == "committed":
                self._found(f"{self._name(number)} takes a unit of work for backed out that was committed", event)
            elif what == "done" and value is not None and len(self._group(state.queue_manager, value)) != LENGTH:
                self._found(f"{self._name(number)} is done, and its group is not whole", event)
            if what in ("committed", "backed out"):
                one = one._replace(fate=one.fate.replace("under way", "not") if "by" in one.fate else "")
            one = one._replace(node=program.step(one.node, None))
            state = state._replace(instances=_with(state.instances, number, one))
        if program.calls[state.instances[number].node][0] == "ended":
            one = state.instances[number]
            after = state.queue_manager
            if not one.cut:
                after = after.disconnected((number + 1, one.connection))
            state = State(after, _with(state.instances, number, Instance(one.node, True)), state.faults)
        return state

    # --- what has to hold

    def _group(self, queue_manager: QueueManager, group: int) -> list[int]:
        return sorted(body[2] for body in queue_manager.committed("OUT") if body[1] == group)

    def _check(self, queue_manager: QueueManager) -> None:
        committed = tuple(message for message in queue_manager.messages if not message.life or message.life[0] == "got")
        key = tuple((message.queue, message.body) for message in committed)
        if key not in self._checked:
            self._checked[key] = self._wrong(queue_manager)
        if self._checked[key]:
            raise Violation(self._checked[key])

    def _wrong(self, queue_manager: QueueManager) -> str:
        said: dict[str, list[Any]] = {"G": [], "P": []}
        for status in self._statuses:
            bodies = queue_manager.committed(status)
            records, anchors = records_of(bodies), [body for body in bodies if body[0] == "A"]
            if self._anchors and len(records) != len(anchors):
                return f"status queue {status}: {len(records)} records, {len(anchors)} anchors"
            if self._anchors and sorted(map(self._bodies.pair, records)) != sorted(map(self._bodies.pair, anchors)):
                return f"status queue {status}: an anchor is not its record's"
            said["G" if status == "G" else "P"] += [says for body in records if (says := self._bodies.says(body))]
        if self._gets:
            left = sorted(body[2] for body in queue_manager.committed("IN"))
            position = LENGTH - len(left)
            if left != list(range(position + 1, LENGTH + 1)):
                return f"of the incoming group there is {left}"
            if said["G"] != ([(INCOMING, position)] if 0 < position < LENGTH else []):
                return f"of the incoming group there is {left}, and records say {said['G']}"
            if self._puts and position != len(queue_manager.committed("OUT")):
                return f"{position} messages were got, {len(queue_manager.committed('OUT'))} put"
        if self._puts:
            groups = {body[1]: self._group(queue_manager, body[1]) for body in queue_manager.committed("OUT")}
            for group, there in groups.items():
                if there != list(range(1, len(there) + 1)) or len(there) > LENGTH:
                    return f"of group {group} there is {there}"
            interrupted = [(group, len(there)) for group, there in groups.items() if len(there) < LENGTH]
            if sorted(said["P"]) != sorted(interrupted):
                return f"interrupted are (group, position) {interrupted}, and records say {said['P']}"
        return ""

    def _check_end(self, state: State) -> None:
        messages = state.queue_manager.messages
        if not all(self._has_ended(state, number) for number in range(len(self._starts))) or state.queue_manager.ghosts:
            raise Violation("somebody waits for ever")
        if any(message.life != COMMITTED for message in messages) or state.queue_manager.handles:
            raise Violation("something is left open at the end")
        lying = [body for status in self._statuses for body in records_of(state.queue_manager.committed(status))]
        if any(map(self._bodies.says, lying)):
            raise Violation("a group is interrupted at the end, and nobody goes on with it")

    # --- words

    def check_programs(self) -> int:
        """Check the tables of all programs; see ``Program.check``."""
        return sum(program.check() for program in self._programs)

    def _name(self, number: int) -> str:
        return self._starts[number].name

    def _event(self, number: int, call: Call, outcome: str, fault: str = "") -> Event:
        verb, queue, *more = call
        words: dict[Any, str] = {"browse": "MQGET browse", "browse on": "MQGET browse"}
        detail = ""
        if verb in ("MQPUT", "MQGET"):
            detail = self._bodies.words(more[0])
        elif verb == "MQCMIT":
            detail = more[0]
        return Event(self._name(number), words.get(verb, str(verb)), f"{queue} {detail}".strip(), outcome, fault)


class _Found(Violation):
    def __init__(self, what: str, event: Event) -> None:
        super().__init__(what)
        self.event = event


def _with(instances: tuple[Instance, ...], number: int, one: Instance) -> tuple[Instance, ...]:
    return (*instances[:number], one, *instances[number + 1 :])


def _trace(came: list[tuple[int, Event] | None], at: int) -> list[Event]:
    trace: list[Event] = []
    while (step := came[at]) is not None:
        at, event = step
        trace += [*event.then[::-1], event]
    return trace[::-1]


def _not_reached(freely: list[list[int]], ends: list[int]) -> int | None:
    """Return the first state from which no end is reached, going back from the ends."""
    reached = bytearray(len(freely))
    waiting = deque(ends)
    for end in ends:
        reached[end] = 1
    while waiting:
        for before in freely[waiting.popleft()]:
            if not reached[before]:
                reached[before] = 1
                waiting.append(before)
    return None if all(reached) else reached.index(0)
