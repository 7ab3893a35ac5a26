"""Pages that show whether workers are alive and ready, for Kubernetes, a load balancer, or a person.

    /livez      200 if the supervisor works, else 503. A failed worker does not cause 503, because the supervisor starts it again.
                A stuck thread causes 503, because only the whole process can be killed.
    /readyz     200 if all workers have opened their queues and are connected, else 503
    /metrics    metrics of each worker, in Prometheus' text format

Metrics of groups and units of work are in OpenTelemetry (``mqgroups.telemetry``). Not here: the HTTP server (``mqgroups.pages``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from http import HTTPStatus
from typing import Protocol

from mqgroups.pages import Figure, Page, metrics_page
from mqgroups.workers.status import WorkerStatus


class Supervised(Protocol):
    """The part of ``Workers`` that the pages need."""

    @property
    def is_live(self) -> bool: ...
    @property
    def is_ready(self) -> bool: ...
    def status(self) -> tuple[WorkerStatus, ...]: ...


def health_pages(workers: Supervised) -> dict[str, Callable[[], Page]]:
    """Return the functions that make the pages. The keys are the paths of the pages."""

    def said(good: bool) -> Page:
        return Page("ok\n") if good else Page("not yet\n", HTTPStatus.SERVICE_UNAVAILABLE)

    return {
        "/livez": lambda: said(workers.is_live),
        "/readyz": lambda: said(workers.is_ready),
        "/metrics": lambda: metrics_page(figures(workers.status())),
    }


def figures(workers: Iterable[WorkerStatus]) -> list[Figure]:
    """Return the metrics of ``workers``."""
    every = list(workers)
    return [
        Figure(f"mqgroups_worker_{name}", kind, text, [({"worker": one.name}, figure(one)) for one in every])
        for name, kind, text, figure in _FIGURES
    ]


_FIGURES: tuple[tuple[str, str, str, Callable[[WorkerStatus], float]], ...] = (
    ("up", "gauge", "Whether the worker runs.", lambda one: int(one.running)),
    ("ready", "gauge", "Whether the worker has opened its queues, and is connected.", lambda one: int(one.ready)),
    ("groups_total", "counter", "Groups that were handled to their end.", lambda one: one.groups),
    (
        "group_seconds",
        "gauge",
        "How long the handler has had its present group; 0 between groups.",
        lambda one: one.group_s,
    ),
    (
        "quiet_seconds",
        "gauge",
        "How long ago the worker last asked for a message, or waited for one; 0 before it was ready.",
        lambda one: one.quiet_s,
    ),
    ("restarts_total", "counter", "How often the worker was started again.", lambda one: one.restarts),
)
