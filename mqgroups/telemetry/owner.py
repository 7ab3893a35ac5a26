"""The telemetry of a producer or consumer: a span for each unit of work, spans below it, and metrics.

    put ORDERS                  a producer's unit of work, from its first message to its commit or backout
      create ORDERS             a message, with trace="message"
      commit ORDERS             the status record and MQCMIT; or ``back out ORDERS``
      recover ORDERS            from the loss of the connection until the outcome is known and the unit of work is redone
    get ORDERS                  a consumer's unit of work, linked to the spans in which its messages were put
      process ORDERS            a message, with trace="message"; the current span while the application processes the message
      commit ORDERS
    recover ORDERS              an interrupted group was found at the start; linked to the group's last unit of work

A resumed group starts a new trace, perhaps days later. The status record has the context of the last unit of work, and the first
span of the new instance links to that context. No function here can fail (``guard.py``). ``UnitBegun`` begins a span. A second
``UnitBegun`` in the same unit of work has no effect. If no provider is set, no events are reported, to save time (``is_heard``).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, NamedTuple

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.metrics import get_meter_provider
from opentelemetry.trace import INVALID_SPAN, Link, Span, SpanKind
from opentelemetry.util.types import AttributeValue

from mqgroups.core.group import GroupPosition
from mqgroups.core.group_properties import name_of
from mqgroups.mqi.message import Message
from mqgroups.printable import brief
from mqgroups.telemetry import context, metrics
from mqgroups.telemetry import semantic_conventions as sc
from mqgroups.telemetry.context import TraceContext
from mqgroups.telemetry.events import (
    Event,
    GroupFound,
    OutcomeFound,
    RecoveryBegun,
    RecoveryEnded,
    UnitBackedOut,
    UnitBegun,
    UnitCommitted,
)
from mqgroups.telemetry.guard import guarded
from mqgroups.telemetry.message_span import (
    MessageSpan,
    MessageSpans,
    SpanTemplate,
    application_context,
    end_span,
    error_type,
)
from mqgroups.telemetry.place import Place
from mqgroups.telemetry.settings import EACH_MESSAGE, EACH_UNIT_OF_WORK, OFF, TelemetrySettings

TRACER = trace.get_tracer(sc.SCOPE, schema_url=sc.SCHEMA_URL)
_Attributes = dict[str, AttributeValue]
# The modules of the API's own classes, which record nothing.
_SILENT = frozenset(
    f"opentelemetry.{each}" for each in ("trace", "metrics", "metrics._internal", "metrics._internal.instrument")
)


class _NoSpans(trace.NoOpTracer):
    """A tracer for trace="off". It makes no spans, and passes on the context of the application's span."""

    def start_span(self, name: str, context: Context | None = None, *_: object, **__: object) -> Span:  # noqa: ARG002 - the API's
        return trace.NonRecordingSpan(trace.get_current_span(context).get_span_context())


_NO_SPANS = _NoSpans()


def tracer(settings: TelemetrySettings) -> trace.Tracer:
    """Return the tracer for these settings."""
    return _NO_SPANS if settings.trace == OFF else TRACER


@dataclass(slots=True)
class _Open:
    """An operation in progress: its span, name and start time."""

    span: Span
    operation: str
    began_s: float


@dataclass(slots=True)
class _OpenUnit(_Open):
    """The open unit of work.

    Attributes:
        below: the context for spans below the unit of work's span; ``None`` if there is no span, because the tracer has failed.
        has_message_spans: whether the messages have spans of their own.
        settling: the commit or backout; ``None`` before it begins.
        linked: the ``traceparent`` that the span was linked to last; empty if the span has no link.
    """

    below: Context | None = None
    has_message_spans: bool = False
    settling: _Open | None = None
    linked: str = ""


class _OpenGroup(NamedTuple):
    """The group in progress: the start time of its first unit of work in this instance, and the outcome to record at its end."""

    began_s: float | None = None
    outcome: str = sc.COMPLETED


