"""The message handles of a connection, with which it puts properties into messages.

A handle exists as long as the connection (pymqi has no MQDLTMH), so it is made once and reused, with new values, for the next
properties with the same names: pymqi cannot delete a property.
"""

from __future__ import annotations

from collections.abc import Mapping

from mqgroups.connection.handle import CallsOn
from mqgroups.mqi import constants as mq
from mqgroups.mqi.abc import PropertyValue


class MessageHandles:
    """A connection's message handles."""

    def __init__(self, connection: CallsOn) -> None:
        self._connection = connection
        self._made: dict[tuple[str, ...], int] = {}

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
