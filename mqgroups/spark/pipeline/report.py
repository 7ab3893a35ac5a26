"""What a pipeline has done, from the records of its micro-batches: as a value and as JSON."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from mqgroups.spark.pipeline.records import BatchRecord, Rejected

JSON_NAME = "report.json"


@dataclass(frozen=True, slots=True)
class Latency:
    """From the put of a group's last message to the end of its micro-batch, of the groups that passed; seconds."""

    median_s: float
    p95_s: float
    max_s: float


@dataclass(frozen=True, slots=True)
class Report:
    """The sum of some micro-batches.

    Attributes:
        micro_batches, groups, messages: that were read.
        rows: of groups that passed.
        rows_out, groups_out: of the result; groups on the outgoing queue.
        busy_s: the time in micro-batches, seconds; of each its last attempt.
        latency: ``None`` if no group passed.
        reasons: how many groups were rejected, by reason, the most frequent first.
        rejected: each of them.
    """

    pipeline: str
    micro_batches: int
    groups: int
    messages: int
    rows: int
    rows_out: int
    groups_out: int
    busy_s: float
    latency: Latency | None
    reasons: dict[str, int]
    rejected: tuple[Rejected, ...]

    @property
    def rate(self) -> float:
        """Messages a second, while there was something to do."""
        return self.messages / self.busy_s if self.busy_s else 0.0


def report_of(pipeline: str, records: Sequence[BatchRecord]) -> Report:
    """Return the report on some micro-batches."""
    latencies = sorted(latency for record in records for latency in record.latencies_s)
    rejected = tuple(each for record in records for each in record.rejected)
    return Report(
        pipeline=pipeline,
        micro_batches=len(records),
        groups=sum(record.groups for record in records),
        messages=sum(record.messages for record in records),
        rows=sum(record.rows for record in records),
        rows_out=sum(record.rows_out for record in records),
        groups_out=sum(record.groups_out for record in records),
        busy_s=round(sum(record.done_s - record.began_s for record in records), 3),
        latency=Latency(quantile(latencies, 0.5), quantile(latencies, 0.95), latencies[-1]) if latencies else None,
        reasons=dict(Counter(each.reason for each in rejected).most_common()),
        rejected=rejected,
    )


def quantile(ascending: Sequence[float], part: float) -> float:
    """Return the smallest value that so large a part of them does not exceed."""
    return ascending[max(0, math.ceil(part * len(ascending)) - 1)]


def write_json(report: Report, records: Sequence[BatchRecord], folder: Path) -> Path:
    """Write the report and its micro-batches into a folder; returns the file."""
    values: dict[str, Any] = {**asdict(report), "messages_per_second": round(report.rate, 1)}
    values["batches"] = [asdict(record) for record in records]
    path = folder / JSON_NAME
    path.write_text(json.dumps(values, indent=2) + "\n", encoding="utf-8")
    return path
