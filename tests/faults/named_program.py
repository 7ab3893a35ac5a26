"""The application of the campaign whose groups have names: the loop of the first page, without a checkpoint."""

from __future__ import annotations

from typing import Any

from tests.faults.programs import PutProgram


class NamedProgram(PutProgram):
    """Puts a group for each name. Which are put it knows from the producer alone, also if it was killed after the last commit."""

    def work(self, producer: Any) -> None:
        for name in producer.remaining([f"name {number}" for number in range(self.pattern.groups)]):
            with producer.group(name) as group:
                self.hand["group"] = group
                for payload in self._payloads[group.resume_from :]:
                    group.put(payload)
