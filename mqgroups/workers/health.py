"""Tells whether workers are alive and ready, to a supervisor of the supervisor: Kubernetes, a load balancer, a person.

By HTTP:

    /livez      200 if the supervisor is at work, else 503. It starts workers again itself, so a worker that fails is no reason
                to start all of them again. A thread that is stuck is one: it cannot be killed alone.
    /readyz     200 if all workers have opened their queues and are connected, else 503
    /metrics    figures of each worker, in Prometheus' text format

By files, where a probe runs a command:

    live        touched every second while /livez would answer 200
    ready       exists while /readyz would answer 200

The figures are written here and not by prometheus_client: they are six lines for each worker, the names of workers need no
escaping, and the counters are in shared memory, where prometheus_client does not look for them. What units of work and groups do
is in the metrics of OpenTelemetry (``mqgroups.telemetry``).

Neither the port nor the directory can stop the workers. Whoever reaches the port may send half a request, which takes a thread
and a file descriptor of the supervisor; so a connection that says nothing is closed, and of too many the oldest one. To refuse
the newest one instead would keep the probes out. Files that cannot be kept are logged, and tried again every second.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
from collections.abc import Iterable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socket import AF_INET, AF_INET6, SHUT_RDWR, socket
from types import TracebackType
from typing import Any, Protocol

from mqgroups.workers.status import WorkerStatus

_log = logging.getLogger("mqgroups.workers")
_PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"
_EVERY_S = 1.0
_SILENT_S = 5.0
_MOST_CONNECTIONS = 32


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
        self._server = _Server(http, workers) if http is not None else None
        self._ended = threading.Event()
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> Health:
        if self._directory is not None:
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._keep_files(self._directory)
            self._threads.append(threading.Thread(target=self._watch, args=(self._directory,), daemon=True))
        if self._server is not None:
            host, port = self._server.server_address[:2]
            _log.info("health and metrics of workers are served at %s, port %s", host, port)
            self._threads.append(threading.Thread(target=self._server.serve_forever, daemon=True))
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._ended.set()
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
        for thread in self._threads:
            thread.join()
        if self._directory is not None:
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


def _touch(path: Path) -> None:
    """Make a file that only its owner can read, or set its time; raises OSError.

    Another user may be able to write to the directory. So no link is followed, and a pipe without a reader is not waited for.
    """
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
    try:
        os.utime(descriptor)
    finally:
        os.close(descriptor)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, address: tuple[str, int], workers: Supervised) -> None:
        self.address_family = AF_INET6 if ":" in address[0] else AF_INET
        self.workers = workers
        # In the order in which they were accepted.
        self._connections: dict[socket, None] = {}
        self._lock = threading.Lock()
        try:
            super().__init__(address, _Answers)
        except OSError as error:
            error.filename = f"{address[0]}:{address[1]}"  # the error itself does not say which address
            raise

    def process_request(self, request: Any, client_address: Any) -> None:
        """Begin a connection. If there are too many, end the oldest one: its thread finds nothing more to read."""
        with self._lock:
            self._connections[request] = None
            if len(self._connections) > _MOST_CONNECTIONS:
                oldest = next(iter(self._connections))
                del self._connections[oldest]
                with contextlib.suppress(OSError):
                    oldest.shutdown(SHUT_RDWR)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """End a connection; under the lock, because its descriptor may be that of another file afterwards."""
        with self._lock:
            self._connections.pop(request, None)
            super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print nothing: a client could repeat it without end."""
        _log.debug("the request of %s on %s failed", client_address, request, exc_info=True)


class _Answers(BaseHTTPRequestHandler):
    server: _Server
    timeout = _SILENT_S

    def do_GET(self) -> None:
        """Answer a probe or a scrape."""
        workers = self.server.workers
        path = self.path.partition("?")[0]
        if path == "/metrics":
            self._answer(HTTPStatus.OK, prometheus(workers.status()), _PROMETHEUS)
        elif path in ("/livez", "/readyz"):
            good = workers.is_live if path == "/livez" else workers.is_ready
            self._answer(HTTPStatus.OK if good else HTTPStatus.SERVICE_UNAVAILABLE, "ok\n" if good else "not yet\n")
        else:
            self._answer(HTTPStatus.NOT_FOUND, "there are /livez, /readyz and /metrics\n")

    def do_HEAD(self) -> None:
        """Answer the same without a body: some load balancers ask so."""
        self.do_GET()

    def _answer(self, status: HTTPStatus, text: str, content_type: str = "text/plain; charset=utf-8") -> None:
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def version_string(self) -> str:
        """Return the header ``Server``, without versions."""
        return "mqgroups"

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing: probes come every few seconds."""


def prometheus(workers: Iterable[WorkerStatus]) -> str:
    """Return the figures of workers in Prometheus' text format, version 0.0.4."""
    every = list(workers)
    lines = []
    for name, kind, text, figure in (
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
    ):
        lines += [f"# HELP mqgroups_worker_{name} {text}", f"# TYPE mqgroups_worker_{name} {kind}"]
        lines += [f'mqgroups_worker_{name}{{worker="{one.name}"}} {figure(one)}' for one in every]
    return "\n".join(lines) + "\n"
