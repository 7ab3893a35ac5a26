"""Makes W3C trace context for messages and status records, and makes span links from trace context.

IBM's own propagation uses the same two message properties, ``traceparent`` and ``tracestate`` (ibmmq's mqotel, IBM MQ for z/OS,
IBM MQ topic "Trace context"). So IBM's programs and this package can read each other's context. The application's propagators
are not used, because they can set further properties, and other users of the queue may not expect these.

This package's consumers get the context together with all other properties, in an MQRFH2 in front of the data (``mqi.rfh2``).
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import NamedTuple

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Link, SpanContext, TraceFlags
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from mqgroups.mqi import property_folders, rfh2
from mqgroups.telemetry import semantic_conventions as sc
from mqgroups.telemetry.guard import guarded

PROPAGATOR = TraceContextTextMapPropagator()


class TraceContext(NamedTuple):
    """The values of a message's two properties for trace context. An empty value means that the property is not set."""

    traceparent: str = ""
    tracestate: str = ""

    def as_properties(self) -> dict[str, str]:
        """Return the names and values of the properties that are set."""
        given = {sc.TRACEPARENT: self.traceparent, sc.TRACESTATE: self.tracestate}
        return {name: value for name, value in given.items() if value}


NONE = TraceContext()
_LONGEST_REMEMBERED = 4096
_PLAIN = re.compile("00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})")
# The folder that this package writes if there is no ``tracestate``.
_ONLY_CONTEXT = re.compile(f"<usr><{sc.TRACEPARENT}>([0-9a-f-]+)</{sc.TRACEPARENT}></usr>")


def of_span(span: trace.Span | None) -> TraceContext:
    """Return the trace context for a message that is put in this span; empty if the span is ``None`` or not valid."""
    return (_of_span(span) if span is not None else None) or NONE


@guarded
def _of_span(span: trace.Span) -> TraceContext:
    # The text is the same as the propagator's, but needs no context and carrier object for each message.
    found = span.get_span_context()
    if not found.is_valid:
        return NONE
    state = found.trace_state.to_header() if found.trace_state else ""
    return TraceContext(f"00-{found.trace_id:032x}-{found.span_id:016x}-{found.trace_flags:02x}", state)


def link(traceparent: str, tracestate: str = "", attributes: Mapping[str, str | int] | None = None) -> Link | None:
    """Return a link to the span that ``traceparent`` names; ``None`` if ``traceparent`` is not valid."""
    if not tracestate and (plain := _PLAIN.fullmatch(traceparent)) is not None:
        # Nearly all messages have this form. The link is the same as the propagator's.
        trace_id, span_id, flags = (int(number, 16) for number in plain.groups())
        found = SpanContext(trace_id, span_id, is_remote=True, trace_flags=TraceFlags(flags))
        return Link(found, attributes) if found.is_valid else None
    carrier = {sc.TRACEPARENT: traceparent, sc.TRACESTATE: tracestate}
    found = trace.get_current_span(PROPAGATOR.extract(carrier, Context())).get_span_context()
    return Link(found, attributes) if found.is_valid else None


def in_folders(folders: tuple[str, ...]) -> TraceContext:
    """Return the trace context in the property folders of a message; empty if the folders have no trace context."""
    if len(folders) == 1 and (only := _ONLY_CONTEXT.fullmatch(folders[0])) is not None:
        return TraceContext(only[1])
    if not any("<traceparent" in folder for folder in folders):
        return NONE
    read = _read if sum(map(len, folders)) <= _LONGEST_REMEMBERED else _read.__wrapped__
    return read(folders)


# Messages of one unit of work have the same context.
@lru_cache(maxsize=16)
def _read(folders: tuple[str, ...]) -> TraceContext:
    properties = property_folders.values(folders)
    found = (properties.get(name) for name in (sc.TRACEPARENT, sc.TRACESTATE))
    return TraceContext(*(value if isinstance(value, str) else "" for value in found))


@guarded
def in_header(md: bytes, data: bytes) -> bool:
    """Return whether the data has an MQRFH2 into which the application itself has written trace context."""
    found = rfh2.without_properties(md, data)
    return found is not None and in_folders(found[2].folders).traceparent != ""


def is_instrumented(function: Callable[..., object]) -> bool:
    """Return whether another instrumentation has wrapped a binding's function. If so, that instrumentation propagates context."""
    return hasattr(function, "__wrapped__")


def keep_api_exit_out() -> None:
    """Report to IBM's API exit for OpenTelemetry that this process propagates context itself. IBM's bindings do the same.

    The effect is not verified. It is only known from the source of ibmmq's mqotel.
    """
    os.environ.setdefault("AMQ_OTEL_INSTRUMENTED", "true")
