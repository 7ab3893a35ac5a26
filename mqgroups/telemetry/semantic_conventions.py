"""All names of attributes, operations and metrics, in one place, because the conventions for messaging still change.

The names follow OpenTelemetry's semantic conventions 1.45.0, "Messaging" (status: development), which do not cover IBM MQ. So the
system name ``ibmmq`` is this package's choice, and attributes of IBM MQ begin with ``messaging.ibmmq``, as in the spans of IBM MQ
for z/OS (topic zos-span-attributes). Names that concern this package, not IBM MQ, begin with ``mqgroups``.
"""

from __future__ import annotations

from typing import Final

SCHEMA_URL: Final = "https://opentelemetry.io/schemas/1.45.0"
SCOPE: Final = "mqgroups"

# Attributes of spans and metrics, and keys of log records.
SYSTEM: Final = "messaging.system.name"
IBMMQ: Final = "ibmmq"
OPERATION_NAME: Final = "messaging.operation.name"
OPERATION_TYPE: Final = "messaging.operation.type"
DESTINATION_NAME: Final = "messaging.destination.name"
CLIENT_ID: Final = "messaging.client.id"
MESSAGE_ID: Final = "messaging.message.id"
BATCH_MESSAGE_COUNT: Final = "messaging.batch.message_count"
ERROR_TYPE: Final = "error.type"
# The name has ``.name`` at its end, because ``queue_manager`` is the namespace of an identifier proposed for the conventions.
QUEUE_MANAGER: Final = "messaging.ibmmq.queue_manager.name"
QUEUE_MANAGER_ID: Final = "messaging.ibmmq.queue_manager.id"
SERVER_ADDRESS: Final = "server.address"
SERVER_PORT: Final = "server.port"
GROUP_ID: Final = "messaging.ibmmq.group_id"
MSG_SEQ_NUMBER: Final = "messaging.ibmmq.msg_seq_number"
OFFSET: Final = "messaging.ibmmq.offset"
UNIT_OF_WORK: Final = "messaging.ibmmq.unit_of_work"
REASON_CODE: Final = "messaging.ibmmq.reason_code"
BACKOUT_COUNT: Final = "messaging.ibmmq.backout_count"
BACKOUT_QUEUE: Final = "messaging.ibmmq.backout_queue"
GROUP_NAME: Final = "mqgroups.group.name"
RESULT: Final = "mqgroups.result"
ROLE: Final = "mqgroups.role"
EPOCH: Final = "mqgroups.epoch"
OUTCOME: Final = "mqgroups.outcome"
TRACE_ID: Final = "trace_id"
SPAN_ID: Final = "span_id"

# Operations: their names and types.
PUT, GET, CREATE, PROCESS = "put", "get", "create", "process"
COMMIT, BACK_OUT, RECOVER = "commit", "back out", "recover"
OPERATION_TYPES: Final = {
    PUT: "send",
    GET: "receive",
    CREATE: "create",
    PROCESS: "process",
    COMMIT: "settle",
    BACK_OUT: "settle",
}

# Outcomes of units of work, of groups, of recovery, and of repairs.
COMMITTED, BACKED_OUT = "committed", "backed out"
COMPLETED, ABANDONED, QUARANTINED = "completed", "abandoned", "quarantined"
RESUMED, OWNERSHIP_LOST = "resumed", "ownership lost"
SALVAGED, MOVED, ADOPTED = "salvaged", "moved", "adopted"

# Events of a unit of work's span.
EVENT_ABANDONED: Final = "group abandoned"
EVENT_QUARANTINED: Final = "group quarantined"
EVENT_POISON: Final = "poison message"

# Metrics.
OPERATION_DURATION: Final = "messaging.client.operation.duration"
SENT_MESSAGES: Final = "messaging.client.sent.messages"
CONSUMED_MESSAGES: Final = "messaging.client.consumed.messages"
PROCESS_DURATION: Final = "messaging.process.duration"
UNITS_OF_WORK: Final = "mqgroups.units_of_work"
GROUP_MESSAGES: Final = "mqgroups.group.messages"
GROUP_DURATION: Final = "mqgroups.group.duration"
RESUMES: Final = "mqgroups.resumes"
IN_DOUBT: Final = "mqgroups.in_doubt"
OWNERSHIP_LOSSES: Final = "mqgroups.ownership_losses"
POISON_MESSAGES: Final = "mqgroups.poison_messages"
CONNECTIONS: Final = "mqgroups.connections"
RETRIES: Final = "mqgroups.retries"
STATUS_QUEUE_WAIT: Final = "mqgroups.status.queue.wait"
SPARK_LAG: Final = "mqgroups.spark.lag"
SPARK_WAITING: Final = "mqgroups.spark.waiting"
SPARK_INCOMPLETE: Final = "mqgroups.spark.incomplete"

# Message properties, named by the W3C's Trace Context.
TRACEPARENT: Final = "traceparent"
TRACESTATE: Final = "tracestate"
