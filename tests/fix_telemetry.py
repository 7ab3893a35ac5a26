"""What a provider sees: the spans that ended, and what the instruments recorded, in memory.

owner.put_group(THIS)
(commit, put) = spans()
assert metrics()["mqgroups.units_of_work"] == ...
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import pytest
from opentelemetry import context
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import HistogramDataPoint, InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, Tracer, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from mqgroups.telemetry import guard, metrics, owner
from tests.fix_groups import Owner

# By attributes: a counter's value; of a histogram, how many values and their sum.
Points: TypeAlias = dict[frozenset[tuple[str, Any]], Any]


class Spans:
    """Spans as they ended, since they were last asked for."""

    def __init__(self, exporter: InMemorySpanExporter, tracer: Tracer) -> None:
        self._exporter = exporter
        self.tracer = tracer

    def __call__(self) -> tuple[ReadableSpan, ...]:
        found = self._exporter.get_finished_spans()
        self._exporter.clear()
        return found

    def named(self, name: str) -> list[ReadableSpan]:
        """Return those of this name, and forget the others."""
        return [span for span in self() if span.name == name]


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Iterator[Spans]:
    """The spans of owners that are made from now on, and a tracer for the application's own."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(owner, "TRACER", provider.get_tracer("mqgroups"))
    yield Spans(exporter, provider.get_tracer("application"))  # type: ignore[arg-type]  # it is the SDK's
    provider.shutdown()


def place_of(owner: Owner) -> dict[str, str | int]:
    """What spans and log records of an owner say about its queue manager."""
    host, _, port = (owner.target.conn_name or "").rstrip(")").partition("(")
    known = {"server.address": host, "server.port": int(port or 0)} if host else {}
    return {
        "messaging.ibmmq.queue_manager.name": owner.target.q_mgr_name,
        "messaging.ibmmq.queue_manager.id": owner.qmgr.q_mgr_identifier,
        **known,
    }


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], dict[str, Points]]]:
    """A function that returns what was recorded, by metric and attributes."""
    reader = InMemoryMetricReader()
    provider = MeterProvider([reader], shutdown_on_exit=False)
    monkeypatch.setattr(metrics, "INSTRUMENTS", metrics.Instruments(provider.get_meter("mqgroups")))

    def read() -> dict[str, Points]:
        data = reader.get_metrics_data()
        found: dict[str, Points] = {}
        for resource in data.resource_metrics if data is not None else ():
            for scope in resource.scope_metrics:
                for metric in scope.metrics:
                    points = found.setdefault(metric.name, {})
                    for point in metric.data.data_points:
                        is_histogram = isinstance(point, HistogramDataPoint)
                        value: Any = (point.count, point.sum) if is_histogram else point.value  # type: ignore[union-attr]  # by kind
                        points[frozenset((point.attributes or {}).items())] = value
        return found

    yield read
    provider.shutdown()


@pytest.fixture(autouse=True)
def _nothing_is_current() -> None:
    # A consumer that is left as by a crash leaves its span current.
    context.attach(context.Context())


@pytest.fixture(autouse=True)
def _nothing_went_wrong_before(monkeypatch: pytest.MonkeyPatch) -> None:
    # What goes wrong in telemetry is told once in a process: here, once in a test.
    monkeypatch.setattr(guard, "_told", set())


def of(spans: Any, attribute: str) -> list[Any]:
    """Return an attribute of each span."""
    return [span.attributes[attribute] for span in spans]


def linked(span: ReadableSpan) -> list[tuple[int, int]]:
    """Return trace and span identifiers of what a span is linked to."""
    return [(link.context.trace_id, link.context.span_id) for link in span.links]


def ids(span: Any) -> tuple[int, int]:
    """Return a span's own."""
    context = span.get_span_context()
    return context.trace_id, context.span_id


def traceparent(span: Any) -> str:
    """Return a span's context as W3C Trace Context writes it."""
    trace_id, span_id = ids(span)
    return f"00-{trace_id:032x}-{span_id:016x}-{span.get_span_context().trace_flags:02x}"