@dataclass(frozen=True, slots=True)
class _Labels:
    """The common values of all spans and metrics of one owner.

    Attributes:
        kind: the kind of a unit of work's span.
        makes_current: whether a unit of work's span is current while the application processes the messages.
        who: the attributes of the owner itself, for spans.
        metric: the attributes for this package's own metrics.
        operations: the attributes of each operation, by the operation's name.
    """

    role: str
    queue: str
    place: Place
    tracer: trace.Tracer
    kind: SpanKind
    makes_current: bool
    who: _Attributes
    metric: _Attributes
    operations: dict[str, _Attributes]

    @classmethod
    def of(
        cls, settings: TelemetrySettings, role: str, name: str, queue: str, place: Place, *, propagates: bool
    ) -> _Labels:
        """Return the labels of an owner. The arguments are those of ``OwnerTelemetry``."""
        at = {sc.SYSTEM: sc.IBMMQ, sc.QUEUE_MANAGER: place.q_mgr_name, sc.DESTINATION_NAME: queue}
        # The conventions say that a span whose context messages carry is of kind PRODUCER.
        carried = propagates and role == sc.PUT and settings.trace != EACH_MESSAGE
        return cls(
            role,
            queue,
            place,
            tracer(settings),
            SpanKind.PRODUCER if carried else SpanKind.CLIENT,
            role == sc.GET and settings.trace == EACH_UNIT_OF_WORK,
            {sc.CLIENT_ID: name, **place.attributes},
            {**at, sc.ROLE: role},
            {
                operation: {
                    **at,
                    sc.OPERATION_NAME: operation,
                    **({sc.OPERATION_TYPE: sc.OPERATION_TYPES[operation]} if operation in sc.OPERATION_TYPES else {}),
                }
                for operation in (role, sc.CREATE, sc.PROCESS, sc.COMMIT, sc.BACK_OUT, sc.RECOVER)
            },
        )

    def of_messages(self) -> SpanTemplate:
        """Return the values that all spans of messages have in common."""
        operation, kind = (sc.CREATE, SpanKind.PRODUCER) if self.role == sc.PUT else (sc.PROCESS, SpanKind.CONSUMER)
        # There are many of these spans, so they have few attributes. The span above has the owner and the group.
        few = {key: value for key, value in self.operations[operation].items() if key != sc.QUEUE_MANAGER}
        return SpanTemplate(self.tracer, f"{operation} {self.queue}", kind, few)


