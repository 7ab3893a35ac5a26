"""The spans of messages. Times are recorded while messages are processed, and the spans are made when the unit of work ends.

Making a span takes a large part of a message's processing time, and making many spans in a row is faster than making a span after
each message. If the process dies in a unit of work, the spans are lost, but the messages are backed out, too. A message's span is
made earlier if the application makes spans below it, or if the message carries the context of its span.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import NamedTuple

from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import INVALID_SPAN, Link, Span, SpanContext, SpanKind, Status, StatusCode
from opentelemetry.util.types import Attributes, AttributeValue

from mqgroups.errors import MQGroupsError, MQIError
from mqgroups.mqi.constants import reason_name
from mqgroups.telemetry import semantic_conventions as sc
from mqgroups.telemetry.guard import guarded

_BEFORE = otel_context.create_key("mqgroups-before")


class SpanTemplate(NamedTuple):
    """The values that all spans of one operation of a producer or consumer have in common."""

    tracer: trace.Tracer
    name: str
    kind: SpanKind
    attributes: Mapping[str, AttributeValue]


class Timed:
    """The times of a message's processing. If a unit of work is sampled out, its messages have such times, but no spans.

    Attributes:
        why: the error that has ended the processing; ``None`` if there is no error.
    """

    __slots__ = ("_began_ns", "_ended_ns", "why")

    def __init__(self) -> None:
        """Record the start time, which is now."""
        self._began_ns = time.time_ns()
        self._ended_ns = 0
        self.why: BaseException | str | None = None

    @property
    def seconds(self) -> float:
        """The duration, in seconds."""
        return (self._ended_ns - self._began_ns) / 1e9

    def end(self, end_time: int | None = None) -> None:
        """Record the end time, which is now by default. Later calls have no effect."""
        self._ended_ns = self._ended_ns or end_time or time.time_ns()

    def finish(self) -> None:
        """Do nothing, because there is no span. In ``MessageSpan`` this method makes and ends the span after the unit of work."""


class MessageSpan(Timed, Span):
    """The span of a message. The tracer makes the real span when this object is first used, at the latest in ``finish``."""

    __slots__ = ("_below", "_like", "_link", "_made", "_msg_id", "_msg_seq_number")

    def __init__(
        self,
        like: SpanTemplate,
        msg_seq_number: int,
        below: Context | None,
        link: Link | None = None,
        msg_id: bytes = b"",
    ) -> None:
        """Begin the span now. ``below``: the parent context. ``msg_id``: empty if it is not known yet."""
        self._like = like
        self._msg_seq_number = msg_seq_number
        self._msg_id = msg_id
        self._below = below
        self._link = link
        self._made: Span | None = None
        super().__init__()

    def put_as(self, msg_id: bytes) -> None:
        """Record the MsgId that MQPUT has returned."""
        self._msg_id = msg_id
        if self._made is not None:
            self._made.set_attribute(sc.MESSAGE_ID, msg_id.hex())

    def finish(self) -> None:
        """Make the span if it is not made yet, and end it with the recorded end time."""
        span = self._span()
        if self.why is None:
            span.end(self._ended_ns)
        else:
            end_span(span, self.why, self._ended_ns)

    def _span(self) -> Span:
        if self._made is None:
            self._made = self._make() or INVALID_SPAN
        return self._made

    @guarded
    def _make(self) -> Span:
        tracer, name, kind, few = self._like
        attributes = {**few, sc.MSG_SEQ_NUMBER: self._msg_seq_number}
        if self._msg_id:
            attributes[sc.MESSAGE_ID] = self._msg_id.hex()
        return tracer.start_span(
            name,
            context=self._below,
            kind=kind,
            attributes=attributes,
            links=[self._link] if self._link is not None else None,
            start_time=self._began_ns,
        )

    # --- the API of a span, for the application's current span

    def get_span_context(self) -> SpanContext:
        return self._span().get_span_context()

    def is_recording(self) -> bool:
        return self._span().is_recording()

    def set_attributes(self, attributes: Mapping[str, AttributeValue]) -> None:
        self._span().set_attributes(attributes)

    def set_attribute(self, key: str, value: AttributeValue) -> None:
        self._span().set_attribute(key, value)

    def add_event(self, name: str, attributes: Attributes = None, timestamp: int | None = None) -> None:
        self._span().add_event(name, attributes, timestamp)

    def add_link(self, context: SpanContext, attributes: Attributes = None) -> None:
        self._span().add_link(context, attributes)

    def update_name(self, name: str) -> None:
        self._span().update_name(name)

    def set_status(self, status: Status | StatusCode, description: str | None = None) -> None:
        self._span().set_status(status, description)

    def record_exception(
        self,
        exception: BaseException,
        attributes: Attributes = None,
        timestamp: int | None = None,
        escaped: bool = False,
    ) -> None:
        self._span().record_exception(exception, attributes, timestamp, escaped)


class MessageSpans:
    """The message spans of one producer or consumer. One such object is used for all units of work."""

    def __init__(self, like: SpanTemplate) -> None:
        self._like = like
        # The spans of the open unit of work. The application's current message may have begun in the unit of work before.
        self._begun: list[Timed] = []
        # The span of the message that the application is processing.
        self._in_hand: Timed | None = None
        # While a message's span is current: the context with it, and the context to restore.
        self._current: Context | None = None
        self._before: Context | None = None
        self._with_before = Context()

    def begin(
        self, msg_seq_number: int, below: Context | None, link: Link | None = None, msg_id: bytes = b""
    ) -> MessageSpan:
        """Begin the span of a message. The caller must end the span, and must set its ``why`` if the message failed."""
        span = MessageSpan(self._like, msg_seq_number, below, link, msg_id)
        self._begun.append(span)
        return span

    def hand_out(self, msg_seq_number: int, below: Context | None, link: Link | None, msg_id: bytes) -> None:
        """Begin the span of a message that the application gets, and make the span current."""
        if self._in_hand is not None:
            self._in_hand.end()
        self._in_hand = span = self.begin(msg_seq_number, below, link, msg_id)
        self.step_into(span)

    def hand_out_timed(self) -> None:
        """Record that the application gets a message that has no span."""
        if self._in_hand is not None:
            self._in_hand.end()
        self._in_hand = timed = Timed()
        self._begun.append(timed)

    def step_into(self, span: Span) -> None:
        """Make a span current for the application, until ``step_out``."""
        current = otel_context.get_current()
        if self._before is None or current is not self._current or type(span) is not MessageSpan:
            self._before = before = application_context()
            # This value marks spans that were made current here. Messages share it, which saves copies of the context.
            self._with_before = otel_context.set_value(_BEFORE, (span, before), before)
        self._current = trace.set_span_in_context(span, self._with_before)
        otel_context.attach(self._current)

    @guarded
    def processed(self) -> None:
        """Record that the application has processed the message. Its span stays current until the next span, or ``step_out``."""
        if self._in_hand is not None:
            self._in_hand.end()
            self._in_hand = None

    @guarded
    def failed(self, why: BaseException | str) -> None:
        """Record that the application, or the unit of work, failed while the application had the current message."""
        if self._in_hand is not None:
            self._in_hand.why = why
            self.processed()

    @guarded
    def step_out(self) -> None:
        """Restore the application's own context, unless the application is still processing a message."""
        current, before = self._current, self._before
        # If the application has made another context current, or this is another thread, nothing changes.
        if self._in_hand is None and current is not None and before is not None:
            self._current = self._before = None
            if otel_context.get_current() is current:
                otel_context.attach(before)

    def finish(self) -> list[Timed]:
        """Make the spans that have ended, and return them. Call this method at the end of a unit of work."""
        finished = [span for span in self._begun if span is not self._in_hand]
        self._begun = [] if self._in_hand is None else [self._in_hand]
        for span in finished:
            span.finish()
        return finished


