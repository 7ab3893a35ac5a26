"""What tracing costs: the library's own loops with and without it, in turns, as ratios within a round.

Two ratios are told: of the time that passed, and of the processor time of client and server together. They take turns on one
core, so on a quiet machine the two differ by what the disk takes; on a busy one the second is the steadier.

"No tracing code" is the same producer and consumer with telemetry that does nothing, where "off" has all of it and no provider.
The others have the SDK's: spans go through its batching processor to an exporter that throws them away, and where it says so
metrics to a reader that is never read. What an exporter costs is its own. "Spans of nothing" is "message" with the API's own
tracer: what of it is this package's code and not the SDK's. What a span takes the SDK is told below the table.
"""

from __future__ import annotations

import contextlib
import gc
import random
import statistics
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from unittest import mock

from opentelemetry import trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from rich.console import Console
from rich.table import Table

from mqembedded import EmbeddedQueueManager
from mqgroups.status import owner as owners
from mqgroups.telemetry import metrics, owner
from mqgroups.telemetry import semantic_conventions as sc
from mqgroups.telemetry.context import NONE, TraceContext
from tests.bench.site import processor_s

NOTHING, OFF, UNIT_OF_WORK, MESSAGE = "no tracing code", "off", "unit of work", "message"
NO_SDK = "message, spans of nothing"
SETTINGS: Mapping[str, dict[str, Any]] = {
    NOTHING: {"trace": "off"},
    OFF: {"trace": "off"},
    UNIT_OF_WORK: {},
    MESSAGE: {"trace": "message"},
    NO_SDK: {"trace": "message"},
    "unit of work, propagated": {"propagate": True},
    "message, propagated": {"trace": "message", "propagate": True},
    "unit of work, and metrics": {},
    "message, and metrics": {"trace": "message"},
}
LIMITS = {OFF: 1.01, UNIT_OF_WORK: 1.05, MESSAGE: 1.25}

# Seconds that passed, and seconds of processor time, of each round, by direction and way of tracing.
Times = dict[str, dict[str, list[tuple[float, float]]]]


class _Nothing:
    """Telemetry of which nothing is left."""

    each_message = False
    span = context = None

    def __init__(self, *_: object, **__: object) -> None: ...

    def trace_context(self, *_: object) -> TraceContext:
        return NONE

    def _nothing(self, *_: object, **__: object) -> None: ...

    begin = settle = settled = ended = group_ended = resumed = hand_out = application_failed = asking = _nothing


class _ThrownAway(SpanExporter):
    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:  # noqa: ARG002 - the SDK's
        return SpanExportResult.SUCCESS


@contextlib.contextmanager
def _as(name: str, tracer: trace.Tracer, instruments: metrics.Instruments) -> Iterator[None]:
    """Have owners that are made now traced in this way."""
    with contextlib.ExitStack() as stack:
        if name == NOTHING:
            stack.enter_context(mock.patch.object(owners, "OwnerTelemetry", _Nothing))
        elif name == NO_SDK:
            stack.enter_context(mock.patch.object(owner, "TRACER", trace.NoOpTracer()))
        elif name != OFF:
            stack.enter_context(mock.patch.object(owner, "TRACER", tracer))
        if name.endswith("metrics"):
            stack.enter_context(mock.patch.object(metrics, "INSTRUMENTS", instruments))
        yield


def sdk_span_us(spans: int = 2_000, rounds: int = 11) -> float:
    """Return the median of what the SDK takes to make and end a span with as many attributes as a message's has."""
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(_ThrownAway(), max_queue_size=100_000))
    tracer = provider.get_tracer("mqgroups")
    below = trace.set_span_in_context(tracer.start_span("a unit of work"))
    attributes: dict[str, str | int] = {
        sc.SYSTEM: sc.IBMMQ,
        sc.DESTINATION_NAME: "BENCH",
        sc.OPERATION_NAME: sc.CREATE,
        sc.OPERATION_TYPE: sc.CREATE,
        sc.MSG_SEQ_NUMBER: 1,
    }
    times = []
    for _ in range(rounds):
        provider.force_flush()
        gc.collect()
        began = time.process_time()
        for _ in range(spans):
            tracer.start_span("create BENCH", context=below, kind=trace.SpanKind.PRODUCER, attributes=attributes).end()
        times.append(time.process_time() - began)
    provider.shutdown()
    return statistics.median(times) / spans * 1e6


def measure(qmgr: EmbeddedQueueManager, messages: int, every: int, rounds: Iterable[int]) -> Times:
    """Put and get a group in every way, in turns."""
    from tests.bench.loops import Ours

    payloads = [b"%099d" % number for number in range(messages)]
    times: Times = {way: {name: [] for name in SETTINGS} for way in ("put", "get")}
    tracers = TracerProvider(shutdown_on_exit=False)
    tracers.add_span_processor(BatchSpanProcessor(_ThrownAway(), max_queue_size=100_000))
    meters = MeterProvider([InMemoryMetricReader()], shutdown_on_exit=False)
    tracer = tracers.get_tracer("mqgroups")
    instruments = metrics.Instruments(meters.get_meter("mqgroups"))
    names = list(SETTINGS)
    for number in rounds:
        # Another order in every round, so that none always runs behind the same one.
        for name in random.Random(number).sample(names, len(names)):
            with _as(name, tracer, instruments):
                loop = Ours(qmgr, **SETTINGS[name])
                for way, argument in (("put", payloads), ("get", messages)):
                    with getattr(loop, way)(argument, every) as work:
                        # What the one before left to export and to collect is not this one's.
                        tracers.force_flush()
                        gc.collect()
                        began = time.perf_counter(), time.process_time() + processor_s(qmgr)
                        work()
                        ended = time.perf_counter(), time.process_time() + processor_s(qmgr)
                    if number:  # the first round warms up
                        times[way][name].append((ended[0] - began[0], ended[1] - began[1]))
                loop.close()
    tracers.shutdown()
    meters.shutdown()
    return times


def report(console: Console, times: Times, messages: int, every: int) -> dict[str, float]:
    """Print a table; returns the ratios to what no tracing code takes."""
    rounds = len(times["put"][NOTHING])
    table = Table(
        title=f"What tracing costs: {messages:,} messages of 100 bytes in units of work of {every}, OpenTelemetry's SDK, "
        f"median of {rounds} rounds"
    )
    for column in ("", "tracing", "µs/message", f"÷ {NOTHING}", "of processor time", "limit"):
        table.add_column(column, justify="left" if column in ("", "tracing") else "right")
    ratios: dict[str, float] = {}
    for way, by_name in times.items():
        for name, values in by_name.items():
            both = list(zip(values, by_name[NOTHING], strict=True))
            passed, processor = (statistics.median(mine[i] / bare[i] for mine, bare in both) for i in (0, 1))
            limit = f"{LIMITS[name]:.2f}" if name in LIMITS else ""
            per_message = f"{statistics.median(value for value, _ in values) / messages * 1e6:.1f}"
            table.add_row(way, name, per_message, f"{passed:.3f}", f"{processor:.3f}", limit)
            ratios[f"{way} {name}"] = round(passed, 4)
            ratios[f"{way} {name}, processor time"] = round(processor, 4)
    console.print(table)
    span_us = ratios["span of the SDK, µs"] = round(sdk_span_us(), 1)
    console.print(f"The SDK takes {span_us} µs of processor time to make and end a span of five attributes.")
    return ratios
