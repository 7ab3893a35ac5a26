"""The applications of the campaign that have poison: a message that never decodes, and one that they never can process."""

from __future__ import annotations

from typing import Any

from mqgroups.errors import GroupQuarantined, NotDecoded
from tests.faults.application import BACKOUT_MODEL, BACKOUT_QUEUE
from tests.faults.pattern import Pattern
from tests.faults.programs import GetProgram
from tests.faults.reader import Reader

_UNDECODABLE, _IMPOSSIBLE = b"undecodable", b"impossible"
# The second one of a unit of work: it takes an innocent one along, which is then processed alone, and must not be convicted by
# what is done to the program at that moment.
_BAD = 4


def make_queue_with_backouts(reader: Reader, name: str) -> None:
    """Make a queue whose poison goes to the backout queue, which all of them share, so one after the other."""
    reader.make_queue(name, BACKOUT_MODEL)
    reader.take(BACKOUT_QUEUE, 100)


class _Failed(Exception):
    """The application fails at a message."""


class _Codec:
    @staticmethod
    def decode(data: bytes) -> bytes:
        if data == _UNDECODABLE:
            raise NotDecoded("it is not")
        return data


class QuarantinedProgram(GetProgram):
    """Gets a group with a message that does not decode, one with a message that is never processed, and good ones.

    The rest of a bad group goes to the backout queue, from the bad message on.
    """

    def __init__(self, pattern: Pattern, queue: str, name: str) -> None:
        super().__init__(pattern, queue, name)
        self._moved: list[tuple[bytes, int, bytes]] = []
        self._handled: list[bytes] = []

    def prepare(self, reader: Reader) -> None:
        make_queue_with_backouts(reader, self.queue)
        for bad in (_UNDECODABLE, _IMPOSSIBLE, *[b""] * self.pattern.groups):
            messages = [*self._payloads[: _BAD - 1], bad or self._payloads[_BAD - 1], *self._payloads[_BAD:]]
            group_id = reader.put_group(self.queue, [[data] for data in messages])
            for number, data in enumerate(messages, 1):
                if bad and number >= _BAD:
                    self._moved.append((group_id, number, data))
                else:
                    self._handled.append(line(group_id, data))

    def _settings(self) -> dict[str, Any]:
        return {**super()._settings(), "codec": _Codec, "poison": "quarantine"}

    def work(self, consumer: Any) -> None:
        while True:
            try:
                self._get(consumer)
                return
            except (_Failed, GroupQuarantined):
                continue

    def _get(self, consumer: Any) -> None:
        self.notes.cut(consumer.checkpoint or 0)
        handled = len(self.notes.lines())
        for group in consumer:
            for message in group:
                if message.value == _IMPOSSIBLE:
                    raise _Failed
                self.notes.write(line(group.group_id, message.value))
                handled += 1
                group.set_checkpoint(handled)

    def wrong(self, reader: Reader) -> str:
        if left := reader.browse(self.queue):
            return f"{len(left)} messages left on the queue"
        moved = [(one.group_id, one.msg_seq_number, one.data) for one in reader.browse(BACKOUT_QUEUE)]
        # Two faults while the innocent one is alone, such as a lost connection and a kill, look like its own failures.
        innocent = [each for each in moved if each[1] == _BAD - 1 and each not in self._moved]
        convicted = innocent if self.faults > 1 else []
        if [each for each in moved if each not in convicted] != self._moved or len(convicted) > 1:
            return f"moved {moved}, expected {self._moved}"
        handled = [each for each in self._handled if each not in [line(one[0], one[2]) for one in convicted]]
        return "" if _by_group(self.notes.lines()) == _by_group(handled) else self._handled_otherwise

    def wrong_on_the_way(self, reader: Reader) -> str:  # noqa: ARG002 - its notes say it
        expected = _by_group(self._handled)
        as_expected = all(
            those == expected[group][: len(those)] for group, those in _by_group(self.notes.lines()).items()
        )
        return "" if as_expected else self._handled_otherwise

    @property
    def _handled_otherwise(self) -> str:
        return f"handled {self.notes.lines()}, expected {self._handled}"


def _by_group(lines: list[bytes]) -> dict[bytes, list[bytes]]:
    """Return the lines of each group. A group that a unit of work hides for a while is handled after the one behind it."""
    groups: dict[bytes, list[bytes]] = {}
    for each in lines:
        groups.setdefault(each.partition(b" ")[0], []).append(each)
    return groups


def line(group_id: bytes, data: bytes) -> bytes:
    """Return what is written down for a message."""
    return b"%s %s" % (group_id.hex().encode(), data)
