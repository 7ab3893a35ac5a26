"""The application of the campaign that abandons its group."""

from __future__ import annotations

from typing import Any

from tests.faults.pattern import cut
from tests.faults.programs import PutProgram
from tests.faults.reader import Reader


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
