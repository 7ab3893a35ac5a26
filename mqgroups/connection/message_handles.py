"""The message handles of a connection by which messages carry trace context.

Each is made once and used again for every message: MQSETMP replaces what it holds, only when that changes. pymqi
cannot delete a property, so context with and without ``tracestate`` has a handle each.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from mqgroups.mqi import constants as mq
from mqgroups.telemetry.context import TraceContext
from mqgroups.telemetry.guard import guarded


class _Connection(Protocol):
    """What a connection has for this."""

    generation: int

    def message_handle(self, properties: Mapping[str, str], /) -> int:
        """Return a handle that holds these properties."""


class MessageHandles:
    """A connection's message handles. Nothing here raises: without a handle messages are put all the same."""

    def __init__(self, connection: _Connection) -> None:
        self._connection = connection
        # By whether there is a tracestate: the handle, what it holds, and of which connection it is.
        self._carrying: dict[bool, tuple[int, TraceContext, int]] = {}

    def carrying(self, context: TraceContext) -> int:
        """Return a handle that holds this context; ``MQHM_NONE`` if there is none, or it cannot be had."""
        return (context.traceparent and self._holding(context)) or mq.MQHM_NONE

    @guarded
    def _holding(self, context: TraceContext) -> int:
        connection, with_state = self._connection, bool(context.tracestate)
        hmsg, held, generation = self._carrying.pop(with_state, (mq.MQHM_NONE, None, connection.generation))
        if held != context or generation != connection.generation:
            hmsg = connection.message_handle(context.as_properties())
        self._carrying[with_state] = hmsg, context, connection.generation
        return hmsg
