"""A queue that messages are moved to unchanged: same MsgId, GroupId, number, offset, flags and persistence.

They are put without logical order, which would give them a new GroupId (IBM MQ, topic q023060, MQPMO_LOGICAL_ORDER). In a
cluster the queue is bound on open, so that all messages of a group go to one instance. Report options are kept too, so a program
that asked for a confirmation of arrival gets a second one (read, not tried on IBM MQ).
"""

from __future__ import annotations

from mqgroups.connection.connection import Connection
from mqgroups.connection.queue import Queue
from mqgroups.mqi import constants as mq
from mqgroups.mqi import structures as st


class ForwardQueue:
    """The queue, open for output."""

    def __init__(self, connection: Connection, name: str, *, context_of: Queue | None = None) -> None:
        """Open it; raises MQIError.

        ``context_of``: the queue that the messages are got from, opened with MQOO_SAVE_ALL_CONTEXT. The messages then keep the
        context of their original put (user, program, time); that needs the authority PASSALL. By default they get the context of
        this program.
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
        """Whether the connection was remade since the queue was opened; the queue must then be opened again."""
        return self.queue.is_stale

    def take(self, md: bytes | bytearray, data: bytes) -> None:
        """Put a message with the MQMD that it was got with, in the caller's unit of work; raises MQIError."""
        self.queue.put(bytearray(md), self._pmo, data)

    def close(self) -> None:
        """Close the queue."""
        self.queue.close()
