"""Builds the MQMD and MQPMO of the messages that a producer puts, and reuses them for messages of the same kind.

Trace context goes in an MQRFH2 in front of the data. The elements of its folder ``usr`` are message properties (IBM MQ, topic
"Properties specified as MQRFH2 elements"), so no MQSETMP is needed for each message. A message handle carries the context instead
in three cases: the message has properties of its own; the data begins with another header; or the message is too long with an
MQRFH2, which counts as data. (A message's own properties are in a handle, and so take precedence over those of an MQRFH2; "MQRFH2
element name conflicts".) A queue with PROPCTL(V6COMPAT) passes the MQRFH2 on as it was put.

Not here: which message comes next (``core.group``), and how it is put (``putter.py``).
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
    """The MQI structures for one producer's messages.

    Attributes:
        of_run: MQMDs by kind of message. While the queue handle is inside a group, they are reused with the MQPMO
            ``IN_LOGICAL_ORDER``, for whole messages other than the group's last.
        headers: MQRFH2s by kind of message, with the present trace context; ``None`` if messages carry no context.
    """

    def __init__(self, connection: Connection, settings: Producing) -> None:
        self._connection = connection
        self._settings = settings
        self._context = context.NONE
        self.headers: dict[MessageKind, bytes] | None = None
        self.of_run: dict[MessageKind, bytearray] = {}

    def carry(self, carried: TraceContext) -> None:
        """Set the trace context that the next messages carry."""
        if carried == self._context:
            return
        if bool(carried.traceparent) is not (self.headers is not None):
            # The MQMD says whether the data begins with a header, so the old MQMDs do not fit any more.
            self.of_run.clear()
        self._context, self.headers = carried, {} if carried.traceparent else None

    def in_front(self, kind: MessageKind) -> bytes:
        """Return the MQRFH2 to put in front of a message of this kind; empty if messages carry no trace context."""
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
        """Return MQMD, MQPMO and MQRFH2 for the message after ``position``. Keep the MQMD if later messages can use it too.

        ``in_handle``: whether the trace context must go in a message handle, because the message is too long with an MQRFH2.
        """
        data, kind, _, last, part = message
        plan = next_put(position, last=last, part=part)
        whole = part is MessagePart.WHOLE
        # Segments carry no trace context: IBM's texts do not say whether a segment can have properties (2443 may apply; not
        # tried on IBM MQ).
        carries = whole and self.headers is not None
        has_header = carries and not kind.properties and not in_handle and kind.format_name in _PLAIN
        md = st.md(
            format_name=mq.MQFMT_RF_HEADER_2 if has_header else kind.format_name,
            # The CCSID of the header, which is ASCII. Data without a CCSID of its own has the same CCSID.
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
        """Return a message handle with the message's own properties and its trace context; raises MQIError."""
        message_handle = self._connection.message_handle
        properties = dict(kind.properties)
        own_header = kind.format_name == mq.MQFMT_RF_HEADER_2
        # Context that the application has set itself is not replaced.
        if carries and TRACEPARENT not in properties and not (own_header and context.in_header(bytes(md), data)):
            properties.update(self._context.as_properties())
        if kind.properties:
            return message_handle(properties)
        # An error of telemetry must not make the put fail.
        return (properties and guarded(message_handle)(properties)) or mq.MQHM_NONE
