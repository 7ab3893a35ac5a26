"""The applications of the campaign: what they do, and what has to be true when they are done.

They do what an application should. A producer learns from its group where to go on; a consumer writes down what it handled
and, when it starts, cuts that back to its checkpoint.

A new pattern is a class like ``PutProgram`` in a module of its own, and its name in ``patterns.py``.
"""

from __future__ import annotations

from typing import Any

import mqgroups
from mqgroups.core.modes import Bind
from tests.faults.application import MODEL, Application
from tests.faults.pattern import (
    SEGMENT_BYTES,
    Pattern,
    changed,
    cut,
    key_of,
    wrong_with_groups,
    wrong_with_handled,
    wrong_with_whole_groups,
)
from tests.faults.reader import Reader, got_so_far, places_of, put_so_far

# A queue that stays full is waited for so long.
_FULL_WAIT_S = 0.2


class PutProgram(Application):
    """Puts groups. Its checkpoint is the number of the group and of the message in it, so it knows what is complete.

    The messages in the middle of a group have no checkpoint, so that they are put like most messages are.
    """

    owner = "put"
    bind: Bind = "group"

    @property
    def opened(self) -> str:
        """The name by which it opens its queue."""
        return self.queue

    def prepare(self, reader: Reader) -> None:
        self._make_queue(reader)

    def _make(self, connection: mqgroups.QueueManager) -> Any:
        segment_bytes = SEGMENT_BYTES if self.pattern.segmented else None
        settings = self._settings()
        return connection.group_producer(
            self.opened,
            segment_bytes=segment_bytes,
            full_wait_s=_FULL_WAIT_S,
            bind=self.bind,
            put_response=self.pattern.put_response,
            **settings,
        )

    def work(self, producer: Any) -> None:
        group_number, message_number = producer.checkpoint or (1, 0)
        if message_number == len(self._payloads):
            group_number += 1
        for number in range(group_number, self.pattern.groups + 1):
            with producer.group() as group:
                self.hand["group"] = group
                for count, payload in enumerate(self._payloads[group.resume_from :], group.resume_from + 1):
                    if count in (1, len(self._payloads)):
                        group.set_checkpoint([number, count])
                    group.put(payload)

    def progress(self, reader: Reader, group_id: bytes) -> tuple[int, int]:
        return put_so_far(reader.browse(self.queue), group_id)

    def wrong(self, reader: Reader) -> str:
        seen = reader.browse(self.queue)
        if self.instances:
            self.places = places_of(seen)
        return wrong_with_groups(seen, self._payloads, self.pattern.groups)

    def wrong_on_the_way(self, reader: Reader) -> str:
        return wrong_with_whole_groups(reader.browse(self.queue), self._payloads)


class GetProgram(Application):
    """Gets groups until there are none, and writes down the data of each message. Its checkpoint counts the lines."""

    owner = "get"

    def prepare(self, reader: Reader) -> None:
        self._make_queue(reader)
        for _ in range(self.pattern.groups):
            messages = [cut(payload, self.pattern.segmented) for payload in self._payloads]
            reader.put_group(self.queue, messages, backwards=self.pattern.backwards)

    def _make(self, connection: mqgroups.QueueManager) -> Any:
        return connection.group_consumer(
            self.queue,
            wait_s=self.wait_s,
            group_wait_s=self.patience_s,
            stream=self.pattern.segmented,
            **self._settings(),
        )

    def work(self, consumer: Any) -> None:
        self.notes.cut(consumer.checkpoint or 0)
        handled = len(self.notes.lines())
        groups = self.hand["groups"] = iter(consumer)
        for group in groups:
            messages = self.hand["messages"] = iter(group)
            for message in messages:
                for chunk in message.chunks():
                    self.notes.write(b"%s %s" % (key_of(group), chunk))
                    handled += 1
                    group.set_checkpoint(handled)

    def progress(self, reader: Reader, group_id: bytes) -> tuple[int, int]:
        return got_so_far(reader.browse(self.queue), group_id, len(self._payloads))

    def wrong(self, reader: Reader) -> str:
        left = reader.browse(self.queue)
        if left:
            return f"{len(left)} messages left on the queue"
        return wrong_with_handled(self.notes.lines(), self.pattern)

    def wrong_on_the_way(self, reader: Reader) -> str:
        doubled = wrong_with_whole_groups(reader.browse(self.queue), None)
        return doubled or wrong_with_handled(self.notes.lines(), self.pattern, complete=False)


class PipeProgram(GetProgram):
    """Gets groups from one queue and puts them, each message changed, to another, in the same units of work."""

    def __init__(self, pattern: Pattern, queue: str, name: str) -> None:
        super().__init__(pattern, queue, name)
        self.target = f"{queue}.OUT"
        self.others = (self.target, f"MQGROUPS.PUT.{name}")

    @property
    def status_queues(self) -> tuple[str, ...]:
        return self.status_queue, self.others[-1]

    def prepare(self, reader: Reader) -> None:
        super().prepare(reader)
        reader.make_queue(self.target, MODEL)

    def _make(self, connection: mqgroups.QueueManager) -> Any:
        return connection.group_pipe(
            self.queue,
            self.target,
            wait_s=self.wait_s,
            group_wait_s=self.patience_s,
            full_wait_s=_FULL_WAIT_S,
            put_response=self.pattern.put_response,
            **self._settings(),
        )

    def work(self, pipe: Any) -> None:
        groups = self.hand["groups"] = iter(pipe)
        for incoming, outgoing in groups:
            self.hand["outgoing"] = outgoing
            messages = self.hand["messages"] = iter(incoming)
            for message in messages:
                outgoing.put(changed(message.data))

    def wrong(self, reader: Reader) -> str:
        left = reader.browse(self.queue)
        if left:
            return f"{len(left)} messages left on the queue"
        return wrong_with_groups(reader.browse(self.target), self._changed, self.pattern.groups)

    def wrong_on_the_way(self, reader: Reader) -> str:
        return wrong_with_whole_groups(reader.browse(self.target), self._changed)

    @property
    def _changed(self) -> list[bytes]:
        return [changed(payload) for payload in self._payloads]