class OwnerTelemetry:
    """The telemetry of one producer or consumer.

    Attributes:
        each_message: whether messages have spans of their own.
        is_heard: whether events must be reported, because a provider is set, or because the application has a span whose context
            is passed on. A true value never becomes false again.
        messages: the spans of messages.
    """

    def __init__(
        self, settings: TelemetrySettings, role: str, name: str, queue: str, place: Place, *, propagates: bool
    ) -> None:
        """``propagates``: whether messages carry trace context."""
        self._labels = _Labels.of(settings, role, name, queue, place, propagates=propagates)
        self.each_message = settings.trace == EACH_MESSAGE
        self.is_heard = _is_heard()
        self.messages = MessageSpans(self._labels.of_messages())
        self._unit: _OpenUnit | None = None
        self._recovering: _Open | None = None
        self._resumed_link: Link | None = None
        self._group = _OpenGroup()
        self._is_replaced = False
        self._failed_with: BaseException | None = None

    def listen(self) -> bool:
        """Update and return ``is_heard``. Call this method before the first event of a unit of work, and before rare events."""
        self.is_heard = self.is_heard or _is_heard()
        return self.is_heard

    def take(self, event: Event) -> None:
        """Record an event."""
        _TAKE[type(event)](self, event)

    @property
    def place(self) -> Place:
        """The queue manager, with its identifier and address."""
        return self._labels.place

    # --- a unit of work

    @guarded
    def _begin(self, event: UnitBegun) -> None:
        if self._unit is not None:
            return
        labels = self._labels
        self._unit = unit = _OpenUnit(INVALID_SPAN, labels.role, time.perf_counter())
        if self._group.began_s is None:
            self._group = self._group._replace(began_s=unit.began_s)
        resumed, self._resumed_link = self._resumed_link, None
        gets = labels.role == sc.GET
        unit.span = span = labels.tracer.start_span(
            f"{labels.role} {labels.queue}",
            context=event.below or (application_context() if gets else None),
            kind=labels.kind,
            attributes={**labels.operations[labels.role], **labels.who, sc.UNIT_OF_WORK: event.number},
            links=[resumed] if resumed is not None else None,
        )
        unit.below = trace.set_span_in_context(span)
        # If the unit's span is sampled out, its messages get no spans. By default a sampler would decide the same for them.
        unit.has_message_spans = self.each_message and span.is_recording()
        # In this case the application's own spans are below the unit's span, so they are sampled out, too.
        instead = gets and self.each_message and not unit.has_message_spans
        if (labels.makes_current or instead) and span.get_span_context().is_valid:
            self.messages.step_into(span)

    @property
    def has_message_spans(self) -> bool:
        """Whether the messages of the open unit of work have spans of their own."""
        return self._unit is not None and self._unit.has_message_spans

    @property
    def span(self) -> Span | None:
        """The span of the open unit of work; ``None`` if no unit of work is open."""
        return self._unit.span if self._unit is not None else None

    @property
    def context(self) -> Context | None:
        """The parent context for spans in a unit of work. ``None`` means the application's context, because no unit is open."""
        return self._unit.below if self._unit is not None else None

    def in_span(self) -> AbstractContextManager[object]:
        """Make the span of the open unit of work current for a ``with`` block. Do nothing if no unit of work is open."""
        if self._unit is None:
            return nullcontext()
        return trace.use_span(self._unit.span, record_exception=False, set_status_on_exception=False)

    def trace_context(self, span: Span | None = None) -> TraceContext:
        """Return the trace context of ``span``, by default of the unit of work's span, for messages and the status record."""
        if span is None and self._unit is None:
            return context.NONE
        return context.of_span(span or self.span)

    @guarded
    def settle(self, operation: str) -> None:
        """Record the beginning of a commit or backout if the unit of work has messages. ``settled`` records the end."""
        if self._unit is not None and self._unit.settling is None:
            self._unit.settling = self._start(operation, SpanKind.CLIENT)

    @guarded
    def settled(self, why: BaseException | None = None) -> None:
        """Record that the commit or backout has ended. ``why`` is the error if the commit or backout has failed."""
        if self._unit is not None:
            settling, self._unit.settling = self._unit.settling, None
            self._finish(settling, why)

    def application_failed(self, error: BaseException | None) -> None:
        """Record the error with which the application leaves a ``with`` block. This error is the reason of the next backout."""
        self._failed_with = error if self.is_heard else None

    @guarded
    def asking(self) -> None:
        """Record that a function of the application is called before a commit. No message's span is current in this function."""
        if self.each_message:
            self.messages.step_out()

    @guarded
    def _committed(self, event: UnitCommitted) -> None:
        self._failed_with = None
        self._ended(event.position, event.position, event.messages, event.group_name, None)
        if event.ends_group:
            self._group_ended(event.record.msg_seq_number)

    @guarded
    def _backed_out(self, event: UnitBackedOut) -> None:
        failed_with, self._failed_with = self._failed_with, None
        why = event.why
        if why == sc.BACKED_OUT and failed_with is not None:
            why = failed_with
        self.messages.failed(why)
        if event.is_lost:
            self._replaced()
        self._ended(event.position, event.in_hand, event.messages, event.group_name, why)

    @guarded
    def _ended(
        self,
        committed: GroupPosition,
        in_hand: GroupPosition,
        messages: int,
        group_name: str,
        why: BaseException | str | None,
    ) -> None:
        self.settled(why if isinstance(why, BaseException) else None)
        self.messages.step_out()
        self._finish_messages()
        unit, self._unit = self._unit, None
        if committed.at_start:
            self._group = self._group._replace(began_s=None)
        if unit is None:
            return
        if unit.span.is_recording():
            named = {sc.GROUP_NAME: brief(group_name)} if group_name else {}
            unit.span.set_attributes({sc.BATCH_MESSAGE_COUNT: messages, **_at(in_hand), **named})
        if why is not None and unit.span.get_span_context().is_valid:
            # The span of the redone unit of work links to this span.
            self._resumed_link = Link(unit.span.get_span_context())
        self._finish(unit, why)
        self._count(messages, why)

    @guarded
    def _count(self, messages: int, why: BaseException | str | None) -> None:
        labels, instruments = self._labels, metrics.INSTRUMENTS
        counter = instruments.sent_messages if labels.role == sc.PUT else instruments.consumed_messages
        counter.add(messages, {**labels.operations[labels.role], **error_type(why)})
        outcome = sc.COMMITTED if why is None else sc.BACKED_OUT
        instruments.units_of_work.add(1, {**labels.metric, sc.OUTCOME: outcome})

    @guarded
    def _finish_messages(self) -> None:
        finished, role = self.messages.finish(), self._labels.role
        if role == sc.PUT and self._unit is not None and self._unit.span.is_recording():
            # "The Send span should link to the creation contexts", even if they are below it (conventions, messaging spans).
            for span in finished:
                if isinstance(span, MessageSpan):
                    self._unit.span.add_link(span.get_span_context())
        if role == sc.GET:
            record, attributes = metrics.INSTRUMENTS.process_duration.record, self._labels.operations[sc.PROCESS]
            for span in finished:
                record(span.seconds, {**attributes, **error_type(span.why)} if span.why is not None else attributes)

    @guarded
    def _group_ended(self, messages: int) -> None:
        group, self._group = self._group, _OpenGroup()
        attributes = {**self._labels.metric, sc.OUTCOME: group.outcome}
        metrics.INSTRUMENTS.group_messages.record(messages, attributes)
        if group.began_s is not None:
            metrics.INSTRUMENTS.group_duration.record(time.perf_counter() - group.began_s, attributes)

    @guarded
    def hand_out(self, message: Message) -> None:
        """Record that the application gets a message.

        Link to the span in which the message was put, and begin the message's own span if messages have spans.
        """
        if not self.is_heard:
            return
        if self.each_message and not self.has_message_spans:
            self.messages.hand_out_timed()
            return
        carried = context.in_folders(message._taken.folders) if message._taken is not None else context.NONE
        if self.each_message:
            found = context.link(*carried) if carried.traceparent else None
            self.messages.hand_out(message.msg_seq_number, self.context, found, message.msg_id)
        elif carried.traceparent:
            self._link(carried)

    def _link(self, carried: TraceContext) -> None:
        # All messages of a producer's unit of work carry the same context, and they arrive one after the other.
        if self._unit is not None and carried.traceparent != self._unit.linked:
            self._unit.linked = carried.traceparent
            found = context.link(carried.traceparent, carried.tracestate)
            if found is not None:
                self._unit.span.add_link(found.context, found.attributes)

    # --- events of groups and owners

    @guarded
    def _resumed(self, event: GroupFound) -> None:
        record, labels = event.record, self._labels
        self._resumed_link = found = context.link(record.traceparent)
        name = name_of(record.properties)
        span = labels.tracer.start_span(
            f"{sc.RECOVER} {labels.queue}",
            kind=SpanKind.INTERNAL,
            attributes={
                **labels.operations[sc.RECOVER],
                **labels.who,
                sc.OUTCOME: sc.RESUMED,
                sc.GROUP_ID: record.group_id.hex(),
                sc.MSG_SEQ_NUMBER: record.msg_seq_number,
                sc.OFFSET: record.offset,
                sc.UNIT_OF_WORK: record.unit_of_work,
                sc.EPOCH: event.epoch,
                **({sc.GROUP_NAME: brief(name)} if name else {}),
            },
            links=[found] if found is not None else None,
            start_time=event.began_ns,
        )
        span.end()
        metrics.INSTRUMENTS.resumes.add(1, labels.metric)

    @guarded
    def _recovery_begun(self, event: RecoveryBegun) -> None:
        self.messages.step_out()
        self._recovering = self._start(sc.RECOVER, SpanKind.INTERNAL)
        if self._recovering is not None:
            attributes = {**self._labels.who, sc.UNIT_OF_WORK: event.number, sc.REASON_CODE: event.error.reason}
            self._recovering.span.set_attributes(attributes)

    @guarded
    def _concluded(self, event: OutcomeFound) -> None:
        outcome = event.outcome.value
        if self._recovering is not None:
            self._recovering.span.set_attribute(sc.OUTCOME, outcome)
        if event.messages:
            metrics.INSTRUMENTS.in_doubt.add(1, {**self._labels.metric, sc.OUTCOME: outcome})
        if outcome == sc.OWNERSHIP_LOST:
            self._replaced()

    def _replaced(self) -> None:
        # The loss may be detected several times, but counts once.
        if not self._is_replaced:
            self._is_replaced = True
            metrics.INSTRUMENTS.ownership_losses.add(1, self._labels.metric)

    @guarded
    def _recovery_ended(self, event: RecoveryEnded) -> None:
        recovering, self._recovering = self._recovering, None
        if recovering is not None:
            end_span(recovering.span, event.why)

    @guarded
    def abandoned(self, result: int) -> None:
        """Record that the group was abandoned. This unit of work has the message that ends but does not complete the group."""
        self._group = self._group._replace(outcome=sc.ABANDONED)
        self._add_event(sc.EVENT_ABANDONED, {sc.RESULT: result})

    @guarded
    def quarantined(self, msg_seq_number: int, backout_queue: str) -> None:
        """Record that this message and the rest of its group go to the backout queue."""
        self._group = self._group._replace(outcome=sc.QUARANTINED)
        self._add_event(sc.EVENT_QUARANTINED, {sc.MSG_SEQ_NUMBER: msg_seq_number, sc.BACKOUT_QUEUE: backout_queue})

    @guarded
    def poison(self, msg_seq_number: int, backout_count: int, backout_queue: str = "") -> None:
        """Record that a message is poison. If ``backout_queue`` is given, the message is moved to that queue."""
        told: _Attributes = {sc.MSG_SEQ_NUMBER: msg_seq_number, sc.BACKOUT_COUNT: backout_count}
        if backout_queue:
            told[sc.BACKOUT_QUEUE] = backout_queue
        self._add_event(sc.EVENT_POISON, told)
        metrics.INSTRUMENTS.poison_messages.add(1, self._labels.metric)

    # --- helpers

    @guarded
    def _start(self, operation: str, kind: SpanKind) -> _Open:
        """Begin an operation, with a span below the span of the unit of work."""
        labels = self._labels
        attributes = {**labels.operations[operation], **labels.who}
        span = labels.tracer.start_span(
            f"{operation} {labels.queue}", context=self.context, kind=kind, attributes=attributes
        )
        return _Open(span, operation, time.perf_counter())

    @guarded
    def _finish(self, operation: _Open | None, why: BaseException | str | None) -> None:
        """End an operation, and record how long it took."""
        if operation is None:
            return
        attributes = {**self._labels.operations[operation.operation], **error_type(why)}
        try:
            metrics.INSTRUMENTS.operation_duration.record(time.perf_counter() - operation.began_s, attributes)
        finally:
            end_span(operation.span, why)

    def _add_event(self, name: str, attributes: _Attributes) -> None:
        if self._unit is not None:
            self._unit.span.add_event(name, attributes)


