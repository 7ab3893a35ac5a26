"""The application of the campaign whose partners are not mqgroups (``tests/strangers`` has all of them and no faults)."""

from __future__ import annotations

from typing import Any

from mqgroups.errors import GroupAbandoned, GroupQuarantined
from tests.faults.application import BACKOUT_QUEUE
from tests.faults.pattern import Pattern
from tests.faults.poison_program import make_queue_with_backouts
from tests.faults.programs import GetProgram
from tests.faults.reader import IN_GROUP, LAST_IN_GROUP, Reader

# How long the rest of a group may take. Nothing that is put before the program starts comes later than that.
_GROUP_WAIT_S = 0.05
_AFFINITY, _TAKEN = b"CUSTOMER-1", b"TAKEN"
# GroupId, number, flags, data: an affinity key; no group; a group that lacks a message; a good one.
_PUTS = (
    (_AFFINITY, 1, IN_GROUP, b"affinity 1"),
    (b"", 1, 0, b"alone"),
    (_TAKEN, 1, IN_GROUP, b"taken 1"),
    (_TAKEN, 3, IN_GROUP, b"taken 3"),
    (_TAKEN, 4, LAST_IN_GROUP, b"taken 4"),
    (b"GOOD", 1, IN_GROUP, b"good 1"),
    (b"GOOD", 2, IN_GROUP, b"good 2"),
    (b"GOOD", 3, LAST_IN_GROUP, b"good 3"),
)
_MOVED = [b"taken 3", b"taken 4"]


class StrangersProgram(GetProgram):
    """Gets what partners have put, each group under its key, and has what can never be got put aside."""

    def __init__(self, pattern: Pattern, queue: str, name: str) -> None:
        super().__init__(pattern, queue, name)
        self._handled: list[bytes] = []

    def prepare(self, reader: Reader) -> None:
        make_queue_with_backouts(reader, self.queue)
        key = b""
        for group_id, number, flags, data in _PUTS:
            msg_id = reader.put_alone(self.queue, data, group_id.ljust(24, b"\0"), number, flags)
            if number == 1:
                key = group_id.ljust(24, b"\0") + msg_id
            if data not in _MOVED:
                self._handled.append(_line(key, data))

    def _settings(self) -> dict[str, Any]:
        return {**super()._settings(), "poison": "quarantine", "stalled": "quarantine"}

    def _make(self, connection: Any) -> Any:
        return connection.group_consumer(self.queue, wait_s=self.wait_s, group_wait_s=_GROUP_WAIT_S, **self._settings())

    def work(self, consumer: Any) -> None:
        while True:
            try:
                self._get(consumer)
                return
            except (GroupAbandoned, GroupQuarantined):
                continue

    def _get(self, consumer: Any) -> None:
        self.notes.cut(consumer.checkpoint or 0)
        handled = len(self.notes.lines())
        groups = self.hand["groups"] = iter(consumer)
        for group in groups:
            messages = self.hand["messages"] = iter(group)
            for message in messages:
                self.notes.write(_line(group.key, message.data))
                handled += 1
                group.set_checkpoint(handled)

    def progress(self, reader: Reader, group_id: bytes) -> tuple[int, int]:
        left = [one.data for one in reader.browse(self.queue)]
        own = [data for of, _, _, data in _PUTS if of.ljust(24, b"\0") == group_id and data not in _MOVED]
        return sum(data not in left for data in own), 0

    def wrong(self, reader: Reader) -> str:
        if left := reader.browse(self.queue):
            return f"{len(left)} messages left on the queue"
        moved = [one.data for one in reader.browse(BACKOUT_QUEUE)]
        if moved != _MOVED:
            return f"moved {moved}, expected {_MOVED}"
        lines = self.notes.lines()
        return "" if lines == self._handled else f"handled {lines}, expected {self._handled}"

    def wrong_on_the_way(self, reader: Reader) -> str:  # noqa: ARG002 - its notes say it
        lines = self.notes.lines()
        return "" if lines == self._handled[: len(lines)] else f"handled {lines}, expected {self._handled}"


def _line(key: bytes, data: bytes) -> bytes:
    return b"%s %s" % (key.hex().encode(), data)
