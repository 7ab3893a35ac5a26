"""The fields of every log record, with the names that spans and metrics use.

Every log record of a producer, consumer or connection has all of these fields, so a format string or a query can rely on them.
An unknown value is empty or 0. ``trace_id`` and ``span_id`` are hexadecimal. They identify the span of the unit of work or,
outside of a unit of work, the application's current span.
"""

from __future__ import annotations

from opentelemetry import trace

from mqgroups.printable import brief
from mqgroups.telemetry import semantic_conventions as sc
from mqgroups.telemetry.guard import guarded
from mqgroups.telemetry.place import Place

_NOWHERE = Place()


def fields(
    place: Place = _NOWHERE,
    *,
    role: str = "",
    name: str = "",
    queue: str = "",
    group_id: bytes = b"",
    group_name: str = "",
    msg_seq_number: int = 0,
    unit_of_work: int = 0,
    reason: int = 0,
    span: trace.Span | None = None,
) -> dict[str, str | int]:
    """Return the fields of a log record, for the argument ``extra`` of a log call."""
    trace_id, span_id = _ids(span) or ("", "")
    return {
        sc.SYSTEM: sc.IBMMQ,
        **place.fields,
        sc.ROLE: role,
        sc.CLIENT_ID: name,
        sc.DESTINATION_NAME: queue,
        sc.GROUP_ID: group_id.hex(),
        sc.GROUP_NAME: brief(group_name),
        sc.MSG_SEQ_NUMBER: msg_seq_number,
        sc.UNIT_OF_WORK: unit_of_work,
        sc.REASON_CODE: reason,
        sc.TRACE_ID: trace_id,
        sc.SPAN_ID: span_id,
    }


@guarded
def _ids(span: trace.Span | None) -> tuple[str, str] | None:
    context = (span or trace.get_current_span()).get_span_context()
    if not context.is_valid:
        return None
    return trace.format_trace_id(context.trace_id), trace.format_span_id(context.span_id)
