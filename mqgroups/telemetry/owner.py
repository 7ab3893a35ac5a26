"""The telemetry of a producer or consumer: a span for each unit of work, spans below it, and metrics.

    put ORDERS                  a unit of work: from its first message to its commit or back out
      create ORDERS             a message, with trace="message"
      commit ORDERS             its status record and MQCMIT; or: back out ORDERS
      recover ORDERS            the connection was lost: until the outcome is known and the unit of work redone
    get ORDERS                  linked to the spans in which its messages were put
      process ORDERS            the application processes a message, with trace="message"; it is the current span meanwhile
      commit ORDERS
    recover ORDERS              an interrupted group was found at the start; linked to its last unit of work

A resumed group starts a new trace, perhaps days later. The status record has the context of the last unit of work, and the first
span of the new instance links to it. Nothing here can fail: see ``guard.py``. A driver calls ``begin`` with the first message of
each unit of work, and ``ended`` when its outcome is known. A second ``begin`` without ``ended`` continues the same span.
"""

from __future__ import annotations

import time
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import INVALID_SPAN, Link, Span, SpanKind
from opentelemetry.util.types import AttributeValue

from mqgroups.core.group import GroupPosition
from mqgroups.core.group_properties import name_of
from mqgroups.core.status import StatusRecord
from mqgroups.errors import MQIError
from mqgroups.mqi.message import Message
from mqgroups.printable import brief
from mqgroups.telemetry import context, metrics
from mqgroups.telemetry import semantic_conventions as sc
from mqgroups.telemetry.context import TraceContext
from mqgroups.telemetry.guard import guarded
from mqgroups.telemetry.message_span import (
    Likeness,
    MessageSpan,
    MessageSpans,
    application_context,
    end_span,
    error_type,
)
from mqgroups.telemetry.place import Place
from mqgroups.telemetry.settings import EACH_MESSAGE, EACH_UNIT_OF_WORK, OFF, TelemetrySettings

TRACER = trace.get_tracer(sc.SCOPE, schema_url=sc.SCHEMA_URL)
_Attributes = dict[str, AttributeValue]


class _NoSpans(trace.NoOpTracer):
    """A tracer for trace="off": it makes no spans, and passes on the context of the application's span."""

    def start_span(self, name: str, context: Context | None = None, *_: object, **__: object) -> Span:  # noqa: ARG002 - the API's
        return trace.NonRecordingSpan(trace.get_current_span(context).get_span_context())


_NO_SPANS = _NoSpans()


def tracer(settings: TelemetrySettings) -> trace.Tracer:
    """Return the tracer for these settings."""
    return _NO_SPANS if settings.trace == OFF else TRACER


@dataclass(slots=True)
class _Open:
    """An operation in progress: its span, name and start time; for a unit of work also the context below its span."""

    span: Span
    operation: str
    began_s: float
    below: Context | None = None


