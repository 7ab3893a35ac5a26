"""The MQMD and MQPMO of the messages that a producer puts: made by the core's plan, kept while the next messages need the same.

Messages carry trace context in a message handle, if they carry any; the MQPMO names it. Not here: which message comes next
(``core.group``), and what becomes of it (``putter.py``).
"""

from __future__ import annotations

from mqgroups.connection.connection import Connection
from mqgroups.core.group import GroupPosition, MessagePart, next_put
from mqgroups.core.model import Persistence
from mqgroups.mqi import constants as mq
from mqgroups.mqi import structures as st
from mqgroups.put.payload import MessageKind
from mqgroups.settings import Producing
from mqgroups.telemetry import context
from mqgroups.telemetry.context import TraceContext
from mqgroups.telemetry.semantic_conventions import TRACEPARENT

_IN_LOGICAL_ORDER = st.pmo(st.PUT_NEW_MESSAGE | mq.MQPMO_LOGICAL_ORDER)
_IN_PHYSICAL_ORDER = st.pmo(st.PUT_NEW_MESSAGE)


class Descriptors:
    """The structures for one producer's messages.

    Attributes:
        of_run: MQMD templates by kind, for messages that are not the last, while the handle retains the group.
        in_logical_order: the MQPMO template for these.
        carries_context: whether messages carry trace context.
    """

    def __init__(self, connection: Connection, settings: Producing) -> None:
        self._connection = connection
        self._settings = settings
        self._context = context.NONE
        self._carrying = mq.MQHM_NONE
        self.of_run: dict[MessageKind, bytearray] = {}
        self.in_logical_order, self._in_physical_order = _IN_LOGICAL_ORDER, _IN_PHYSICAL_ORDER

    @property
    def carries_context(self) -> bool:
        return self._carrying != mq.MQHM_NONE

    def carry(self, carried: TraceContext) -> None:
        """Set the trace context of the next messages."""
        self._context = carried
        hmsg = self._connection.message_handles.carrying(carried)
        if hmsg != self._carrying:
            self._carrying = hmsg
            self.in_logical_order = st.pmo(st.PUT_NEW_MESSAGE | mq.MQPMO_LOGICAL_ORDER, hmsg)
            self._in_physical_order = st.pmo(st.PUT_NEW_MESSAGE, hmsg)

    def prepare(
        self,
        position: GroupPosition,
        persistence: Persistence,
        kind: MessageKind,
        last: bool,
        part: MessagePart,
        data: bytes,
    ) -> tuple[bytearray, bytearray]:
        """Return MQMD and MQPMO of the message after ``position``; keep the MQMD if it also fits the messages that follow."""
        plan = next_put(position, last=last, part=part)
        md = st.md(
            format_name=kind.format_name,
            ccsid=kind.ccsid,
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
        whole = part is MessagePart.WHOLE
        if kind.properties:
            options = st.PUT_NEW_MESSAGE | (mq.MQPMO_LOGICAL_ORDER if plan.logical_order else 0)
            properties = dict(kind.properties)
            if whole and TRACEPARENT not in properties:
                properties.update(self._context.as_properties())
            return md, st.pmo(options, self._connection.message_handles.holding(properties))
        own_header = kind.format_name == mq.MQFMT_RF_HEADER_2
        if not whole or (own_header and context.in_header(bytes(md), data)):
            # No trace context here. IBM's texts do not say whether a segment may have properties (2443 may apply; not tried on
            # IBM MQ), and context that the application has set itself is not replaced.
            return md, _IN_LOGICAL_ORDER if plan.logical_order else _IN_PHYSICAL_ORDER
        if not plan.logical_order:
            return md, self._in_physical_order
        if not last and kind.correl_id == mq.MQCI_NONE and not own_header:
            self.of_run[kind] = md
        return md, self.in_logical_order
