"""Where messages go that cannot be processed: the queue's own backout threshold and backout queue (BOTHRESH, BOQNAME).

The queue manager keeps both and does nothing with them (IBM MQ, topic q103010); consumers do.
"""

from __future__ import annotations

from mqgroups.connection.connection import Connection
from mqgroups.connection.forwarding import ForwardQueue
from mqgroups.connection.queue import Queue
from mqgroups.errors import ConfigurationError
from mqgroups.mqi import constants as mq
from mqgroups.mqi.message import Message


class BackoutQueue:
    """The backout queue of one queue, opened when it is needed.

    Attributes:
        threshold: BOTHRESH; 0 is off.
        name: BOQNAME; empty if there is none.
    """

    def __init__(self, connection: Connection, queue: Queue, *, needed: bool) -> None:
        """Inquire the attributes of ``queue``, which is open for inquiry.

        Raises:
            ConfigurationError: a backout queue is ``needed``, there is a threshold, and no BOQNAME.
            MQIError: they cannot be inquired.
        """
        self._connection = connection
        self._queue: ForwardQueue | None = None
        self.threshold = int(queue.inquire(mq.MQIA_BACKOUT_THRESHOLD))
        self.name = str(queue.inquire(mq.MQCA_BACKOUT_REQ_Q_NAME))
        if needed and self.threshold and not self.name:
            raise ConfigurationError(
                f"queue {queue.name} has BOTHRESH({self.threshold}) and no BOQNAME: there is nowhere to move a message to that "
                "cannot be processed. Define a backout queue and ALTER the queue, or choose poison='halt'"
            )

    def take(self, message: Message) -> None:
        """Put a message, as it was got, in the caller's unit of work; raises MQIError."""
        if self._queue is None or self._queue.is_stale:
            self._queue = ForwardQueue(self._connection, self.name)
        self._queue.take(*message.as_got)

    def close(self) -> None:
        """Close the queue, if it was opened."""
        if self._queue is not None:
            self._queue.close()