class OwnerTelemetry:
    """The telemetry of one producer or consumer.

    Attributes:
        each_message: whether messages are to have spans of their own.
        has_message_spans: whether those of the open unit of work have. If its own span is sampled out, they have not, and no
            sampler is asked for each of them: by default it would decide as for the span above.
        messages: the spans of messages.
    """

    def __init__(
        self, settings: TelemetrySettings, role: str, name: str, queue: str, place: Place, *, propagates: bool
    ) -> None:
        """``propagates``: whether messages carry trace context."""
        self.each_message = settings.trace == EACH_MESSAGE
        self.has_message_spans = False
        self._makes_current = role == sc.GET and settings.trace == EACH_UNIT_OF_WORK
        self._tracer = tracer(settings)
        self._role = role
        self._queue = queue
        self._q_mgr_name = place.q_mgr_name
        self._who: _Attributes = {sc.CLIENT_ID: name, **place.attributes}
        self._operations = {
            operation: {
                sc.SYSTEM: sc.IBMMQ,
                sc.QUEUE_MANAGER: place.q_mgr_name,
                sc.DESTINATION_NAME: queue,
                sc.OPERATION_NAME: operation,
                **({sc.OPERATION_TYPE: sc.OPERATION_TYPES[operation]} if operation in sc.OPERATION_TYPES else {}),
            }
            for operation in (role, sc.CREATE, sc.PROCESS, sc.COMMIT, sc.BACK_OUT, sc.RECOVER)
        }
        operation, kind = (sc.CREATE, SpanKind.PRODUCER) if role == sc.PUT else (sc.PROCESS, SpanKind.CONSUMER)
        # Few attributes, because there are many of these spans; the span above has the owner and the group.
        few = {key: value for key, value in self._operations[operation].items() if key != sc.QUEUE_MANAGER}
        like = Likeness(self._tracer, f"{operation} {queue}", kind, few)
        self.messages = MessageSpans(like)
        # The conventions say that a span whose context messages carry is of kind PRODUCER.
        carried = propagates and role == sc.PUT and not self.each_message
        self._kind = SpanKind.PRODUCER if carried else SpanKind.CLIENT
        self._unit: _Open | None = None
        self._settling: _Open | None = None
        self._recovering: _Open | None = None
        self._linked: str | None = None
        self._resumed_link: Link | None = None
        self._group_began_s: float | None = None
        self._group_outcome = sc.COMPLETED
        self._is_replaced = False
        self._failed_with: BaseException | None = None

    # --- a unit of work

    @guarded
    def begin(self, unit_of_work: int, below: Context | None = None) -> None:
        """Note that a unit of work has its first message, or is about to have it.

        ``below``: the context of another owner's span in the same unit of work.
        """
        if self._unit is not None:
            return
        self._unit = unit = _Open(INVALID_SPAN, self._role, time.perf_counter())
        if self._group_began_s is None:
            self._group_began_s = unit.began_s
        self._linked = None
        resumed, self._resumed_link = self._resumed_link, None
        unit.span = self._tracer.start_span(
            f"{self._role} {self._queue}",
            context=below or (application_context() if self._role == sc.GET else None),
            kind=self._kind,
            attributes={**self._operations[self._role], **self._who, sc.UNIT_OF_WORK: unit_of_work},
            links=[resumed] if resumed is not None else None,
        )
        unit.below = trace.set_span_in_context(unit.span)
        self.has_message_spans = self.each_message and unit.span.is_recording()
        # Then the application's own spans are below it, which is sampled out.
        instead = self._role == sc.GET and self.each_message and not self.has_message_spans
        if (self._makes_current or instead) and unit.span.get_span_context().is_valid:
            self.messages.step_into(unit.span)

    @property
    def span(self) -> Span | None:
        """The span of the open unit of work."""
        return self._unit.span if self._unit is not None else None

    @property
    def context(self) -> Context | None:
        """The context below the span of the open unit of work; ``None`` outside a unit of work: the application's context."""
        return self._unit.below if self._unit is not None else None

    def in_span(self) -> AbstractContextManager[object]:
        """Make the span of the open unit of work current for a ``with`` block; nothing outside one."""
        if self._unit is None:
            return nullcontext()
        return trace.use_span(self._unit.span, record_exception=False, set_status_on_exception=False)

    def trace_context(self, span: Span | None = None) -> TraceContext:
        """Return the trace context for messages and the status record; ``span`` replaces the span of the unit of work."""
        return context.of_span(span or self.span)

    @guarded
    def settle(self, operation: str) -> None:
        """Note that the commit or back out of a unit of work with messages begins; ``settled`` ends it."""
        if self._unit is not None and self._settling is None:
            self._settling = self._start(operation, SpanKind.CLIENT)

    @guarded
    def settled(self, why: BaseException | None = None) -> None:
        """Note that the commit or back out has ended; ``why`` is the error if it failed."""
        settling, self._settling = self._settling, None
        self._finish(settling, why)

    def application_failed(self, error: BaseException | None) -> None:
        """Note the error for which the application leaves a ``with`` block: why its unit of work will be backed out."""
        self._failed_with = error

    @guarded
    def asking(self) -> None:
        """Note that the application is asked before a commit, which belongs to all messages: none of them is current then."""
        if self.each_message:
            self.messages.step_out()

    @guarded
    def ended(
        self,
        position: GroupPosition,
        messages: int,
        why: BaseException | str | None = None,
        *,
        in_hand: GroupPosition | None = None,
        is_lost: bool = False,
        group_name: str = "",
    ) -> None:
        """Note that the unit of work has ended.

        Args:
            position: that is committed.
            messages: how many it had.
            why: the reason if it was backed out.
            in_hand: the position of the last message that was put or got, if it was backed out.
            is_lost: whether it was backed out because another instance has this owner's name.
            group_name: empty if the group has none.
        """
        failed_with, self._failed_with = self._failed_with, None
        if why == sc.BACKED_OUT and failed_with is not None:
            why = failed_with
        self.settled(why if isinstance(why, BaseException) else None)
        if why is not None:
            self.messages.failed(why)
        self.messages.step_out()
        if is_lost:
            self._replaced()
        self._finish_messages()
        unit, self._unit = self._unit, None
        if position.at_start:
            self._group_began_s = None
        if unit is None:
            return
        if unit.span.is_recording():
            unit.span.set_attributes(
                {sc.BATCH_MESSAGE_COUNT: messages, **_at(in_hand or position), **_named(group_name)}
            )
        if why is not None and unit.span.get_span_context().is_valid:
            # What is put or got again belongs to this.
            self._resumed_link = Link(unit.span.get_span_context())
        self._finish(unit, why)
        self._count(messages, why)

    @guarded
    def _count(self, messages: int, why: BaseException | str | None) -> None:
        attributes = {**self._operations[self._role], **error_type(why)}
        instruments = metrics.INSTRUMENTS
        counter = instruments.sent_messages if self._role == sc.PUT else instruments.consumed_messages
        counter.add(messages, attributes)
        outcome = sc.COMMITTED if why is None else sc.BACKED_OUT
        instruments.units_of_work.add(1, {**self._metric, sc.OUTCOME: outcome})

    @guarded
    def _finish_messages(self) -> None:
        finished = self.messages.finish()
        if self._role == sc.PUT and self._unit is not None and self._unit.span.is_recording():
            # "The Send span should link to the creation contexts", also if these are below it (conventions, messaging spans).
            for span in finished:
                if isinstance(span, MessageSpan):
                    self._unit.span.add_link(span.get_span_context())
        if self._role == sc.GET:
            record, attributes = metrics.INSTRUMENTS.process_duration.record, self._operations[sc.PROCESS]
            for span in finished:
                record(span.seconds, {**attributes, **error_type(span.why)} if span.why is not None else attributes)

    @guarded
    def group_ended(self, messages: int) -> None:
        """Note that a group of ``messages`` has ended, and that its last commit took effect."""
        began_s, self._group_began_s = self._group_began_s, None
        outcome, self._group_outcome = self._group_outcome, sc.COMPLETED
        attributes = {**self._metric, sc.OUTCOME: outcome}
        metrics.INSTRUMENTS.group_messages.record(messages, attributes)
        if began_s is not None:
            metrics.INSTRUMENTS.group_duration.record(time.perf_counter() - began_s, attributes)

    @guarded
    def hand_out(self, message: Message) -> None:
        """Note that the application gets a message: link to the span of its put, and begin its own span if it has one."""
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
        if self._unit is not None and carried.traceparent != self._linked:
            self._linked = carried.traceparent
            found = context.link(carried.traceparent, carried.tracestate)
            if found is not None:
                self._unit.span.add_link(found.context, found.attributes)

    # --- events of groups and owners

    @guarded
    def resumed(self, record: StatusRecord, epoch: int, began_ns: int) -> None:
        """Note that the record of an interrupted group was found at the start, by the owner with number ``epoch``."""
        self._resumed_link = found = context.link(record.traceparent)
        span = self._tracer.start_span(
            f"{sc.RECOVER} {self._queue}",
            kind=SpanKind.INTERNAL,
            attributes={
                **self._operations[sc.RECOVER],
                **self._who,
                sc.OUTCOME: sc.RESUMED,
                sc.GROUP_ID: record.group_id.hex(),
                sc.MSG_SEQ_NUMBER: record.msg_seq_number,
                sc.OFFSET: record.offset,
                sc.UNIT_OF_WORK: record.unit_of_work,
                sc.EPOCH: epoch,
                **_named(name_of(record.properties)),
            },
            links=[found] if found is not None else None,
            start_time=began_ns,
        )
        span.end()
        metrics.INSTRUMENTS.resumes.add(1, self._metric)

    @guarded
    def recovering(self, error: MQIError, unit_of_work: int) -> None:
        """Note that the connection was lost with this error; ``recovered`` ends the span."""
        self.messages.step_out()
        self._recovering = self._start(sc.RECOVER, SpanKind.INTERNAL)
        if self._recovering is not None:
            attributes = {**self._who, sc.UNIT_OF_WORK: unit_of_work, sc.REASON_CODE: error.reason}
            self._recovering.span.set_attributes(attributes)

    @guarded
    def concluded(self, outcome: str, *, in_doubt: bool) -> None:
        """Note the outcome of the unit of work, as the status record shows it; ``in_doubt``: its commit had no answer."""
        if self._recovering is not None:
            self._recovering.span.set_attribute(sc.OUTCOME, outcome)
        attributes = {**self._metric, sc.OUTCOME: outcome}
        if in_doubt:
            metrics.INSTRUMENTS.in_doubt.add(1, attributes)
        if outcome == sc.OWNERSHIP_LOST:
            self._replaced()

    def _replaced(self) -> None:
        # The loss may be detected several times, but counts once.
        if not self._is_replaced:
            self._is_replaced = True
            metrics.INSTRUMENTS.ownership_losses.add(1, self._metric)

    @guarded
    def recovered(self, why: BaseException | None = None) -> None:
        """Note that recovery has ended; ``why`` is the error if it failed."""
        recovering, self._recovering = self._recovering, None
        if recovering is not None:
            end_span(recovering.span, why)

    @guarded
    def abandoned(self, result: int) -> None:
        """Note that the group was abandoned: its last message, in this unit of work, ends it without completing it."""
        self._group_outcome = sc.ABANDONED
        self._event(sc.EVENT_ABANDONED, {sc.RESULT: result})

    @guarded
    def quarantined(self, msg_seq_number: int, backout_queue: str) -> None:
        """Note that the rest of the group goes to the backout queue, from this message on."""
        self._group_outcome = sc.QUARANTINED
        self._event(sc.EVENT_QUARANTINED, {sc.MSG_SEQ_NUMBER: msg_seq_number, sc.BACKOUT_QUEUE: backout_queue})

    @guarded
    def poison(self, msg_seq_number: int, backout_count: int, backout_queue: str = "") -> None:
        """Note that a message is poison; it is moved to ``backout_queue`` if that is given."""
        told: _Attributes = {sc.MSG_SEQ_NUMBER: msg_seq_number, sc.BACKOUT_COUNT: backout_count}
        if backout_queue:
            told[sc.BACKOUT_QUEUE] = backout_queue
        self._event(sc.EVENT_POISON, told)
        metrics.INSTRUMENTS.poison_messages.add(1, self._metric)

    # --- helpers

    @property
    def _metric(self) -> _Attributes:
        return {
            sc.SYSTEM: sc.IBMMQ,
            sc.QUEUE_MANAGER: self._q_mgr_name,
            sc.DESTINATION_NAME: self._queue,
            sc.ROLE: self._role,
        }

    @guarded
    def _start(self, operation: str, kind: SpanKind) -> _Open:
        """Begin an operation below the unit of work."""
        attributes = {**self._operations[operation], **self._who}
        span = self._tracer.start_span(
            f"{operation} {self._queue}", context=self.context, kind=kind, attributes=attributes
        )
        return _Open(span, operation, time.perf_counter())

    @guarded
    def _finish(self, operation: _Open | None, why: BaseException | str | None) -> None:
        """End an operation, and record how long it took."""
        if operation is None:
            return
        attributes = {**self._operations[operation.operation], **error_type(why)}
        try:
            metrics.INSTRUMENTS.operation_duration.record(time.perf_counter() - operation.began_s, attributes)
        finally:
            end_span(operation.span, why)

    def _event(self, name: str, attributes: _Attributes) -> None:
        if self._unit is not None:
            self._unit.span.add_event(name, attributes)


def _at(position: GroupPosition) -> _Attributes:
    """Return group and message of a position; nothing if the group is not begun."""
    if position.at_start:
        return {}
    return {sc.GROUP_ID: position.group_id.hex(), sc.MSG_SEQ_NUMBER: position.msg_seq_number}


def _named(group: str) -> _Attributes:
    return {sc.GROUP_NAME: brief(group)} if group else {}