def application_context() -> Context:
    """Return the application's own context: the current context, or the context that was current before this module's span.

    That span may belong to another consumer, which was never closed, or whose loop does not contain this consumer's loop.
    """
    current = otel_context.get_current()
    span, before = otel_context.get_value(_BEFORE, current) or (None, current)  # type: ignore[misc]  # an object
    its = trace.get_current_span(current)
    return before if its is span or (span is not None and isinstance(its, MessageSpan)) else current  # type: ignore[has-type]  # as above


def end_span(span: Span, why: BaseException | str | None, ended_ns: int | None = None) -> None:
    """End a span. If ``why`` is given, the span gets the status ERROR."""
    if why is not None:
        span.set_attributes(error_type(why))
        if isinstance(why, MQIError):
            span.set_attribute(sc.REASON_CODE, why.reason)
        span.set_status(Status(StatusCode.ERROR, why if isinstance(why, str) else type(why).__name__))
    span.end(ended_ns)


def error_type(why: BaseException | str | None) -> dict[str, AttributeValue]:
    """Return the attribute ``error.type`` for an error; no attribute if ``why`` is ``None``."""
    if why is None:
        return {}
    if isinstance(why, MQIError):
        return {sc.ERROR_TYPE: reason_name(why.reason)}
    if isinstance(why, MQGroupsError) and why.because:
        return {sc.ERROR_TYPE: f"{type(why).__name__}.{why.because}"}
    return {sc.ERROR_TYPE: why if isinstance(why, str) else type(why).__name__}
