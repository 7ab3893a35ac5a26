"""Applications of the campaign that use everything at once: properties, a codec, checkpoints, streams, and every hook.

A function that is armed raises once; ``functions.py`` is about that. In all other phases none is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import mqgroups
from mqgroups.errors import GroupAbandoned
from tests.faults.application import Application, Notebook
from tests.faults.pattern import Pattern, changed, cut, key_of
from tests.faults.programs import GetProgram, PipeProgram, PutProgram
from tests.faults.reader import Reader

_NAME, _PROPERTIES = "march", {"customer": "kit"}
_DESCRIBED = {"mqgroups.Name": _NAME, **_PROPERTIES}


class Functions:
    """The application's functions by the place where they are called.

    Attributes:
        armed: place and number of a call, and what is raised then.
        raised: what was raised.
    """

    def __init__(self) -> None:
        self.armed: dict[tuple[str, int], BaseException] = {}
        self.raised: list[BaseException] = []
        self._calls: Counter[str] = Counter()

    def call(self, place: str) -> None:
        """Note a call, and raise what is armed for it."""
        self._calls[place] += 1
        error = self.armed.pop((place, self._calls[place]), None)
        if error is not None:
            self.raised.append(error)
            raise error

    def at(self, place: str) -> Callable[..., None]:
        """Return the function of a place."""
        return lambda *_: self.call(place)

    def hooks(self, *places: str) -> dict[str, Callable[..., None]]:
        """Return the settings of these hooks."""
        return {place: self.at(place) for place in places}

    def decode(self, data: bytes) -> bytes:
        """Return the data as it is: a codec."""
        self.call("decode")
        return data


class _Dressed(Application):
    """Writes down each commit that it is told of, and whatever is not as it was put."""

    hooks: tuple[str, ...]

    def __init__(self, pattern: Pattern, queue: str, name: str) -> None:
        super().__init__(pattern, queue, name)
        self.functions = Functions()
        self._told = Notebook()
        self._odd = Notebook()

    def _settings(self) -> dict[str, Any]:
        hooks = self.functions.hooks("on_resume", "on_in_doubt", *self.hooks)
        codec = {} if isinstance(self, PutProgram) else {"codec": self.functions}
        return {**super()._settings(), **hooks, "on_progress": self._committed, **codec}

    def _committed(self, progress: mqgroups.Progress) -> None:
        self._told.write(b"%d" % progress.unit_of_work)
        self.functions.call("on_progress")

    def wrong(self, reader: Reader) -> str:
        """Each commit is told once by the process that made it. One that was killed or cut off may not have come so far."""
        told = [int(line) for line in self._told.lines()]
        if len(set(told)) < len(told):
            return f"units of work were told of twice: {told}"
        if self.times_there == 1 and told != [*range(1, len(told) + 1)]:
            return f"units of work were not told of: {told}"
        return b"; ".join(self._odd.lines()).decode() or super().wrong(reader)

    def close(self) -> None:
        self._told.close()
        self._odd.close()
        super().close()


def _wrong_with_properties(reader: Reader, queue: str) -> str:
    """Say what keeps the first message of each group, and no other one, from having the properties of the group."""
    described = [*_DESCRIBED.values()]
    found = reader.properties(queue, [*_DESCRIBED])
    wrong = [one for one in found if one[1] != (described if one[0] == 1 else [None] * len(described))]
    return f"properties {wrong}" if wrong else ""


class DressedPutProgram(_Dressed, PutProgram):
    """Puts groups with properties. Every second message is a stream."""

    hooks = ()

    def wrong(self, reader: Reader) -> str:
        return super().wrong(reader) or _wrong_with_properties(reader, self.queue)

    def work(self, producer: Any) -> None:
        group_number, message_number = producer.checkpoint or (1, 0)
        if message_number == len(self._payloads):
            group_number += 1
        for number in range(group_number, self.pattern.groups + 1):
            with producer.group(name=_NAME, properties=_PROPERTIES) as group:
                self.hand["group"] = group
                for count, payload in enumerate(self._payloads[group.resume_from :], group.resume_from + 1):
                    group.set_checkpoint([number, count])
                    if count % 2:
                        group.put(payload)
                    else:
                        group.put(self._read(payload), last=count == len(self._payloads))

    def _read(self, payload: bytes) -> Iterator[bytes]:
        for part in cut(payload, segmented=True):
            self.functions.call("stream")
            yield part


class DressedGetProgram(_Dressed, GetProgram):
    """Gets an abandoned group, and groups of messages whose segments it does not see."""

    hooks = ("on_abandon",)

    def prepare(self, reader: Reader) -> None:
        self._make_queue(reader)
        self._abandoned = reader.put_abandoned_group(self.queue)
        for _ in range(self.pattern.groups):
            messages = [cut(payload, self.pattern.segmented) for payload in self._payloads]
            reader.put_group(self.queue, messages, properties=_DESCRIBED)

    def progress(self, reader: Reader, group_id: bytes) -> tuple[int, int]:
        if group_id != self._abandoned:
            return super().progress(reader, group_id)
        return int(all(seen.group_id != group_id for seen in reader.browse(self.queue))), 0

    def _make(self, connection: mqgroups.QueueManager) -> Any:
        functions, settings = self.functions, self._settings()
        consumer = connection.group_consumer(self.queue, wait_s=self.wait_s, group_wait_s=self.patience_s, **settings)
        consumer.before_commit(functions.at("before_commit"))
        consumer.attach(before_commit=functions.at("sink"), before_forget=functions.at("before_forget"))
        return consumer

    def work(self, consumer: Any) -> None:
        self.notes.cut(consumer.checkpoint or 0)
        handled = len(self.notes.lines())
        groups = self.hand["groups"] = iter(consumer)
        for group in groups:
            group.before_commit(self.functions.at("before_commit of a group"))
            described = {} if group.group_id == self._abandoned else _DESCRIBED
            # An exit for tracing adds one of its own.
            found = {name: value for name, value in group.properties.items() if name != "traceparent"}
            if (group.name, found) != (described.get("mqgroups.Name", ""), described):
                self._odd.write(b"group %r has %r" % (group.name, dict(group.properties)))
            try:
                for message in group:
                    for chunk in cut(message.value, self.pattern.segmented):
                        self.notes.write(b"%s %s" % (key_of(group), chunk))
                        handled += 1
                    group.set_checkpoint(handled)
            except GroupAbandoned:
                continue


class DressedPipeProgram(_Dressed, PipeProgram):
    """Gets groups of values, and puts what it makes of them, with properties."""

    hooks = ("on_abandon",)

    def wrong(self, reader: Reader) -> str:
        return super().wrong(reader) or _wrong_with_properties(reader, self.target)

    def work(self, pipe: Any) -> None:
        groups = self.hand["groups"] = iter(pipe)
        for incoming, outgoing in groups:
            incoming.before_commit(self.functions.at("before_commit of a group"))
            outgoing.set_properties(_PROPERTIES, name=_NAME)
            for message in incoming:
                outgoing.put(changed(message.value))
