"""The instruments for the lag of Spark's streams, which ``mqgroups/spark/lag.py`` reports.

Ages are computed when metrics are collected. So if a query hangs, its reported lag continues to grow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

from opentelemetry import metrics

from mqgroups.telemetry import semantic_conventions as sc

Report = dict[str, Any]
# The last reports of each query in this process, by the identifier of its run. A query has a report for each of its queues.
REPORTS: dict[str, list[Report]] = {}


def _observed(value: Callable[[Report], float | None]) -> Callable[[object], Iterator[metrics.Observation]]:
    def observe(_: object) -> Iterator[metrics.Observation]:
        for report in [each for reports in tuple(REPORTS.values()) for each in reports]:
            if (found := value(report)) is not None:
                attributes = {sc.DESTINATION_NAME: report["queue"], sc.QUEUE_MANAGER: report["queueManager"]}
                yield metrics.Observation(found, {sc.SYSTEM: sc.IBMMQ, **attributes})

    return observe


def _age_s(since: str | None) -> float:
    if since is None:
        return 0.0
    return max(0.0, (datetime.now(UTC) - datetime.fromisoformat(since)).total_seconds())


def observe_lag(meter: metrics.Meter) -> None:
    """Make the instruments for the lag with ``meter``."""
    for name, unit, text, value in (
        (sc.SPARK_LAG, "s", "Age of the oldest complete group in no micro-batch.", lambda each: _age_s(each["oldest"])),
        (sc.SPARK_WAITING, "{group}", "Complete groups in no micro-batch.", lambda each: each["waiting"]),
        (
            sc.SPARK_INCOMPLETE,
            "s",
            "Age of the first message on the queue, if its group is not complete.",
            lambda each: _age_s(each["incomplete"]),
        ),
    ):
        meter.create_observable_gauge(name, [_observed(value)], unit, text)


observe_lag(metrics.get_meter(sc.SCOPE, schema_url=sc.SCHEMA_URL))
