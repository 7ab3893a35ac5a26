"""Applications of the campaign whose groups are broken off: abandoned by their producer, or taken apart by their consumer."""

from __future__ import annotations

from typing import Any

from mqgroups.errors import GroupQuarantined
from tests.faults.pattern import cut
from tests.faults.programs import GetProgram, PutProgram
from tests.faults.reader import Reader

BACKOUT_MODEL, BACKOUT_QUEUE = "FAULTS.BACKOUT.MODEL", "FAULTS.BACKOUT"
# What a consumer fails at, and the number of the message.
_BAD = 3


def make_queue_with_backouts(reader: Reader, name: str) -> None:
    """Make a queue whose poison goes to the backout queue, which all of them share, so one after the other."""
    reader.make_queue(name, BACKOUT_MODEL)
    reader.take(BACKOUT_QUEUE, 100)


class AbandonProgram(PutProgram):
    """Puts a group and abandons it. A checkpoint of a group that is not interrupted says that this is done."""

    def work(self, producer: Any) -> None:
        group = self.hand["group"] = producer.group()
        if producer.checkpoint is not None and not group.resume_from + group.resume_offset:
            return
        with group:
            for count, payload in enumerate(self._payloads[group.resume_from :], group.resume_from + 1):
                group.set_checkpoint(count)
                # None of them is the last one, so that a part of any may be ended.
                group.put(payload, last=False)
            group.abandon(7, "withdrawn")

    def wrong(self, reader: Reader) -> str:
        seen = reader.browse(self.queue)
        committed = self._payloads[: seen[-1].msg_seq_number - 1] if seen else []
        expected = [*(chunk for payload in committed for chunk in cut(payload, self.pattern.segmented)), b""]
        if len({one.group_id for one in seen}) != 1 or not seen[-1].is_last or [one.data for one in seen] != expected:
            return f"no group that was abandoned after its {len(committed)} messages: {seen}"
        return ""

    def wrong_on_the_way(self, reader: Reader) -> str:
        # It looks whole when it is abandoned: its last message is empty.
        return self.wrong(reader) if any(one.is_last for one in reader.browse(self.queue)) else ""


class PoisonProgram(GetProgram):
    """Fails at one message each time, and goes on with the same consumer, which skips it at last."""

    poison = "skip"

    def prepare(self, reader: Reader) -> None:
        make_queue_with_backouts(reader, self.queue)
        reader.put_group(self.queue, [cut(payload, self.pattern.segmented) for payload in self._payloads])

    def _settings(self) -> dict[str, Any]:
        return {**super()._settings(), "poison": self.poison}

    def work(self, consumer: Any) -> None:
        while True:
            try:
                super().work(consumer)
            except (_Failed, GroupQuarantined):
                continue
            return

    def _has_handled(self, count: int) -> None:
        if count == _BAD:
            raise _Failed

    def wrong(self, reader: Reader) -> str:
        if left := reader.browse(self.queue):
            return f"{len(left)} messages left on the queue"
        moved = [one.data for one in reader.browse(BACKOUT_QUEUE)]
        if moved != self._to_be_moved:
            return f"moved {moved}, expected {self._to_be_moved}"
        handled = [line.split(b" ", 1)[1] for line in self.notes.lines()]
        expected = [payload for payload in self._payloads if payload not in moved]
        return "" if handled == expected else f"handled {handled}, expected {expected}"

    def wrong_on_the_way(self, reader: Reader) -> str:
        there = [*reader.browse(self.queue), *reader.browse(BACKOUT_QUEUE)]
        numbers = [one.msg_seq_number for one in there]
        return f"doubled: {numbers}" if len(set(numbers)) < len(numbers) else ""

    @property
    def _to_be_moved(self) -> list[bytes]:
        return self._payloads[_BAD - 1 : _BAD]


class QuarantineProgram(PoisonProgram):
    """Fails at one message each time, until it and the rest of its group are moved."""

    poison = "quarantine"

    @property
    def _to_be_moved(self) -> list[bytes]:
        return self._payloads[_BAD - 1 :]


class _Failed(Exception):
    """The application fails at a message."""
