"""The message handles with which a connection puts trace context into messages.

Each handle is made once and reused for every message; MQSETMP is called only when the context changes. pymqi cannot delete a
property, so contexts with and without ``tracestate`` use separate handles.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from mqgroups.mqi import constants as mq
from mqgroups.telemetry.context import TraceContext
from mqgroups.telemetry.guard import guarded


class _Connection(Protocol):
    """The part of a connection that this module uses."""

    generation: int

    def message_handle(self, properties: Mapping[str, str], /) -> int:
        """Return a handle that holds these properties."""


class MessageHandles:
    """A connection's message handles. Nothing here raises: if a handle cannot be made, messages are put without context."""

    def __init__(self, connection: _Connection) -> None:
        self._connection = connection
        # Key: whether there is a tracestate. Value: the handle, the context in it, and the connection's generation.
        self._carrying: dict[bool, tuple[int, TraceContext, int]] = {}

    def carrying(self, context: TraceContext) -> int:
        """Return a handle that holds this context; ``MQHM_NONE`` if the context is empty or the handle cannot be made."""
        return (context.traceparent and self._holding(context)) or mq.MQHM_NONE

    @guarded
    def _holding(self, context: TraceContext) -> int:
        connection, with_state = self._connection, bool(context.tracestate)
        hmsg, held, generation = self._carrying.pop(with_state, (mq.MQHM_NONE, None, connection.generation))
        if held != context or generation != connection.generation:
            hmsg = connection.message_handle(context.as_properties())
        self._carrying[with_state] = hmsg, context, connection.generation
        return hmsg
