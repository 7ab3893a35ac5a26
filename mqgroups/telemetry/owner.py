"""A producer's or consumer's telemetry: the span of each unit of work, what is below it, and the metrics beside it.

    put ORDERS                  a unit of work: from its first message to its commit or back out
      create ORDERS             a message, with trace="message"
      commit ORDERS             its status record and MQCMIT; or back out ORDERS
      recover ORDERS            the connection was lost in it: until it is known what became of it, and done again
    get ORDERS                  linked to the spans in which its messages were put
      process ORDERS            a message in the application's hands, with trace="message"; current meanwhile
      commit ORDERS
    recover ORDERS              an interrupted group was found at the start; linked to the unit of work it stopped after

A group that is resumed, maybe days later, is a new trace: the status record has the context of the last unit of work, and the
first span of the new instance links to it. Nothing here can fail: see ``guard.py``. A driver calls ``begin`` with each unit of
work's first message, and ``ended`` when it knows what became of it; a begin without an end goes on with the same span.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import INVALID_SPAN, Link, Span, SpanKind
from opentelemetry.util.types import AttributeValue

from mqgroups.core.group import GroupPosition
from mqgroups.core.status import StatusRecord
from mqgroups.errors import MQIError
from mqgroups.mqi.message import Message
from mqgroups.telemetry import context, metrics
from mqgroups.telemetry import semantic_conventions as sc
from mqgroups.telemetry.context import TraceContext
from mqgroups.telemetry.guard import guarded
from mqgroups.telemetry.message_span import Likeness, MessageSpans, end_span, error_type
from mqgroups.telemetry.settings import EACH_MESSAGE, OFF, TelemetrySettings

TRACER = trace.get_tracer(sc.SCOPE, schema_url=sc.SCHEMA_URL)
_Attributes = dict[str, AttributeValue]


class _NoSpans(trace.NoOpTracer):
    """For no tracing: what is passed on is the context of the application's span, if there is one."""

    def start_span(self, name: str, context: Context | None = None, *_: object, **__: object) -> Span:  # noqa: ARG002 - the API's
        return trace.NonRecordingSpan(trace.get_current_span(context).get_span_context())


_NO_SPANS = _NoSpans()


def tracer(settings: TelemetrySettings) -> trace.Tracer:
    """Return what makes the spans that are asked for."""
    return _NO_SPANS if settings.trace == OFF else TRACER


@dataclass(slots=True)
class _Open:
    """An operation that has begun: its span, its name, and when it began, for its metric; of a unit of work what is below it."""

    span: Span
    operation: str
    began_s: float
    below: Context | None = None


