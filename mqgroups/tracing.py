"""OpenTelemetry: one span for each unit of work. Without a provider the API makes these spans of nothing.

Spans are made when a unit of work has ended, with the time it began: nothing runs between two messages.
"""

from __future__ import annotations

from opentelemetry import trace
from opentelemetry.trace import SpanKind, Status, StatusCode
from opentelemetry.util.types import AttributeValue

_TRACER = trace.get_tracer("mqgroups")

# The messaging conventions still move, and name no IBM MQ: the keys are in this one place.
SYSTEM = "messaging.system"
OPERATION_NAME = "messaging.operation.name"
OPERATION_TYPE = "messaging.operation.type"
DESTINATION_NAME = "messaging.destination.name"
BATCH_MESSAGE_COUNT = "messaging.batch.message_count"
GROUP_ID = "messaging.ibm_mq.group_id"
MSG_SEQ_NUMBER = "messaging.ibm_mq.msg_seq_number"
UNIT_OF_WORK = "messaging.ibm_mq.unit_of_work"


def unit_of_work_attributes(
    operation: str, queue: str, group_id: bytes, msg_seq_number: int, messages: int, number: int
) -> dict[str, AttributeValue]:
    """Return a unit of work's span attributes. ``operation`` is ``"put"`` or ``"get"``."""
    return {
        SYSTEM: "ibm_mq",
        OPERATION_NAME: operation,
        OPERATION_TYPE: "send" if operation == "put" else "receive",
        DESTINATION_NAME: queue,
        BATCH_MESSAGE_COUNT: messages,
        GROUP_ID: group_id.hex(),
        MSG_SEQ_NUMBER: msg_seq_number,
        UNIT_OF_WORK: number,
    }


def record_unit_of_work(name: str, attributes: dict[str, AttributeValue], began_ns: int, error: str = "") -> None:
    """Make the span of a unit of work that has just ended; ``error`` says why it was backed out."""
    span = _TRACER.start_span(name, kind=SpanKind.CLIENT, attributes=attributes, start_time=began_ns)
    if error:
        span.set_status(Status(StatusCode.ERROR, error))
    span.end()
