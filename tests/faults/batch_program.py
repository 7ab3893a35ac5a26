"""The application of the campaign that puts a batch of groups, as a scheduler has it done: each start is one more attempt."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import mqgroups
from mqgroups.batch.completion import complete_batch
from mqgroups.batch.producer import BatchMessage, BatchProducer, BatchSettings
from mqgroups.connection.holder import connection_of
from mqgroups.core.unit_of_work import Every
from tests.faults.application import MODEL, Application, Notebook
from tests.faults.pattern import Pattern, wrong_with_groups, wrong_with_whole_groups
from tests.faults.reader import Reader, Seen, put_so_far

_BATCH = 1


class BatchProgram(Application):
    """Attempts at a batch whose groups have to be there once; the last one completes it."""

    owner = "put"

    def __init__(self, pattern: Pattern, queue: str, name: str) -> None:
        super().__init__(pattern, queue, name)
        self._attempts = Notebook()
        self._token = ""

    @property
    def status_queue(self) -> str:
        return f"MQGROUPS.BATCH.{self.name}"

    def prepare(self, reader: Reader) -> None:
        """Make the queue."""
        reader.make_queue(self.queue, MODEL)

    @property
    def is_there(self) -> bool:
        """An attempt that was cut off may be done again, as long as nobody else has done what it was to do."""
        return False

    def run(self, connection: mqgroups.QueueManager) -> None:
        self.asks_again = False
        self._attempts.write(b"one more")
        self._token = f"{self.name}-attempt-{len(self._attempts.lines())}"
        batch = self.make(connection)
        try:
            self.work(batch)
        finally:
            batch.close()
        complete_batch(connection_of(connection), self.status_queue, self.name, self.queue, _BATCH, self._token)
        self.is_done()

    def close(self) -> None:
        self._attempts.close()
        super().close()

    def _make(self, connection: mqgroups.QueueManager) -> BatchProducer:
        settings = BatchSettings(
            self.queue,
            name=self.name,
            batch=_BATCH,
            run="run-1",
            partition=0,
            token=self._token,
            status_queue=self.status_queue,
            commit_every=Every(messages=self.pattern.every),
            owner_wait_s=self.patience_s,
            put_response=self.pattern.put_response,
        )
        return BatchProducer(connection_of(connection), settings)

    def work(self, batch: Any) -> None:
        # A task that fails here is done again, which the scheduler knows best how to do.
        self.asks_again = True
        completed = batch.completed()
        self.asks_again = False
        if completed:
            return
        for number in range(self.pattern.groups):
            batch.put_group(f"{number:02}", [BatchMessage(payload) for payload in self._payloads])

    def progress(self, reader: Reader, group_id: bytes) -> tuple[int, int]:
        return put_so_far(reader.browse(self.queue), group_id)

    def wrong(self, reader: Reader) -> str:
        return wrong_with_groups(reader.browse(self.queue), self._payloads, self.pattern.groups)

    def wrong_on_the_way(self, reader: Reader) -> str:
        return wrong_with_whole_groups(reader.browse(self.queue), self._payloads)

    def left_behind(self, reader: Reader) -> dict[str, list[Seen]]:
        """Return what is left beside the one record that says which batch was completed last."""
        found = super().left_behind(reader).get(self.status_queue, [])
        marks = [seen for seen in found if _is_high_water_mark(seen.data)]
        left = [seen for seen in found if seen not in marks[:1]]
        return {self.status_queue: left} if left else {}

    def may_come_back(self, seen: Sequence[Seen]) -> bool:
        """Whether records are what completing the batch takes away: whoever completes it next takes them."""
        values = [json.loads(one.data) for one in seen]
        return all(_kind(each) == "intent" or each["state"] == "completed" for each in values)


def _is_high_water_mark(data: bytes) -> bool:
    return _kind(json.loads(data)) == "high-water mark"


def _kind(values: dict[str, Any]) -> str:
    return str(((values.get("checkpoint") or {}).get("json") or {}).get("kind"))
