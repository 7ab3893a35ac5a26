"""The pipeline's record of its micro-batches: a line of JSON for each, from which reports are made.

    <report.path>/batches.jsonl

A line is appended, and made durable, as the last thing of a micro-batch. A process that dies in the middle of it leaves
half a line; whoever opens the file next cuts that off, for the micro-batch will be done again, and recorded then. A micro-batch
that has its line does not get another.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from mqgroups.spark.pipeline.errors import CheckpointForeign, RecordsUnreadable

FILE_NAME = "batches.jsonl"


@dataclass(frozen=True, slots=True)
class Rejected:
    """A group in quarantine. ``group``: its GroupId in hexadecimal digits (of a message in no group its MsgId)."""

    group: str
    reason: str
    detail: str
    messages: int


@dataclass(frozen=True, slots=True)
class BatchRecord:
    """What became of a micro-batch.

    Attributes:
        query: id of the query, of the checkpoint.
        batch: its number.
        began_s, done_s: when its last attempt began, and when all outputs had it, seconds since 1970.
        groups, messages, rows: that were read; rows are those of groups that passed.
        rows_out: rows of the result.
        groups_out: into how many groups these were put, 0 without an outgoing queue.
        latencies_s: of each group that passed, from the put of its last message to ``done_s``, seconds.
        rejected: the groups that did not pass.
    """

    query: str
    batch: int
    began_s: float
    done_s: float
    groups: int
    messages: int
    rows: int
    rows_out: int
    groups_out: int
    latencies_s: tuple[float, ...]
    rejected: tuple[Rejected, ...]


class BatchRecords:
    """The file of records in a folder; made when the first is added."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE_NAME

    def open(self) -> list[BatchRecord]:
        """Return the records, and make the file fit to be added to.

        Raises:
            RecordsUnreadable: a line is none of this version's.
        """
        self._path.parent.mkdir(parents=True, exist_ok=True)
        if self._path.exists():
            with self._path.open("r+b") as file:
                whole = file.read().rfind(b"\n") + 1
                file.truncate(whole)
        return self.read()

    def read(self) -> list[BatchRecord]:
        """Return the records; half a line at the end is passed over. Raises RecordsUnreadable."""
        if not self._path.exists():
            return []
        return list(self._records(self._path.read_bytes()))

    def add(self, record: BatchRecord) -> None:
        """Append a record, durably."""
        line = json.dumps(asdict(record), separators=(",", ":")) + "\n"
        with self._path.open("ab") as file:
            file.write(line.encode())
            file.flush()
            os.fsync(file.fileno())

    def check_query(self, query: str, last: BatchRecord | None) -> None:
        """Refuse to go on after a last micro-batch of another checkpoint than this query's.

        Raises:
            CheckpointForeign: it is.
        """
        if last is not None and last.query != query:
            raise CheckpointForeign(
                f"{self._path} ends with a micro-batch of query {last.query}, and the checkpoint is of query {query}. Another "
                "pipeline has the same report.path, or the checkpoint was deleted or replaced: bring it back. What was read "
                "and not yet removed from the queue when it went is done a second time without it; if that may be, run "
                "with --new-checkpoint",
                status_queue="",
                found=last.query,
                expected=query,
            )

    def _records(self, data: bytes) -> Iterator[BatchRecord]:
        for number, line in enumerate(data[: data.rfind(b"\n") + 1].splitlines(), 1):
            try:
                yield _record(json.loads(line))
            except (ValueError, TypeError, KeyError, AttributeError) as error:
                raise RecordsUnreadable(
                    f"line {number} of {self._path} is no record of a micro-batch of this version ({type(error).__name__}). It "
                    "serves reports only: move the file away, and the report begins anew",
                    status_queue="",
                    found=number,
                    expected=FILE_NAME,
                ) from error


def _record(values: dict[str, Any]) -> BatchRecord:
    rejected = tuple(Rejected(**each) for each in values["rejected"])
    return BatchRecord(**{**values, "latencies_s": tuple(values["latencies_s"]), "rejected": rejected})
