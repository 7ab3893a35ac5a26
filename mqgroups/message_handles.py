"""The message handles of a connection: by which messages carry trace context, and by which it is read where no MQRFH2 shows it.

Each is made once and used again for every message: MQSETMP replaces what it holds, only when that changes, and an MQGET
replaces all of it. pymqi cannot delete a handle, nor a property; so context with and without ``tracestate`` has a handle each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mqgroups.mqi import constants as mq
from mqgroups.telemetry.context import TraceContext
from mqgroups.telemetry.guard import guarded
from mqgroups.telemetry.semantic_conventions import TRACEPARENT, TRACESTATE

if TYPE_CHECKING:
    from mqgroups.connection import Connection


class MessageHandles:
    """A connection's message handles. Nothing here raises: without a handle messages are put and got all the same."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._generation = connection.generation
        self._carrying: dict[bool, tuple[int, TraceContext]] = {}
        self._receiving = mq.MQHM_NONE

    def carrying(self, context: TraceContext) -> int:
        """Return a handle that holds this context; ``MQHM_NONE`` if there is none, or it cannot be had."""
        return (context.traceparent and self._holding(context)) or mq.MQHM_NONE

    @guarded
    def _holding(self, context: TraceContext) -> int:
        self._forget_lost_ones()
        connection, with_state = self._connection, bool(context.tracestate)
        hmsg, held = self._carrying.get(with_state, (mq.MQHM_NONE, TraceContext()))
        if hmsg == mq.MQHM_NONE:
            hmsg = connection.message_handle({})
        if context != held:
            # Only what MQSETMP has set is held: if the second call fails the first is made again next time.
            self._carrying[with_state] = hmsg, TraceContext()
            connection.set_property(hmsg, TRACEPARENT, context.traceparent)
            if with_state:
                connection.set_property(hmsg, TRACESTATE, context.tracestate)
            self._carrying[with_state] = hmsg, context
        return hmsg

    def receiving(self) -> int:
        """Return the handle that MQGET is given for properties; ``MQHM_NONE`` if it cannot be had."""
        return self._made_for_receiving() or mq.MQHM_NONE

    @guarded
    def _made_for_receiving(self) -> int:
        self._forget_lost_ones()
        if self._receiving == mq.MQHM_NONE:
            self._receiving = self._connection.message_handle({})
        return self._receiving

    @guarded
    def received(self) -> TraceContext | None:
        """Return the context of the message that was got last with the ``receiving`` handle; ``None`` if it has none."""
        connection = self._connection
        traceparent = connection.property(self._receiving, TRACEPARENT)
        if traceparent is None:
            return None
        return TraceContext(traceparent, connection.property(self._receiving, TRACESTATE) or "")

    def _forget_lost_ones(self) -> None:
        if self._generation != self._connection.generation:
            self._generation = self._connection.generation
            self._carrying.clear()
            self._receiving = mq.MQHM_NONE
