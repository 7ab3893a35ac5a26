"""The message handles of a connection, with which it puts properties and trace context into messages.

A handle exists as long as the connection (pymqi has no MQDLTMH), so it is made once and reused, with new values, for the next
properties with the same names: pymqi cannot delete a property. For trace context MQSETMP is called only when the context changes.
"""

from __future__ import annotations

from collections.abc import Mapping

from mqgroups.connection.handle import CallsOn
from mqgroups.mqi import constants as mq
from mqgroups.mqi.abc import PropertyValue
from mqgroups.telemetry.context import TraceContext
from mqgroups.telemetry.guard import guarded


class MessageHandles:
    """A connection's message handles."""

    def __init__(self, connection: CallsOn) -> None:
        self._connection = connection
        self._made: dict[tuple[str, ...], int] = {}
        # Key: whether there is a tracestate. Value: the handle, the context in it, and the connection's generation.
        self._carrying: dict[bool, tuple[int, TraceContext, int]] = {}

    def holding(self, properties: Mapping[str, PropertyValue]) -> int:
        """Return a message handle with these properties, for one MQPUT; raises MQIError."""
        names, connection = tuple(properties), self._connection
        hmsg, comp, reason = connection.binding.message_handle(connection.hconn, properties, self._made.get(names))
        if comp == mq.MQCC_FAILED:
            raise connection.failed("MQSETMP", "a message handle", comp, reason)
        self._made[names] = hmsg
        return hmsg

    def forget(self) -> None:
        """Take note that the connection is another one, on which no handle is made yet."""
        self._made.clear()

    def carrying(self, context: TraceContext) -> int:
        """Return a handle that holds this context; ``MQHM_NONE`` if the context is empty or the handle cannot be made."""
        return (context.traceparent and self._holding_context(context)) or mq.MQHM_NONE

    @guarded
    def _holding_context(self, context: TraceContext) -> int:
        connection, with_state = self._connection, bool(context.tracestate)
        hmsg, held, generation = self._carrying.pop(with_state, (mq.MQHM_NONE, None, connection.generation))
        if held != context or generation != connection.generation:
            hmsg = self.holding(context.as_properties())
        self._carrying[with_state] = hmsg, context, connection.generation
        return hmsg
