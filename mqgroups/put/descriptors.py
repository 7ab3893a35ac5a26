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
from mqgroups.put.payload import MessageKind
from mqgroups.settings import Producing
from mqgroups.telemetry import context
from mqgroups.telemetry.context import TraceContext
from mqgroups.telemetry.guard import guarded
from mqgroups.telemetry.semantic_conventions import TRACEPARENT

_IN_LOGICAL_ORDER = st.pmo(st.PUT_NEW_MESSAGE | mq.MQPMO_LOGICAL_ORDER)
_IN_PHYSICAL_ORDER = st.pmo(st.PUT_NEW_MESSAGE)


# Data that does not begin with a header of IBM MQ's.
_PLAIN = frozenset({mq.MQFMT_NONE, mq.MQFMT_STRING})


class Descriptors:
    """The structures for one producer's messages.

    Attributes:
        of_run: MQMD templates by kind, for messages that are not the last, while the handle retains the group.
        in_logical_order: the MQPMO template for these.
        carries_context: whether messages carry trace context.
    """

    in_logical_order = _IN_LOGICAL_ORDER

    def __init__(self, connection: Connection, settings: Producing) -> None:
        self._connection = connection
        self._settings = settings
        self._context = context.NONE
        self.carries_context = False
        # Its folder, while there is one.
        self._folder = b""
        # The header in front of messages of a kind, with the present context.
        self._headers: dict[MessageKind, bytes] = {}
        self.of_run: dict[MessageKind, bytearray] = {}

    def carry(self, carried: TraceContext) -> None:
        """Set the trace context of the next messages."""
        if carried == self._context:
            return
        if self.carries_context is not bool(carried.traceparent):
            # Their MQMD says whether there is a header.
            self.carries_context = not self.carries_context
            self.of_run.clear()
        self._context = carried
        self._folder = rfh2.usr_folder(carried.as_properties())
        self._headers.clear()

    def in_front(self, kind: MessageKind) -> bytes:
        """Return the header in front of a message of this kind, if it carries context."""
        header = self._headers.get(kind)
        if header is None:
            ccsid = kind.ccsid or mq.MQCCSI_INHERIT
            self._headers[kind] = header = rfh2.packed(self._folder, ccsid, kind.format_name)
        return header

    def prepare(
        self,
        position: GroupPosition,
        persistence: Persistence,
        kind: MessageKind,
        last: bool,
        part: MessagePart,
        data: bytes,
        *,
        in_handle: bool = False,
    ) -> tuple[bytearray, bytearray, bytes]:
        """Return MQMD, MQPMO and header of the message after ``position``; keep the MQMD if it also fits those that follow.

        ``in_handle``: the message was too long with a header.
        """
        plan = next_put(position, last=last, part=part)
        whole = part is MessagePart.WHOLE
        # No trace context in segments: IBM's texts do not say whether one may have properties (2443 may apply; not tried on
        # IBM MQ).
        carries = whole and self.carries_context
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
        pmo = _IN_LOGICAL_ORDER if plan.logical_order else _IN_PHYSICAL_ORDER
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
