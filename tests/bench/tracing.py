"""Part ``tracing``: what OpenTelemetry's spans cost, as ratios of the client's processor time within a round.

"No tracing code" is the library with telemetry that does nothing; "off" has all of it and no provider. Else spans go through the
SDK's batching processor to an exporter that throws them away: what an exporter costs is its own.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any
from unittest import mock

from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

from mqembedded import EmbeddedQueueManager
from mqgroups.status import owner as owners
from mqgroups.telemetry import owner
from mqgroups.telemetry.context import NONE, TraceContext
from tests.bench.loops import Ours, Work, ratio, take_turns
from tests.bench.run import Run
from tests.bench.site import on_one_core, queue_manager

NOTHING = "no tracing code"
TRACED = ("off", "unit of work", "message")


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


class _Traced(Ours):
    """The library's producer and consumer, traced in one way while they are open."""

    def __init__(self, qmgr: EmbeddedQueueManager, tracer: trace.Tracer, how: str) -> None:
        super().__init__(qmgr, trace="off" if how == NOTHING else how)
        if how == NOTHING:
            self._patch: Any = partial(mock.patch.object, owners, "OwnerTelemetry", _Nothing)
        elif how == "off":
            self._patch = contextlib.nullcontext
        else:
            self._patch = partial(mock.patch.object, owner, "TRACER", tracer)

    @contextlib.contextmanager
    def put(self, payloads: Sequence[bytes], every: int) -> Iterator[Work]:
        with self._patch(), super().put(payloads, every) as work:
            yield work

    @contextlib.contextmanager
    def get(self, messages: int, every: int) -> Iterator[Work]:
        with self._patch(), super().get(messages, every) as work:
            yield work


def measure(run: Run) -> dict[str, float]:
    """Measure."""
    messages, every, rounds = run.of((2_000, 500, 30), (1_000, 250, 3))
    payloads = [b"%099d" % number for number in range(messages)]
    tracers = TracerProvider(shutdown_on_exit=False)
    tracers.add_span_processor(BatchSpanProcessor(_ThrownAway(), max_queue_size=100_000))
    tracer = tracers.get_tracer("mqgroups")

    def before() -> None:
        tracers.force_flush()
        gc.collect()

    with queue_manager() as qmgr, on_one_core(qmgr):
        loops = {how: partial(_Traced, qmgr, tracer, how) for how in (NOTHING, *TRACED)}
        told = run.rounds("put and get", rounds, 210)
        spent = take_turns(loops, ("put", "get"), payloads, every, told, before)
    tracers.shutdown()
    return {f"{way} {how}": ratio(by_how[how], by_how[NOTHING]) for way, by_how in spent.items() for how in TRACED}
