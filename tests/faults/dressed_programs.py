"""Applications of the campaign that use everything at once: properties, a codec, checkpoints, streams, and every hook.

A function that is armed raises once; ``functions.py`` is about that. In all other phases none is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import mqgroups
from mqgroups.errors import GroupAbandoned
from tests.faults.pattern import Pattern, changed, cut
from tests.faults.programs import GetProgram, PipeProgram, PutProgram
from tests.faults.reader import Reader

_NAME, _PROPERTIES = "march", {"customer": "kit", "weight": 7}


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

    # --- a codec

    def encode(self, value: bytes) -> bytes:
        """Return the value as it is."""
        self.call("encode")
        return value

    def decode(self, data: bytes) -> bytes:
        """Return the data as it is."""
        self.call("decode")
        return data


class _Dressed:
    def __init__(self, pattern: Pattern, queue: str, name: str) -> None:
        self.functions = Functions()
        super().__init__(pattern, queue, name)  # type: ignore[call-arg]  # beside a program


class DressedPutProgram(_Dressed, PutProgram):
    """Puts groups with properties. Every second message is a stream, the others are values."""

    def _settings(self) -> dict[str, Any]:
        hooks = self.functions.hooks("on_resume", "on_in_doubt", "on_progress")
        return {**super()._settings(), **hooks, "codec": self.functions}

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
                        group.put_value(payload)
                    else:
                        group.put(self._read(payload), last=count == len(self._payloads))

    def _read(self, payload: bytes) -> Iterator[bytes]:
        for part in cut(payload, segmented=True):
            self.functions.call("stream")
            yield part


class DressedGetProgram(_Dressed, GetProgram):
    """Gets an abandoned group, and groups of messages whose segments it does not see."""

    def prepare(self, reader: Reader) -> None:
        self._make_queue(reader)
        self._abandoned = reader.put_abandoned_group(self.queue)
        for _ in range(self.pattern.groups):
            reader.put_group(self.queue, [cut(payload, self.pattern.segmented) for payload in self._payloads])

    def progress(self, reader: Reader, group_id: bytes) -> tuple[int, int]:
        if group_id != self._abandoned:
            return super().progress(reader, group_id)
        return int(all(seen.group_id != group_id for seen in reader.browse(self.queue))), 0

    def _make(self, connection: mqgroups.QueueManager) -> Any:
        functions = self.functions
        hooks: dict[str, Any] = functions.hooks("on_resume", "on_in_doubt", "on_abandon", "on_progress")
        settings = {**self._settings(), **hooks, "codec": functions}
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
            try:
                for message in group:
                    for chunk in cut(message.value, self.pattern.segmented):
                        self.notes.write(b"%s %s" % (group.group_id.hex().encode(), chunk))
                        handled += 1
                    group.set_checkpoint(handled)
            except GroupAbandoned:
                continue


class DressedPipeProgram(_Dressed, PipeProgram):
    """Gets groups, and puts values that it makes of them, with properties."""

    def _settings(self) -> dict[str, Any]:
        hooks = self.functions.hooks("on_resume", "on_in_doubt", "on_abandon", "on_progress")
        return {**super()._settings(), **hooks, "codec": self.functions}

    def work(self, pipe: Any) -> None:
        groups = self.hand["groups"] = iter(pipe)
        for incoming, outgoing in groups:
            incoming.before_commit(self.functions.at("before_commit of a group"))
            outgoing.set_properties(_PROPERTIES, name=_NAME)
            for message in incoming:
                outgoing.put_value(changed(message.value))
