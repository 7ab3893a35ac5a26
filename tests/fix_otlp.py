"""What an OpenTelemetry collector is to programs and to Prometheus: it takes OTLP over HTTP, and shows metrics as a page.

Of each series it shows the last value that came, as the collector's Prometheus exporter does, with the same names: underscores,
the unit, and ``_total``; ``job`` and ``instance`` are the sender's ``service.name`` and ``service.instance.id``.
"""

from __future__ import annotations

import gzip
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

# The extra ``otel`` at its floor, and the newest; version 1.N of the API and the SDK goes with 0.M of the rest.
ROOT = Path(__file__).resolve().parents[1]
(FLOOR,) = re.findall(r'"opentelemetry-api>=([\d.]+)"', (ROOT / "pyproject.toml").read_text())
VERSIONS = {"floor": (f"~={FLOOR}.0", "==0.51b0"), "newest": (">=1.45", ">=0.66b0")}
_AUTO = Path("opentelemetry", "instrumentation", "auto_instrumentation")
_UNITS = {"s": "_seconds"}


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """Say nothing: who has asked may be killed before it is answered."""


class Collector:
    """What has come so far.

    Attributes:
        port: where it listens, on loopback.
        spans: each with the attributes of its sender.
        series: the last value of each, by name and labels.
    """

    def __init__(self, expires_s: float = 300.0) -> None:
        """``expires_s``: how long a series is shown that nobody sends any more."""
        self._expires_s = expires_s
        self._sent_s: dict[tuple[str, frozenset[tuple[str, str]]], float] = {}
        self.spans: list[tuple[dict[str, str], Any]] = []
        self.series: dict[tuple[str, frozenset[tuple[str, str]]], float] = {}
        self._lock = threading.Lock()
        collector = self

        class Answers(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.headers.get("Content-Encoding") == "gzip":
                    body = gzip.decompress(body)
                collector.take(self.path, body)
                self._answer(b"")

            def do_GET(self) -> None:
                self._answer(collector.page().encode())

            def _answer(self, body: bytes) -> None:
                self.send_response(200)
                self.send_header("Content-Type", "text/plain; version=0.0.4" if body else "application/x-protobuf")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self.server = _Server(("127.0.0.1", 0), Answers)
        self.port = self.server.server_address[1]

    def take(self, path: str, body: bytes) -> None:
        """Take what an exporter sends."""
        with self._lock:
            if path == "/v1/traces":
                request = ExportTraceServiceRequest.FromString(body)
                for each in request.resource_spans:
                    sender = _texts(each.resource.attributes)
                    self.spans += [(sender, span) for scope in each.scope_spans for span in scope.spans]
            elif path == "/v1/metrics":
                for sent in ExportMetricsServiceRequest.FromString(body).resource_metrics:
                    sender = _texts(sent.resource.attributes)
                    who = {"job": sender.get("service.name", ""), "instance": sender.get("service.instance.id", "")}
                    for scope in sent.scope_metrics:
                        for metric in scope.metrics:
                            self._keep(metric, who)

    def _keep(self, metric: Any, who: dict[str, str]) -> None:
        name = metric.name.replace(".", "_") + _UNITS.get(metric.unit, "")
        kind = metric.WhichOneof("data")
        for point in getattr(metric, kind).data_points:
            labels = {**who, **{key.replace(".", "_"): text for key, text in _texts(point.attributes).items()}}
            if kind == "histogram":
                total = 0
                for bound, count in zip([*point.explicit_bounds, float("inf")], point.bucket_counts, strict=True):
                    total += count
                    self._set(
                        f"{name}_bucket", {**labels, "le": "+Inf" if bound == float("inf") else f"{bound:g}"}, total
                    )
                self._set(f"{name}_count", labels, point.count)
                self._set(f"{name}_sum", labels, point.sum)
            else:
                value = getattr(point, point.WhichOneof("value"))
                self._set(f"{name}_total" if kind == "sum" and metric.sum.is_monotonic else name, labels, value)

    def _set(self, name: str, labels: dict[str, str], value: float) -> None:
        key = name, frozenset(labels.items())
        self.series[key], self._sent_s[key] = value, time.monotonic()

    def page(self) -> str:
        """Return the page that Prometheus scrapes."""
        with self._lock:
            oldest_s = time.monotonic() - self._expires_s
            shown = {key: value for key, value in self.series.items() if self._sent_s[key] > oldest_s}
        every = sorted((name, sorted(labels), value) for (name, labels), value in shown.items())
        return "".join(f"{name}{{{','.join(map(_label, labels))}}} {value}\n" for name, labels, value in every)

    def environment(self, service: str) -> dict[str, str]:
        """Return the variables of a program that sends to it."""
        return {
            "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{self.port}",
            "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
            "OTEL_LOGS_EXPORTER": "none",
            "OTEL_SERVICE_NAME": service,
        }


def opentelemetry(which: str, folder: Path) -> Path:
    """Return a folder with OpenTelemetry's packages: that of a variable, or ``folder``, where they are installed."""
    given = os.environ.get(f"MQTEST_OPENTELEMETRY_{which.upper()}")
    if given:
        return Path(given)
    of_api, of_others = VERSIONS[which]
    packages = [f"opentelemetry-sdk{of_api}", f"opentelemetry-exporter-otlp-proto-http{of_api}"]
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(folder), *packages]
    subprocess.run([*command, f"opentelemetry-distro{of_others}"], check=True, capture_output=True)
    return folder


def instrumented(packages: Path, *others: Path) -> dict[str, str]:
    """Return the variables with which each Python is instrumented, as by ``opentelemetry-instrument``."""
    return {"PYTHONPATH": os.pathsep.join(map(str, (packages / _AUTO, packages, *others)))}


def _label(label: tuple[str, str]) -> str:
    return f'{label[0]}="{label[1]}"'


def _texts(attributes: Any) -> dict[str, str]:
    return {each.key: str(getattr(each.value, each.value.WhichOneof("value") or "string_value")) for each in attributes}


@contextmanager
def collecting(expires_s: float = 300.0) -> Iterator[Collector]:
    """Run a collector for the ``with`` block."""
    collector = Collector(expires_s)
    thread = threading.Thread(target=collector.server.serve_forever, daemon=True)
    thread.start()
    try:
        yield collector
    finally:
        collector.server.shutdown()
        collector.server.server_close()
        thread.join()
