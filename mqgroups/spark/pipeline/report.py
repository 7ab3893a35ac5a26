"""The report on a pipeline, computed from the records of its micro-batches: as a value and as JSON."""

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
    """The time from the put of a group's last message to the end of its micro-batch, for groups that passed; in seconds."""

    median_s: float
    p95_s: float
    max_s: float


@dataclass(frozen=True, slots=True)
class Report:
    """The sum of some micro-batches.

    Attributes:
        micro_batches, groups, messages: how many were read.
        rows: rows of groups that passed.
        rows_out, groups_out: rows of the result, and groups put to the outgoing queue.
        busy_s: the time spent in the last attempt of each micro-batch, in seconds.
        latency: ``None`` if no group passed.
        lag_s: the longest time for which a group had been complete on the queue when the last attempt of its micro-batch began,
            in seconds; ``None`` if no group passed.
        reasons: how many groups were rejected, by reason, the most frequent first.
        rejected: the rejected groups.
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
    lag_s: float | None
    reasons: dict[str, int]
    rejected: tuple[Rejected, ...]

    @property
    def rate(self) -> float:
        """Messages per second of ``busy_s``."""
        return self.messages / self.busy_s if self.busy_s else 0.0


def report_of(pipeline: str, records: Sequence[BatchRecord]) -> Report:
    """Return the report on some micro-batches."""
    latencies = sorted(latency for record in records for latency in record.latencies_s)
    lags = [_lag_s(record) for record in records if record.latencies_s]
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
        lag_s=max(lags, default=None),
        reasons=dict(Counter(each.reason for each in rejected).most_common()),
        rejected=rejected,
    )


def figures(report: Report) -> list[tuple[str, str]]:
    """Return the figures of a report as people read them: what each is, and its value."""
    latency = report.latency
    return [
        ("micro-batches", f"{report.micro_batches:,}"),
        ("groups read", f"{report.groups:,}"),
        ("messages read", f"{report.messages:,}"),
        ("rows that passed", f"{report.rows:,}"),
        ("rows of the result", f"{report.rows_out:,}"),
        ("groups put", f"{report.groups_out:,}"),
        ("messages a second", f"{report.rate:,.0f}"),
        ("latency, median", f"{latency.median_s:,.1f} s" if latency else "-"),
        ("latency, 95 %", f"{latency.p95_s:,.1f} s" if latency else "-"),
        ("latency, most", f"{latency.max_s:,.1f} s" if latency else "-"),
        ("lag, most", "-" if report.lag_s is None else f"{report.lag_s:,.1f} s"),
        ("groups rejected", f"{len(report.rejected):,}"),
    ]


def _lag_s(record: BatchRecord) -> float:
    # The put time is by the queue manager's clock, which may be ahead of the driver's.
    return max(0.0, round(max(record.latencies_s) - (record.done_s - record.began_s), 2))


def quantile(ascending: Sequence[float], part: float) -> float:
    """Return the smallest value that is not exceeded by the fraction ``part`` of the values."""
    return ascending[max(0, math.ceil(part * len(ascending)) - 1)]


def write_json(report: Report, records: Sequence[BatchRecord], folder: Path) -> Path:
    """Write the report and its micro-batches into a folder; returns the file."""
    values: dict[str, Any] = {**asdict(report), "messages_per_second": round(report.rate, 1)}
    values["batches"] = [asdict(record) for record in records]
    path = folder / JSON_NAME
    path.write_text(json.dumps(values, indent=2) + "\n", encoding="utf-8")
    return path
