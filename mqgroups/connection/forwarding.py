"""A queue to which messages are moved as they were got: same MsgId, group, number, offset, flags and persistence.

Without logical order, which would give them a new GroupId (IBM MQ, topic q023060, MQPMO_LOGICAL_ORDER); in a cluster bound on
open, so that what belongs together goes to one place. Report options stay too, so who asked for a confirmation of arrival gets
another one (read, not tried on IBM MQ).
"""

from __future__ import annotations

from mqgroups.connection.connection import Connection
from mqgroups.connection.queue import Queue
from mqgroups.mqi import constants as mq
from mqgroups.mqi import structures as st


class ForwardQueue:
    """The queue, open for output."""

    def __init__(self, connection: Connection, name: str, *, context_of: Queue | None = None) -> None:
        """Open it.

        Args:
            connection: to the queue manager.
            name: of the queue.
            context_of: the queue that the messages are got from, open with MQOO_SAVE_ALL_CONTEXT, to pass on who put them and
                when; that needs an authority of its own. By default that becomes the forwarder's.

        Raises:
            MQIError: it cannot be opened.
        """
        options, context = st.PUT_SAME_MESSAGE, 0
        open_options = mq.MQOO_OUTPUT | mq.MQOO_BIND_ON_OPEN
        if context_of is not None:
            options, context = options | mq.MQPMO_PASS_ALL_CONTEXT, context_of.hobj
            open_options |= mq.MQOO_PASS_ALL_CONTEXT
        self.queue = connection.open_queue(name, open_options)
        self._pmo = st.pmo(options, context=context)

    @property
    def is_stale(self) -> bool:
        """Whether the connection was made again since: it has to be opened again."""
        return self.queue.is_stale

    def take(self, md: bytes | bytearray, data: bytes) -> None:
        """Put a message in the caller's unit of work, with the MQMD that it was got with; raises MQIError."""
        self.queue.put(bytearray(md), self._pmo, data)

    def close(self) -> None:
        """Close the queue."""
        self.queue.close()