_TAKE: dict[type[Event], Callable[[OwnerTelemetry, Any], None]] = {
    GroupFound: OwnerTelemetry._resumed,
    UnitBegun: OwnerTelemetry._begin,
    UnitCommitted: OwnerTelemetry._committed,
    UnitBackedOut: OwnerTelemetry._backed_out,
    OutcomeFound: OwnerTelemetry._concluded,
    RecoveryBegun: OwnerTelemetry._recovery_begun,
    RecoveryEnded: OwnerTelemetry._recovery_ended,
}


def _is_heard() -> bool:
    """Return whether telemetry is recorded or passed on, because a provider is set, or because the application has a span.

    While no provider is set, tracers and instruments are objects of the API's own classes, which record nothing.
    """
    return (
        type(trace.get_tracer_provider()).__module__ not in _SILENT
        or type(get_meter_provider()).__module__ not in _SILENT
        or trace.get_current_span() is not INVALID_SPAN
        or type(TRACER).__module__ not in _SILENT
        or type(metrics.INSTRUMENTS.units_of_work).__module__ not in _SILENT
    )


def _at(position: GroupPosition) -> _Attributes:
    """Return the attributes for the group and the message of a position; no attributes if no group is begun."""
    if position.at_start:
        return {}
    return {sc.GROUP_ID: position.group_id.hex(), sc.MSG_SEQ_NUMBER: position.msg_seq_number}
