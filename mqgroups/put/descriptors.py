"""The MQMD and MQPMO of the messages that a producer puts: made by the core's plan, kept while the next messages need the same.

Trace context goes in an MQRFH2 that is prepared here, in front of the data: the elements of its folder ``usr`` are properties, as
those of a message handle are (IBM MQ, topic "Properties specified as MQRFH2 elements"), without an MQSETMP for each message. A
message handle has it all the same where the two may differ: beside properties of the message's own, because those of a handle
come first ("MQRFH2 element name conflicts"); in front of another header; and if the message is too long with a header, which
counts as data. A queue with PROPCTL(V6COMPAT) passes such a header on as it was put.

Not here: which message comes next (``core.group``), and what becomes of it (``putter.py``).
"""

from __future__ import annotations

from mqgroups.code_pages import UTF_8
from mqgroups.connection.connection import Connection
from mqgroups.core.group import GroupPosition, MessagePart, next_put
from mqgroups.core.model import Persistence
from mqgroups.mqi import constants as mq
from mqgroups.mqi import rfh2
from mqgroups.mqi import structures as st
from mqgroups.put.payload import MessageKind, Unsent
from mqgroups.settings import Producing
from mqgroups.telemetry import context
from mqgroups.telemetry.context import TraceContext
from mqgroups.telemetry.guard import guarded
from mqgroups.telemetry.semantic_conventions import TRACEPARENT

# The MQPMO templates.
IN_LOGICAL_ORDER = st.pmo(st.PUT_NEW_MESSAGE | mq.MQPMO_LOGICAL_ORDER)
_IN_PHYSICAL_ORDER = st.pmo(st.PUT_NEW_MESSAGE)


# Data that does not begin with a header of IBM MQ's.
_PLAIN = frozenset({mq.MQFMT_NONE, mq.MQFMT_STRING})


class Descriptors:
    """The structures for one producer's messages.

    Attributes:
        of_run: MQMD templates by kind, for messages that are not the last, while the handle retains the group. Their MQPMO is
            ``IN_LOGICAL_ORDER``.
        headers: the headers in front of messages by kind, with the present trace context; ``None`` if messages carry none.
    """

    def __init__(self, connection: Connection, settings: Producing) -> None:
        self._connection = connection
        self._settings = settings
        self._context = context.NONE
        self.headers: dict[MessageKind, bytes] | None = None
        self.of_run: dict[MessageKind, bytearray] = {}

    def carry(self, carried: TraceContext) -> None:
        """Set the trace context of the next messages."""
        if carried == self._context:
            return
        if bool(carried.traceparent) is not (self.headers is not None):
            # Their MQMD says whether there is a header.
            self.of_run.clear()
        self._context, self.headers = carried, {} if carried.traceparent else None

    def in_front(self, kind: MessageKind) -> bytes:
        """Return the header in front of a message of this kind; empty if messages carry no context."""
        if self.headers is None:
            return b""
        header = self.headers.get(kind)
        if header is None:
            folder = rfh2.usr_folder(self._context.as_properties())
            header = rfh2.packed(folder, kind.ccsid or mq.MQCCSI_INHERIT, kind.format_name)
            self.headers[kind] = header
        return header

    def prepare(
        self,
        position: GroupPosition,
        persistence: Persistence,
        message: Unsent,
        *,
        in_handle: bool = False,
    ) -> tuple[bytearray, bytearray, bytes]:
        """Return MQMD, MQPMO and header of the message after ``position``; keep the MQMD if it also fits those that follow.

        ``in_handle``: the message was too long with a header.
        """
        data, kind, _, last, part = message
        plan = next_put(position, last=last, part=part)
        whole = part is MessagePart.WHOLE
        # No trace context in segments: IBM's texts do not say whether one may have properties (2443 may apply; not tried on
        # IBM MQ).
        carries = whole and self.headers is not None
        has_header = carries and not kind.properties and not in_handle and kind.format_name in _PLAIN
        md = st.md(
            format_name=mq.MQFMT_RF_HEADER_2 if has_header else kind.format_name,
            # Of the header, which is ASCII; without a CCSID of its own the data has the same.
            ccsid=UTF_8 if has_header and kind.ccsid else kind.ccsid,
            correl_id=kind.correl_id,
            msg_type=kind.msg_type,
            feedback=kind.feedback,
            priority=self._settings.mqmd_priority,
            persistence=persistence,
            group_id=plan.group_id,
            msg_seq_number=plan.msg_seq_number,
            offset=plan.offset,
            msg_flags=plan.msg_flags,
        )
        pmo = IN_LOGICAL_ORDER if plan.logical_order else _IN_PHYSICAL_ORDER
        if kind.properties or (carries and not has_header):
            hmsg = self._handle(kind, md, data, carries=carries)
            return md, pmo if hmsg == mq.MQHM_NONE else st.pmo(st.long_at(pmo, st.PMO_OPTIONS), hmsg), b""
        if plan.logical_order and whole and not last and kind.correl_id == mq.MQCI_NONE:
            self.of_run[kind] = md
        return md, pmo, self.in_front(kind) if has_header else b""

    def _handle(self, kind: MessageKind, md: bytearray, data: bytes, *, carries: bool) -> int:
        """Return a message handle with the properties of a message, and its trace context; raises MQIError."""
        message_handle = self._connection.message_handle
        properties = dict(kind.properties)
        own_header = kind.format_name == mq.MQFMT_RF_HEADER_2
        # Context that the application has set itself is not replaced.
        if carries and TRACEPARENT not in properties and not (own_header and context.in_header(bytes(md), data)):
            properties.update(self._context.as_properties())
        if kind.properties:
            return message_handle(properties)
        # Telemetry alone makes no put fail.
        return (properties and guarded(message_handle)(properties)) or mq.MQHM_NONE
