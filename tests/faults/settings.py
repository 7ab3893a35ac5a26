"""A phase: a program is cut off, and started again with other settings.

``settings get stream=no,poison=quarantine,... stream=yes,poison=halt,... drop-before@31``: role, the settings until a connection
is lost for good, those of the later starts, and where it is lost. Each setting is valid alone.

Other settings finish the group, or they are refused before anything is done (ConfigurationError), and the first ones finish it.
A consumer's application fails at one message again and again, until it is corrected; so consumers stop at the message, or
move it with the rest of its group. At the end each message was processed once, or is whole on the backout queue.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import mqgroups
from mqembedded import Fault
from mqgroups.errors import ConfigurationError, GroupQuarantined, MQGroupsError
from tests.faults.application import BACKOUT_QUEUE, MODEL, Application
from tests.faults.cases import fault_at
from tests.faults.extents import Sample, Task, split
from tests.faults.machine import Machine
from tests.faults.pattern import SEGMENT_BYTES, Pattern, changed, cut, wrong_with_groups
from tests.faults.poison_program import make_queue_with_backouts
from tests.faults.programs import PipeProgram, PutProgram
from tests.faults.reader import PROGRAM, Reader
from tests.faults.result import Result
from tests.faults.site import Site

PHASE = "settings"
_COMMON = {"layout": ("classic", "segmented"), "every": ("1", "3")}
AXES: dict[str, dict[str, tuple[str, ...]]] = {
    "get": {
        **_COMMON,
        "stream": ("no", "yes"),
        "poison": ("halt", "quarantine"),
        "complete": ("no", "yes"),
    },
    "put": {**_COMMON, "segments": ("no", "yes"), "response": ("sync", "async")},
    "pipe": {**_COMMON, "response": ("sync", "async"), "poison": ("halt", "quarantine"), "complete": ("no", "yes")},
}
# How often the first settings are started at most, and when the application is corrected.
_FIRST_STARTS, _CORRECTED_AFTER, _MOST_STARTS = 6, 10, 20
_MOST_CALLS = 250
_BAD = 3


class _Failed(Exception):
    """The application fails at a message."""


def _valid(role: str) -> list[str]:
    axes = AXES[role]
    every = (dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values()))
    return [
        ",".join(f"{name}={value}" for name, value in one.items())
        for one in every
        if one.get("stream") != "yes" or one["poison"] == "halt"
    ]


def _arguments(text: str) -> dict[str, Any]:
    """Return the arguments of the factory."""
    given = dict(each.split("=") for each in text.split(","))
    names = {"layout": "status_layout", "every": "commit_every", "stream": "stream", "poison": "poison"}
    names |= {"complete": "complete_groups_only", "segments": "segment_bytes", "response": "put_response"}
    values: dict[str, Any] = {"yes": True, "no": False, "1": 1, "3": 3}
    arguments = {names[name]: values.get(value, value) for name, value in given.items()}
    if "segment_bytes" in arguments:
        arguments["segment_bytes"] = SEGMENT_BYTES if arguments["segment_bytes"] else None
    return arguments


class _Settled(Application):
    """An application whose settings are given, and which fails at a message until it is corrected."""

    arguments: dict[str, Any]
    is_corrected = False

    def _settings(self) -> dict[str, Any]:
        return {"name": self.name, "owner_wait_s": self.patience_s, **self.arguments}

    def _fails_at(self, number: int) -> None:
        if number == _BAD and not self.is_corrected:
            raise _Failed


class _Put(_Settled, PutProgram):
    def _make(self, connection: mqgroups.QueueManager) -> Any:
        return connection.group_producer(self.queue, full_wait_s=0.2, **self._settings())


class _Get(_Settled):
    owner = "get"

    def prepare(self, reader: Reader) -> None:
        make_queue_with_backouts(reader, self.queue)
        reader.put_group(self.queue, [cut(payload, self.pattern.segmented) for payload in self._payloads])

    def _make(self, connection: mqgroups.QueueManager) -> Any:
        return connection.group_consumer(self.queue, wait_s=0, group_wait_s=self.patience_s, **self._settings())

    def work(self, consumer: Any) -> None:
        self.notes.cut(consumer.checkpoint or 0)
        handled = len(self.notes.lines())
        for group in consumer:
            for message in group:
                self._fails_at(message.msg_seq_number)
                chunks = message.chunks() if self.arguments["stream"] else cut(message.data, self.pattern.segmented)
                for chunk in chunks:
                    self.notes.write(chunk)
                    handled += 1
                    group.set_checkpoint(handled)

    def wrong(self, reader: Reader) -> str:
        if left := reader.browse(self.queue):
            return f"{len(left)} messages left on the queue"
        moved = [
            one.data for one in sorted(reader.browse(BACKOUT_QUEUE), key=lambda one: (one.msg_seq_number, one.offset))
        ]
        # A segmented message that is moved whole lies there as one.
        expected = sorted(chunk for payload in self._payloads for chunk in cut(payload, self.pattern.segmented))
        there = sorted([*self.notes.lines(), *(chunk for data in moved for chunk in cut(data, self.pattern.segmented))])
        return "" if there == expected else f"processed {self.notes.lines()}, moved {moved}"


class _Pipe(_Settled, PipeProgram):
    def prepare(self, reader: Reader) -> None:
        make_queue_with_backouts(reader, self.queue)
        reader.put_group(self.queue, [cut(payload, self.pattern.segmented) for payload in self._payloads])
        reader.make_queue(self.target, MODEL)

    def _make(self, connection: mqgroups.QueueManager) -> Any:
        settings = self._settings()
        return connection.group_pipe(
            self.queue, self.target, wait_s=0, group_wait_s=self.patience_s, full_wait_s=0.2, **settings
        )

    def work(self, pipe: Any) -> None:
        for incoming, outgoing in pipe:
            for message in incoming:
                self._fails_at(message.msg_seq_number)
                outgoing.put(changed(message.data))

    def wrong(self, reader: Reader) -> str:
        if left := reader.browse(self.queue):
            return f"{len(left)} messages left on the queue"
        moved = reader.browse(BACKOUT_QUEUE)
        made = [one for one in reader.browse(self.target) if one.data]
        if not moved:
            return wrong_with_groups(reader.browse(self.target), self._changed, 1)
        there = [changed(one.data) for one in made] + [one.data for one in moved]
        return "" if there == self._payloads else f"made {made}, moved {moved}"


PROGRAMS: dict[str, type[Any]] = {"put": _Put, "get": _Get, "pipe": _Pipe}


def run(site: Site, role: str, first: str, then: str, fault: str) -> Result:
    """Run a case."""
    machine = site.single()
    pattern = Pattern(role, "classic", True, 5, 2)
    program = machine.program(pattern, kind=PROGRAMS[role])
    program.patience_s = 1
    result = Result(runs=1)
    with machine.prepared(program), machine.deadline(result):
        result.calls = machine.watch.begin(None, None).calls
        machine.qmgr.arm(_for_program(fault))
        _until_done(machine, program, _arguments(first), _arguments(then), result)
        result.fired = machine.fired() or 0
        machine.look(program, result)
    return result


def _for_program(fault: str) -> Fault:
    given = fault_at(fault)
    return Fault(given.action, given.when, given.nth, appl_name=PROGRAM)


def _until_done(machine: Machine, program: Any, first: dict[str, Any], then: dict[str, Any], result: Result) -> None:
    refused = False
    while result.starts < _MOST_STARTS:
        result.starts += 1
        is_first = (result.starts <= _FIRST_STARTS and not machine.fired()) or refused
        program.arguments = first if is_first else then
        program.is_corrected = result.starts > _CORRECTED_AFTER
        ended = False
        try:
            with machine.connect(once=True) as connection, program.make(connection) as owner:
                while not program.done:
                    try:
                        program.work(owner)
                        program.is_done()
                    except GroupQuarantined:
                        continue
                program.forget(owner)
            ended = True
        except _Failed:
            result.note(result.outcomes, "failed")
        except ConfigurationError as error:
            if is_first:
                result.wrong.append(f"the settings that began are refused: {error}")
            refused = True
            result.note(result.outcomes, "refused")
        except MQGroupsError as error:
            result.note(result.errors, type(error).__name__)
        machine.wait_until_closed(program)
        # Who loses the connection in closing leaves a record that says nothing, and the next start takes it away.
        if ended and not program.left_behind(machine.reader):
            return
    result.wrong.append(f"not done after {_MOST_STARTS} starts: {result.errors}")


def tasks(share: float, sample: Sample) -> Iterator[Task]:
    """Yield each pair of settings, and where the first ones are cut off, which is drawn."""
    for role in AXES:
        pairs = itertools.permutations(_valid(role), 2)
        cases = []
        for what in sample.of((f"{PHASE} {role} {first} {then}" for first, then in pairs), share):
            draw = sample.drawing(f"{what} where")
            cases.append(f"{what} drop-{draw.choice(('before', 'after'))}@{draw.randint(8, _MOST_CALLS)}")
        yield from split(PHASE, f"{PHASE} {role}", cases)


NAMES = tuple(f"{PHASE} {role}" for role in AXES)
