"""The pipeline's record of its micro-batches: a line of JSON for each. Reports are made from it.

    <report.path>/batches.jsonl

Appending a line durably is the last step of a micro-batch. A process that dies in that step leaves half a line. The next start
removes it, because the micro-batch will be repeated and recorded then. A micro-batch never gets a second line.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from mqgroups.spark.errors import CheckpointUnusable

FILE_NAME = "batches.jsonl"


@dataclass(frozen=True, slots=True)
class Rejected:
    """A group in quarantine. ``group`` is its GroupId in hexadecimal, or the MsgId of a message outside groups."""

    group: str
    reason: str
    detail: str
    messages: int


@dataclass(frozen=True, slots=True)
class BatchRecord:
    """The result of a micro-batch.

    Attributes:
        query: the query's id, from the checkpoint.
        batch: the micro-batch's number.
        began_s, done_s: when its last attempt began, and when all outputs were written, in seconds since 1970.
        groups, messages, rows: how many were read; rows only from groups that passed the checks.
        rows_out: how many rows the result has.
        groups_out: how many groups were put; 0 without an outgoing queue.
        latencies_s: for each group that passed, the time from the put of its last message to ``done_s``, in seconds.
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
    """The file of records in a folder; it is created with the first record."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE_NAME

    def open(self) -> list[BatchRecord]:
        """Return the records, and prepare the file for appending.

        Raises:
            CheckpointUnusable: this version cannot read a line.
        """
        self._path.parent.mkdir(parents=True, exist_ok=True)
        if self._path.exists():
            with self._path.open("r+b") as file:
                whole = file.read().rfind(b"\n") + 1
                file.truncate(whole)
        return self.read()

    def read(self) -> list[BatchRecord]:
        """Return the records; half a line at the end is ignored. Raises CheckpointUnusable."""
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
        """Check that the last recorded micro-batch belongs to this query's checkpoint.

        Raises:
            CheckpointUnusable: it does not.
        """
        if last is not None and last.query != query:
            raise CheckpointUnusable(
                f"{self._path} ends with a micro-batch of query {last.query}, but the checkpoint is of query {query}. Either "
                "another pipeline has the same report.path, or the checkpoint was deleted or replaced. Restore the checkpoint. "
                "Without it, groups that were processed but not yet removed from the queue are processed a second time; to "
                "accept that, run with --new-checkpoint",
                "foreign",
                found=last.query,
                expected=query,
            )

    def _records(self, data: bytes) -> Iterator[BatchRecord]:
        for number, line in enumerate(data[: data.rfind(b"\n") + 1].splitlines(), 1):
            try:
                yield _record(json.loads(line))
            except (ValueError, TypeError, KeyError, AttributeError) as error:
                raise CheckpointUnusable(
                    f"line {number} of {self._path} is not a record that this version can read ({type(error).__name__}). The "
                    "file is used for reports only: move it away, and the report starts again",
                    "version",
                    found=number,
                    expected=FILE_NAME,
                ) from error


def _record(values: dict[str, Any]) -> BatchRecord:
    rejected = tuple(Rejected(**each) for each in values["rejected"])
    return BatchRecord(**{**values, "latencies_s": tuple(values["latencies_s"]), "rejected": rejected})
