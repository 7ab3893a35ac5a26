"""The application of the campaign whose groups can never be completed: a message of them, or their end, does not come."""

from __future__ import annotations

from typing import Any

import mqgroups
from tests.faults.pattern import cut
from tests.faults.poison_program import QuarantinedProgram, line, make_queue_with_backouts
from tests.faults.reader import Reader

_MISSING = 3


class StalledProgram(QuarantinedProgram):
    """Gets a group with a gap, one without an end, and good ones. The rest of the first goes to the backout queue."""

    def prepare(self, reader: Reader) -> None:
        make_queue_with_backouts(reader, self.queue)
        messages = [cut(payload, self.pattern.segmented) for payload in self._payloads]
        before = self._payloads[: _MISSING - 1]
        with_gap = reader.put_group(self.queue, messages, without=_MISSING)
        without_end = reader.put_group(self.queue, messages[: _MISSING - 1], whole=False)
        self._stalled = {with_gap, without_end}
        handled = [(with_gap, before), (without_end, before)]
        for _ in range(self.pattern.groups):
            handled.append((reader.put_group(self.queue, messages), self._payloads))
        self._handled = [line(group_id, data) for group_id, those in handled for data in those]
        self._moved = [
            (with_gap, number, segment)
            for number, segments in enumerate(messages, 1)
            for segment in segments
            if number > _MISSING
        ]

    def _make(self, connection: mqgroups.QueueManager) -> Any:
        # So long it takes until a lost connection has given back what it had.
        return connection.group_consumer(
            self.queue, wait_s=self.wait_s, group_wait_s=self.wait_s, stalled="quarantine", **self._settings()
        )

    def progress(self, reader: Reader, group_id: bytes) -> tuple[int, int]:
        so_far = super().progress(reader, group_id)
        # What is moved is not processed, so the position stays before the message that is missing.
        return min(so_far, (_MISSING - 1, 0)) if group_id in self._stalled else so_far

    def _settings(self) -> dict[str, Any]:
        return {**super()._settings(), "codec": None, "poison": "halt"}

    def _get(self, consumer: Any) -> None:
        self.notes.cut(consumer.checkpoint or 0)
        handled = len(self.notes.lines())
        for group in consumer:
            for message in group:
                self.notes.write(line(self._named(group), message.data))
                handled += 1
                group.set_checkpoint(handled)

    @staticmethod
    def _named(group: Any) -> bytes:
        """Return what tells groups apart."""
        return group.group_id