class OwnerTelemetry:
    """The telemetry of one producer or consumer.

    Attributes:
        each_message: whether messages have spans of their own.
        messages: these.
    """

    def __init__(
        self,
        settings: TelemetrySettings,
        role: str,
        name: str,
        queue: str,
        q_mgr_name: str,
        *,
        propagates: bool,
    ) -> None:
        """``propagates``: whether messages carry trace context."""
        self.each_message = settings.trace == EACH_MESSAGE
        self._tracer = tracer(settings)
        self._role = role
        self._queue = queue
        self._who: _Attributes = {sc.CLIENT_ID: name, sc.QUEUE_MANAGER: q_mgr_name}
        self._operations = {
            operation: {
                sc.SYSTEM: sc.IBMMQ,
                sc.DESTINATION_NAME: queue,
                sc.OPERATION_NAME: operation,
                **({sc.OPERATION_TYPE: sc.OPERATION_TYPES[operation]} if operation in sc.OPERATION_TYPES else {}),
            }
            for operation in (role, sc.CREATE, sc.PROCESS, sc.COMMIT, sc.BACK_OUT, sc.RECOVER)
        }
        operation, kind = (sc.CREATE, SpanKind.PRODUCER) if role == sc.PUT else (sc.PROCESS, SpanKind.CONSUMER)
        # Whose message it is, and of which group, the span above tells: these are many.
        like = Likeness(self._tracer, f"{operation} {queue}", kind, self._operations[operation])
        self.messages = MessageSpans(like)
        # By the conventions: a span whose context messages carry is their producer.
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

    # --- a unit of work

    @guarded
    def begin(self, unit_of_work: int, below: Context | None = None) -> None:
        """A unit of work has, or is about to have, its first message; ``below`` the span of another owner of it."""
        if self._unit is not None:
            return
        self._unit = unit = _Open(INVALID_SPAN, self._role, time.perf_counter())
        if self._group_began_s is None:
            self._group_began_s = unit.began_s
        self._linked = None
        resumed, self._resumed_link = self._resumed_link, None
        unit.span = self._tracer.start_span(
            f"{self._role} {self._queue}",
            context=below,
            kind=self._kind,
            attributes={**self._operations[self._role], **self._who, sc.UNIT_OF_WORK: unit_of_work},
            links=[resumed] if resumed is not None else None,
        )
        unit.below = trace.set_span_in_context(unit.span)

    @property
    def span(self) -> Span | None:
        """The span of the open unit of work."""
        return self._unit.span if self._unit is not None else None

    @property
    def context(self) -> Context | None:
        """The context below the span of the open unit of work; ``None``, the application's, outside one."""
        return self._unit.below if self._unit is not None else None

    def trace_context(self, span: Span | None = None) -> TraceContext:
        """Return what messages and the status record of the open unit of work carry; ``span``: of a message's own."""
        return self._of_span(span or self.span) or context.NONE

    @guarded
    def _of_span(self, span: Span | None) -> TraceContext | None:
        return context.of_span(span) if span is not None else None

    @guarded
    def settle(self, operation: str) -> None:
        """A commit or back out begins, of what has messages; ``settled`` ends it."""
        if self._unit is not None and self._settling is None:
            self._settling = self._start(operation, SpanKind.CLIENT)

    @guarded
    def settled(self, why: BaseException | None = None) -> None:
        """It has an answer; ``why`` it failed."""
        settling, self._settling = self._settling, None
        self._finish(settling, why)

    @guarded
    def ended(
        self, position: GroupPosition, messages: int, why: BaseException | str | None = None, *, is_lost: bool = False
    ) -> None:
        """The unit of work has ended: at ``position``, with so many messages; ``why`` it was backed out.

        ``is_lost``: because another instance has this owner's name.
        """
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
                {
                    sc.BATCH_MESSAGE_COUNT: messages,
                    sc.GROUP_ID: position.group_id.hex(),
                    sc.MSG_SEQ_NUMBER: position.msg_seq_number,
                }
            )
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
        if self._role == sc.GET:
            record, attributes = metrics.INSTRUMENTS.process_duration.record, self._operations[sc.PROCESS]
            for span in finished:
                record(span.seconds, {**attributes, **error_type(span.why)} if span.why is not None else attributes)

    @guarded
    def group_ended(self, messages: int) -> None:
        """The commit that ended a group of so many messages took effect."""
        began_s, self._group_began_s = self._group_began_s, None
        outcome, self._group_outcome = self._group_outcome, sc.COMPLETED
        attributes = {**self._metric, sc.OUTCOME: outcome}
        metrics.INSTRUMENTS.group_messages.record(messages, attributes)
        if began_s is not None:
            metrics.INSTRUMENTS.group_duration.record(time.perf_counter() - began_s, attributes)

    @guarded
    def hand_out(self, message: Message) -> None:
        """The application gets a message: link to where it was put, and begin its span if messages have spans."""
        carried = context.in_folders(message.taken.folders) if message.taken is not None else context.NONE
        if self.each_message:
            found = context.link(*carried) if carried.traceparent else None
            self.messages.hand_out(message.msg_seq_number, self.context, found)
        elif carried.traceparent:
            self._link(carried)

    def _link(self, carried: TraceContext) -> None:
        # Messages of one unit of work of a producer's carry the same context, one after the other.
        if self._unit is not None and carried.traceparent != self._linked:
            self._linked = carried.traceparent
            found = context.link(carried.traceparent, carried.tracestate)
            if found is not None:
                self._unit.span.add_link(found.context, found.attributes)

    # --- what happens to groups and owners

    @guarded
    def resumed(self, record: StatusRecord, epoch: int, began_ns: int) -> None:
        """The record of an interrupted group was found at the start, by this many-th owner."""
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
            },
            links=[found] if found is not None else None,
            start_time=began_ns,
        )
        span.end()
        metrics.INSTRUMENTS.resumes.add(1, self._metric)

    @guarded
    def recovering(self, error: MQIError, unit_of_work: int) -> None:
        """The connection was lost, with this error; ``recovered`` ends it."""
        self.messages.step_out()
        self._recovering = self._start(sc.RECOVER, SpanKind.INTERNAL)
        if self._recovering is not None:
            attributes = {**self._who, sc.UNIT_OF_WORK: unit_of_work, sc.REASON_CODE: error.reason}
            self._recovering.span.set_attributes(attributes)

    @guarded
    def concluded(self, outcome: str, *, in_doubt: bool) -> None:
        """The status record has told what became of the unit of work; ``in_doubt``: its commit had no answer."""
        if self._recovering is not None:
            self._recovering.span.set_attribute(sc.OUTCOME, outcome)
        attributes = {**self._metric, sc.OUTCOME: outcome}
        if in_doubt:
            metrics.INSTRUMENTS.in_doubt.add(1, attributes)
        if outcome == sc.OWNERSHIP_LOST:
            self._replaced()

    def _replaced(self) -> None:
        # It may be found out in several ways, and several times.
        if not self._is_replaced:
            self._is_replaced = True
            metrics.INSTRUMENTS.ownership_losses.add(1, self._metric)

    @guarded
    def recovered(self, why: BaseException | None = None) -> None:
        """All is done again that had to be; or not, and why."""
        recovering, self._recovering = self._recovering, None
        if recovering is not None:
            end_span(recovering.span, why)

    @guarded
    def abandoned(self, result: int) -> None:
        """The group ends without being completed, with its last message in this unit of work."""
        self._group_outcome = sc.ABANDONED
        self._event(sc.EVENT_ABANDONED, {sc.RESULT: result})

    @guarded
    def quarantined(self, msg_seq_number: int, backout_queue: str) -> None:
        """The rest of the group goes to the backout queue, from this message on."""
        self._group_outcome = sc.QUARANTINED
        self._event(sc.EVENT_QUARANTINED, {sc.MSG_SEQ_NUMBER: msg_seq_number, sc.BACKOUT_QUEUE: backout_queue})

    @guarded
    def poison(self, msg_seq_number: int, backout_count: int, backout_queue: str = "") -> None:
        """A message is condemned; it is moved to the backout queue, if one is given."""
        told: _Attributes = {sc.MSG_SEQ_NUMBER: msg_seq_number, sc.BACKOUT_COUNT: backout_count}
        if backout_queue:
            told[sc.BACKOUT_QUEUE] = backout_queue
        self._event(sc.EVENT_POISON, told)
        metrics.INSTRUMENTS.poison_messages.add(1, self._metric)

    # --- parts

    @property
    def _metric(self) -> _Attributes:
        return {sc.SYSTEM: sc.IBMMQ, sc.DESTINATION_NAME: self._queue, sc.ROLE: self._role}

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
