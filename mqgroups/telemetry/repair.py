"""The span of an operator's repair, which rebuilds or adopts a record, or moves a group."""

from __future__ import annotations

from types import TracebackType

from opentelemetry.trace import INVALID_SPAN, Span, SpanKind

from mqgroups.core.status import StatusRecord
from mqgroups.telemetry import context
from mqgroups.telemetry import semantic_conventions as sc
from mqgroups.telemetry.guard import guarded
from mqgroups.telemetry.message_span import end_span
from mqgroups.telemetry.owner import tracer
from mqgroups.telemetry.place import Place
from mqgroups.telemetry.settings import TelemetrySettings


class Repair:
    """The span ``recover Q`` of a repair of queue Q. The span begins and ends with a ``with`` block."""

    def __init__(self, settings: TelemetrySettings, queue: str, place: Place, interrupted: str = "") -> None:
        """``interrupted`` is the traceparent of the last unit of work before the interruption; empty if it is not known."""
        self._interrupted = interrupted
        self._tracer = tracer(settings)
        self._queue = queue
        self._attributes = {
            sc.SYSTEM: sc.IBMMQ,
            sc.DESTINATION_NAME: queue,
            sc.OPERATION_NAME: sc.RECOVER,
            **place.attributes,
        }
        self._span: Span = INVALID_SPAN

    @property
    def traceparent(self) -> str:
        """The traceparent for the rebuilt record. The owner that resumes the group uses it to link its span to this span."""
        return context.of_span(self._span).traceparent

    def salvaged(self, name: str, record: StatusRecord | None) -> None:
        """Show in the span that a record was rebuilt or, if ``record`` is ``None``, that only unreadable messages were moved."""
        self._rewritten(sc.SALVAGED, name, record)

    @guarded
    def moved(self, to: str, group_id: bytes, messages: int) -> None:
        """Show in the span that the rest of a group was moved to the queue ``to``. ``messages``: how many messages were moved."""
        self._span.set_attributes({sc.OUTCOME: sc.MOVED, sc.BACKOUT_QUEUE: to})
        self._span.set_attributes({sc.GROUP_ID: group_id.hex(), sc.BATCH_MESSAGE_COUNT: messages})

    def adopted(self, record: StatusRecord) -> None:
        """Show in the span that this record was adopted, after its queues were moved to another queue manager."""
        self._rewritten(sc.ADOPTED, record.name, record)

    @guarded
    def _rewritten(self, outcome: str, name: str, record: StatusRecord | None) -> None:
        self._span.set_attributes({sc.OUTCOME: outcome, sc.CLIENT_ID: name})
        if record is not None:
            self._span.set_attributes({sc.GROUP_ID: record.group_id.hex(), sc.MSG_SEQ_NUMBER: record.msg_seq_number})

    def __enter__(self) -> Repair:
        self._span = self._start() or INVALID_SPAN
        return self

    @guarded
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        end_span(self._span, error)

    @guarded
    def _start(self) -> Span:
        link = context.link(self._interrupted)
        return self._tracer.start_span(
            f"{sc.RECOVER} {self._queue}",
            kind=SpanKind.INTERNAL,
            attributes=self._attributes,
            links=[link] if link is not None else None,
        )
