"""W3C Trace Context: as text that a message or a status record carries, and as the link that is made of it.

IBM's own propagation uses the same two message properties, ``traceparent`` and ``tracestate`` (ibmmq's mqotel, IBM MQ for z/OS,
IBM MQ topic "Trace context"): what either writes the other reads. Always these, whatever propagators the application has
set: message properties of other names are no business of a queue's other users.

Consumers that pass no message handle get properties in an MQRFH2 in front of the data, where the queue's PROPCTL does not say
otherwise. What this package's own consumers find there is taken out again (``without_context``), if nothing else is in it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import NamedTuple
from xml.sax.saxutils import unescape

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Link
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from mqgroups.mqi import rfh2
from mqgroups.mqi import structures as st
from mqgroups.mqi.message import Carried
from mqgroups.telemetry import semantic_conventions as sc
from mqgroups.telemetry.guard import guarded

PROPAGATOR = TraceContextTextMapPropagator()
_IN_HEADER = re.compile(rb"<(traceparent|tracestate)(?:\s[^>]*)?>([^<]*)</\1>")
_USR = re.compile(rb"<usr(?:\s[^>]*)?>(.*)</usr>", re.DOTALL)


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


@guarded
def without_context(md: bytes, data: bytes) -> tuple[bytes, bytes, Carried] | None:
    """Take trace context out of the MQRFH2 in front of a message.

    Returns:
        Descriptor and data as the application is to see them, and the context; ``None`` if there is none. An MQRFH2 with other
        properties or folders stays.
    """
    header = rfh2.leading(md, data)
    if header is None:
        return None
    found, is_alone = _in_folders(header.folders)
    if not found.traceparent:
        return None
    carried = Carried(*found, md, data)
    if not is_alone:
        return md, data, carried
    return st.describing(md, header.encoding, header.ccsid, header.format_name), data[header.length :], carried


@lru_cache(maxsize=16)
def _in_folders(folders: tuple[bytes, ...]) -> tuple[TraceContext, bool]:
    """Return the context that is in folders of an MQRFH2, and whether nothing else is."""
    found: dict[bytes, str] = {}
    is_alone = True
    for folder in folders:
        usr = _USR.fullmatch(folder)
        rest = folder
        if usr is not None:
            found.update((name, unescape(value.decode())) for name, value in _IN_HEADER.findall(usr[1]))
            rest = _IN_HEADER.sub(b"", usr[1])
        is_alone = is_alone and not rest.strip()
    return TraceContext(found.get(b"traceparent", ""), found.get(b"tracestate", "")), is_alone


def in_header(md: bytes, data: bytes) -> bool:
    """Whether an application has put trace context into an MQRFH2 of its own."""
    return without_context(md, data) is not None


def is_instrumented(function: Callable[..., object]) -> bool:
    """Whether somebody has put something around a binding's function, as instrumentations do: then context is theirs."""
    return hasattr(function, "__wrapped__")


def keep_api_exit_out() -> None:
    """Tell IBM's API exit for OpenTelemetry, where it is installed, that context is dealt with, as IBM's bindings tell it.

    Unverified: read in ibmmq's mqotel only.
    """
    os.environ.setdefault("AMQ_OTEL_INSTRUMENTED", "true")
