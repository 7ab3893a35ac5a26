"""Part ``tracing``: what OpenTelemetry's spans cost, as ratios of the client's processor time within a round.

"No tracing code" is the library with telemetry that does nothing; "off" has all of it and no provider. Else spans go through the
SDK's batching processor to an exporter that throws them away: what an exporter costs is its own. "The SDK's spans" is "off" and
a span of the SDK for each message, as they are made for messages but behind each other, and nothing else: the least that spans of
messages can cost.
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
from mqgroups.telemetry.place import Place
from tests.bench.loops import Ours, Work, ratio, take_turns
from tests.bench.run import Run
from tests.bench.site import on_one_core, queue_manager

NOTHING = "no tracing code"
OF_THE_SDK = "the SDK's spans"
_PROPAGATES = ", propagated"
TRACED = ("off", "unit of work", "message", f"unit of work{_PROPAGATES}", f"message{_PROPAGATES}", OF_THE_SDK)


class _Nothing:
    """Telemetry of which nothing is left."""

    each_message = has_message_spans = is_heard = False
    span = context = None
    place = Place()

    def __init__(self, *_: object, **__: object) -> None: ...

    def trace_context(self, *_: object) -> TraceContext:
        return NONE

    def _nothing(self, *_: object, **__: object) -> None: ...

    listen = take = settle = settled = hand_out = application_failed = asking = _nothing


class _ThrownAway(SpanExporter):
    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:  # noqa: ARG002 - the SDK's
        return SpanExportResult.SUCCESS


class _Traced(Ours):
    """The library's producer and consumer, traced in one way while they are open."""

    def __init__(self, qmgr: EmbeddedQueueManager, tracer: trace.Tracer, how: str) -> None:
        traced = how.removesuffix(_PROPAGATES)
        self._alone = tracer if how == OF_THE_SDK else None
        super().__init__(
            qmgr, trace="off" if how in (NOTHING, OF_THE_SDK) else traced, propagate=how.endswith(_PROPAGATES)
        )
        if how == NOTHING:
            self._patch: Any = partial(mock.patch.object, owners, "OwnerTelemetry", _Nothing)
        elif how in ("off", OF_THE_SDK):
            self._patch = contextlib.nullcontext
        else:
            self._patch = partial(mock.patch.object, owner, "TRACER", tracer)

    @contextlib.contextmanager
    def put(self, payloads: Sequence[bytes], every: int) -> Iterator[Work]:
        with self._patch(), super().put(payloads, every) as work:
            yield partial(self._work, work, len(payloads), every)

    @contextlib.contextmanager
    def get(self, messages: int, every: int) -> Iterator[Work]:
        with self._patch(), super().get(messages, every) as work:
            yield partial(self._work, work, messages, every)

    def _work(self, work: Work, messages: int, every: int) -> None:
        work()
        if self._alone is not None:
            for number in range(messages):
                if number % every == 0:
                    above = trace.set_span_in_context(self._alone.start_span("put"))
                told: dict[str, str | int] = {"a": "ibmmq", "b": "BENCH", "c": "create", "d": "create", "e": number}
                self._alone.start_span("create", above, trace.SpanKind.PRODUCER, told, start_time=1).end(2)


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
