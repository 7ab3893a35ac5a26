"""W3C Trace Context: as text that a message or a status record carries, and as the link that is made of it.

IBM's own propagation uses the same two message properties, ``traceparent`` and ``tracestate`` (ibmmq's mqotel, IBM MQ for z/OS,
IBM MQ topic "Trace context"): what either writes the other reads. Always these, whatever propagators the application has
set: message properties of other names are no business of a queue's other users.

This package's own consumers get it with all other properties, in an MQRFH2 in front of the data (``mqi.rfh2``).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import NamedTuple

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Link
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from mqgroups.mqi import property_folders, rfh2
from mqgroups.telemetry import semantic_conventions as sc
from mqgroups.telemetry.guard import guarded

PROPAGATOR = TraceContextTextMapPropagator()


class TraceContext(NamedTuple):
    """The values of the two properties; empty ones are not set."""

    traceparent: str = ""
    tracestate: str = ""

    def as_properties(self) -> dict[str, str]:
        """Return the properties that are set."""
        given = {sc.TRACEPARENT: self.traceparent, sc.TRACESTATE: self.tracestate}
        return {name: value for name, value in given.items() if value}


NONE = TraceContext()


def of_span(span: trace.Span) -> TraceContext:
    """Return what a message carries that is put in this span: nothing, if it is a span of nothing."""
    carrier: dict[str, str] = {}
    PROPAGATOR.inject(carrier, trace.set_span_in_context(span, Context()))
    return TraceContext(carrier.get(sc.TRACEPARENT, ""), carrier.get(sc.TRACESTATE, ""))


def link(traceparent: str, tracestate: str = "", attributes: Mapping[str, str | int] | None = None) -> Link | None:
    """Return a link to the span that was current there; ``None`` if the text names none."""
    carrier = {sc.TRACEPARENT: traceparent, sc.TRACESTATE: tracestate}
    found = trace.get_current_span(PROPAGATOR.extract(carrier, Context())).get_span_context()
    return Link(found, attributes) if found.is_valid else None


def in_folders(folders: tuple[str, ...]) -> TraceContext:
    """Return the context in message properties as they came; an empty one if there is none."""
    return _read(folders) if any("<traceparent" in folder for folder in folders) else NONE


# Messages of one unit of work have the same.
@lru_cache(maxsize=16)
def _read(folders: tuple[str, ...]) -> TraceContext:
    properties = property_folders.values(folders)
    found = (properties.get(name) for name in (sc.TRACEPARENT, sc.TRACESTATE))
    return TraceContext(*(value if isinstance(value, str) else "" for value in found))


@guarded
def in_header(md: bytes, data: bytes) -> bool:
    """Whether an application has put trace context into an MQRFH2 of its own."""
    found = rfh2.without_properties(md, data)
    return found is not None and in_folders(found[2].folders).traceparent != ""


def is_instrumented(function: Callable[..., object]) -> bool:
    """Whether somebody has put something around a binding's function, as instrumentations do: then context is theirs."""
    return hasattr(function, "__wrapped__")


def keep_api_exit_out() -> None:
    """Tell IBM's API exit for OpenTelemetry, where it is installed, that context is dealt with, as IBM's bindings tell it.

    Unverified: read in ibmmq's mqotel only.
    """
    os.environ.setdefault("AMQ_OTEL_INSTRUMENTED", "true")
