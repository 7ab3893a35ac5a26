"""The application of the campaign whose partners are not mqgroups (``tests/strangers`` has all of them and no faults)."""

from __future__ import annotations

from typing import Any

from tests.faults.poison_program import line, make_queue_with_backouts
from tests.faults.reader import IN_GROUP, LAST_IN_GROUP, Reader
from tests.faults.stalled_program import StalledProgram

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
_MOVED = (b"taken 3", b"taken 4")


class StrangersProgram(StalledProgram):
    """Gets what partners have put, each group under its key, and has what can never be got put aside."""

    def prepare(self, reader: Reader) -> None:
        make_queue_with_backouts(reader, self.queue)
        key = b""
        for name, number, flags, data in _PUTS:
            group_id = name.ljust(24, b"\0")
            msg_id = reader.put_alone(self.queue, data, group_id, number, flags)
            if number == 1:
                key = group_id + msg_id
            if data in _MOVED:
                self._moved.append((group_id, number, data))
            else:
                self._handled.append(line(key, data))

    def progress(self, reader: Reader, group_id: bytes) -> tuple[int, int]:
        left = [one.data for one in reader.browse(self.queue)]
        own = [data for name, _, _, data in _PUTS if name.ljust(24, b"\0") == group_id and data not in _MOVED]
        return sum(data not in left for data in own), 0

    @staticmethod
    def _named(group: Any) -> bytes:
        return group.key
