"""Tells whether workers are alive and ready, to a supervisor of the supervisor: Kubernetes, a load balancer, a person.

By HTTP:

    /livez      200 if the supervisor is at work, else 503. It starts workers again itself, so a worker that fails is no reason
                to start all of them again. A thread that is stuck is one: it cannot be killed alone.
    /readyz     200 if all workers have opened their queues and are connected, else 503
    /metrics    figures of each worker, in Prometheus' text format

By files, where a probe runs a command:

    live        touched every second while /livez would answer 200
    ready       exists while /readyz would answer 200

What units of work and groups do is in the metrics of OpenTelemetry (``mqgroups.telemetry``).

Neither the port (``mqgroups.pages``) nor the directory can stop the workers. Files that cannot be kept are logged, and tried
again every second.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterable
from http import HTTPStatus
from pathlib import Path
from types import TracebackType
from typing import Protocol

from mqgroups.pages import Figure, Page, Pages, metrics_page
from mqgroups.workers.status import WorkerStatus

_log = logging.getLogger("mqgroups.workers")
_EVERY_S = 1.0


class Supervised(Protocol):
    """What is asked here of ``Workers``."""

    @property
    def is_live(self) -> bool: ...
    @property
    def is_ready(self) -> bool: ...
    def status(self) -> tuple[WorkerStatus, ...]: ...


class Health:
    """Serves HTTP and keeps files for the ``with`` block."""

    def __init__(self, workers: Supervised, http: tuple[str, int] | None, directory: Path | str | None) -> None:
        self._workers = workers
        self._directory = Path(directory) if directory is not None else None
        self._pages = Pages(http, _pages(workers)) if http is not None else None
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, args=(self._directory,), daemon=True)

    def __enter__(self) -> Health:
        if self._directory is not None:
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._keep_files(self._directory)
            self._thread.start()
        if self._pages is not None:
            self._pages.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._ended.set()
        if self._pages is not None:
            self._pages.__exit__(kind, error, traceback)
        if self._directory is not None:
            self._thread.join()
            for name in ("live", "ready"):
                try:
                    (self._directory / name).unlink(missing_ok=True)
                except OSError as error:
                    _log.warning("a file of the workers' health stays: %s", error)

    def _watch(self, directory: Path) -> None:
        told = False
        while not self._ended.wait(_EVERY_S):
            try:
                self._keep_files(directory)
                told = False
            except OSError as error:
                if not told:
                    _log.warning("files of the workers' health cannot be kept, and are tried again: %s", error)
                told = True

    def _keep_files(self, directory: Path) -> None:
        try:
            if self._workers.is_live:
                _touch(directory / "live")
        finally:
            if self._workers.is_ready:
                _touch(directory / "ready")
            else:
                (directory / "ready").unlink(missing_ok=True)


def _pages(workers: Supervised) -> dict[str, Callable[[], Page]]:
    def said(good: bool) -> Page:
        return Page("ok\n") if good else Page("not yet\n", HTTPStatus.SERVICE_UNAVAILABLE)

    return {
        "/livez": lambda: said(workers.is_live),
        "/readyz": lambda: said(workers.is_ready),
        "/metrics": lambda: metrics_page(figures(workers.status())),
    }


def _touch(path: Path) -> None:
    """Make a file that only its owner can read, or set its time; raises OSError.

    Another user may be able to write to the directory. So no link is followed, and a pipe without a reader is not waited for.
    """
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
    try:
        os.utime(descriptor)
    finally:
        os.close(descriptor)


def figures(workers: Iterable[WorkerStatus]) -> list[Figure]:
    """Return the figures of workers."""
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
